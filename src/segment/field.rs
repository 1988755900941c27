//! The fields of a segment and their numbers, which are part of the format.

use crate::query::Facet;
use crate::segment::format::FieldNumber;

/// A field that has postings, a dictionary, a column or a token stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    /// A facet: dictionary, postings, column.
    Facet(Facet),
    /// The title: dictionary, postings, token streams by row.
    Title,
    /// The company's name: dictionary, postings (of signals), token streams by company.
    Name,
    /// The company's slug: a dictionary whose places are the companies' numbers.
    CompanySlug,
    /// The company's whole name: a dictionary of folded names with the company of each entry, and
    /// the names as they are shown, by company.
    CompanyName,
    /// The date: days and a column.
    Date,
    /// The funding amount: amounts and a column.
    Amount,
    /// The company: a column and rows by company.
    Company,
    /// What belongs to no field.
    None,
}

/// The fields that have postings, in the order of their postings.
pub(crate) const POSTING_FIELDS: usize = Facet::ALL.len() + 2;

impl Field {
    /// The number that stands in the section table.
    pub(crate) fn number(self) -> FieldNumber {
        let first_behind = Facet::ALL.len() as FieldNumber;
        match self {
            Field::Facet(facet) => facet as FieldNumber,
            Field::Title => first_behind,
            Field::Name => first_behind + 1,
            Field::CompanySlug => first_behind + 2,
            Field::CompanyName => first_behind + 3,
            Field::Date => first_behind + 4,
            Field::Amount => first_behind + 5,
            Field::Company => first_behind + 6,
            Field::None => 0xFFFF,
        }
    }
}
