//! In place of `cluster.rs` in a program that is no node.

use std::convert::Infallible;

use signaldex::http::{Limits, Service, State, Today};

use crate::Failure;

/// No options.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterOptions {}

/// Nothing here uses TLS but object stores, which choose for themselves.
pub(crate) fn install_crypto_provider() {}

/// There is never one.
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
