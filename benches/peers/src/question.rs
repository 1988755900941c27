//! A drawn query as every engine takes it: prepared where preparing is not what is measured.

use signaldex::{Filter, Query, Snapshot};
use time::Date;

use crate::Result;
use crate::classes::wanted::{Dates, Texts, cursor_before};
use crate::classes::{Class, Statistics, Wanted};
use crate::record::{COUNTED, Dictionary, day_number};

/// A class with its questions.
pub struct Questions {
    /// The class's name.
    pub class: &'static str,
    /// Whether counts and facets are asked for.
    pub is_counted: bool,
    /// One for each query.
    pub questions: Vec<Question>,
}

/// A query for all engines.
pub struct Question {
    /// Its index among all questions.
    pub number: usize,
    /// In plain words; the terms are there.
    pub wanted: Wanted,
    /// For signaldex: the texts that a host gives its builder.
    pub texts: Texts,
    /// For signaldex: the first page as a query string.
    pub query_string: String,
    /// For signaldex: the cursor of a first page that does not start with the newest signal.
    pub cursor: Option<String>,
    /// For signaldex: the first page.
    pub first: Query,
    /// For signaldex: the page from the middle.
    pub middle: Query,
    /// The numbers of values of which a signal has one, for each facet that is filtered on.
    pub facets: Vec<(usize, Vec<u32>)>,
    /// The numbers of companies of which the signal has one; empty: no such condition.
    pub companies: Vec<u32>,
    /// The first and the last day.
    pub days: Option<(i32, i32)>,
    /// Where the first page starts.
    first_position: Position,
    /// Where the page in the middle starts.
    middle_position: Position,
}

/// A position among all signals, newest first.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// The number of signals before it.
    rank: u32,
    /// The id of the last signal before it.
    before: Option<u64>,
}

impl Position {
    fn at(rank: usize, statistics: &Statistics) -> Position {
        Position {
            rank: rank as u32,
            before: statistics.id_before(rank),
        }
    }
}

/// Where a page starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At the question's own start, mostly the newest match.
    First,
    /// Half way between the newest match and the oldest.
    Middle,
}

/// The questions of some classes.
pub fn questions(
    classes: Vec<Class>,
    snapshot: &Snapshot,
    statistics: &Statistics,
    dictionary: &Dictionary,
    today: Date,
) -> Result<Vec<Questions>> {
    let mut numbers = 0..;
    let of_class = |class: Class| {
        let wanted = numbers.by_ref().zip(class.queries);
        let questions =
            wanted.map(|numbered| Question::new(numbered, snapshot, statistics, dictionary, today));
        Ok(Questions {
            class: class.name,
            is_counted: class.is_counted,
            questions: questions.collect::<Result<_>>()?,
        })
    };
    classes.into_iter().map(of_class).collect()
}

impl Question {
    fn new(
        (number, wanted): (usize, Wanted),
        snapshot: &Snapshot,
        statistics: &Statistics,
        dictionary: &Dictionary,
        today: Date,
    ) -> Result<Question> {
        let first_rank = wanted.before.map_or(0, |id| statistics.rank_below(id));
        let middle_rank = wanted.middle_rank(snapshot, statistics, today)?;
        let first = wanted.query(today);
        Ok(Question {
            number,
            texts: wanted.texts(),
            query_string: first.to_string(),
            cursor: wanted
                .before
                .map(|id| cursor_before(id, first.filter(), today)),
            facets: facet_numbers(&wanted, dictionary)?,
            companies: company_numbers(first.filter(), snapshot, dictionary)?,
            days: wanted.dates.map(|dates| days(dates, today)),
            first,
            middle: wanted.query_from(middle_rank, statistics, today),
            wanted,
            first_position: Position::at(first_rank, statistics),
            middle_position: Position::at(middle_rank, statistics),
        })
    }

    /// The counted facets with a condition of their own.
    pub fn filtered_facets(&self) -> impl Iterator<Item = usize> {
        let filtered = self.facets.iter().map(|&(facet, _)| facet);
        filtered.filter(|&facet| counted().any(|counted| counted == facet))
    }

    /// The rank from which a page goes on.
    pub fn rank(&self, start: Start) -> u32 {
        self.position(start).rank
    }

    /// The id of the last signal before a page; none where it starts with the newest.
    pub fn before(&self, start: Start) -> Option<u64> {
        self.position(start).before
    }

    fn position(&self, start: Start) -> Position {
        match start {
            Start::First => self.first_position,
            Start::Middle => self.middle_position,
        }
    }

    /// The values that a signal has to have once a facet's own condition is lifted; with none
    /// lifted, all of them.
    pub fn facets_without(
        &self,
        lifted: Option<usize>,
    ) -> impl Iterator<Item = &(usize, Vec<u32>)> {
        let facets = self.facets.iter();
        facets.filter(move |(facet, _)| Some(*facet) != lifted)
    }

    /// The counted facets without a condition of their own, which can be counted in one go.
    pub fn free_facets(&self) -> Vec<usize> {
        counted()
            .filter(|facet| self.facets.iter().all(|(filtered, _)| filtered != facet))
            .collect()
    }
}

/// The numbers of the facets that are counted.
pub fn counted() -> impl Iterator<Item = usize> {
    COUNTED.into_iter().map(|facet| facet as usize)
}

/// The first and the last day.
fn days(dates: Dates, today: Date) -> (i32, i32) {
    match dates {
        Dates::Last(days) => (day_number(today) - days.count() + 1, day_number(today)),
        Dates::Between(from, to) => (day_number(from), day_number(to)),
    }
}

fn facet_numbers(wanted: &Wanted, dictionary: &Dictionary) -> Result<Vec<(usize, Vec<u32>)>> {
    let numbers = wanted.facets.iter().map(|(facet, labels)| {
        let numbers = labels.iter().map(|label| dictionary.value(*facet, label));
        let numbers: Option<Vec<u32>> = numbers.collect();
        Ok((*facet as usize, numbers.ok_or("a drawn value is unknown")?))
    });
    numbers.collect()
}

/// The companies of which a signal has one. Peers know only their numbers, not the names that items of `companies` may be.
fn company_numbers(
    filter: &Filter,
    snapshot: &Snapshot,
    dictionary: &Dictionary,
) -> Result<Vec<u32>> {
    let named = snapshot.named_companies(filter)?;
    let named = named.iter().flat_map(|item| &item.companies);
    let slugs = named.map(|company| company.slug.as_str());
    // A company without signals has no number.
    let numbers = slugs
        .chain(filter.company_slug())
        .filter_map(|slug| dictionary.company(slug));
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}
