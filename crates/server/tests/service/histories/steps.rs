//! The steps of a history, and how they are drawn.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::corpus::{CATEGORIES, COMPANIES, Filter, NAMES, Record, TITLES};
use super::model::DAY;

/// Copies that clients keep by following the feed.
pub(super) const COPIES: usize = 2;
/// The greatest id of a signal.
const ID_MAX: u64 = 12;
/// One id in this many may have a large signal.
const LARGE_IDS: u64 = 6;
/// The most steps of a history.
const STEPS_MAX: usize = 40;

#[derive(Clone, Debug)]
pub(super) enum Step {
    Commit(Vec<Edit>),
    /// Copies the directory of the index.
    BackUp,
    /// Puts the last copy back.
    Restore,
    Merge,
    Ask(Asked),
    /// Sends an earlier request once more.
    Repeat {
        back: usize,
        by_tool: bool,
    },
    /// Exports on after the last signal that arrived of the last export.
    Resume {
        read: Option<usize>,
    },
    /// Sets the quota to what is used in this month and some more.
    Quota(Option<usize>),
    /// Lets seconds pass.
    Wait(i64),
    /// Lets time pass until the last second of the month, or the first of the next.
    TurnOfMonth {
        is_over: bool,
    },
    /// The service ends between the charge of a request and its answer.
    Crash(Asked),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Edit {
    Upsert(u64, Record),
    Delete(u64),
    Company { company: usize, name: usize },
}

#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) what: What,
    pub(super) name: Option<u8>,
    /// Whether a tool for agents is called where there is one.
    pub(super) by_tool: bool,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Count(Filter),
    Search(Filter, usize),
    /// A copy asks for the changes after its position, or from the start.
    Follow {
        copy: usize,
        limit: usize,
    },
    /// A copy takes the present position, and an export of what matches.
    Take {
        copy: usize,
    },
    Export {
        filter: Filter,
        after: Option<u64>,
        max_items: Option<usize>,
        /// Slices that the client reads before it leaves; `None` if it reads to the end.
        read: Option<usize>,
    },
}

/// A whole history.
pub(super) fn history() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..STEPS_MAX)
}

fn step() -> impl Strategy<Value = Step> {
    let waits = vec![1, 3600, DAY - 1, DAY, DAY + 1];
    prop_oneof![
        8 => vec(edit(), 1..4).prop_map(Step::Commit),
        1 => Just(Step::BackUp),
        2 => Just(Step::Restore),
        1 => Just(Step::Merge),
        16 => asked(what()).prop_map(Step::Ask),
        4 => (0..4_usize, any::<bool>()).prop_map(|(back, by_tool)| Step::Repeat { back, by_tool }),
        2 => read().prop_map(|read| Step::Resume { read }),
        2 => option::of(0..9_usize).prop_map(Step::Quota),
        2 => prop::sample::select(waits).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(|is_over| Step::TurnOfMonth { is_over }),
        // A free answer of the last second may be lost.
        2 => asked(charged()).prop_map(Step::Crash),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    let record = (
        0..TITLES.len(),
        0..CATEGORIES.len(),
        0..COMPANIES.len(),
        prop::bool::weighted(0.3),
    );
    prop_oneof![
        6 => (1..=ID_MAX, record).prop_map(|(id, (title, category, company, is_large))| {
            let is_large = is_large && id % LARGE_IDS == 0;
            Edit::Upsert(id, Record { title, category, company, is_large })
        }),
        2 => (1..=ID_MAX).prop_map(Edit::Delete),
        1 => (0..COMPANIES.len(), 0..NAMES.len())
            .prop_map(|(company, name)| Edit::Company { company, name }),
    ]
}

fn asked(what: impl Strategy<Value = What>) -> impl Strategy<Value = Asked> {
    let name = option::weighted(0.6, 0..3_u8);
    (what, name, any::<bool>()).prop_map(|(what, name, by_tool)| Asked {
        what,
        name,
        by_tool,
    })
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![
        1 => filter().prop_map(What::Count),
        15 => charged(),
    ]
}

fn charged() -> impl Strategy<Value = What> {
    prop_oneof![
        3 => (filter(), limit()).prop_map(|(filter, limit)| What::Search(filter, limit)),
        5 => (0..COPIES, limit()).prop_map(|(copy, limit)| What::Follow { copy, limit }),
        2 => (0..COPIES).prop_map(|copy| What::Take { copy }),
        5 => (filter(), option::weighted(0.3, 1..=ID_MAX), option::weighted(0.3, 1..4_usize), read())
            .prop_map(|(filter, after, max_items, read)| What::Export {
                filter,
                after,
                max_items,
                read,
            }),
    ]
}

fn filter() -> impl Strategy<Value = Filter> {
    // All matches are the likeliest, so that a name comes back with the filter that it had.
    prop_oneof![
        4 => Just(Filter::All),
        2 => Just(Filter::Alpha),
        1 => Just(Filter::NotBeta),
        1 => Just(Filter::Funding),
        1 => Just(Filter::North),
    ]
}

fn limit() -> impl Strategy<Value = usize> {
    prop::sample::select(&[50, 1, 3][..])
}

fn read() -> impl Strategy<Value = Option<usize>> {
    option::weighted(0.4, 0..3_usize)
}
