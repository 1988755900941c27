//! Companies as cards, with what each condition counts.

use super::super::cards::{CARDS_BYTES_MAX, company_facts, company_link};
use super::DEFAULT_LIMIT;
use super::conditions::ConditionText;
use crate::admin::figures;
use signaldex::CompanyPage;
use signaldex::query::{ConditionMatches, MatchedCompany};

/// The parameter of a company's slug.
const COMPANY_SLUG: &str = "companySlug";

/// A company that fulfils the query.
pub(super) struct CompanyCard {
    pub(super) name: String,
    /// The page of the company.
    pub(super) link: String,
    pub(super) slug: String,
    pub(super) facts: String,
    pub(super) founded: String,
    pub(super) signals: String,
    pub(super) latest: String,
    pub(super) counts: Vec<ConditionCount>,
}

/// What a condition counts of a company.
pub(super) struct ConditionCount {
    pub(super) count: String,
    pub(super) summary: String,
    /// The date of the latest; empty if there is none.
    pub(super) latest: String,
    /// The search for the counted signals; empty if no search can ask for them.
    pub(super) link: String,
}

/// The companies of a page, as many as there is room for, and at least one.
pub(super) fn cards_of(page: &CompanyPage<'_>, has: &[ConditionText]) -> Vec<CompanyCard> {
    let mut cards = Vec::with_capacity(page.len());
    let mut room = CARDS_BYTES_MAX;
    for item in page.items() {
        let bytes = text_bytes(item);
        if !cards.is_empty() && bytes > room {
            break;
        }
        room = room.saturating_sub(bytes);
        cards.push(CompanyCard::of(item, has));
    }
    cards
}

/// The bytes of the texts that a card shows.
fn text_bytes(item: &MatchedCompany<'_>) -> usize {
    let company = &item.profile.company;
    let others = [&company.city, &company.country, &company.industry];
    let others = others.into_iter().flatten().map(|text| text.len());
    company.name.len() + company.slug.len() + others.sum::<usize>()
}

impl CompanyCard {
    /// The card of a company; `has` are the conditions in the order of its matches.
    pub(super) fn of(item: &MatchedCompany<'_>, has: &[ConditionText]) -> CompanyCard {
        let profile = &item.profile;
        let company = &profile.company;
        let counts = has.iter().zip(&item.matches);
        let date = profile.latest_signal_date;
        CompanyCard {
            name: company.name.to_string(),
            link: company_link(&company.slug),
            slug: company.slug.to_string(),
            facts: company_facts(company),
            founded: company
                .founded_year
                .map(|year| year.to_string())
                .unwrap_or_default(),
            signals: figures::grouped(profile.signal_count),
            latest: date.map(|date| date.to_string()).unwrap_or_default(),
            counts: counts
                .map(|(condition, matches)| ConditionCount::of(condition, matches, &company.slug))
                .collect(),
        }
    }
}

impl ConditionCount {
    fn of(condition: &ConditionText, matches: &ConditionMatches, slug: &str) -> ConditionCount {
        let date = matches.latest_date;
        ConditionCount {
            count: figures::grouped(matches.count),
            summary: condition.summary(),
            latest: date.map(|date| date.to_string()).unwrap_or_default(),
            link: search_of(condition, slug).unwrap_or_default(),
        }
    }
}

/// The search for the signals of a company that a condition counts. If it names another company, there are none.
fn search_of(condition: &ConditionText, slug: &str) -> Option<String> {
    let text = condition.search();
    match text.value(COMPANY_SLUG) {
        Some(known) if known != slug => None,
        _ => Some(
            text.with(COMPANY_SLUG, slug)
                .with("limit", DEFAULT_LIMIT)
                .link(),
        ),
    }
}
