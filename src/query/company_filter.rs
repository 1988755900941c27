//! Filters of companies by themselves and by their signals, and their reference semantics.

use std::fmt::{self, Write};
use std::str::FromStr;

use smol_str::SmolStr;
use time::Date;

use super::company_query_builder::CompanyQueryBuilder;
use super::values::Origin;
use super::writing::PercentEncoder;
use super::{Condition, Facet, Filter, Fingerprint, InvalidQuery};
use crate::signal::{Company, Signal, SignalId};
use crate::text;

/// What a company must fulfil: filters of the company, and conditions on its signals, combined with AND.
///
/// [`CompanyQuery`](super::CompanyQuery) parses and builds it. `Display` writes a query string that [`FromStr`] reads back
/// as an equal filter; its conditions have percent-encoded values.
///
/// ```
/// use signaldex::query::{CompanyFilter, CompanyQuery};
///
/// let query = CompanyQuery::from_query_string("country=Germany&has=(hiringType=new-role;min=2)&hasNot=(days=7)")?;
/// let filter = query.filter();
/// assert_eq!((filter.has().len(), filter.has_not().len()), (1, 1));
/// assert_eq!(filter.to_string().parse::<CompanyFilter>()?, *filter);
/// # Ok::<(), signaldex::query::InvalidQuery>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompanyFilter {
    /// The filters of section "company" of a search; nothing else.
    pub(crate) company: Filter,
    /// The key of the city, as countries are compared.
    pub(crate) city: Option<SmolStr>,
    pub(crate) founded: NumberBounds,
    pub(crate) employees: NumberBounds,
    pub(super) has: Vec<Condition>,
    pub(super) has_not: Vec<Condition>,
}

/// NumberBounds of a number, both inclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NumberBounds {
    pub(crate) min: Option<i64>,
    pub(crate) max: Option<i64>,
}

impl NumberBounds {
    /// Whether there is a bound.
    pub(crate) fn is_some(self) -> bool {
        self.min.is_some() || self.max.is_some()
    }

    /// Whether a number is within the bounds. Without a number, only if there are none.
    fn contain(self, number: Option<i64>) -> bool {
        let Some(number) = number else {
            return !self.is_some();
        };
        self.min.is_none_or(|min| min <= number) && self.max.is_none_or(|max| number <= max)
    }
}

#[cfg(feature = "serde")]
serde_as_text!(CompanyFilter);

impl CompanyFilter {
    /// Whether a company fulfils the filter. This slow, plain function defines the meaning of a filter: the engine must
    /// agree with it.
    ///
    /// `signals` are all signals of the company. Days and date ranges are relative to `today`.
    ///
    /// ```
    /// use signaldex::query::{CompanyQuery, InvalidQuery};
    /// use signaldex::{Company, Signal, SignalId};
    ///
    /// let acme = Company::new("acme", "Acme GmbH");
    /// let signals = [Signal::new(SignalId::MIN, "acme", "Acme hires"), Signal::new(SignalId::MAX, "acme", "Acme hires")];
    /// let today = time::macros::date!(2026 - 06 - 30);
    /// let matches = |text| {
    ///     let query = CompanyQuery::from_query_string(text)?;
    ///     Ok::<bool, InvalidQuery>(query.filter().matches(&acme, signals.iter(), today))
    /// };
    /// assert!(matches("has=(q=hires;min=2)&hasNot=(q=raises)")?);
    /// assert!(!matches("has=(min=3)")?);
    /// # Ok::<(), InvalidQuery>(())
    /// ```
    pub fn matches<'r, 's: 'r>(
        &self,
        company: &Company<'_>,
        signals: impl Iterator<Item = &'r Signal<'s>> + Clone,
        today: Date,
    ) -> bool {
        let fulfils = |condition: &Condition| {
            let found = condition.matches_of(company, signals.clone(), today);
            condition.allows(found.count)
        };
        self.matches_company(company)
            && self.has.iter().all(fulfils)
            && !self.has_not.iter().any(fulfils)
    }

    /// Whether a company fulfils the filters of the company itself.
    ///
    /// ```
    /// use signaldex::Company;
    /// use signaldex::query::CompanyQuery;
    ///
    /// let mut acme = Company::new("acme", "Acme GmbH");
    /// acme.founded_year = Some(1998);
    /// let query = CompanyQuery::builder().founded_to(1998).build()?;
    /// assert!(query.filter().matches_company(&acme));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn matches_company(&self, company: &Company<'_>) -> bool {
        // The filter has no part that concerns a signal, so any one serves.
        let any = Signal::new(SignalId::MIN, "", "");
        self.company.matches(&any, company, Date::MIN) && self.matches_record(company)
    }

    /// Whether city, year and number of employees are as required.
    fn matches_record(&self, company: &Company<'_>) -> bool {
        self.matches_city(company.city.as_deref())
            && self.founded.contain(company.founded_year)
            && self.employees.contain(company.employees)
    }

    fn matches_city(&self, city: Option<&str>) -> bool {
        let Some(key) = &self.city else {
            return true;
        };
        city.is_some_and(|city| *text::fold_value(city) == **key)
    }

    /// Whether there is a filter by city, year or number of employees.
    pub(crate) fn has_attributes(&self) -> bool {
        self.city.is_some() || self.founded.is_some() || self.employees.is_some()
    }

    /// The conditions that a company must fulfil, in the order given.
    ///
    /// ```
    /// use signaldex::query::{CompanyQuery, Condition};
    ///
    /// let query = CompanyQuery::from_query_string("has=(),(min=2)")?;
    /// assert_eq!(query.filter().has(), [Condition::default(), Condition::default().with_min(2)]);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn has(&self) -> &[Condition] {
        &self.has
    }

    /// The conditions of which a company must fulfil none, in the order given.
    pub fn has_not(&self) -> &[Condition] {
        &self.has_not
    }

    /// The slug of the one company that can fulfil it, if the filter names it.
    ///
    /// ```
    /// let query = signaldex::query::CompanyQuery::from_query_string("companySlug=acme&has=()")?;
    /// assert_eq!(query.filter().company_slug(), Some("acme"));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn company_slug(&self) -> Option<&str> {
        self.company.company_slug()
    }

    /// Whether every company fulfils it.
    ///
    /// ```
    /// assert!(signaldex::query::CompanyFilter::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        *self == CompanyFilter::default()
    }

    /// The filter without the one on a facet of the company itself.
    ///
    /// ```
    /// use signaldex::Facet;
    /// use signaldex::query::CompanyQuery;
    ///
    /// let query = CompanyQuery::from_query_string("country=Germany")?;
    /// assert!(query.filter().without(Facet::Country).is_empty());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn without(&self, facet: Facet) -> CompanyFilter {
        CompanyFilter {
            company: self.company.without(facet),
            ..self.clone()
        }
    }

    /// The text form of the filters that searches have, too.
    pub(crate) fn of_company(&self) -> String {
        self.company.to_string()
    }

    /// Whether a facet is filtered on.
    pub(crate) fn is_on(&self, facet: Facet) -> bool {
        !self.company.value_keys(facet).is_empty()
    }

    /// A fingerprint of the text form: equal filters have equal ones, across processes and platforms.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    ///
    /// let one = CompanyQuery::from_query_string("country=GERMANY&limit=10")?;
    /// let other = CompanyQuery::from_query_string("country=germany")?;
    /// assert_eq!(one.filter().fingerprint(), other.filter().fingerprint());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(|text| write!(text, "companies {self}"))
    }

    /// The own parts of the text form: names and values, not encoded.
    fn parts(&self) -> impl Iterator<Item = (&'static str, String)> {
        let number = |number: Option<i64>| number.map(|number| number.to_string());
        let conditions = |conditions: &[Condition]| {
            let texts: Vec<String> = conditions.iter().map(Condition::to_string).collect();
            (!texts.is_empty()).then(|| texts.join(","))
        };
        let parts = [
            ("city", self.city.as_ref().map(ToString::to_string)),
            ("foundedFrom", number(self.founded.min)),
            ("foundedTo", number(self.founded.max)),
            ("employeesMin", number(self.employees.min)),
            ("employeesMax", number(self.employees.max)),
            ("has", conditions(&self.has)),
            ("hasNot", conditions(&self.has_not)),
        ];
        let given = |(name, value): (&'static str, Option<String>)| Some((name, value?));
        parts.into_iter().filter_map(given)
    }
}

impl fmt::Display for CompanyFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.company)?;
        let mut is_first = self.company.is_empty();
        for (name, value) in self.parts() {
            if !is_first {
                f.write_char('&')?;
            }
            write!(f, "{name}=")?;
            PercentEncoder::new(f).write_str(&value)?;
            is_first = false;
        }
        Ok(())
    }
}

impl FromStr for CompanyFilter {
    type Err = InvalidQuery;

    /// Reads what `Display` writes.
    fn from_str(text: &str) -> Result<CompanyFilter, InvalidQuery> {
        let builder = CompanyQueryBuilder::parse(text, Origin::Written);
        builder.build().map(super::CompanyQuery::into_filter)
    }
}
