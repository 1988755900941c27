//! The search page: the API's search as a form, with results and plan.
//!
//! The page takes the same query string as the API and shows the same results. It searches the index
//! directly, so nothing is charged.

mod aggregates;
mod cards;
mod chart;
mod chips;
mod choices;
mod companies;
mod download;
mod fields;
mod marked;
mod messages;
mod news;
mod plan;
mod query_text;
mod record;
mod snippets;
mod viewpoint;
mod words;

#[cfg(test)]
mod tests;

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use time::Date;

pub(super) use aggregates::show as show_figures;
pub(super) use companies::{CompaniesPlan, PATH as COMPANIES_PATH, show as show_companies};
pub(super) use download::{as_csv, as_json, as_ndjson};
pub(super) use news::show as show_news;
pub(super) use plan::{AggregatePlan, QueryPlan};
pub(super) use query_text::{PATH as SEARCH_PATH, QueryText};
pub(super) use record::{company, signal};

use self::cards::{Card, cards_of};
use self::chips::{Chip, chips};
use self::choices::{Choices, FilterChoice};
use self::fields::FilterFields;
use self::messages::invalid;
use self::viewpoint::{Viewpoint, without_key};
use self::words::WordedFault;
use super::dashboard::Admin;
use super::failed::PageResult;
use super::figures;
use super::form::FormData;
use super::layout::{self, PageLayout};
use super::visit::Visit;
use crate::search;
use signaldex::query::{Order, ParameterError, Start};
use signaldex::{Filter, Query, Snapshot};

/// Default number of signals on a page.
const DEFAULT_LIMIT: &str = "10";

/// The sizes of a page that forms offer, with their labels.
const PAGE_SIZES: [(&str, &str); 3] = [("10", "10"), ("25", "25"), ("50", "50")];

#[derive(Template)]
#[template(path = "search.html", config = "src/admin/askama.toml")]
struct SearchPage<'a> {
    layout: PageLayout<'a>,
    viewpoint: Viewpoint,
    fields: FilterFields,
    chips: Vec<Chip>,
    found: Option<FoundSignals>,
    curl: String,
    rust: String,
}

/// The result of a query.
struct FoundSignals {
    cards: Vec<Card>,
    count: String,
    shown: usize,
    order: &'static str,
    /// The query string, for the downloads.
    query: String,
    /// The URL of the changes from now on.
    news: String,
    /// The URL of the form that saves the search.
    save: String,
    /// The URL of the figures over all matches.
    figures: String,
    first_page: Option<String>,
    next_page: Option<String>,
    /// The companies that each item of `companies` is.
    companies: Vec<String>,
    /// What was probably meant.
    hints: Vec<String>,
    plan: QueryPlan,
}

pub(super) fn show(admin: &Admin, visit: &Visit) -> PageResult {
    let mut text = QueryText::of(&FormData::parse(visit.query.as_bytes()));
    if !text.has("limit") {
        text = text.with("limit", DEFAULT_LIMIT);
    }
    if text.to_string() != visit.query {
        return Ok((StatusCode::SEE_OTHER, [(LOCATION, text.link())]).into_response());
    }
    let viewpoint = match Viewpoint::of(admin, visit, "Search") {
        Ok(viewpoint) => viewpoint,
        Err(page) => return *page,
    };
    let asked = without_key(&text);
    let (query, errors) = match viewpoint.query(&asked.to_string()) {
        Ok(query) => (Some(query), Vec::new()),
        Err(invalid) => {
            let errors = invalid.errors().iter().map(WordedFault::of);
            (None, errors.collect())
        }
    };
    let (snapshot, today) = (&viewpoint.snapshot, viewpoint.today);
    let filter = query
        .as_ref()
        .map_or_else(Filter::default, |query| query.filter().clone());
    let facets = snapshot.facets(&filter, today)?;
    let found = match &query {
        Some(query) => match find(snapshot, query, &text, today)? {
            Ok(found) => Some(found),
            Err(error) => return invalid(visit, &error.message),
        },
        None => None,
    };
    let form = FormData::parse(visit.query.as_bytes());
    let page = SearchPage {
        layout: PageLayout::of(visit, "Search"),
        chips: chips(&text),
        curl: snippets::curl(&admin.0.settings.public_url, "signals", &asked),
        rust: snippets::rust(&asked),
        fields: FilterFields {
            prefix: String::new(),
            choices: Choices::of(&facets, &filter, &form),
            form,
            errors,
        },
        found,
        viewpoint,
    };
    let status = match query {
        Some(_) => StatusCode::OK,
        None => StatusCode::BAD_REQUEST,
    };
    layout::render(status, &page)
}

fn find(
    snapshot: &Snapshot,
    query: &Query,
    text: &QueryText,
    today: Date,
) -> Result<Result<FoundSignals, ParameterError>, signaldex::Error> {
    let page = snapshot.search(query, today)?;
    let cards = cards_of(snapshot, &page, query.filter())?;
    let mut next_cursor = page.next_cursor().cloned();
    if cards.len() < page.len() {
        if let Start::Page(_) = query.start() {
            return Ok(Err(search::too_large(cards.len())));
        }
        let last = page.keys().nth(cards.len().saturating_sub(1));
        next_cursor = last.map(|last| query.cursor_after(last, today));
    }
    let next_page = next_cursor.map(|cursor| {
        text.without("page")
            .with("cursor", &cursor.to_string())
            .link()
    });
    let first_page = match query.start() {
        Start::First => None,
        Start::After(_) | Start::Page(_) => Some(text.without("page").without("cursor").link()),
    };
    let explanation = snapshot.explain(query, today)?;
    let companies = explanation.companies.iter();
    let companies = companies.map(ToString::to_string).collect();
    Ok(Ok(FoundSignals {
        companies,
        hints: explanation.hints.clone(),
        count: figures::grouped(explanation.matches),
        shown: cards.len(),
        order: choices::order_label(query.order()),
        cards,
        query: text.to_string(),
        news: news::link(text, &snapshot.position()),
        save: save_link(text, query.filter()),
        figures: aggregates::link(text),
        first_page,
        next_page,
        plan: QueryPlan::of(&explanation),
    }))
}

/// The URL of the form that saves a search, for the key that it is seen by if there is one.
fn save_link(text: &QueryText, filter: &Filter) -> String {
    let mut link = form_urlencoded::Serializer::new(String::new());
    link.append_pair("key", text.value("key").unwrap_or_default());
    link.append_pair("query", &filter.to_string());
    format!("/searches?{}#new", link.finish())
}

impl SearchPage<'_> {
    /// The choices of the order. The default sends nothing, so that addresses stay short.
    fn orders(&self) -> Vec<FilterChoice> {
        let value = |order: Order| match order {
            Order::NewestFirst => "",
            order => order.as_str(),
        };
        let orders = Order::ALL.map(|order| (value(order), choices::order_label(order)));
        choices::fixed(&self.fields.form, "order", &orders)
    }

    /// The choices of the page size.
    fn limits(&self) -> Vec<FilterChoice> {
        choices::fixed(&self.fields.form, "limit", &PAGE_SIZES)
    }
}
