//! Answers to queries for companies.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::items::Items;
use super::output::{COMPANY_FIELDS, FilterOptions, serialize_profile};
use super::page::write_value;
use super::written::DayText;
use crate::query::{ConditionMatches, MatchedCompany};

/// Expected bytes of an item.
const ITEM_BYTES: usize = 700;

/// The start of the answer.
const START: &[u8] = br#"{"data":{"items":["#;

/// A company in the answer to a query for companies: its detail, and what the conditions count.
///
/// ```
/// use signaldex::json::CompanyItem;
/// use signaldex::query::CompanyQuery;
/// use signaldex::sample;
///
/// let snapshot = sample::index()?.snapshot();
/// let query = CompanyQuery::from_query_string("companySlug=cpp-foundry&has=()")?;
/// let page = snapshot.companies(&query, sample::AS_OF)?;
/// let item = serde_json::to_value(CompanyItem { matched: &page.items()[0] })?;
/// assert_eq!(item["slug"], "cpp-foundry");
/// assert_eq!(item["matches"], serde_json::json!([{"count": 3, "latestDate": "2026-02-02"}]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CompanyItem<'a> {
    /// The company.
    pub matched: &'a MatchedCompany<'a>,
}

/// The result of a query for companies.
///
/// ```
/// use signaldex::json::{CompaniesData, Data};
///
/// let data = CompaniesData { items: &[], next_cursor: None, count: Some(7), facets: None };
/// let body = serde_json::to_string(&Data { data })?;
/// assert_eq!(body, r#"{"data":{"items":[],"nextCursor":null,"count":7}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompaniesData<'a> {
    /// The companies of the page.
    pub items: &'a [CompanyItem<'a>],
    /// The cursor of the next page; null if and only if no further company fulfils the query.
    pub next_cursor: Option<&'a str>,
    /// The exact count, if requested; omitted otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The values of facets, if requested; omitted otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facets: Option<FilterOptions<'a>>,
}

/// The matches of a condition, as an item has them.
struct MatchesItem<'a>(&'a ConditionMatches);

impl Serialize for CompanyItem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let MatchedCompany {
            profile, matches, ..
        } = self.matched;
        let mut object = serializer.serialize_struct("CompanyItem", COMPANY_FIELDS + 1)?;
        serialize_profile(&mut object, profile)?;
        let matches: Vec<MatchesItem<'_>> = matches.iter().map(MatchesItem).collect();
        object.serialize_field("matches", &matches)?;
        object.end()
    }
}

impl Serialize for MatchesItem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("MatchesItem", 2)?;
        object.serialize_field("count", &self.0.count)?;
        object.serialize_field("latestDate", &self.0.latest_date.map(DayText))?;
        object.end()
    }
}

/// An answer `{"data":{"items":[…],"nextCursor":…}}` with companies under construction, as a service sends it.
///
/// ```
/// use signaldex::json::CompaniesAnswer;
/// use signaldex::query::CompanyQuery;
/// use signaldex::sample;
///
/// let snapshot = sample::index()?.snapshot();
/// let query = CompanyQuery::from_query_string("has=(categories=funding)&limit=2")?;
/// let page = snapshot.companies(&query, sample::AS_OF)?;
/// let mut answer = CompaniesAnswer::with_capacity(page.len());
/// let added = page.items().iter().take_while(|item| answer.push(item)).count();
/// let cut = (added < page.len()).then(|| query.cursor_after(&page.items()[added - 1], sample::AS_OF));
/// let cursor = cut.as_ref().or(page.next_cursor()).map(ToString::to_string);
/// let body: serde_json::Value = serde_json::from_slice(&answer.finish(cursor.as_deref()))?;
/// assert_eq!(body["data"]["items"].as_array().map(Vec::len), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CompaniesAnswer(Items);

impl CompaniesAnswer {
    /// Creates an empty answer with capacity for `items` items of typical size.
    pub fn with_capacity(items: usize) -> CompaniesAnswer {
        CompaniesAnswer(Items::after(START, items, ITEM_BYTES))
    }

    /// Adds a company, unless the answer would then have more than
    /// [`PAGE_BYTES_MAX`](crate::query::limits::PAGE_BYTES_MAX) bytes; the first is always added. Returns whether it was.
    pub fn push(&mut self, item: &MatchedCompany<'_>) -> bool {
        self.0.add(0, |bytes| {
            write_value(bytes, &CompanyItem { matched: item })
        })
    }

    /// As [`push`](Self::push), for an item that [`company_item`] has written.
    pub fn push_written(&mut self, item: &[u8]) -> bool {
        self.0
            .add(item.len(), |bytes| bytes.extend_from_slice(item))
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no item yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of the answer, without the cursor of the next page.
    pub fn byte_count(&self) -> usize {
        self.0.byte_count()
    }

    /// Keeps the first `items` items: for a client that may have no more of them.
    pub fn truncate(&mut self, items: usize) {
        self.0.truncate(items);
    }

    /// Completes the answer with the cursor of the next page.
    ///
    /// ```
    /// use signaldex::json::CompaniesAnswer;
    ///
    /// let answer = CompaniesAnswer::with_capacity(0);
    /// assert!(answer.is_empty());
    /// assert_eq!(answer.finish(None), br#"{"data":{"items":[],"nextCursor":null}}"#);
    /// ```
    pub fn finish(self, next_cursor: Option<&str>) -> Vec<u8> {
        let mut bytes = self.0.into_bytes();
        bytes.extend_from_slice(br#"],"nextCursor":"#);
        write_value(&mut bytes, &next_cursor);
        bytes.extend_from_slice(b"}}");
        bytes
    }
}

/// Writes one item of a [`CompaniesAnswer`], for [`push_written`](CompaniesAnswer::push_written).
///
/// ```
/// use signaldex::json::{CompaniesAnswer, company_item};
/// use signaldex::query::CompanyQuery;
/// use signaldex::sample;
///
/// let snapshot = sample::index()?.snapshot();
/// let query = CompanyQuery::from_query_string("limit=1")?;
/// let page = snapshot.companies(&query, sample::AS_OF)?;
/// let item = company_item(&page.items()[0]);
/// assert!(item.ends_with(br#","matches":[]}"#));
/// assert!(CompaniesAnswer::with_capacity(1).push_written(&item));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn company_item(item: &MatchedCompany<'_>) -> Vec<u8> {
    let mut output = Vec::with_capacity(ITEM_BYTES);
    write_value(&mut output, &CompanyItem { matched: item });
    output
}
