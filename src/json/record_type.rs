//! What differs between companies and signals while they are loaded.

use super::input::{parse_company_noting, parse_signal_noting};
use super::unknown::UnknownNames;
use super::{LoadReport, Sink};
use crate::Result;
use crate::signal::{Company, Signal};
use crate::tables::{Draft, RecordError, RecordKind};

/// A kind of record, at compile time.
pub(super) trait RecordType {
    const KIND: RecordKind;
    /// The field that names the company.
    const COMPANY_KEY: &'static str;
    type Record<'a>;

    /// The fast path of JSON, which may decline.
    fn parse<'a>(
        line: &'a [u8],
        unknown: &mut UnknownNames,
    ) -> Result<Self::Record<'a>, RecordError>;

    /// The record of a draft without faults.
    fn build<'a>(draft: &mut Draft<'a>) -> Option<Self::Record<'a>>;

    fn add(sink: &mut impl Sink, record: &Self::Record<'_>) -> Result<bool>;

    /// The numbers of loaded and of replaced records.
    fn counts(report: &mut LoadReport) -> (&mut u64, &mut u64);

    /// The slug or id.
    fn key(record: &Self::Record<'_>) -> String;

    fn company_slug<'r>(record: &'r Self::Record<'_>) -> &'r str;

    /// The name and the slug of a company.
    fn company_name<'r>(record: &'r Self::Record<'_>) -> Option<(&'r str, &'r str)>;
}

pub(super) struct CompanyRecord;

impl RecordType for CompanyRecord {
    const KIND: RecordKind = RecordKind::Company;
    const COMPANY_KEY: &'static str = "slug";
    type Record<'a> = Company<'a>;

    fn parse<'a>(line: &'a [u8], unknown: &mut UnknownNames) -> Result<Company<'a>, RecordError> {
        parse_company_noting(line, unknown)
    }

    fn build<'a>(draft: &mut Draft<'a>) -> Option<Company<'a>> {
        draft.company()
    }

    fn add(sink: &mut impl Sink, company: &Company<'_>) -> Result<bool> {
        sink.add_company(company)
    }

    fn counts(report: &mut LoadReport) -> (&mut u64, &mut u64) {
        (&mut report.companies, &mut report.companies_replaced)
    }

    fn key(company: &Company<'_>) -> String {
        company.slug.to_string()
    }

    fn company_slug<'r>(company: &'r Company<'_>) -> &'r str {
        &company.slug
    }

    fn company_name<'r>(company: &'r Company<'_>) -> Option<(&'r str, &'r str)> {
        Some((&company.name, &company.slug))
    }
}

pub(super) struct SignalRecord;

impl RecordType for SignalRecord {
    const KIND: RecordKind = RecordKind::Signal;
    const COMPANY_KEY: &'static str = "companySlug";
    type Record<'a> = Signal<'a>;

    fn parse<'a>(line: &'a [u8], unknown: &mut UnknownNames) -> Result<Signal<'a>, RecordError> {
        parse_signal_noting(line, unknown)
    }

    fn build<'a>(draft: &mut Draft<'a>) -> Option<Signal<'a>> {
        draft.signal()
    }

    fn add(sink: &mut impl Sink, signal: &Signal<'_>) -> Result<bool> {
        sink.add_signal(signal)
    }

    fn counts(report: &mut LoadReport) -> (&mut u64, &mut u64) {
        (&mut report.signals, &mut report.signals_replaced)
    }

    fn key(signal: &Signal<'_>) -> String {
        signal.id.to_string()
    }

    fn company_slug<'r>(signal: &'r Signal<'_>) -> &'r str {
        &signal.company_slug
    }

    fn company_name<'r>(_: &'r Signal<'_>) -> Option<(&'r str, &'r str)> {
        None
    }
}
