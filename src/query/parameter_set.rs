//! Sets of parameters: which ones a request accepts.

use super::{PARAMETERS, Parameter};

/// A set of [`Parameter`]s: those that a request accepts.
///
/// ```
/// use signaldex::query::{Parameter, ParameterSet};
///
/// let accepted = ParameterSet::FILTERS.with(Parameter::Limit).without(Parameter::Ids);
/// assert!(accepted.contains(Parameter::Limit) && accepted.contains(Parameter::Country));
/// assert!(!accepted.contains(Parameter::Ids) && !accepted.contains(Parameter::Cursor));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterSet(u64);

impl ParameterSet {
    /// No parameter.
    pub const NONE: ParameterSet = ParameterSet(0);

    /// Everything that a search accepts: filters, `limit`, `order`, `cursor`, `page` and `countOnly`.
    pub const SEARCH: ParameterSet = ParameterSet((1 << PARAMETERS.len()) - 1);

    /// The filters.
    ///
    /// ```
    /// use signaldex::query::{Parameter, ParameterSet};
    ///
    /// let rest = ParameterSet::SEARCH.iter().filter(|parameter| !parameter.is_filter());
    /// assert!(rest.eq([Parameter::Limit, Parameter::Order, Parameter::Cursor, Parameter::Page, Parameter::CountOnly]));
    /// assert!(ParameterSet::FILTERS.iter().all(Parameter::is_filter));
    /// ```
    pub const FILTERS: ParameterSet = ParameterSet((1 << Parameter::Limit as u32) - 1);

    /// The filters without the lists of ids. What is free, such as facet counts, accepts these, so that it does not
    /// reveal the fields of single records.
    pub const FILTERS_WITHOUT_IDS: ParameterSet = ParameterSet::FILTERS
        .without(Parameter::Ids)
        .without(Parameter::ActivityIds);

    /// The parameters that queries for [companies](super::CompanyQuery) share with searches.
    ///
    /// ```
    /// use signaldex::query::{CompanyQuery, Parameter, ParameterSet};
    ///
    /// assert!(ParameterSet::COMPANIES.contains(Parameter::Country) && !ParameterSet::COMPANIES.contains(Parameter::Order));
    /// assert!(CompanyQuery::from_query_string("country=Germany&page=2").is_ok());
    /// ```
    pub const COMPANIES: ParameterSet = ParameterSet::NONE
        .with(Parameter::Company)
        .with(Parameter::CompanySlug)
        .with(Parameter::Companies)
        .with(Parameter::Country)
        .with(Parameter::Industry)
        .with(Parameter::Size)
        .with(Parameter::Limit)
        .with(Parameter::Page)
        .with(Parameter::CountOnly);

    /// The set with one more parameter.
    pub const fn with(self, parameter: Parameter) -> ParameterSet {
        ParameterSet(self.0 | 1 << parameter as u32)
    }

    /// The set without a parameter.
    pub const fn without(self, parameter: Parameter) -> ParameterSet {
        ParameterSet(self.0 & !(1 << parameter as u32))
    }

    /// Whether a parameter is in the set.
    pub const fn contains(self, parameter: Parameter) -> bool {
        self.0 & 1 << parameter as u32 != 0
    }

    /// The parameters, in the order of [`PARAMETERS`].
    pub fn iter(self) -> impl Iterator<Item = Parameter> {
        let parameters = PARAMETERS.iter().map(|known| known.parameter);
        parameters.filter(move |&parameter| self.contains(parameter))
    }
}
