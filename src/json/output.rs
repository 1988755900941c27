//! The records of responses: search items, details, companies and filter options.
//!
//! Each type is a view of a record, serialised with exactly the specified fields, in their order,
//! including nulls. Hiring attributes are searched but never shown.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::item::visit_members;
use super::written::{DayText, InstantText, WrittenMember};
use crate::index::{FacetCount, Facets};
use crate::query::Facet;
use crate::signal::{Company, CompanyProfile, Item, Signal, SignalView};

/// The envelope of every successful response: `{"data": …}`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Data<T> {
    /// The result.
    pub data: T,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchData<'a> {
    /// The signals of the page.
    pub items: &'a [SignalItem<'a>],
    /// The cursor of the next page; null if and only if no further signal matches.
    pub next_cursor: Option<&'a str>,
    /// The exact count, if requested; omitted otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// A signal in a search result.
///
/// ```
/// use signaldex::json::{Data, SignalItem};
/// use signaldex::{Signal, SignalId};
///
/// let signal = Signal::new(SignalId::MIN, "acme", "Acme hires");
/// let item = SignalItem { signal: &signal, company_name: "Acme GmbH" };
/// let body = serde_json::to_value(Data { data: item })?;
/// assert_eq!(body["data"]["id"], "1");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SignalItem<'a> {
    /// The signal.
    pub signal: &'a Signal<'a>,
    /// The name of its company.
    pub company_name: &'a str,
}

impl<'a> From<&'a Item<'_>> for SignalItem<'a> {
    fn from(item: &'a Item<'_>) -> SignalItem<'a> {
        SignalItem {
            signal: &item.signal,
            company_name: &item.company_name,
        }
    }
}

/// The detail of a signal, with its company.
#[derive(Clone, Copy, Debug)]
pub struct SignalDetail<'a> {
    /// The signal.
    pub signal: &'a Signal<'a>,
    /// Its company.
    pub company: &'a Company<'a>,
}

/// The detail of a company.
#[derive(Clone, Copy, Debug)]
pub struct CompanyDetail<'a> {
    /// The company with its summary.
    pub profile: &'a CompanyProfile<'a>,
}

/// The filter options: values with counts, in the given order of facets.
///
/// ```
/// use signaldex::json::FilterOptions;
/// use signaldex::{Facet, Filter, sample};
///
/// let (filter, facets) = (Filter::from_query_string("country=Kenya")?, [Facet::Country]);
/// let counts = sample::index()?.snapshot().facets_of(&filter, sample::AS_OF, &facets)?;
/// let options = FilterOptions { counts: &counts, facets: &facets };
/// let body = serde_json::to_value(options)?;
/// assert_eq!(body["countries"][0]["value"], "United States");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FilterOptions<'a> {
    /// The counts.
    pub counts: &'a Facets,
    /// The listed facets.
    pub facets: &'a [Facet],
}

/// Number of fields of a search item, plus the company's object.
const ITEM_FIELDS: usize = 15;

/// Number of fields of a company's detail.
pub(super) const COMPANY_FIELDS: usize = 14;

impl Serialize for SignalItem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("SignalItem", ITEM_FIELDS)?;
        serialize_signal(&mut object, self.signal, self.company_name)?;
        object.end()
    }
}

impl Serialize for SignalDetail<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("SignalDetail", ITEM_FIELDS + 1)?;
        serialize_signal(&mut object, self.signal, &self.company.name)?;
        object.serialize_field("company", &EmbeddedCompany(self.company))?;
        object.end()
    }
}

fn serialize_signal<O: SerializeStruct>(
    object: &mut O,
    signal: &Signal<'_>,
    company_name: &str,
) -> Result<(), O::Error> {
    visit_members(&SignalView::of(signal, company_name), |name, member| {
        object.serialize_field(name.name(), &WrittenMember(member))
    })
}

struct EmbeddedCompany<'a>(&'a Company<'a>);

impl Serialize for EmbeddedCompany<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("EmbeddedCompany", 9)?;
        serialize_description(&mut object, self.0)?;
        object.end()
    }
}

impl Serialize for CompanyDetail<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("CompanyDetail", COMPANY_FIELDS)?;
        serialize_profile(&mut object, self.profile)?;
        object.end()
    }
}

/// Adds the members of a company's detail.
pub(super) fn serialize_profile<O: SerializeStruct>(
    object: &mut O,
    profile: &CompanyProfile<'_>,
) -> Result<(), O::Error> {
    object.serialize_field("slug", &profile.company.slug)?;
    object.serialize_field("name", &profile.company.name)?;
    serialize_description(object, &profile.company)?;
    object.serialize_field("signalCount", &profile.signal_count)?;
    object.serialize_field("latestSignalDate", &profile.latest_signal_date.map(DayText))?;
    object.serialize_field("updatedAt", &profile.company.updated_at.map(InstantText))
}

/// Writes the members of a company but its slug, its name and its dates.
pub(super) fn serialize_description<O: SerializeStruct>(
    object: &mut O,
    company: &Company<'_>,
) -> Result<(), O::Error> {
    object.serialize_field("about", &company.about)?;
    object.serialize_field("tagline", &company.tagline)?;
    object.serialize_field("logoUrl", &company.logo_url)?;
    object.serialize_field("country", &company.country)?;
    object.serialize_field("city", &company.city)?;
    object.serialize_field("employees", &company.employees)?;
    object.serialize_field("industry", &company.industry)?;
    object.serialize_field("foundedYear", &company.founded_year)?;
    object.serialize_field("linkedinUrl", &company.linkedin_url)
}

impl Serialize for FilterOptions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("FilterOptions", self.facets.len())?;
        for &facet in self.facets {
            let counts = self.counts.values(facet);
            object.serialize_field(facet.description().options, &OptionList { facet, counts })?;
        }
        object.end()
    }
}

struct OptionList<'a> {
    facet: Facet,
    counts: &'a [FacetCount],
}

impl Serialize for OptionList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.counts.iter().map(|value| FilterOption {
            facet: self.facet,
            value,
        }))
    }
}

struct FilterOption<'a> {
    facet: Facet,
    value: &'a FacetCount,
}

impl Serialize for FilterOption<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = if self.facet == Facet::Category {
            "id"
        } else {
            "value"
        };
        let mut object = serializer.serialize_struct("FilterOption", 2)?;
        object.serialize_field(name, self.value.label())?;
        object.serialize_field("count", &self.value.count())?;
        object.end()
    }
}

#[cfg(test)]
mod tests;
