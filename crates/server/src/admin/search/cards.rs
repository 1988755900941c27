//! Signals as cards.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::marked::{self, TitlePiece};
use crate::admin::figures;
use signaldex::json::text_bytes;
use signaldex::query::limits::PAGE_BYTES_MAX;
use signaldex::{Company, Filter, Found, Funding, Page, Signal, Snapshot};

/// Bytes of texts on a page, which ends early with more: half of a page of the API, because HTML takes more.
pub(super) const CARDS_BYTES_MAX: usize = PAGE_BYTES_MAX / 2;

/// A found signal.
pub(super) struct Card {
    pub(super) id: String,
    /// The title, split into plain and highlighted parts.
    pub(super) title: Vec<TitlePiece>,
    pub(super) plain_title: String,
    pub(super) evidence: Option<String>,
    pub(super) category: Option<String>,
    pub(super) date: Option<String>,
    pub(super) funding: Option<String>,
    pub(super) author: Option<String>,
    /// The URL of the source.
    pub(super) source: Option<String>,
    pub(super) company: String,
    /// Facts about the company, in a few words.
    pub(super) company_facts: String,
    /// The page of the company.
    pub(super) company_link: String,
}

impl Card {
    /// The card of a signal, with the words of the filter highlighted.
    pub(super) fn of(found: &Found<'_>, filter: &Filter) -> Card {
        let Found {
            signal, company, ..
        } = found;
        Card {
            id: signal.id.to_string(),
            title: marked::pieces(&signal.title, filter),
            plain_title: signal.title.to_string(),
            evidence: signal.evidence.as_deref().map(str::to_owned),
            category: signal.category.as_deref().map(str::to_owned),
            date: signal.date.map(|date| date.to_string()),
            funding: signal.funding.as_ref().and_then(funding),
            author: author(signal),
            source: signal
                .activity_url
                .as_deref()
                .filter(|url| is_web(url))
                .map(str::to_owned),
            company: company.name.to_string(),
            company_facts: company_facts(company),
            company_link: company_link(&company.slug),
        }
    }
}

/// The signals of a page with their companies, as many as there is room for. The API omits company details, but
/// on a page for people they are worth another look-up.
pub(super) fn cards_of(
    snapshot: &Snapshot,
    page: &Page,
    filter: &Filter,
) -> Result<Vec<Card>, signaldex::Error> {
    let mut cards = Vec::with_capacity(page.len());
    let mut room = CARDS_BYTES_MAX;
    for id in page.ids() {
        let Some(found) = snapshot.signal(id)? else {
            continue;
        };
        if !take_room(&mut room, &found, cards.is_empty()) {
            break;
        }
        cards.push(Card::of(&found, filter));
    }
    Ok(cards)
}

/// Takes the room of a signal's texts; the first always has room.
pub(super) fn take_room(room: &mut usize, found: &Found<'_>, is_first: bool) -> bool {
    let bytes = text_bytes(&found.signal);
    let has_room = is_first || bytes <= *room;
    *room = room.saturating_sub(bytes);
    has_room
}

/// The URL of a company's page.
pub(super) fn company_link(slug: &str) -> String {
    format!("/companies/{}", utf8_percent_encode(slug, NON_ALPHANUMERIC))
}

/// Whether a URL is a web address; records may contain anything, such as a script.
pub(super) fn is_web(url: &str) -> bool {
    let starts = |scheme: &str| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    starts("https://") || starts("http://")
}

pub(super) fn funding(funding: &Funding<'_>) -> Option<String> {
    let currency = funding
        .currency
        .as_ref()
        .map(|currency| currency.to_string());
    let amount = funding.amount.map(figures::amount);
    let money: Vec<String> = [currency, amount].into_iter().flatten().collect();
    let stage = funding.stage.as_deref().map(str::to_owned);
    let money = (!money.is_empty()).then(|| money.join(" "));
    let parts: Vec<String> = [stage, money].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

pub(super) fn author(signal: &Signal<'_>) -> Option<String> {
    let name = signal.author_name.as_deref()?;
    Some(match signal.author_title.as_deref() {
        Some(title) => format!("{name}, {title}"),
        None => name.to_owned(),
    })
}

pub(super) fn company_facts(company: &Company<'_>) -> String {
    let location = [company.city.as_deref(), company.country.as_deref()];
    let location: Vec<&str> = location.into_iter().flatten().collect();
    let location = (!location.is_empty()).then(|| location.join(", "));
    let industry = company.industry.as_deref().map(str::to_owned);
    let employees = company
        .employees
        .filter(|&count| count > 0)
        .map(|count| format!("{} employees", figures::grouped(count.unsigned_abs())));
    let facts: Vec<String> = [location, industry, employees]
        .into_iter()
        .flatten()
        .collect();
    facts.join(" · ")
}

#[cfg(test)]
mod tests;
