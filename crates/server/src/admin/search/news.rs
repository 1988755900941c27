//! The page of changes: signals of a search that were added or changed after a position.

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use time::Date;

use super::cards::{CARDS_BYTES_MAX, Card, take_room};
use super::chips::{Chip, chips};
use super::query_text::QueryText;
use super::viewpoint::{Viewpoint, without_key};
use crate::admin::dashboard::Admin;
use crate::admin::failed::PageResult;
use crate::admin::form::FormData;
use crate::admin::layout::{self, PageLayout};
use crate::admin::visit::Visit;
use signaldex::{Change, Filter, Position, PositionError, Snapshot};

/// The path of the page.
const PATH: &str = "/search/new";

/// Maximum number of signals on the page.
const SHOWN_MAX: usize = 50;

/// Search parameters that are not filters.
const OTHERS: [&str; 5] = ["since", "limit", "cursor", "page", "countOnly"];

#[derive(Template)]
#[template(path = "news.html", config = "src/admin/askama.toml")]
struct NewsPage<'a> {
    layout: PageLayout<'a>,
    viewpoint: Viewpoint,
    chips: Vec<Chip>,
    changed: Vec<ChangedCard>,
    removed: usize,
    search: String,
    /// The URL of the changes after this page.
    later: String,
    has_more: bool,
}

/// An added or changed signal.
struct ChangedCard {
    card: Card,
    is_new: bool,
}

/// Changes, with the position after them.
struct News {
    changed: Vec<ChangedCard>,
    removed: usize,
    position: Position,
    has_more: bool,
}

pub(in crate::admin) fn show(admin: &Admin, visit: &Visit) -> PageResult {
    let viewpoint = match Viewpoint::of(admin, visit, "What is new") {
        Ok(viewpoint) => viewpoint,
        Err(page) => return *page,
    };
    let form = FormData::parse(visit.query.as_bytes());
    let text = OTHERS
        .iter()
        .fold(QueryText::of(&form), |text, name| text.without(name));
    let filter = match Filter::from_query_string(&without_key(&text).to_string()) {
        Ok(filter) => filter,
        Err(invalid) => return invalid_page(visit, &invalid.to_string()),
    };
    let (snapshot, today) = (&viewpoint.snapshot, viewpoint.today);
    let since = form.value("since");
    if since.is_empty() {
        let link = link(&text, &snapshot.position());
        return Ok((StatusCode::SEE_OTHER, [(LOCATION, link)]).into_response());
    }
    let since = match Position::parse(since) {
        Ok(since) => since,
        Err(error) => return invalid_page(visit, &format!("The position {error}.")),
    };
    let news = match find(snapshot, &filter, &since, today)? {
        Ok(news) => news,
        Err(error) => return invalid_page(visit, &format!("The position {error}.")),
    };
    let page = NewsPage {
        layout: PageLayout::of(visit, "What is new"),
        chips: chips(&text),
        changed: news.changed,
        removed: news.removed,
        search: text.link(),
        later: link(&text, &news.position),
        has_more: news.has_more,
        viewpoint,
    };
    layout::render(StatusCode::OK, &page)
}

/// The URL of the changes of a search after a position.
pub(super) fn link(text: &QueryText, since: &Position) -> String {
    let text = OTHERS
        .iter()
        .fold(text.clone(), |text, name| text.without(name));
    format!("{PATH}?{}", text.with("since", &since.to_string()))
}

fn invalid_page(visit: &Visit, text: &str) -> PageResult {
    layout::message_of(visit, StatusCode::BAD_REQUEST, "What is new", text)
}

fn find(
    snapshot: &Snapshot,
    filter: &Filter,
    since: &Position,
    today: Date,
) -> Result<Result<News, PositionError>, signaldex::Error> {
    let mut changes = match snapshot.changes(filter, today, since) {
        Ok(changes) => changes,
        Err(error) => return Ok(Err(error)),
    };
    let (mut changed, mut removed, mut room) = (Vec::new(), 0, CARDS_BYTES_MAX);
    while changed.len() < SHOWN_MAX {
        let before = changes.position();
        match changes.next().transpose()? {
            None => break,
            Some(Change::Upsert { item, is_new }) => {
                if let Some(found) = snapshot.signal(item.signal.id)? {
                    if !take_room(&mut room, &found, changed.is_empty()) {
                        return Ok(Ok(News {
                            has_more: true,
                            position: before,
                            changed,
                            removed,
                        }));
                    }
                    let card = Card::of(&found, filter);
                    changed.push(ChangedCard { card, is_new });
                }
            }
            Some(_) => removed += 1,
        }
    }
    Ok(Ok(News {
        has_more: changes.has_more()?,
        position: changes.position(),
        changed,
        removed,
    }))
}
