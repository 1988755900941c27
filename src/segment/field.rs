//! The fields of a segment and their numbers, which are part of the format.

use super::format::{FieldNumber, Table};
use crate::query::Facet;
use crate::text::{self, Form};

/// A field with postings, a dictionary, a column or a token stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    /// A facet: dictionary, postings, column.
    Facet(Facet),
    /// The title: dictionary, postings, token streams by row.
    Title,
    /// The company's name: dictionary, postings (of signals), token streams by company.
    Name,
    /// The keys of companies: slugs followed by the keys of names, both by company.
    CompanyKey,
    /// The company's name for display, by company.
    CompanyName,
    /// The date: days and a column.
    Date,
    /// The funding amount: amounts and a column.
    Amount,
    /// The company: a column and rows by company.
    Company,
    /// Two words next to each other in a title: their numbers, and postings.
    TitlePair,
    /// The signal's id, by row.
    Id,
    /// The offset of the signal's record, by row.
    SignalRecord,
    /// Where the company's record is, by company.
    CompanyRecord,
    /// The commit that added the signal, by row.
    FirstCommit,
    /// The commit that last wrote the signal or its company, by row.
    LastCommit,
    /// The company's city: keys and a column, by company.
    City,
    /// The year in which the company was founded: years and a column, by company.
    FoundedYear,
    /// The company's number of employees: numbers and a column, by company.
    Employees,
    /// For sections that belong to no field.
    None,
}

/// A text field: titles, by row, or names, by company.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextField {
    /// Titles, with token streams by row.
    Title,
    /// Company names, with token streams by company and postings of rows.
    Name,
}

/// The index of titles among the fields with postings; facets come first.
pub(super) const TITLE_POSTINGS: usize = Facet::ALL.len();
/// The index of pairs.
pub(super) const PAIR_POSTINGS: usize = TITLE_POSTINGS + 1;
/// The index of the names' terms.
pub(super) const NAME_POSTINGS: usize = PAIR_POSTINGS + 1;
/// The index of the first facet of companies, whose postings list companies; the others follow.
pub(super) const COMPANY_POSTINGS: usize = NAME_POSTINGS + 1;
/// The number of fields with postings, including those of companies.
pub(super) const POSTING_FIELDS: usize = COMPANY_POSTINGS + Facet::OF_COMPANY.len();

/// The index of a facet's postings of companies among the fields that have postings.
pub(super) fn company_field(facet: Facet) -> Option<usize> {
    let index = Facet::OF_COMPANY.iter().position(|&other| other == facet);
    index.map(|index| COMPANY_POSTINGS + index)
}

impl Field {
    /// The number in the section table.
    pub(crate) fn number(self) -> FieldNumber {
        let after_facets = Facet::ALL.len() as FieldNumber;
        match self {
            Field::Facet(facet) => facet as FieldNumber,
            Field::Title => after_facets,
            Field::Name => after_facets + 1,
            Field::CompanyKey => after_facets + 2,
            Field::CompanyName => after_facets + 3,
            Field::Date => after_facets + 4,
            Field::Amount => after_facets + 5,
            Field::Company => after_facets + 6,
            Field::TitlePair => after_facets + 7,
            Field::Id => after_facets + 8,
            Field::SignalRecord => after_facets + 9,
            Field::FirstCommit => after_facets + 10,
            Field::LastCommit => after_facets + 11,
            Field::CompanyRecord => after_facets + 12,
            Field::City => after_facets + 13,
            Field::FoundedYear => after_facets + 14,
            Field::Employees => after_facets + 15,
            Field::None => 0xFFFF,
        }
    }

    /// The number of values of a field with a dictionary or labels: one per posting; one name and two keys per
    /// company.
    pub(super) fn value_count(self, table: &Table) -> Option<u64> {
        let companies = u64::from(table.companies);
        let postings = match self {
            Field::Facet(facet) => facet as usize,
            Field::Title => TITLE_POSTINGS,
            Field::TitlePair => PAIR_POSTINGS,
            Field::Name => NAME_POSTINGS,
            Field::CompanyKey => return Some(2 * companies),
            Field::CompanyName => return Some(companies),
            _ => return None,
        };
        Some(table.posting_count(postings).into())
    }
}

impl TextField {
    /// Calls `sink` with each form of each word of a text of the field, the primary one of a word first.
    pub(crate) fn visit_forms(self, text: &str, sink: impl FnMut(Form<'_>)) {
        match self {
            TextField::Title => text::visit_forms(text, sink),
            TextField::Name => text::visit_name_forms(text, sink),
        }
    }
}

impl From<TextField> for Field {
    fn from(field: TextField) -> Field {
        match field {
            TextField::Title => Field::Title,
            TextField::Name => Field::Name,
        }
    }
}
