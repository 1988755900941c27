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
    /// What a company is found by: slugs and after them folded names, both by company.
    CompanyKey,
    /// The company's whole name, as it is shown, by company.
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
    /// Where the signal's record is, by row.
    SignalRecord,
    /// What belongs to no field.
    None,
}

/// The index of the titles' terms among the fields that have postings, the facets coming first.
pub(super) const TITLE_POSTINGS: usize = Facet::ALL.len();
/// The index of pairs.
pub(super) const PAIR_POSTINGS: usize = TITLE_POSTINGS + 1;
/// The index of the names' terms.
pub(super) const NAME_POSTINGS: usize = PAIR_POSTINGS + 1;
/// The index of the first facet of companies, whose postings list companies; the others follow.
pub(super) const COMPANY_POSTINGS: usize = NAME_POSTINGS + 1;
/// How many fields have postings, those that list companies counted by themselves.
pub(super) const POSTING_FIELDS: usize = COMPANY_POSTINGS + Facet::OF_COMPANY.len();

/// The index of a facet's postings of companies among the fields that have postings.
pub(super) fn company_field(facet: Facet) -> Option<usize> {
    let index = Facet::OF_COMPANY.iter().position(|&other| other == facet);
    index.map(|index| COMPANY_POSTINGS + index)
}

impl Field {
    /// The number that stands in the section table.
    pub(crate) fn number(self) -> FieldNumber {
        let first_behind = Facet::ALL.len() as FieldNumber;
        match self {
            Field::Facet(facet) => facet as FieldNumber,
            Field::Title => first_behind,
            Field::Name => first_behind + 1,
            Field::CompanyKey => first_behind + 2,
            Field::CompanyName => first_behind + 3,
            Field::Date => first_behind + 4,
            Field::Amount => first_behind + 5,
            Field::Company => first_behind + 6,
            Field::TitlePair => first_behind + 7,
            Field::Id => first_behind + 8,
            Field::SignalRecord => first_behind + 9,
            Field::None => 0xFFFF,
        }
    }
}
