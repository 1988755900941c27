//! The sample corpus: two thousand invented signals, compiled in. Feature `json`.
//!
//! Use it to try things out: every field and every filter has matches in it.
//!
//! ```
//! use signaldex::{Query, sample};
//!
//! let index = sample::index()?;
//! let query = Query::from_query_string(r#"q="series a"&country=Germany"#)?;
//! assert!(!index.snapshot().search(&query, sample::AS_OF)?.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use time::Date;
use time::macros::date;

use crate::json::{parse_company, parse_signal};
use crate::{Error, Index, IndexBuilder, Result};

/// The companies, as JSON lines.
pub const COMPANIES: &str = include_str!("../data/sample/companies.jsonl");

/// The signals, as JSON lines.
pub const SIGNALS: &str = include_str!("../data/sample/signals.jsonl");

/// The date to pass as today: no signal of the sample is later.
pub const AS_OF: Date = date!(2026 - 06 - 30);

/// Builds the sample's index in memory. Cost: some <!--figure:kernels.sample-->20<!--end--> milliseconds.
///
/// # Errors
/// None in practice: tests assert that the sample is valid.
pub fn index() -> Result<Index> {
    let mut builder = IndexBuilder::in_memory();
    for line in COMPANIES.lines() {
        let company = parse_company(line.as_bytes()).map_err(|f| Error::invalid(f.to_string()))?;
        builder.add_company(&company)?;
    }
    for line in SIGNALS.lines() {
        let signal = parse_signal(line.as_bytes()).map_err(|f| Error::invalid(f.to_string()))?;
        builder.add_signal(&signal)?;
    }
    builder.finish()
}
