//! The data model: signals, companies and the small types of their fields.
//!
//! Records borrow where they can. One read from a JSON line points into that line; one read from an
//! index points into the mapped file, or owns its text if the file is compressed. `into_owned` copies
//! it. [`Filter::matches`](crate::query::Filter::matches) defines what the fields mean to a search.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use time::{Date, UtcDateTime};

pub(crate) mod escapes;
mod id;
#[cfg(feature = "json")]
mod view;

pub use id::{ParseIdError, SignalId};
#[cfg(feature = "json")]
pub(crate) use view::{FundingView, SentItem, SignalView};

parse_error!(
    ParseCurrencyError,
    "A text is not a currency.",
    "a currency is three upper-case letters from A to Z"
);
parse_error!(
    ParseSizeError,
    "A text is not a bucket of company sizes.",
    "a size is 1-49, 50-100, 101-500 or 501+"
);

#[cfg(feature = "serde")]
serde_as_text!(Currency, SizeBucket);

/// An activity of a company.
///
/// `company_slug` refers to the [`Company`], which has fields of its own. An index stores an empty optional text as none.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct Signal<'a> {
    /// Identifies the signal; results are ordered by it.
    pub id: SignalId,
    /// A readable name for URLs; not unique.
    pub slug: Cow<'a, str>,
    /// The text that text filters search.
    pub title: Cow<'a, str>,
    /// The evidence for the signal; shown, not searched.
    pub evidence: Option<Cow<'a, str>>,
    /// A category ID such as `funding`.
    pub category: Option<Cow<'a, str>>,
    /// The day of the activity. A signal without one matches no date filter.
    pub date: Option<Date>,
    /// When the signal was published.
    pub published_at: Option<UtcDateTime>,
    /// When the signal was last changed.
    pub updated_at: Option<UtcDateTime>,
    /// The [`Company::slug`] of the company that the activity belongs to.
    pub company_slug: Cow<'a, str>,
    /// The URL of the source.
    pub activity_url: Option<Cow<'a, str>>,
    /// Who reported the activity.
    pub author_name: Option<Cow<'a, str>>,
    /// The author's position.
    pub author_title: Option<Cow<'a, str>>,
    /// The author's page.
    pub author_url: Option<Cow<'a, str>>,
    /// Details of a funding round.
    pub funding: Option<Funding<'a>>,
    /// Attributes of a hiring activity: searched, never shown.
    pub hiring: Option<Hiring<'a>>,
}

/// Details of a funding round; each is optional.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Funding<'a> {
    /// The stage in words, such as `Series A`.
    pub stage: Option<Cow<'a, str>>,
    /// The amount in units of `currency`: finite and not negative.
    pub amount: Option<f64>,
    /// The currency of `amount`.
    pub currency: Option<Currency>,
}

/// Attributes of a hiring activity, each an ID or absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Hiring<'a> {
    /// The kind of hiring, such as `new-role`.
    pub hiring_type: Option<Cow<'a, str>>,
    /// The function, such as `engineering`.
    pub job_function: Option<Cow<'a, str>>,
    /// The level, such as `senior`.
    pub seniority: Option<Cow<'a, str>>,
    /// The contract, such as `full-time`.
    pub employment_type: Option<Cow<'a, str>>,
    /// Where the work is done, such as `remote`.
    pub work_arrangement: Option<Cow<'a, str>>,
}

/// A company, as it is loaded and stored. An index stores an empty optional text as none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct Company<'a> {
    /// Identifies the company.
    pub slug: Cow<'a, str>,
    /// The name that `company` and `companies` search for.
    pub name: Cow<'a, str>,
    /// The company's self-description.
    pub about: Option<Cow<'a, str>>,
    /// One line about the company.
    pub tagline: Option<Cow<'a, str>>,
    /// The company's logo.
    pub logo_url: Option<Cow<'a, str>>,
    /// The country in words.
    pub country: Option<Cow<'a, str>>,
    /// The city in words.
    pub city: Option<Cow<'a, str>>,
    /// The number of employees; [`SizeBucket::of`] says the bucket.
    pub employees: Option<i64>,
    /// The industry in words.
    pub industry: Option<Cow<'a, str>>,
    /// The year in which the company was founded.
    pub founded_year: Option<i64>,
    /// The company's LinkedIn page.
    pub linkedin_url: Option<Cow<'a, str>>,
    /// When the record was last changed.
    pub updated_at: Option<UtcDateTime>,
}

/// A signal with the name of its company, as on a page of results.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct Item<'a> {
    /// The signal.
    pub signal: Signal<'a>,
    /// The name of its company.
    pub company_name: Cow<'a, str>,
}

/// A company with a summary of its live signals.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct CompanyProfile<'a> {
    /// The record.
    pub company: Company<'a>,
    /// The number of its live signals.
    pub signal_count: u64,
    /// The latest date of its live signals.
    pub latest_signal_date: Option<Date>,
}

/// A currency: three upper-case ASCII letters, as ISO 4217 writes them.
///
/// Only the form is checked, because the list of assigned codes changes over the years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// The currency of a code, or `None` if it is not three upper-case ASCII letters.
    ///
    /// ```
    /// use signaldex::Currency;
    ///
    /// let currency = Currency::new("EUR").expect("three upper-case letters");
    /// assert_eq!(currency.to_string(), "EUR");
    /// assert_eq!(Currency::new("eur"), None);
    /// ```
    pub fn new(code: &str) -> Option<Currency> {
        let bytes: [u8; 3] = code.as_bytes().try_into().ok()?;
        bytes
            .iter()
            .all(u8::is_ascii_uppercase)
            .then_some(Currency(bytes))
    }

    /// The three letters.
    ///
    /// ```
    /// let currency: signaldex::Currency = "EUR".parse()?;
    /// assert_eq!(currency.as_str(), "EUR");
    /// # Ok::<(), signaldex::ParseCurrencyError>(())
    /// ```
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Currency {
    type Err = ParseCurrencyError;

    /// As [`new`](Self::new).
    fn from_str(code: &str) -> Result<Self, ParseCurrencyError> {
        Currency::new(code).ok_or(ParseCurrencyError)
    }
}

/// A bucket of company sizes, by number of employees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SizeBucket {
    /// 1 to 49 employees.
    From1To49,
    /// 50 to 100 employees.
    From50To100,
    /// 101 to 500 employees.
    From101To500,
    /// 501 employees and more.
    From501,
}

impl SizeBucket {
    /// Every bucket, smallest first.
    ///
    /// ```
    /// use signaldex::SizeBucket;
    ///
    /// let names = SizeBucket::ALL.map(SizeBucket::as_str);
    /// assert_eq!(names, ["1-49", "50-100", "101-500", "501+"]);
    /// ```
    pub const ALL: [SizeBucket; 4] = [
        Self::From1To49,
        Self::From50To100,
        Self::From101To500,
        Self::From501,
    ];

    /// The bucket of a number of employees; none below 1.
    ///
    /// ```
    /// use signaldex::SizeBucket;
    ///
    /// assert_eq!(SizeBucket::of(120), Some(SizeBucket::From101To500));
    /// assert_eq!(SizeBucket::of(0), None);
    /// ```
    pub fn of(employees: i64) -> Option<SizeBucket> {
        match employees {
            1..=49 => Some(Self::From1To49),
            50..=100 => Some(Self::From50To100),
            101..=500 => Some(Self::From101To500),
            501.. => Some(Self::From501),
            _ => None,
        }
    }

    /// The name of the bucket in parameters and answers.
    ///
    /// ```
    /// use signaldex::SizeBucket;
    ///
    /// assert_eq!(SizeBucket::From501.as_str(), "501+");
    /// assert_eq!("501+".parse::<SizeBucket>()?, SizeBucket::From501);
    /// # Ok::<(), signaldex::ParseSizeError>(())
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::From1To49 => "1-49",
            Self::From50To100 => "50-100",
            Self::From101To500 => "101-500",
            Self::From501 => "501+",
        }
    }
}

impl fmt::Display for SizeBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SizeBucket {
    type Err = ParseSizeError;

    /// Reads what [`as_str`](Self::as_str) gives, and nothing else.
    fn from_str(text: &str) -> Result<Self, ParseSizeError> {
        let mut buckets = Self::ALL.into_iter();
        let meant = buckets.find(|bucket| bucket.as_str() == text);
        meant.ok_or(ParseSizeError)
    }
}

impl<'a> Signal<'a> {
    /// A signal with the required fields; its slug is its id. Set other fields directly.
    ///
    /// ```
    /// use signaldex::{Signal, SignalId};
    ///
    /// let mut signal = Signal::new(SignalId::MIN, "acme", "Acme raises €12M Series A");
    /// signal.category = Some("funding".into());
    /// signal.date = Some(time::macros::date!(2026 - 06 - 12));
    /// assert_eq!(signal.slug, "1");
    /// ```
    pub fn new(
        id: SignalId,
        company_slug: impl Into<Cow<'a, str>>,
        title: impl Into<Cow<'a, str>>,
    ) -> Signal<'a> {
        Signal {
            id,
            slug: Cow::Owned(id.to_string()),
            title: title.into(),
            evidence: None,
            category: None,
            date: None,
            published_at: None,
            updated_at: None,
            company_slug: company_slug.into(),
            activity_url: None,
            author_name: None,
            author_title: None,
            author_url: None,
            funding: None,
            hiring: None,
        }
    }

    /// The same record, owning its text. Costs one allocation per field.
    ///
    /// ```
    /// use signaldex::{Signal, SignalId};
    ///
    /// let title = String::from("Acme hires");
    /// let signal = Signal::new(SignalId::MIN, "acme", &title).into_owned();
    /// drop(title);
    /// assert_eq!(signal.title, "Acme hires");
    /// ```
    pub fn into_owned(self) -> Signal<'static> {
        Signal {
            id: self.id,
            slug: owned(self.slug),
            title: owned(self.title),
            evidence: self.evidence.map(owned),
            category: self.category.map(owned),
            date: self.date,
            published_at: self.published_at,
            updated_at: self.updated_at,
            company_slug: owned(self.company_slug),
            activity_url: self.activity_url.map(owned),
            author_name: self.author_name.map(owned),
            author_title: self.author_title.map(owned),
            author_url: self.author_url.map(owned),
            funding: self.funding.map(Funding::into_owned),
            hiring: self.hiring.map(Hiring::into_owned),
        }
    }
}

impl Item<'_> {
    /// The same item, owning its text. Costs one allocation per field.
    ///
    /// ```
    /// use signaldex::{Item, Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&Query::from_query_string("q=robotics&limit=5")?, sample::AS_OF)?;
    /// let items: Vec<Item<'static>> =
    ///     snapshot.records(&page)?.into_iter().map(Item::into_owned).collect();
    /// drop(snapshot);
    /// assert_eq!(items.len(), 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_owned(self) -> Item<'static> {
        Item {
            signal: self.signal.into_owned(),
            company_name: owned(self.company_name),
        }
    }
}

impl CompanyProfile<'_> {
    /// The same profile, owning its text. Costs one allocation per field.
    pub fn into_owned(self) -> CompanyProfile<'static> {
        CompanyProfile {
            company: self.company.into_owned(),
            signal_count: self.signal_count,
            latest_signal_date: self.latest_signal_date,
        }
    }
}

impl Funding<'_> {
    /// The same details, owning their text.
    pub fn into_owned(self) -> Funding<'static> {
        Funding {
            stage: self.stage.map(owned),
            amount: self.amount,
            currency: self.currency,
        }
    }
}

impl Hiring<'_> {
    /// The attributes with their names in JSON.
    #[cfg(feature = "json")]
    pub(crate) fn attributes(&self) -> [(&'static str, &Option<Cow<'_, str>>); 5] {
        [
            ("hiringType", &self.hiring_type),
            ("jobFunction", &self.job_function),
            ("seniority", &self.seniority),
            ("employmentType", &self.employment_type),
            ("workArrangement", &self.work_arrangement),
        ]
    }

    /// The same attributes, owning their text.
    pub fn into_owned(self) -> Hiring<'static> {
        Hiring {
            hiring_type: self.hiring_type.map(owned),
            job_function: self.job_function.map(owned),
            seniority: self.seniority.map(owned),
            employment_type: self.employment_type.map(owned),
            work_arrangement: self.work_arrangement.map(owned),
        }
    }
}

impl<'a> Company<'a> {
    /// A company with the required fields. Set other fields directly.
    ///
    /// ```
    /// use signaldex::{Company, SizeBucket};
    ///
    /// let mut company = Company::new("acme", "Acme GmbH");
    /// company.country = Some("Germany".into());
    /// company.employees = Some(120);
    /// assert_eq!(company.employees.and_then(SizeBucket::of), Some(SizeBucket::From101To500));
    /// ```
    pub fn new(slug: impl Into<Cow<'a, str>>, name: impl Into<Cow<'a, str>>) -> Company<'a> {
        Company {
            slug: slug.into(),
            name: name.into(),
            about: None,
            tagline: None,
            logo_url: None,
            country: None,
            city: None,
            employees: None,
            industry: None,
            founded_year: None,
            linkedin_url: None,
            updated_at: None,
        }
    }

    /// The same record, owning its text. Costs one allocation per field.
    pub fn into_owned(self) -> Company<'static> {
        Company {
            slug: owned(self.slug),
            name: owned(self.name),
            about: self.about.map(owned),
            tagline: self.tagline.map(owned),
            logo_url: self.logo_url.map(owned),
            country: self.country.map(owned),
            city: self.city.map(owned),
            employees: self.employees,
            industry: self.industry.map(owned),
            founded_year: self.founded_year,
            linkedin_url: self.linkedin_url.map(owned),
            updated_at: self.updated_at,
        }
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}
