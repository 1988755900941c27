//! JSON: lines of records in, records of answers out. Feature `json`.
//!
//! [`input`] reads one record, [`lines`] the lines of a file in any of its compressions, and
//! [`Loader`] brings both into an index, with a reason for every record that it refuses.
//! [`output`] is what answers look like, on the command line and over HTTP alike.

pub mod input;
pub mod lines;
mod load;
pub mod output;
mod write;

pub use input::RecordFault;
pub use load::{LoadReport, Loader, OnInvalid, Progress, Rejected, Sink};
pub use write::{write_company, write_signal};
