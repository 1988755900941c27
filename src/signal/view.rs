//! A signal as answers show it, borrowed from a [`Signal`] or copied from its record.

use time::{Date, UtcDateTime};

use super::{Currency, Signal, SignalId};

/// What an answer shows of a signal. A page has fifty, so none of it is copied before it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignalView<'s> {
    pub(crate) id: SignalId,
    pub(crate) slug: &'s str,
    pub(crate) title: &'s str,
    pub(crate) evidence: Option<&'s str>,
    pub(crate) category: Option<&'s str>,
    pub(crate) date: Option<Date>,
    pub(crate) published_at: Option<UtcDateTime>,
    pub(crate) updated_at: Option<UtcDateTime>,
    pub(crate) company_slug: &'s str,
    pub(crate) company_name: &'s str,
    pub(crate) activity_url: Option<&'s str>,
    pub(crate) author_name: Option<&'s str>,
    pub(crate) author_title: Option<&'s str>,
    pub(crate) author_url: Option<&'s str>,
    pub(crate) funding: Option<FundingView<'s>>,
}

/// Texts of an item: slug, title, evidence, category, URL of the activity; name, title and URL of the author; stage and
/// currency of the funding.
const ITEM_TEXTS: usize = 10;

/// A signal as its record has it: with texts as answers send them, escapes included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentItem<'s> {
    pub(crate) id: SignalId,
    pub(crate) texts: [Option<&'s str>; ITEM_TEXTS],
    pub(crate) date: Option<Date>,
    pub(crate) published_at: Option<UtcDateTime>,
    pub(crate) updated_at: Option<UtcDateTime>,
    /// The amount of the funding, if there is one.
    pub(crate) amount: Option<Option<f64>>,
    /// Without escapes, as is the name.
    pub(crate) company_slug: &'s [u8],
    pub(crate) company_name: &'s [u8],
}

/// Details of a funding round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FundingView<'s> {
    pub(crate) stage: Option<&'s str>,
    pub(crate) amount: Option<f64>,
    pub(crate) currency: Option<&'s str>,
}

impl SentItem<'_> {
    /// Bytes of the texts that may be long.
    pub(crate) fn long_text_bytes(&self) -> usize {
        let [_, title, evidence, ..] = self.texts;
        [title, evidence]
            .map(|text| text.map_or(0, str::len))
            .iter()
            .sum()
    }
}

impl<'s> SignalView<'s> {
    /// A view of a signal and of the name of its company.
    pub(crate) fn of(signal: &'s Signal<'_>, company_name: &'s str) -> SignalView<'s> {
        SignalView {
            id: signal.id,
            slug: &signal.slug,
            title: &signal.title,
            evidence: signal.evidence.as_deref(),
            category: signal.category.as_deref(),
            date: signal.date,
            published_at: signal.published_at,
            updated_at: signal.updated_at,
            company_slug: &signal.company_slug,
            company_name,
            activity_url: signal.activity_url.as_deref(),
            author_name: signal.author_name.as_deref(),
            author_title: signal.author_title.as_deref(),
            author_url: signal.author_url.as_deref(),
            funding: signal.funding.as_ref().map(|funding| FundingView {
                stage: funding.stage.as_deref(),
                amount: funding.amount,
                currency: funding.currency.as_ref().map(Currency::as_str),
            }),
        }
    }

    /// Bytes of the texts that may be long.
    pub(crate) fn long_text_bytes(&self) -> usize {
        self.title.len() + self.evidence.map_or(0, str::len)
    }

    /// The view with each text changed by `change`.
    pub(crate) fn map_texts(self, change: impl Fn(&'s str) -> &'s str) -> SignalView<'s> {
        SignalView {
            slug: change(self.slug),
            title: change(self.title),
            evidence: self.evidence.map(&change),
            category: self.category.map(&change),
            company_slug: change(self.company_slug),
            company_name: change(self.company_name),
            activity_url: self.activity_url.map(&change),
            author_name: self.author_name.map(&change),
            author_title: self.author_title.map(&change),
            author_url: self.author_url.map(&change),
            funding: self.funding.map(|funding| FundingView {
                stage: funding.stage.map(&change),
                ..funding
            }),
            ..self
        }
    }
}
