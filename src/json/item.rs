//! The layout of search items. JSON and CSV both follow [`visit_members`].

use time::{Date, UtcDateTime};

use crate::signal::{FundingView, SignalId, SignalView};

/// Bytes of the longest name with its separators. Copying 16 bytes takes one load and one store.
const SEPARATED_BYTES_MAX: usize = 16;

/// The name of a member, and its form within an object: `,"name":"`.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberName {
    name: &'static str,
    separated: [u8; SEPARATED_BYTES_MAX],
}

impl MemberName {
    /// Fails to compile if the name is too long.
    pub(super) const fn new(name: &'static str) -> MemberName {
        MemberName {
            name,
            separated: separated(name.as_bytes()),
        }
    }

    /// Writes the name with the comma before it and the colon after it.
    #[inline(always)]
    pub(super) fn write_separated(self, output: &mut Vec<u8>) {
        let end = output.len() + self.name.len() + 4;
        output.extend_from_slice(&self.separated);
        output.truncate(end);
    }

    /// As [`write_separated`](Self::write_separated), with a quote after the colon.
    #[inline(always)]
    pub(super) fn write_before_text(self, output: &mut Vec<u8>) {
        let end = output.len() + self.name.len() + 5;
        output.extend_from_slice(&self.separated);
        output.truncate(end);
    }

    /// The name.
    pub(super) fn name(self) -> &'static str {
        self.name
    }
}

const fn separated(name: &[u8]) -> [u8; SEPARATED_BYTES_MAX] {
    let mut bytes = [0; SEPARATED_BYTES_MAX];
    let (before, after) = (br#",""#, br#"":""#);
    let (head, rest) = bytes.split_at_mut(before.len());
    let (middle, rest) = rest.split_at_mut(name.len());
    head.copy_from_slice(before);
    middle.copy_from_slice(name);
    rest.split_at_mut(after.len()).0.copy_from_slice(after);
    bytes
}

/// The value of an item's member.
#[derive(Clone, Copy, Debug)]
pub(super) enum ItemMember<'s> {
    Id(SignalId),
    /// A text of the signal's record.
    Text(Option<&'s str>),
    Day(Option<Date>),
    Instant(Option<UtcDateTime>),
    CompanySlug(&'s str),
    /// The name of the company, which is not part of the signal.
    CompanyName(&'s str),
    /// An object of its own: see [`visit_funding`].
    Funding(Option<FundingView<'s>>),
}

/// The value of a member of `funding`.
#[derive(Clone, Copy, Debug)]
pub(super) enum FundingMember<'s> {
    Text(Option<&'s str>),
    Amount(Option<f64>),
}

/// Calls `visit` with the name and value of each member of an item, in order. Hiring attributes are
/// searched but never shown.
///
/// # Errors
/// The first error of `visit`, which ends the iteration.
#[inline(always)]
pub(super) fn visit_members<'s, E>(
    signal: &SignalView<'s>,
    mut visit: impl FnMut(MemberName, ItemMember<'s>) -> Result<(), E>,
) -> Result<(), E> {
    use ItemMember::{CompanyName, CompanySlug, Day, Funding, Id, Instant, Text};
    visit(const { MemberName::new("id") }, Id(signal.id))?;
    visit(const { MemberName::new("slug") }, Text(Some(signal.slug)))?;
    visit(const { MemberName::new("title") }, Text(Some(signal.title)))?;
    visit(const { MemberName::new("evidence") }, Text(signal.evidence))?;
    visit(const { MemberName::new("category") }, Text(signal.category))?;
    visit(const { MemberName::new("date") }, Day(signal.date))?;
    visit(
        const { MemberName::new("publishedAt") },
        Instant(signal.published_at),
    )?;
    visit(
        const { MemberName::new("updatedAt") },
        Instant(signal.updated_at),
    )?;
    visit(
        const { MemberName::new("companySlug") },
        CompanySlug(signal.company_slug),
    )?;
    visit(
        const { MemberName::new("companyName") },
        CompanyName(signal.company_name),
    )?;
    visit(
        const { MemberName::new("activityUrl") },
        Text(signal.activity_url),
    )?;
    visit(
        const { MemberName::new("authorName") },
        Text(signal.author_name),
    )?;
    visit(
        const { MemberName::new("authorTitle") },
        Text(signal.author_title),
    )?;
    visit(
        const { MemberName::new("authorUrl") },
        Text(signal.author_url),
    )?;
    visit(
        const { MemberName::new("funding") },
        Funding(signal.funding),
    )
}

/// As [`visit_members`], for the object `funding`.
///
/// # Errors
/// Those of `visit`.
#[inline(always)]
pub(super) fn visit_funding<'s, E>(
    funding: FundingView<'s>,
    mut visit: impl FnMut(MemberName, FundingMember<'s>) -> Result<(), E>,
) -> Result<(), E> {
    use FundingMember::{Amount, Text};
    visit(const { MemberName::new("stage") }, Text(funding.stage))?;
    visit(const { MemberName::new("amount") }, Amount(funding.amount))?;
    visit(
        const { MemberName::new("currency") },
        Text(funding.currency),
    )
}
