//! Replaces `cluster.rs` in a program built without clusters.

use std::convert::Infallible;

use signaldex::http::{Limits, Service, State, Today};

use crate::Failure;

/// No options.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterOptions {}

/// Only object stores use TLS here, and they choose a provider themselves.
pub(crate) fn install_crypto_provider() {}

/// Cannot be constructed.
pub(crate) struct Member(Infallible);

impl ClusterOptions {
    pub(crate) fn are_given(&self) -> bool {
        false
    }

    pub(crate) async fn open(&self) -> Result<Option<Member>, Failure> {
        Ok(None)
    }
}

impl Member {
    pub(crate) fn service(&self, _: State, _: Today, _: Limits) -> Result<Service, Failure> {
        match self.0 {}
    }

    pub(crate) async fn stopped(self) -> Failure {
        match self.0 {}
    }
}
