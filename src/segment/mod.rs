//! Segments: immutable files of signals and companies.
//!
//! A segment is one file, viewed in place: postings by value, columns by row, dictionaries by key, records by
//! row. Opening checks the container; the content is checked part by part before first use ([`parts`]), so no
//! query is answered from damaged data: functions that give a view return an error if it is damaged. Nothing is
//! rebuilt in memory. [`index`](crate::index) manages sets of
//! segments; [`query`](crate::query) defines the meaning of queries.

mod assemble;
mod builder;
mod calendar;
mod commit_reads;
mod commits;
mod companies;
mod company_attributes;
mod compress;
mod copy;
mod deleted;
mod deleted_tally;
mod ensure;
mod field;
mod finish_progress;
mod format;
mod groups;
mod interner;
mod opening;
mod part_checks;
mod parts;
mod pending;
mod period_rows;
mod reader;
mod record;
mod schema;
mod trust;
mod validate;
mod value_counts;
mod verify;
mod views;
mod whole_file;

pub(crate) use builder::SegmentBuilder;
pub(crate) use commits::{ChangeOffset, Commits, FIRST_COMMIT, Tombstone};
pub(crate) use companies::CompanyKeys;
pub(crate) use company_attributes::CompanyAttributes;
pub(crate) use compress::encoder_for;
pub(crate) use deleted::{Deleted, VisibleValues};
pub(crate) use field::{Field, TextField};
pub(crate) use finish_progress::{FinishProgress, FinishStep};
pub(crate) use period_rows::PeriodRows;
pub(crate) use reader::Segment;
#[cfg(test)]
pub(crate) use record::WRITTEN;
pub(crate) use record::{check_company, check_signal};
pub(crate) use value_counts::PostingCounts;
pub(crate) use views::FacetView;
pub(crate) use whole_file::check_file;
