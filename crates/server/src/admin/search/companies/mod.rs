//! The page of companies by their signals: filters of companies, conditions, and what they find.
//!
//! The address is the query string of `GET /api/v1/companies`. The fields of conditions have names of their own, such as
//! `has1.q`; a submitted form leads to the address that has the conditions as `has` and `hasNot`.

mod cards;
mod conditions;
mod form;
mod plan;
mod words;

#[cfg(test)]
mod tests;

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use time::Date;

pub(in crate::admin) use plan::CompaniesPlan;

use self::cards::CompanyCard;
use self::form::{ConditionGroup, SentQuery};
use self::words::CompanyFault;
use super::chips::Chip;
use super::choices::{self, FilterChoice};
use super::fields::FilterFields;
use super::viewpoint::{Viewpoint, without_key};
use super::{DEFAULT_LIMIT, PAGE_SIZES, snippets};
use crate::admin::dashboard::Admin;
use crate::admin::failed::{Failed, PageResult};
use crate::admin::figures;
use crate::admin::form::FormData;
use crate::admin::layout::{self, PageLayout};
use crate::admin::visit::Visit;
use crate::companies;
use signaldex::Snapshot;
use signaldex::query::{CompanyOrder, CompanyQuery, CompanyStart};

/// The path of the page.
pub(in crate::admin) const PATH: &str = "/companies";

#[derive(Template)]
#[template(path = "companies.html", config = "src/admin/askama.toml")]
struct CompaniesPage<'a> {
    layout: PageLayout<'a>,
    viewpoint: Viewpoint,
    /// The filters of companies.
    fields: FilterFields,
    /// The conditions.
    groups: Vec<ConditionGroup>,
    errors: Vec<CompanyFault>,
    chips: Vec<Chip>,
    found: Option<CompanyResults>,
    curl: String,
    rust: String,
}

/// The result of a query.
struct CompanyResults {
    cards: Vec<CompanyCard>,
    count: String,
    shown: usize,
    order: &'static str,
    first_page: Option<String>,
    next_page: Option<String>,
    plan: CompaniesPlan,
}

pub(in crate::admin) fn show(admin: &Admin, visit: &Visit) -> PageResult {
    let viewpoint = match Viewpoint::of(admin, visit, "Companies") {
        Ok(viewpoint) => viewpoint,
        Err(page) => return *page,
    };
    let sent = SentQuery::of(&FormData::parse(visit.query.as_bytes()));
    let text = &sent.text;
    if sent.is_written() && text.to_string() != visit.query {
        return Ok((StatusCode::SEE_OTHER, [(LOCATION, text.link_to(PATH))]).into_response());
    }
    let (snapshot, today) = (&viewpoint.snapshot, viewpoint.today);
    let asked = without_key(text);
    let query = companies::parse(&asked.to_string(), viewpoint.filter());
    let invalid = query.as_ref().err().map_or(&[][..], |error| error.errors());
    let fields = form::company_fields(snapshot, query.as_ref().ok(), text, invalid, today)?;
    let groups = sent.groups(snapshot, today)?;
    let found = match &query {
        Ok(query) if sent.is_written() => Some(find(snapshot, query, &sent, today)?),
        _ => None,
    };
    let status = match found {
        Some(_) => StatusCode::OK,
        None => StatusCode::BAD_REQUEST,
    };
    let page = CompaniesPage {
        layout: PageLayout::of(visit, "Companies"),
        errors: words::faults(invalid, &fields, &groups),
        chips: sent.chips(),
        curl: snippets::curl(&admin.0.settings.public_url, "companies", &asked),
        rust: snippets::rust_companies(&asked),
        fields,
        groups,
        found,
        viewpoint,
    };
    layout::render(status, &page)
}

fn find(
    snapshot: &Snapshot,
    query: &CompanyQuery,
    sent: &SentQuery,
    today: Date,
) -> Result<CompanyResults, Failed> {
    let page = snapshot.companies(query, today)?;
    let cards = cards::cards_of(&page, sent.has());
    let mut next_cursor = page.next_cursor().cloned();
    if let Some(last) = page.items().get(..cards.len()).and_then(<[_]>::last)
        && cards.len() < page.len()
    {
        next_cursor = Some(query.cursor_after(last, today));
    }
    let first = sent.text.without("page").without("cursor");
    let next_page = next_cursor.map(|cursor| first.with("cursor", &cursor.to_string()));
    let explanation = snapshot.explain_companies(query, today)?;
    Ok(CompanyResults {
        count: figures::grouped(explanation.matches),
        shown: cards.len(),
        order: order_label(query.order()),
        cards,
        first_page: match query.start() {
            CompanyStart::First => None,
            CompanyStart::After(_) | CompanyStart::Page(_) => Some(first.link_to(PATH)),
        },
        next_page: next_page.map(|text| text.link_to(PATH)),
        plan: CompaniesPlan::of(&explanation),
    })
}

/// What an order puts first.
fn order_label(order: CompanyOrder) -> &'static str {
    match order {
        CompanyOrder::Slug => "by slug",
        CompanyOrder::MostMatches => "most matches first",
        CompanyOrder::LatestMatch => "latest match first",
    }
}

impl CompaniesPage<'_> {
    /// The choices of the order. The default sends nothing, so that addresses stay short.
    fn orders(&self) -> Vec<FilterChoice> {
        let value = |order: CompanyOrder| match order {
            CompanyOrder::Slug => "",
            order => order.as_str(),
        };
        let orders = CompanyOrder::ALL.map(|order| (value(order), order_label(order)));
        choices::fixed(&self.fields.form, "order", &orders)
    }

    /// The choices of the page size.
    fn limits(&self) -> Vec<FilterChoice> {
        choices::fixed(&self.fields.form, "limit", &PAGE_SIZES)
    }
}
