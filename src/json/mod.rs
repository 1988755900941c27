//! JSON: parses input records and writes responses.
//!
//! Besides the service and the program, no other module uses JSON.
//!
//! - [`parse_signal`] and [`parse_company`] parse a line into a record.
//! - [`Lines`] reads lines from a file or standard input, plain or compressed.
//! - [`load()`] and [`Loader`] load files of records into an index: JSON lines or CSV.
//! - [`write_signal`] and [`write_company`] write the lines that are loaded.
//! - [`SignalItem`], [`SignalDetail`], [`CompanyDetail`], [`FilterOptions`] and [`ChangeItem`] are the
//!   contents of responses; [`Data`] and [`SearchData`] are their envelopes.
//!
//! ```
//! use signaldex::json;
//!
//! let line = br#"{"id": "7", "slug": "acme-7", "title": "Acme hires", "companySlug": "acme"}"#;
//! let signal = json::parse_signal(line)?;
//! assert_eq!(signal.id.get(), 7);
//!
//! let error = json::parse_signal(br#"{"id": 1.0}"#).expect_err("the id is not as it should be");
//! assert_eq!(error.field(), Some("id"));
//! # Ok::<(), json::RecordError>(())
//! ```

mod change;
mod changes_answer;
mod csv;
mod error;
mod fields;
mod input;
mod item;
mod item_csv;
mod items;
mod lines;
mod load;
mod object;
mod output;
mod page;
mod read_ahead;
mod records;
mod rename;
mod rendering;
mod text_encoding;
mod value;
mod write;
mod written;

pub use change::ChangeItem;
pub use changes_answer::ChangesAnswer;
pub use error::RecordError;
pub use fields::{RecordKind, UnknownField};
pub use input::{parse_company, parse_signal};
pub use item_csv::{CSV_COLUMNS, write_csv_cell, write_csv_header, write_csv_item};
pub use lines::{LINE_BYTES_MAX, Line, Lines};
pub use load::{LoadReport, Loader, OnInvalid, Progress, Rejected, Sink, load};
pub use output::{CompanyDetail, Data, FilterOptions, SearchData, SignalDetail, SignalItem};
pub use page::{SearchAnswer, search_item, write_item, write_item_line};
pub use rendering::{Rendering, text_bytes};
pub use value::FIELD_BYTES_MAX;
pub use write::{write_company, write_signal};
