//! Replaces `replica.rs` in a program built without replicas.

use std::convert::Infallible;

use signaldex::Index;
use signaldex::http::Service;

use crate::Failure;

/// No options.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplicaOptions {}

/// There is never one.
pub(crate) struct Opened(Infallible);

impl ReplicaOptions {
    pub(crate) fn are_given(&self) -> bool {
        false
    }

    pub(crate) async fn open(&self) -> Result<Option<Opened>, Failure> {
        Ok(None)
    }
}

impl Opened {
    pub(crate) fn index(&self) -> Index {
        match self.0 {}
    }

    pub(crate) fn follow(self, _: Service) -> Result<(), Failure> {
        match self.0 {}
    }
}
