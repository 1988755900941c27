//! Items: a signal as a search shows it. [`visit_members`] is their one layout, which JSON and CSV follow.

use time::{Date, UtcDateTime};

use crate::signal::{Currency, Funding, Signal, SignalId};
/// The name of a member as it stands between two of an object: `,"name":`.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberName(&'static str);

impl MemberName {
    /// With a comma before it and a colon after it.
    #[cfg(feature = "http")]
    pub(super) fn separated(self) -> &'static str {
        self.0
    }

    /// The name alone.
    pub(super) fn name(self) -> &'static str {
        &self.0[2..self.0.len() - 2]
    }
}

/// The value of an item's member.
#[derive(Clone, Copy, Debug)]
pub(super) enum Member<'s> {
    Id(SignalId),
    /// One of the signal's own texts.
    Text(Option<&'s str>),
    Day(Option<Date>),
    Instant(Option<UtcDateTime>),
    CompanySlug(&'s str),
    /// The name of the company, which the signal does not have.
    CompanyName,
    /// An object of its own: see [`visit_funding`].
    Funding(Option<&'s Funding<'s>>),
}

/// The value of a member of `funding`.
#[derive(Clone, Copy, Debug)]
pub(super) enum FundingMember<'s> {
    Text(Option<&'s str>),
    Amount(Option<f64>),
}

/// Calls `visit` with the name and the value of each member of an item, in the order in which they are
/// written. Hiring attributes are searched but never shown.
///
/// # Errors
/// Those of `visit`; the first one ends the visits.
pub(super) fn visit_members<'s, E>(
    signal: &'s Signal<'_>,
    mut visit: impl FnMut(MemberName, Member<'s>) -> Result<(), E>,
) -> Result<(), E> {
    visit(MemberName(r#","id":"#), Member::Id(signal.id))?;
    visit(MemberName(r#","slug":"#), Member::Text(Some(&signal.slug)))?;
    visit(
        MemberName(r#","title":"#),
        Member::Text(Some(&signal.title)),
    )?;
    visit(
        MemberName(r#","evidence":"#),
        Member::Text(signal.evidence.as_deref()),
    )?;
    visit(
        MemberName(r#","category":"#),
        Member::Text(signal.category.as_deref()),
    )?;
    visit(MemberName(r#","date":"#), Member::Day(signal.date))?;
    visit(
        MemberName(r#","publishedAt":"#),
        Member::Instant(signal.published_at),
    )?;
    visit(
        MemberName(r#","updatedAt":"#),
        Member::Instant(signal.updated_at),
    )?;
    visit(
        MemberName(r#","companySlug":"#),
        Member::CompanySlug(&signal.company_slug),
    )?;
    visit(MemberName(r#","companyName":"#), Member::CompanyName)?;
    visit(
        MemberName(r#","activityUrl":"#),
        Member::Text(signal.activity_url.as_deref()),
    )?;
    visit(
        MemberName(r#","authorName":"#),
        Member::Text(signal.author_name.as_deref()),
    )?;
    visit(
        MemberName(r#","authorTitle":"#),
        Member::Text(signal.author_title.as_deref()),
    )?;
    visit(
        MemberName(r#","authorUrl":"#),
        Member::Text(signal.author_url.as_deref()),
    )?;
    visit(
        MemberName(r#","funding":"#),
        Member::Funding(signal.funding.as_ref()),
    )
}

/// As [`visit_members`], of the object `funding`.
///
/// # Errors
/// Those of `visit`.
pub(super) fn visit_funding<'s, E>(
    funding: &'s Funding<'_>,
    mut visit: impl FnMut(MemberName, FundingMember<'s>) -> Result<(), E>,
) -> Result<(), E> {
    let currency = funding.currency.as_ref().map(Currency::as_str);
    visit(
        MemberName(r#","stage":"#),
        FundingMember::Text(funding.stage.as_deref()),
    )?;
    visit(
        MemberName(r#","amount":"#),
        FundingMember::Amount(funding.amount),
    )?;
    visit(MemberName(r#","currency":"#), FundingMember::Text(currency))
}
