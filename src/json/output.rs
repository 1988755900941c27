//! Records of answers, as the interface writes them.

use std::fmt::{self, Display};

use serde::ser::{Serialize, SerializeMap, Serializer};
use time::UtcDateTime;

use crate::index::{FacetCount, Facets, Found};
use crate::query::Facet;
use crate::signal::{Company, CompanyProfile, Funding, Signal};

/// What every answer is wrapped in: `{"data": ...}`.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Data<T> {
    /// The answer.
    pub data: T,
}

/// The answer to a search.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchData<'a> {
    /// The signals of the page.
    pub items: Vec<SignalItem<'a>>,
    /// What to give as `cursor` for the next page.
    pub next_cursor: Option<String>,
    /// The number of matches, where only that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

impl SearchData<'static> {
    /// The answer to a question for the count.
    pub fn of_count(count: u64) -> SearchData<'static> {
        SearchData { items: Vec::new(), next_cursor: None, count: Some(count) }
    }
}

/// A signal in a list.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SignalItem<'a> {
    id: Text<&'a crate::SignalId>,
    slug: &'a str,
    title: &'a str,
    evidence: Option<&'a str>,
    category: Option<&'a str>,
    date: Option<Text<time::Date>>,
    published_at: Option<Text<Instant>>,
    updated_at: Option<Text<Instant>>,
    company_slug: &'a str,
    company_name: &'a str,
    activity_url: Option<&'a str>,
    author_name: Option<&'a str>,
    author_title: Option<&'a str>,
    author_url: Option<&'a str>,
    funding: Option<FundingObject<'a>>,
}

/// A signal by itself, with its company.
#[derive(Clone, Debug, serde::Serialize)]
pub struct SignalDetail<'a> {
    #[serde(flatten)]
    item: SignalItem<'a>,
    company: EmbeddedCompany<'a>,
}

/// A company by itself.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompanyDetail<'a> {
    slug: &'a str,
    name: &'a str,
    #[serde(flatten)]
    company: EmbeddedCompany<'a>,
    signal_count: u64,
    latest_signal_date: Option<Text<time::Date>>,
    updated_at: Option<Text<Instant>>,
}

/// The fields of a company that a signal's detail shows.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct EmbeddedCompany<'a> {
    about: Option<&'a str>,
    tagline: Option<&'a str>,
    logo_url: Option<&'a str>,
    country: Option<&'a str>,
    city: Option<&'a str>,
    employees: Option<i64>,
    industry: Option<&'a str>,
    founded_year: Option<i64>,
    linkedin_url: Option<&'a str>,
}

#[derive(Clone, Debug, serde::Serialize)]
struct FundingObject<'a> {
    stage: Option<&'a str>,
    amount: Option<Amount>,
    currency: Option<Text<&'a crate::Currency>>,
}

impl<'a> SignalItem<'a> {
    /// A signal and its company.
    pub fn new(signal: &'a Signal<'_>, company: &'a Company<'_>) -> SignalItem<'a> {
        SignalItem {
            id: Text(&signal.id),
            slug: &signal.slug,
            title: &signal.title,
            evidence: signal.evidence.as_deref(),
            category: signal.category.as_deref(),
            date: signal.date.map(Text),
            published_at: signal.published_at.map(Instant).map(Text),
            updated_at: signal.updated_at.map(Instant).map(Text),
            company_slug: &signal.company_slug,
            company_name: &company.name,
            activity_url: signal.activity_url.as_deref(),
            author_name: signal.author_name.as_deref(),
            author_title: signal.author_title.as_deref(),
            author_url: signal.author_url.as_deref(),
            funding: signal.funding.as_ref().map(FundingObject::new),
        }
    }
}

impl<'a> From<&'a Found<'_>> for SignalItem<'a> {
    fn from(found: &'a Found<'_>) -> SignalItem<'a> {
        SignalItem::new(&found.signal, &found.company)
    }
}

impl<'a> From<&'a Found<'_>> for SignalDetail<'a> {
    fn from(found: &'a Found<'_>) -> SignalDetail<'a> {
        SignalDetail { item: found.into(), company: EmbeddedCompany::new(&found.company) }
    }
}

impl<'a> From<&'a CompanyProfile<'_>> for CompanyDetail<'a> {
    fn from(profile: &'a CompanyProfile<'_>) -> CompanyDetail<'a> {
        let company = &profile.company;
        CompanyDetail {
            slug: &company.slug,
            name: &company.name,
            company: EmbeddedCompany::new(company),
            signal_count: profile.signal_count,
            latest_signal_date: profile.latest_signal_date.map(Text),
            updated_at: company.updated_at.map(Instant).map(Text),
        }
    }
}

impl<'a> EmbeddedCompany<'a> {
    fn new(company: &'a Company<'_>) -> EmbeddedCompany<'a> {
        EmbeddedCompany {
            about: company.about.as_deref(),
            tagline: company.tagline.as_deref(),
            logo_url: company.logo_url.as_deref(),
            country: company.country.as_deref(),
            city: company.city.as_deref(),
            employees: company.employees,
            industry: company.industry.as_deref(),
            founded_year: company.founded_year,
            linkedin_url: company.linkedin_url.as_deref(),
        }
    }
}

impl<'a> FundingObject<'a> {
    fn new(funding: &'a Funding<'_>) -> FundingObject<'a> {
        FundingObject {
            stage: funding.stage.as_deref(),
            amount: funding.amount.map(Amount),
            currency: funding.currency.as_ref().map(Text),
        }
    }
}

/// The values of all facets.
#[derive(Clone, Copy, Debug)]
pub struct FilterOptions<'a>(pub &'a Facets);

/// The name of a facet's list, and what a value is called in it.
fn names(facet: Facet) -> (&'static str, &'static str) {
    match facet {
        Facet::Category => ("categories", "id"),
        Facet::Country => ("countries", "value"),
        Facet::Industry => ("industries", "value"),
        Facet::Size => ("sizes", "value"),
        Facet::FundingStage => ("fundingStages", "value"),
        Facet::FundingCurrency => ("fundingCurrencies", "value"),
        Facet::HiringType => ("hiringTypes", "value"),
        Facet::JobFunction => ("jobFunctions", "value"),
        Facet::Seniority => ("seniorities", "value"),
        Facet::EmploymentType => ("employmentTypes", "value"),
        Facet::WorkArrangement => ("workArrangements", "value"),
    }
}

impl Serialize for FilterOptions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Facet::ALL.len()))?;
        for facet in Facet::ALL {
            let (list, member) = names(facet);
            let values = self.0.values(facet).iter();
            let values: Vec<_> = values.map(|count| OptionValue { member, count }).collect();
            map.serialize_entry(list, &values)?;
        }
        map.end()
    }
}

struct OptionValue<'a> {
    member: &'static str,
    count: &'a FacetCount,
}

impl Serialize for OptionValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(self.member, &self.count.label)?;
        map.serialize_entry("count", &self.count.count)?;
        map.end()
    }
}

/// A value as the text that it displays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<T>(pub(super) T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// An instant as RFC 3339 writes it in UTC, with as many digits of a second as it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instant(pub(super) UtcDateTime);

impl Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, time) = (self.0.date(), self.0.time());
        let (hour, minute, second) = time.as_hms();
        write!(f, "{date}T{hour:02}:{minute:02}:{second:02}")?;
        let digits = format_args!("{:09}", time.nanosecond()).to_string();
        match digits.trim_end_matches('0') {
            "" => f.write_str("Z"),
            fraction => write!(f, ".{fraction}Z"),
        }
    }
}

/// An amount; whole ones without a fraction as far as that is exact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Amount(pub(super) f64);

/// Up to here every whole number is a distinct 64-bit float.
const EXACT_WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.fract() == 0.0 && self.0 < EXACT_WHOLE_MAX {
            true => serializer.serialize_u64(self.0 as u64),
            false => serializer.serialize_f64(self.0),
        }
    }
}
