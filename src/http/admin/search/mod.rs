//! The search page: the API's search as a form, with results and plan.
//!
//! The address of the page has the same query string as the interface, so what is seen here is what
//! a client gets. Nothing is charged: the page asks the index, not the service.

mod cards;
mod choices;
mod plan;
mod query_text;
mod snippets;

use std::time::{Duration, Instant};

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use time::Date;

pub(super) use plan::Plan;
pub(super) use query_text::QueryText;

use self::cards::Card;
use self::choices::{Choice, Choices};
use super::figures;
use super::form::Form;
use super::guard::Visit;
use super::layout::{self, PageLayout};
use super::{Admin, Answer};
use crate::query::{Fault, Parameter, Start};
use crate::{Filter, Query, Snapshot};

/// Where the page is.
const PATH: &str = "/search";

/// Signals of a page, unless the form says otherwise: few enough to look through.
const DEFAULT_LIMIT: &str = "10";

#[derive(Template)]
#[template(path = "search.html", config = "src/http/admin/askama.toml")]
struct Page<'a> {
    layout: PageLayout<'a>,
    form: &'a Form,
    choices: Choices,
    faults: Vec<Fault>,
    chips: Vec<Chip>,
    found: Option<Found>,
    curl: String,
    rust: String,
}

/// A filter that is set, and the way to be rid of it.
struct Chip {
    name: String,
    value: String,
    without: String,
}

/// What an index answers to a query.
struct Found {
    cards: Vec<Card>,
    count: String,
    shown: usize,
    /// Of the page, its exact count and the counts of the filters, together.
    time: String,
    first_page: Option<String>,
    next_page: Option<String>,
    /// What the filter names and no signal has, a sentence each.
    unknown: Vec<String>,
    plan: Plan,
}

pub(super) fn show(admin: &Admin, visit: &Visit) -> Answer {
    let mut text = QueryText::of(&Form::parse(visit.query.as_bytes()));
    if !text.has("limit") {
        text = text.with("limit", DEFAULT_LIMIT);
    }
    if text.to_string() != visit.query {
        return Ok((StatusCode::SEE_OTHER, [(LOCATION, text.link())]).into_response());
    }
    let (query, faults) = match Query::parse(&visit.query) {
        Ok(query) => (Some(query), Vec::new()),
        Err(invalid) => (None, invalid.faults().to_vec()),
    };
    let service = &admin.0.service.0;
    let Some(index) = service.corpus.index() else {
        let text = "This page needs a local index, and this node is part of a cluster. Use \
                    /api/v1/signals instead.";
        return layout::message_of(visit, StatusCode::NOT_IMPLEMENTED, "Search", text);
    };
    let (snapshot, today) = (index.snapshot(), service.today());
    let filter = query
        .as_ref()
        .map_or_else(Filter::default, |query| query.filter().clone());
    let (facets, options_time) = timed(|| snapshot.facets(&filter, today));
    let found = match &query {
        Some(query) => Some(find(&snapshot, query, &text, today, options_time)?),
        None => None,
    };
    let form = Form::parse(visit.query.as_bytes());
    let page = Page {
        layout: PageLayout::of(visit, "Search"),
        choices: Choices::of(&facets, &filter, &form),
        chips: chips(&text),
        curl: snippets::curl(&admin.0.settings.public_url, &text),
        rust: snippets::rust(&text),
        form: &form,
        faults,
        found,
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
    options_time: Duration,
) -> Result<Found, crate::Error> {
    let (page, page_time) = timed(|| snapshot.search(query, today));
    let (count, count_time) = timed(|| snapshot.count(query.filter(), today));
    // The API leaves the company's details out; on a page for people they are worth a second look-up.
    let signals = page.ids().map(|id| snapshot.signal(id));
    let signals: Vec<_> = signals
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?;
    let next_page = page.next_cursor().map(|cursor| {
        text.without("page")
            .with("cursor", &cursor.to_string())
            .link()
    });
    let first_page = match query.start() {
        Start::First => None,
        Start::After(_) | Start::Page(_) => Some(text.without("page").without("cursor").link()),
    };
    let explanation = snapshot.explain(query, today);
    let unknown = explanation.unknown.iter();
    Ok(Found {
        unknown: unknown.map(ToString::to_string).collect(),
        cards: signals.iter().map(|found| Card::of(found, text)).collect(),
        count: figures::grouped(count),
        shown: page.len(),
        time: figures::duration(page_time + count_time + options_time),
        first_page,
        next_page,
        plan: Plan::of(&explanation),
    })
}

/// A chip for each filter of a query string.
fn chips(text: &QueryText) -> Vec<Chip> {
    let is_filter = |name: &str| Parameter::of_name(name).is_none_or(Parameter::is_filter);
    let chip = |(name, value): &(String, String)| Chip {
        name: name.clone(),
        value: value.clone(),
        without: text.without(name).without("cursor").link(),
    };
    let pairs = text.pairs().iter();
    pairs
        .filter(|(name, _)| is_filter(name))
        .map(chip)
        .collect()
}

fn timed<T>(ask: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let answer = ask();
    (answer, started.elapsed())
}

impl Page<'_> {
    /// What was typed into a field.
    fn typed(&self, name: &str) -> &str {
        self.form.value(name)
    }

    /// What is wrong with a field; empty where nothing is.
    fn fault(&self, name: &str) -> &str {
        let fault = self.faults.iter().find(|fault| fault.parameter == name);
        fault.map_or("", |fault| &fault.message)
    }

    /// Whether any of these fields is filled in, so that their group is shown open.
    fn uses(&self, names: &[&str]) -> bool {
        names.iter().any(|name| !self.typed(name).is_empty())
    }

    /// Whether any field of these groups is filled in.
    fn uses_any_of(&self, groups: &[choices::Group]) -> bool {
        groups
            .iter()
            .any(|group| !self.typed(group.name).is_empty())
    }

    /// The choices of how many signals a page has.
    fn limits(&self) -> Vec<Choice> {
        choices::fixed(
            self.form,
            "limit",
            &[("10", "10"), ("25", "25"), ("50", "50")],
        )
    }
}
