//! The page of figures over all matches of a search: their dates as a bar chart, their amounts by currency.
//!
//! The search page loads it after its signals, which never wait for it, and leads to it without a script.

use askama::Template;
use axum::http::StatusCode;
use time::Date;

use super::chart::{self, Chart};
use super::chips::{Chip, chips};
use super::messages::invalid;
use super::plan::AggregatePlan;
use super::query_text::QueryText;
use super::viewpoint::{Viewpoint, without_key};
use crate::admin::dashboard::Admin;
use crate::admin::failed::{Failed, PageResult};
use crate::admin::figures;
use crate::admin::form::FormData;
use crate::admin::layout::{self, PageLayout};
use crate::admin::visit::Visit;
use signaldex::query::{Measure, TimeUnit};
use signaldex::{AggregateQuery, AmountFigures, Filter, Snapshot};

/// The path of the page.
const PATH: &str = "/search/figures";

#[derive(Template)]
#[template(path = "aggregates.html", config = "src/admin/askama.toml")]
struct AggregatesPage<'a> {
    layout: PageLayout<'a>,
    viewpoint: Viewpoint,
    chips: Vec<Chip>,
    search: String,
    count: String,
    chart: Chart,
    amounts: Vec<AmountRow>,
    plan: AggregatePlan,
}

/// The figures of the amounts in one currency.
struct AmountRow {
    currency: String,
    count: String,
    sum: String,
    median: String,
}

pub(in crate::admin) fn show(admin: &Admin, visit: &Visit) -> PageResult {
    let viewpoint = match Viewpoint::of(admin, visit, "Figures") {
        Ok(viewpoint) => viewpoint,
        Err(page) => return *page,
    };
    let text = QueryText::of(&FormData::parse(visit.query.as_bytes()));
    let query = match viewpoint.query(&without_key(&text).to_string()) {
        Ok(query) => query,
        Err(error) => return invalid(visit, &error.to_string()),
    };
    let (snapshot, today) = (&viewpoint.snapshot, viewpoint.today);
    let filter = query.filter();
    let (count, amounts) = amounts(snapshot, filter, today)?;
    let by_month = chart::by(filter, TimeUnit::Month)?;
    let page = AggregatesPage {
        layout: PageLayout::under(visit, "Figures", super::query_text::PATH),
        chips: chips(&text),
        search: text.link(),
        count: figures::grouped(count),
        chart: Chart::of(snapshot, filter, &text, today)?,
        amounts,
        plan: AggregatePlan::of(&snapshot.explain_aggregate(&by_month, today)?),
        viewpoint,
    };
    layout::render(StatusCode::OK, &page)
}

/// The URL of the figures of a search.
pub(super) fn link(text: &QueryText) -> String {
    format!("{PATH}?{}", text.without("cursor").without("page"))
}

/// The number of matches, and the figures of their amounts by currency.
fn amounts(
    snapshot: &Snapshot,
    filter: &Filter,
    today: Date,
) -> Result<(u64, Vec<AmountRow>), Failed> {
    let query = AggregateQuery::builder(filter.clone()).measures([Measure::Sum, Measure::Median]);
    let query = query.build().map_err(|invalid| Failed::of(&invalid))?;
    let totals = snapshot.aggregate(&query, today)?.totals.figures;
    let amounts = totals.amounts.iter().flatten().map(AmountRow::of);
    Ok((totals.count, amounts.collect()))
}

impl AmountRow {
    fn of(amounts: &AmountFigures) -> AmountRow {
        let text = |figure: Option<f64>| figure.map(figures::amount).unwrap_or_default();
        let currency = amounts.currency.as_ref();
        AmountRow {
            currency: currency.map_or_else(|| "no currency".to_owned(), ToString::to_string),
            count: figures::grouped(amounts.count),
            sum: text(amounts.sum),
            median: text(amounts.median),
        }
    }
}
