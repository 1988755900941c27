//! The order of companies, and their keys in it.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use smol_str::SmolStr;
use time::Date;

use super::ConditionMatches;
use super::dates::day_number;
use crate::signal::CompanyProfile;

/// The order of companies. Companies without the value come last, and equal values come by ascending slug.
///
/// ```
/// use signaldex::query::{CompanyOrder, CompanyQuery};
/// use signaldex::sample;
///
/// let query = CompanyQuery::builder().order(CompanyOrder::MostMatches).limit(10).build()?;
/// let snapshot = sample::index()?.snapshot();
/// let page = snapshot.companies(&query, sample::AS_OF)?;
/// let counts = page.items().iter().map(|item| item.profile.signal_count);
/// assert!(counts.is_sorted_by(|a, b| a >= b));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompanyOrder {
    /// `slug`: by the bytes of the slug, ascending.
    #[default]
    Slug,
    /// `-matches`: by descending number of signals that match the first condition of `has`; without one, of all signals.
    MostMatches,
    /// `-latest`: by descending latest date of these signals.
    LatestMatch,
}

parse_error!(
    ParseCompanyOrderError,
    "The error for a text that is not a [`CompanyOrder`].",
    "allowed are slug, -matches, -latest"
);

/// A company that fulfils a query, with what its conditions count.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct MatchedCompany<'a> {
    /// The company, with a summary of its live signals.
    pub profile: CompanyProfile<'a>,
    /// The matches of each condition of `has`, in the order of the query.
    pub matches: Vec<ConditionMatches>,
}

/// The position of a company in a [`CompanyOrder`]: its value and its slug. A page continues after one, whether or not the
/// company still exists.
///
/// ```
/// use signaldex::query::{CompanyOrder, CompanyQuery};
/// use signaldex::sample;
///
/// let order = CompanyOrder::MostMatches;
/// let query = CompanyQuery::builder().order(order).limit(2).build()?;
/// let snapshot = sample::index()?.snapshot();
/// let page = snapshot.companies(&query, sample::AS_OF)?;
/// let last = order.key_of(&page.items()[1]);
/// assert!(order.key_of(&page.items()[0]).compare(&last).is_lt());
/// assert_eq!(Some(&query.cursor_after_key(last, sample::AS_OF)), page.next_cursor());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompanyKey {
    /// Greater values come first, and none comes last. None by slug.
    pub(crate) value: Option<i64>,
    pub(crate) slug: SmolStr,
}

impl CompanyOrder {
    /// Every order.
    ///
    /// ```
    /// use signaldex::query::CompanyOrder;
    ///
    /// let names = CompanyOrder::ALL.map(CompanyOrder::as_str);
    /// assert_eq!(names, ["slug", "-matches", "-latest"]);
    /// ```
    pub const ALL: [CompanyOrder; 3] = [
        CompanyOrder::Slug,
        CompanyOrder::MostMatches,
        CompanyOrder::LatestMatch,
    ];

    /// The names of all orders, in the order of [`ALL`](CompanyOrder::ALL).
    pub const NAMES: [&'static str; 3] = ["slug", "-matches", "-latest"];

    /// The name in a query string.
    pub fn as_str(self) -> &'static str {
        CompanyOrder::NAMES[self as usize]
    }

    /// Compares two companies: the definition of the order, with which every page and walk agrees. It is
    /// [`Equal`](Ordering::Equal) only for companies with the same slug.
    ///
    /// ```
    /// use signaldex::query::{CompanyOrder, CompanyQuery};
    /// use signaldex::sample;
    ///
    /// let query = CompanyQuery::from_query_string("has=(categories=funding)&order=-latest")?;
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.companies(&query, sample::AS_OF)?;
    /// let order = CompanyOrder::LatestMatch;
    /// assert!(page.items().is_sorted_by(|a, b| order.compare(a, b).is_lt()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compare(self, a: &MatchedCompany<'_>, b: &MatchedCompany<'_>) -> Ordering {
        self.key_of(a).compare(&self.key_of(b))
    }

    /// The key of a company. Keys [compare](CompanyKey::compare) as [`compare`](Self::compare) compares the companies.
    pub fn key_of(self, item: &MatchedCompany<'_>) -> CompanyKey {
        let first = item.matches.first();
        let profile = &item.profile;
        let count = || first.map_or(profile.signal_count, |first| first.count);
        let latest = || first.map_or(profile.latest_signal_date, |first| first.latest_date);
        CompanyKey {
            value: match self {
                CompanyOrder::Slug => None,
                CompanyOrder::MostMatches => Some(value_of_count(count())),
                CompanyOrder::LatestMatch => latest().map(value_of_date),
            },
            slug: (*profile.company.slug).into(),
        }
    }
}

/// A count as a value of a key.
pub(crate) fn value_of_count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn value_of_date(date: Date) -> i64 {
    day_number(date).into()
}

impl CompanyKey {
    /// A key of these parts, for programs that send keys to each other.
    ///
    /// ```
    /// use signaldex::query::CompanyKey;
    ///
    /// let (most, fewer) = (CompanyKey::new(Some(3), "zeta"), CompanyKey::new(Some(2), "acme"));
    /// assert_eq!((most.value(), most.slug()), (Some(3), "zeta"));
    /// assert!(most.compare(&fewer).is_lt());
    /// ```
    pub fn new(value: Option<i64>, slug: &str) -> CompanyKey {
        CompanyKey {
            value,
            slug: slug.into(),
        }
    }

    /// The number of matches, or their latest date in days since 1970-01-01. None by slug, and without a date.
    pub fn value(&self) -> Option<i64> {
        self.value
    }

    /// The slug of the company.
    pub fn slug(&self) -> &str {
        &self.slug
    }

    /// Compares two keys of one order.
    pub fn compare(&self, other: &CompanyKey) -> Ordering {
        // `None` is less than any value, so it comes last in descending order.
        let by_value = other.value.cmp(&self.value);
        by_value.then_with(|| self.slug.cmp(&other.slug))
    }
}

impl MatchedCompany<'_> {
    /// The same company, owning its text. Costs one allocation per field.
    ///
    /// ```
    /// use signaldex::query::{CompanyQuery, MatchedCompany};
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = CompanyQuery::from_query_string("companySlug=cpp-foundry")?;
    /// let items = snapshot.companies(&query, sample::AS_OF)?.into_items();
    /// let items: Vec<MatchedCompany<'static>> = items.into_iter().map(MatchedCompany::into_owned).collect();
    /// drop(snapshot);
    /// assert_eq!(items[0].profile.company.name, "C++ Foundry");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_owned(self) -> MatchedCompany<'static> {
        MatchedCompany {
            profile: self.profile.into_owned(),
            matches: self.matches,
        }
    }
}

impl fmt::Display for CompanyOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for CompanyOrder {
    type Err = ParseCompanyOrderError;

    fn from_str(text: &str) -> Result<CompanyOrder, ParseCompanyOrderError> {
        let known = CompanyOrder::ALL.into_iter();
        let mut meant = known.filter(|order| order.as_str() == text);
        meant.next().ok_or(ParseCompanyOrderError)
    }
}

#[cfg(feature = "serde")]
serde_as_text!(CompanyOrder);
