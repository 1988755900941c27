//! The operands of an execution: sets of rows, bound to their segment.

use smallvec::SmallVec;

use super::candidates::Candidates;
use crate::Result;
use crate::encoding::column::Column;
use crate::encoding::posting::Posting;
use crate::encoding::row::{CompanyNumber, Row};
use crate::encoding::tokens::TokenStreams;
use crate::kernels::retain::retain_where;
use crate::plan::{Access, AnyPhrase, PhraseCheck, Source, Step, StoredUnion};
use crate::segment::{Segment, TextField};

/// A union of at most this many rows is merged into one list before the first block. Sorting takes about 3
/// microseconds and saves a search in every set per block.
const MERGED_UNION_ROWS_MAX: u64 = 256;

/// A set of rows, bound to its segment.
#[derive(Clone, Debug)]
pub(super) enum Operand<'a> {
    One(Posting<'a>),
    Union(Vec<Posting<'a>>),
    /// A merged union, or the rows of companies.
    Merged(Vec<u32>),
    AnyPhrase(Box<BoundPhrases<'a>>),
}

/// A superset of an operand's rows: one posting, or a union.
enum Rows<'o, 'a> {
    In(Posting<'o>),
    InAny(&'o [Posting<'a>]),
}

/// A union of phrases.
#[derive(Clone, Debug)]
pub(super) struct BoundPhrases<'a> {
    /// Phrases that need no check.
    stored: Vec<Posting<'a>>,
    checked: Vec<BoundPhrase<'a>>,
    /// The stored postings and the rarest source of each checked phrase, whose union contains all rows.
    leads: Vec<Posting<'a>>,
}

/// A phrase that needs a check.
#[derive(Clone, Debug)]
pub(super) struct BoundPhrase<'a> {
    /// The sources, each of which contains all rows; the rarest first.
    pub(super) sources: SmallVec<[Posting<'a>; 4]>,
    check: BoundCheck<'a>,
}

/// The check of a phrase.
#[derive(Clone, Debug)]
pub(super) struct BoundCheck<'a> {
    check: &'a PhraseCheck,
    streams: TokenStreams<'a>,
    /// The company of each row, if token streams belong to companies.
    companies: Option<Column<'a>>,
}

impl<'a> Operand<'a> {
    /// Binds a step. `merges_unions` allows merging short unions into a list.
    ///
    /// # Errors
    /// A set that the step needs is damaged.
    pub(super) fn bind(
        segment: &'a Segment,
        step: &'a Step<'_>,
        merges_unions: bool,
    ) -> Result<Operand<'a>> {
        Ok(match &step.access {
            Access::One(source) => Operand::One(rows_of(segment, *source)?),
            Access::Rows(rows) => Operand::One(Posting::List(rows)),
            Access::OfCompanies(rows) => Operand::Merged(sorted(rows)),
            Access::AnyPhrase(any) => {
                Operand::AnyPhrase(Box::new(BoundPhrases::bind(segment, any)?))
            }
            Access::Union(sources) => {
                let postings = all_rows_of(segment, sources)?;
                let is_short = step.estimate.max <= MERGED_UNION_ROWS_MAX;
                if merges_unions && is_short {
                    Operand::Merged(merge(&postings))
                } else {
                    Operand::Union(postings)
                }
            }
            // What could be merged has been listed while planning.
            Access::UnionWithRows(union) => Operand::Union(sets_of(segment, union)?),
        })
    }

    pub(super) fn load_into(&self, candidates: &mut Candidates, block: u32) {
        match self {
            Operand::AnyPhrase(phrases) => {
                candidates.load_phrases(&phrases.stored, &phrases.checked);
            }
            _ => match self.rows() {
                Rows::InAny(postings) => candidates.load_union(postings),
                Rows::In(posting) => candidates.load(posting.block(block)),
            },
        }
    }

    pub(super) fn narrow(&self, candidates: &mut Candidates, block: u32) {
        match self {
            Operand::AnyPhrase(phrases) => {
                candidates.intersect_phrases(&phrases.stored, &phrases.checked);
            }
            _ => match self.rows() {
                Rows::InAny(postings) => candidates.intersect_union(postings),
                Rows::In(posting) => candidates.intersect(posting.block(block)),
            },
        }
    }

    /// The number of candidates in the set. The remaining candidates are unspecified.
    pub(super) fn count_in(&self, candidates: &mut Candidates, block: u32) -> u32 {
        match self {
            Operand::One(posting) => candidates.count_in(posting.block(block)),
            _ => {
                self.narrow(candidates, block);
                candidates.count()
            }
        }
    }

    pub(super) fn subtract(&self, candidates: &mut Candidates, block: u32) {
        match self {
            Operand::AnyPhrase(phrases) => {
                // Stored rows first: a row that they remove needs no look at its title.
                subtract_all(candidates, &phrases.stored, block);
                for phrase in &phrases.checked {
                    candidates.subtract_phrase(phrase);
                }
            }
            _ => match self.rows() {
                Rows::InAny(postings) => subtract_all(candidates, postings, block),
                Rows::In(posting) => candidates.subtract(posting.block(block)),
            },
        }
    }

    pub(super) fn next_block(&self, block: u32) -> Option<u32> {
        match self.rows() {
            Rows::InAny(postings) => postings
                .iter()
                .filter_map(|posting| posting.next_block(block))
                .min(),
            Rows::In(posting) => posting.next_block(block),
        }
    }

    pub(super) fn previous_block(&self, block: u32) -> Option<u32> {
        match self.rows() {
            Rows::InAny(postings) => postings
                .iter()
                .filter_map(|posting| posting.previous_block(block))
                .max(),
            Rows::In(posting) => posting.previous_block(block),
        }
    }

    /// The number of a block's rows in the set; an upper bound for unions.
    pub(super) fn rows_in(&self, block: u32) -> usize {
        match self.rows() {
            Rows::InAny(postings) => {
                let rows = postings.iter().map(|posting| posting.rows_in(block));
                rows.sum()
            }
            Rows::In(posting) => posting.rows_in(block),
        }
    }

    /// Whether determining its rows may need titles.
    pub(super) fn reads_titles(&self) -> bool {
        matches!(self, Operand::AnyPhrase(_))
    }

    /// Whether it is one posting with a bitset in its first block, and thus in most blocks.
    pub(super) fn is_bits(&self) -> bool {
        matches!(self, Operand::One(posting) if posting.is_bits())
    }

    /// Keeps the rows that are in the set. Look-ups do not depend on each other, so their cache misses overlap.
    pub(super) fn retain(&self, rows: &mut Vec<u32>) {
        match self {
            Operand::One(posting) => retain_where(rows, |row| posting.contains(Row(row))),
            _ => retain_where(rows, |row| self.contains(Row(row))),
        }
    }

    pub(super) fn contains(&self, row: Row) -> bool {
        match self {
            Operand::AnyPhrase(phrases) => phrases.contains(row),
            _ => match self.rows() {
                Rows::InAny(postings) => postings.iter().any(|posting| posting.contains(row)),
                Rows::In(posting) => posting.contains(row),
            },
        }
    }

    /// Visits the postings of a superset of the operand's rows; for phrases, the rarest source of each.
    pub(super) fn for_each_posting(&self, visit: impl FnMut(&Posting<'_>)) {
        match self.rows() {
            Rows::In(posting) => [posting].iter().for_each(visit),
            Rows::InAny(postings) => postings.iter().for_each(visit),
        }
    }

    /// A superset of the operand's rows; for phrases, the rarest source of each.
    #[inline(always)]
    fn rows(&self) -> Rows<'_, 'a> {
        match self {
            Operand::One(posting) => Rows::In(*posting),
            Operand::Merged(rows) => Rows::In(Posting::List(rows)),
            Operand::Union(postings) => Rows::InAny(postings),
            Operand::AnyPhrase(phrases) => Rows::InAny(&phrases.leads),
        }
    }
}

impl<'a> BoundPhrases<'a> {
    fn bind(segment: &'a Segment, any: &'a AnyPhrase) -> Result<BoundPhrases<'a>> {
        let stored = sets_of(segment, &any.stored)?;
        let mut checked: Vec<BoundPhrase<'a>> = Vec::with_capacity(any.checked.len());
        for phrase in &any.checked {
            let sources = phrase.sources.iter();
            let sources = sources.map(|&source| rows_of(segment, source));
            checked.push(BoundPhrase {
                sources: sources.collect::<Result<_>>()?,
                check: BoundCheck::bind(segment, &phrase.check)?,
            });
        }
        // A checked phrase has at least one source.
        let rarest = checked.iter().map(|phrase| phrase.sources[0]);
        Ok(BoundPhrases {
            leads: stored.iter().copied().chain(rarest).collect(),
            stored,
            checked,
        })
    }

    fn contains(&self, row: Row) -> bool {
        self.stored.iter().any(|posting| posting.contains(row))
            || self.checked.iter().any(|phrase| phrase.contains(row))
    }
}

impl BoundPhrase<'_> {
    fn contains(&self, row: Row) -> bool {
        self.sources.iter().all(|posting| posting.contains(row)) && self.occurs(row)
    }

    /// Whether the phrase occurs in a row that is in all sources.
    pub(super) fn occurs(&self, row: Row) -> bool {
        self.check.passes(row)
    }
}

fn subtract_all(candidates: &mut Candidates, postings: &[Posting<'_>], block: u32) {
    for posting in postings {
        candidates.subtract(posting.block(block));
    }
}

impl<'a> BoundCheck<'a> {
    pub(super) fn bind(segment: &'a Segment, check: &'a PhraseCheck) -> Result<BoundCheck<'a>> {
        let companies = match check.field {
            TextField::Title => None,
            TextField::Name => Some(segment.company_column()?),
        };
        Ok(BoundCheck {
            check,
            streams: segment.tokens(check.field)?,
            companies,
        })
    }

    pub(super) fn passes(&self, row: Row) -> bool {
        let index = match &self.companies {
            None => row.index(),
            // Every row has a company, so its code is not 0.
            Some(companies) => CompanyNumber::of_code(companies.get(row)).index(),
        };
        self.check.phrase.occurs(&self.streams, index)
    }
}

fn sorted(rows: &[u32]) -> Vec<u32> {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    rows
}

/// The rows of a source.
#[inline(always)]
pub(super) fn rows_of(segment: &Segment, source: Source) -> Result<Posting<'_>> {
    match source {
        Source::Posting(id) => segment.posting(id),
        Source::Company(company) => {
            let rows = segment.company_rows(company)?;
            Ok(Posting::List(Row::numbers(rows)))
        }
    }
}

/// The rows of each of some sources.
fn all_rows_of<'a>(segment: &'a Segment, sources: &[Source]) -> Result<Vec<Posting<'a>>> {
    // Collecting results would not know their number, and grow the vector.
    let mut postings = Vec::with_capacity(sources.len());
    for &source in sources {
        postings.push(rows_of(segment, source)?);
    }
    Ok(postings)
}

/// The rows of each source of a union, and its listed rows.
fn sets_of<'a>(segment: &'a Segment, union: &'a StoredUnion) -> Result<Vec<Posting<'a>>> {
    let mut sets = all_rows_of(segment, &union.sources)?;
    if !union.rows.is_empty() {
        sets.push(Posting::List(&union.rows));
    }
    Ok(sets)
}

fn merge(postings: &[Posting<'_>]) -> Vec<u32> {
    let mut rows: Vec<u32> = Vec::new();
    for posting in postings {
        rows.extend(posting.rows().map(|row| row.0));
    }
    rows.sort_unstable();
    rows.dedup();
    rows
}
