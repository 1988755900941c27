//! The pages of one signal and of one company.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use percent_encoding::percent_decode_str;

use super::cards::{self, Card};
use super::query_text::{PATH, QueryText};
use super::viewpoint::Viewpoint;
use crate::admin::dashboard::Admin;
use crate::admin::failed::PageResult;
use crate::admin::figures;
use crate::admin::layout::{self, PageLayout};
use crate::admin::visit::Visit;
use signaldex::{Company, CompanyProfile, Signal};
use signaldex::{Found, Query, SignalId};

/// Number of signals listed on the page of a company.
const LISTED: &str = "10";

#[derive(Template)]
#[template(path = "signal.html", config = "src/admin/askama.toml")]
struct SignalPage<'a> {
    layout: PageLayout<'a>,
    viewpoint: &'a Viewpoint,
    title: String,
    evidence: String,
    facts: Vec<RecordFact>,
    company: String,
    company_link: String,
    company_facts: String,
    public_url: &'a str,
    id: String,
}

#[derive(Template)]
#[template(path = "company.html", config = "src/admin/askama.toml")]
struct CompanyRecordPage<'a> {
    layout: PageLayout<'a>,
    viewpoint: Viewpoint,
    name: String,
    tagline: String,
    about: String,
    facts: Vec<RecordFact>,
    signals: Vec<Card>,
    count: String,
    all_signals: String,
}

/// A property of a record.
struct RecordFact {
    name: &'static str,
    value: String,
    /// A web link.
    link: Option<String>,
}

pub(in crate::admin) fn signal(admin: &Admin, visit: &Visit) -> PageResult {
    let viewpoint = match Viewpoint::of(admin, visit, "Signal") {
        Ok(viewpoint) => viewpoint,
        Err(page) => return *page,
    };
    let id: Option<SignalId> = last_segment(visit).parse().ok();
    let found = id
        .map(|id| viewpoint.snapshot.signal(id))
        .transpose()?
        .flatten();
    let Some(Found {
        signal, company, ..
    }) = &found
    else {
        return not_found(visit, "There is no signal with this id.");
    };
    let page = SignalPage {
        layout: PageLayout::under(visit, "Signal", PATH),
        viewpoint: &viewpoint,
        title: signal.title.to_string(),
        evidence: text(signal.evidence.as_deref()),
        facts: signal_facts(signal),
        company: company.name.to_string(),
        company_link: cards::company_link(&company.slug) + &viewpoint.suffix(),
        company_facts: cards::company_facts(company),
        public_url: &admin.0.settings.public_url,
        id: signal.id.to_string(),
    };
    layout::render(StatusCode::OK, &page)
}

pub(in crate::admin) fn company(admin: &Admin, visit: &Visit) -> PageResult {
    let viewpoint = match Viewpoint::of(admin, visit, "Company") {
        Ok(viewpoint) => viewpoint,
        Err(page) => return *page,
    };
    let slug = last_segment(visit);
    let (snapshot, today) = (Arc::clone(&viewpoint.snapshot), viewpoint.today);
    let Some(profile) = snapshot.company(&slug)? else {
        return not_found(visit, "There is no company with this slug.");
    };
    let of_company = QueryText::default()
        .with("companySlug", &slug)
        .with("limit", LISTED);
    let signals = match Query::from_query_string(&of_company.to_string()) {
        Ok(query) => {
            let page = snapshot.search(&query, today)?;
            cards::cards_of(&snapshot, &page, query.filter())?
        }
        // No query can name this slug, for example because it is too long.
        Err(_) => Vec::new(),
    };
    let company = &profile.company;
    let page = CompanyRecordPage {
        layout: PageLayout::under(visit, "Company", PATH),
        name: company.name.to_string(),
        tagline: text(company.tagline.as_deref()),
        about: text(company.about.as_deref()),
        facts: company_facts(&profile),
        signals,
        count: figures::grouped(profile.signal_count),
        all_signals: viewpoint.within(of_company).link(),
        viewpoint,
    };
    layout::render(StatusCode::OK, &page)
}

/// The last segment of the path.
fn last_segment(visit: &Visit) -> String {
    let path = visit.parts.uri.path();
    let segment = path.rsplit('/').next().unwrap_or_default();
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

fn not_found(visit: &Visit, text: &str) -> PageResult {
    layout::message_of(visit, StatusCode::NOT_FOUND, "Not found", text)
}

fn text(text: Option<&str>) -> String {
    text.unwrap_or_default().to_owned()
}

impl RecordFact {
    /// A property, if it has a value.
    fn of(name: &'static str, value: Option<impl ToString>) -> Option<RecordFact> {
        Some(RecordFact {
            name,
            value: value?.to_string(),
            link: None,
        })
    }

    /// A property with a link, if the URL is a web address.
    fn link(name: &'static str, url: Option<&str>) -> Option<RecordFact> {
        let url = url?.to_owned();
        Some(RecordFact {
            name,
            link: cards::is_web(&url).then(|| url.clone()),
            value: url,
        })
    }
}

fn signal_facts(signal: &Signal<'_>) -> Vec<RecordFact> {
    let lines = [
        RecordFact::of("Date", signal.date),
        RecordFact::of("Category", signal.category.as_deref()),
        RecordFact::of("Funding", signal.funding.as_ref().and_then(cards::funding)),
        RecordFact::of("Author", cards::author(signal)),
        RecordFact::link("Author’s page", signal.author_url.as_deref()),
        RecordFact::link("Source", signal.activity_url.as_deref()),
        RecordFact::of("Published", signal.published_at.map(figures::instant)),
        RecordFact::of("Updated", signal.updated_at.map(figures::instant)),
        RecordFact::of("Slug", Some(&signal.slug)),
        RecordFact::of("Id", Some(signal.id)),
    ];
    lines.into_iter().flatten().collect()
}

fn company_facts(profile: &CompanyProfile<'_>) -> Vec<RecordFact> {
    let company: &Company<'_> = &profile.company;
    let employees = company.employees.map(|count| count.to_string());
    let lines = [
        RecordFact::of("Industry", company.industry.as_deref()),
        RecordFact::of("Country", company.country.as_deref()),
        RecordFact::of("City", company.city.as_deref()),
        RecordFact::of("Employees", employees),
        RecordFact::of("Founded", company.founded_year),
        RecordFact::of("Signals", Some(figures::grouped(profile.signal_count))),
        RecordFact::of("Latest signal", profile.latest_signal_date),
        RecordFact::link("LinkedIn", company.linkedin_url.as_deref()),
        RecordFact::link("Logo", company.logo_url.as_deref()),
        RecordFact::of("Updated", company.updated_at.map(figures::instant)),
        RecordFact::of("Slug", Some(&company.slug)),
    ];
    lines.into_iter().flatten().collect()
}
