//! Webhooks: which URLs a host may save, and which addresses it may ask.
//!
//! A client inside of a network is a door into it. So a host judges an address in a URL when it saves it, and every address of
//! a name each time that it has resolved it.

mod address;
mod alerts;
mod client;
mod connect;
mod deliver;
mod event;
mod logged_error;
mod network;
mod process;
#[cfg(test)]
mod receiver;
mod record;
mod schedule;
mod signature;
mod slots;
mod try_out;
mod watch;
mod webhook_url;

pub use address::is_public;
pub use alerts::AlertWebhook;
pub use deliver::WebhookOptions;
pub use network::{AddressRange, ParseRangeError};
pub use process::WebhookDelivery;
pub use record::{DeliveryAttempt, SearchStatus, WebhookRecord};
pub use schedule::{AfterAttempt, RetryPauses};
pub use signature::{WebhookSecret, signatures};
pub use try_out::{TestAnswer, send_test};
pub use webhook_url::{InvalidWebhook, WebhookRules, WebhookUrl};
