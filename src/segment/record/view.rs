//! What answers show of a signal, read from its record without copies.

use super::{Records, SignalFields, malformed_signal};
use crate::Result;
use crate::signal::{Currency, FundingView, SignalId, SignalView};

impl<'a> Records<'a> {
    /// As [`signal_in`](Self::signal_in), with what answers show of the signal.
    ///
    /// # Errors
    /// As for [`signal`](Self::signal).
    pub(in crate::segment) fn view_in<'b>(
        self,
        record: usize,
        offset: u64,
        (of, company_name): ((SignalId, &'b str), &'b str),
        buffer: &'b mut Vec<u8>,
    ) -> Result<SignalView<'b>>
    where
        'a: 'b,
    {
        let stored = self.stored(record, offset)?;
        let texts = stored.texts(self.symbols, buffer);
        let view = texts.and_then(|texts| {
            SignalFields::read(stored.reader(), texts)?.view(of, company_name, texts)
        });
        view.ok_or_else(|| malformed_signal(of.0))
    }
}

impl<'t> SignalFields<'t> {
    /// What answers show of the signal.
    #[inline(always)]
    fn view<'s>(
        self,
        (id, company_slug): (SignalId, &'s str),
        company_name: &'s str,
        record_texts: &'s [u8],
    ) -> Option<SignalView<'s>>
    where
        't: 's,
    {
        let [
            slug,
            title,
            evidence,
            category,
            activity_url,
            author_name,
            author_title,
            author_url,
            stage,
            currency,
            ..,
        ] = self.texts;
        if let Some(code) = currency {
            Currency::new(code)?;
        }
        Some(SignalView {
            id,
            slug: slug?,
            title: title?,
            evidence,
            category,
            date: self.date,
            published_at: self.published_at,
            updated_at: self.updated_at,
            company_slug,
            company_name,
            activity_url,
            author_name,
            author_title,
            author_url,
            funding: self.has_funding.then_some(FundingView {
                stage,
                amount: self.amount,
                currency,
            }),
            record_texts,
        })
    }
}
