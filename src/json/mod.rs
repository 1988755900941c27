//! JSON: parses input records and writes responses.
//!
//! Besides the service and the program, no other module uses JSON.
//!
//! - [`parse_signal`] and [`parse_company`] parse a line into a record.
//! - [`Lines`] reads lines from a file or standard input, plain or compressed.
//! - [`load()`] and [`Loader`] load files of records into an index: JSON lines or tables, under [`LoadOptions`].
//! - [`read_cell`] defines what a cell of a table, or a member of JSON, means in a field.
//! - [`write_signal`] and [`write_company`] write the lines that are loaded.
//! - [`Snapshot::dump`](crate::Snapshot::dump) writes all of them.
//! - [`SignalColumns`] and [`CompanyColumns`] write chosen columns as CSV or JSON.
//! - [`SignalItem`], [`SignalDetail`], [`CompanyDetail`], [`CompanyItem`], [`FilterOptions`] and [`ChangeItem`] are the
//!   contents of responses; [`Data`], [`SearchData`] and [`CompaniesData`] are their envelopes.
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

mod aggregates;
mod change;
mod changes_answer;
mod columns;
mod companies_answer;
mod dump;
mod file_run;
mod headers;
mod input;
mod item;
mod item_csv;
mod items;
mod load;
mod load_report;
mod members;
mod object;
mod open_file;
mod output;
mod page;
mod read_ahead;
mod record_type;
mod rendering;
mod sent_item;
mod sink;
mod text_encoding;
mod unknown;
mod value;
mod write;
mod written;

pub use aggregates::AggregateAnswer;
pub use change::ChangeItem;
pub use changes_answer::{ChangesAnswer, write_change};
pub use columns::{ColumnSource, ColumnType, ColumnValue, CompanyColumns, SignalColumns};
pub use companies_answer::{CompaniesAnswer, CompaniesData, CompanyItem, company_item};
pub use dump::Dumped;
pub use input::{parse_company, parse_signal};
pub use item_csv::{CSV_COLUMNS, write_csv_cell, write_csv_header, write_csv_item};
pub use load::{Loader, OnInvalid, load};
pub use load_report::{FaultGroup, LoadReport, Progress, Rejected, Replaced};
pub use output::{CompanyDetail, Data, FilterOptions, SearchData, SignalDetail, SignalItem};
pub use page::{SearchAnswer, search_item, visit_items, write_item, write_item_line};
pub use rendering::{Rendering, text_bytes};
pub use sink::{CheckSink, Sink};
pub use unknown::UnknownField;
pub use write::{write_company, write_signal};

pub use crate::tables::{
    Cell, CellFault, CellOptions, FIELD_BYTES_MAX, FieldType, LINE_BYTES_MAX, Line, Lines,
    LoadOptions, RecordError, RecordKind, Value, field_words, read_cell,
};
