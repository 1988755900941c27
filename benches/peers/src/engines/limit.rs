//! How fast a count could be: kernels that know the shape of the answer and do only what any
//! algorithm has to do, written for each class by hand. They answer nothing but counts.
//!
//! Every kernel finds the stored set of each value that is named, one look-up in a hash map each.
//! Then:
//!
//! | class | what is left to do |
//! |---|---|
//! | no filter, one term, one company, 20 companies | add up stored numbers: sets of companies are disjoint |
//! | terms, facets, hiring attributes, no hit | walk the shortest list and look up one bit a row in each other set, or intersect all as bitsets, whichever is faster |
//! | term without two others | the same, with the bits of the others inverted |
//! | any of some terms | unite a block at a time in a bitset that stays in the first cache, dense sets by word and others by row, dense from whichever density on is fastest |
//! | with the last days | as for facets, over the rows from the first to the last that has such a date, then one day a row |
//! | with amounts | as for facets, then one amount a row |
//! | phrase | intersect the lists of positions at which its words stand, the shortest one leading |
//! | five categories + dates | one byte of category and two of date a row, from the first row to the last that has such a date |

use std::collections::HashMap;
use std::hint::black_box;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::time::{Duration, Instant};

use multiversion::multiversion;
use roaring::RoaringBitmap;
use signaldex::query::Facet;

use super::roaring::{Bitmaps, Name};
use crate::Result;
use crate::engine::{Engine, FacetAnswer, PageAnswer, Prepared};
use crate::question::{Question, Start};
use crate::record::FACETS;

/// Rows of a block: its bitset has 8 KB.
const BLOCK: usize = 1 << 16;
/// Words that are combined at a time: as many as a vector register holds at max.
const LANES: usize = 8;

/// What kernels read.
pub struct Limit {
    bitmaps: Bitmaps,
    /// Days after the first day; [`NO_DAY`] where there is none.
    days: Vec<u16>,
    first_day: i32,
    /// The numbers of categories.
    categories: Vec<u8>,
    titles: Titles,
}

/// Later than any date.
const NO_DAY: u16 = u16::MAX;

impl Limit {
    /// Reads what was built for roaring and arranges it.
    pub fn open(folder: &Path, value_bounds: [usize; FACETS]) -> Result<Limit> {
        let bitmaps = Bitmaps::open(folder, value_bounds)?;
        let maps = bitmaps.maps();
        let rows = maps.ids.len();
        let first_day = maps.days.keys().next().copied().unwrap_or_default();
        let mut days = vec![NO_DAY; rows];
        for (day, of_day) in &maps.days {
            let position = u16::try_from(day - first_day).unwrap_or(NO_DAY);
            of_day.iter().for_each(|row| days[row as usize] = position);
        }
        let mut categories = vec![0; rows];
        for ((facet, number), of_value) in &maps.values {
            if *facet == Facet::Category as usize {
                let number = u8::try_from(*number)?;
                of_value
                    .iter()
                    .for_each(|row| categories[row as usize] = number);
            }
        }
        Ok(Limit {
            titles: Titles::of(&maps.titles)?,
            days,
            first_day,
            categories,
            bitmaps,
        })
    }

    /// The kernels that fit a question.
    fn shapes(&self, question: &Question) -> Vec<Shape> {
        let wanted = &question.wanted;
        let names = names(question);
        let is_plain = question.days.is_none()
            && wanted.amounts.is_none()
            && wanted.none.is_empty()
            && wanted.phrase.is_empty();
        let is_of_companies = names.len() == question.companies.len();
        if is_plain && names.is_empty() {
            return vec![Shape::Stored(vec![self.bitmaps.maps().all.len()])];
        }
        if is_plain && (names.len() == 1 || is_of_companies) {
            let counts = names.iter().map(|name| self.bitmaps.find(name).len());
            return vec![Shape::Stored(counts.collect())];
        }
        if is_plain && names.len() == wanted.any.len() {
            let sets: Vec<_> = names.iter().map(|name| self.bitmaps.find(name)).collect();
            let union = |one_in| Shape::Union(Union::of(&sets, self.days.len(), one_in));
            return DENSE_ONE_IN.map(union).into();
        }
        if !wanted.phrase.is_empty() {
            return vec![Shape::Positions(self.titles.positions(&wanted.phrase))];
        }
        match (&question.facets[..], question.days) {
            ([(facet, numbers)], Some(_)) if *facet == Facet::Category as usize => {
                vec![Shape::Columns(self.columns(question, numbers))]
            }
            _ => {
                let conjunction = self.conjunction(question);
                vec![Shape::Words(conjunction.words()), Shape::Walk(conjunction)]
            }
        }
    }

    fn columns(&self, question: &Question, numbers: &[u32]) -> Columns {
        let (rows, days) = self.dated(question);
        Columns {
            categories: numbers.iter().map(|&number| number as u8).collect(),
            rows,
            days: days.unwrap_or(0..=NO_DAY - 1),
        }
    }

    /// The rows from the first to the last that has a date that is asked for, and these days.
    fn dated(&self, question: &Question) -> (Range<u32>, Option<RangeInclusive<u16>>) {
        let Some((first, last)) = question.days else {
            return (0..self.days.len() as u32, None);
        };
        let of_days = || self.bitmaps.maps().days.range(first..=last);
        let first_row = of_days().filter_map(|(_, rows)| rows.min()).min();
        let last_row = of_days().filter_map(|(_, rows)| rows.max()).max();
        let position = |day: i32| (day - self.first_day).clamp(0, i32::from(NO_DAY) - 1) as u16;
        let rows = match (first_row, last_row) {
            (Some(first), Some(last)) => first..last + 1,
            _ => 0..0,
        };
        (rows, Some(position(first)..=position(last)))
    }

    fn conjunction(&self, question: &Question) -> Walk {
        let (span, days) = self.dated(question);
        let mut sets: Vec<RoaringBitmap> = self.bitmaps.value_sets(question);
        sets.sort_by_key(RoaringBitmap::len);
        let excluded = question.wanted.none.iter();
        let none: Vec<&RoaringBitmap> = excluded
            .map(|term| self.bitmaps.find(&Name::Term(term)))
            .collect();
        let rows = self.days.len();
        Walk {
            rows: sets[0].range(span.clone()).collect(),
            others: sets[1..].iter().map(|set| words(set, rows)).collect(),
            none: none.iter().map(|set| words(set, rows)).collect(),
            span,
            checks: Checks {
                days,
                amounts: question.wanted.amounts,
            },
            first: words(&sets[0], rows),
        }
    }

    fn count(&self, shape: &Shape) -> u64 {
        match shape {
            Shape::Stored(counts) => counts.iter().sum(),
            Shape::Union(union) => union.count(),
            Shape::Columns(columns) => columns.count(self),
            Shape::Positions(positions) => positions.count(),
            Shape::Walk(walk) => walk.count(self),
            Shape::Words(words) => words.count(self),
        }
    }
}

/// Everything that a question names.
fn names(question: &Question) -> Vec<Name<'_>> {
    let wanted = &question.wanted;
    let terms = [&wanted.all, &wanted.phrase, &wanted.any, &wanted.none];
    let mut names: Vec<Name<'_>> = terms
        .into_iter()
        .flatten()
        .map(|term| Name::Term(term))
        .collect();
    for (facet, numbers) in &question.facets {
        names.extend(numbers.iter().map(|&number| Name::Value(*facet, number)));
    }
    names.extend(
        question
            .companies
            .iter()
            .map(|&number| Name::Company(number)),
    );
    names
}

impl Engine for Limit {
    fn prepare<'e>(&'e self, question: &'e Question) -> Result<Box<dyn Prepared + 'e>> {
        let shapes = self.shapes(question).into_iter();
        let fastest = shapes.min_by_key(|shape| self.time(shape));
        Ok(Box::new(Asked {
            limit: self,
            names: names(question),
            shape: fastest.ok_or("no kernel fits")?,
        }))
    }
}

impl Limit {
    /// The shortest of some runs.
    fn time(&self, shape: &Shape) -> Duration {
        const RUNS: usize = 5;
        let runs = (0..RUNS).map(|_| {
            let started = Instant::now();
            black_box(self.count(shape));
            started.elapsed()
        });
        runs.min().unwrap_or_default()
    }
}

struct Asked<'e> {
    limit: &'e Limit,
    names: Vec<Name<'e>>,
    shape: Shape,
}

impl Prepared for Asked<'_> {
    fn page(&mut self, _start: Start) -> Result<PageAnswer> {
        Ok(PageAnswer::Numbers(Vec::new()))
    }

    fn count(&mut self) -> Result<u64> {
        for name in &self.names {
            black_box(self.limit.bitmaps.find(name));
        }
        Ok(self.limit.count(&self.shape))
    }

    fn facets(&mut self) -> Result<FacetAnswer> {
        Ok(FacetAnswer::Unsupported)
    }
}

/// A kernel with what it reads.
enum Shape {
    Stored(Vec<u64>),
    Union(Union),
    Columns(Columns),
    Positions(Positions),
    Walk(Walk),
    Words(Words),
}

/// What cannot be told from sets.
#[derive(Clone)]
struct Checks {
    days: Option<RangeInclusive<u16>>,
    amounts: Option<(f64, f64)>,
}

impl Checks {
    fn are_none(&self) -> bool {
        self.days.is_none() && self.amounts.is_none()
    }

    fn pass(&self, limit: &Limit, row: u32) -> bool {
        let position = row as usize;
        let is_dated = |days: &RangeInclusive<u16>| days.contains(&limit.days[position]);
        let is_between = |(min, max)| (min..=max).contains(&limit.bitmaps.maps().amounts[position]);
        self.days.as_ref().is_none_or(is_dated) && self.amounts.is_none_or(is_between)
    }
}

/// The shortest list, whose rows are looked up in the other sets.
struct Walk {
    rows: Vec<u32>,
    others: Vec<Vec<u64>>,
    none: Vec<Vec<u64>>,
    checks: Checks,
    /// What the same as bitsets needs.
    first: Vec<u64>,
    span: Range<u32>,
}

impl Walk {
    fn count(&self, limit: &Limit) -> u64 {
        let rows = self.rows.iter().filter(|&&row| {
            self.others.iter().all(|set| has(set, row))
                && !self.none.iter().any(|set| has(set, row))
                && self.checks.pass(limit, row)
        });
        rows.count() as u64
    }

    /// The same by words. The first and the last word may reach over the span of rows; what lies
    /// there fails the check of days.
    fn words(&self) -> Words {
        let first = self.span.start as usize / 64 / LANES * LANES;
        let end = (self.span.end as usize).div_ceil(64);
        let words = first..end.next_multiple_of(LANES);
        let cut = |set: &Vec<u64>| set[words.clone()].to_vec();
        let others = self.others.iter().map(cut);
        Words {
            sets: std::iter::once(cut(&self.first)).chain(others).collect(),
            none: self.none.iter().map(cut).collect(),
            first_row: words.start as u32 * 64,
            checks: self.checks.clone(),
        }
    }
}

fn has(set: &[u64], row: u32) -> bool {
    set[row as usize / 64] >> (row % 64) & 1 == 1
}

/// A set as a bitset, its words a multiple of [`LANES`].
fn words(set: &RoaringBitmap, rows: usize) -> Vec<u64> {
    let mut words = vec![0; rows.div_ceil(64).next_multiple_of(LANES)];
    for row in set {
        words[row as usize / 64] |= 1 << (row % 64);
    }
    words
}

/// Sets that are intersected word by word.
struct Words {
    sets: Vec<Vec<u64>>,
    none: Vec<Vec<u64>>,
    first_row: u32,
    checks: Checks,
}

impl Words {
    fn count(&self, limit: &Limit) -> u64 {
        if self.checks.are_none() {
            count_words(&self.sets, &self.none)
        } else {
            self.count_checked(limit)
        }
    }

    fn count_checked(&self, limit: &Limit) -> u64 {
        let mut rows = Vec::new();
        collect_rows(&self.sets, &self.none, self.first_row, &mut rows);
        let passing = rows.iter().filter(|&&row| self.checks.pass(limit, row));
        passing.count() as u64
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2+bmi1+bmi2"))]
fn collect_rows(sets: &[Vec<u64>], none: &[Vec<u64>], first_row: u32, rows: &mut Vec<u32>) {
    for position in (0..sets[0].len()).step_by(LANES) {
        let words = combined(sets, none, position);
        // Most hold nothing, which one test of all of them tells.
        if words.iter().fold(0, |any, word| any | word) == 0 {
            continue;
        }
        for (lane, mut word) in words.into_iter().enumerate() {
            while word != 0 {
                rows.push(first_row + ((position + lane) * 64) as u32 + word.trailing_zeros());
                word &= word - 1;
            }
        }
    }
}

/// Some words of the intersection.
#[inline(always)]
fn combined(sets: &[Vec<u64>], none: &[Vec<u64>], position: usize) -> [u64; LANES] {
    let mut words = [u64::MAX; LANES];
    for set in sets {
        let set = &set[position..position + LANES];
        words
            .iter_mut()
            .zip(set)
            .for_each(|(word, other)| *word &= other);
    }
    for set in none {
        let set = &set[position..position + LANES];
        words
            .iter_mut()
            .zip(set)
            .for_each(|(word, other)| *word &= !other);
    }
    words
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+popcnt"
))]
fn count_words(sets: &[Vec<u64>], none: &[Vec<u64>]) -> u64 {
    let mut counts = [0; LANES];
    for position in (0..sets[0].len()).step_by(LANES) {
        let words = combined(sets, none, position);
        for (count, word) in counts.iter_mut().zip(words) {
            *count += u64::from(word.count_ones());
        }
    }
    counts.iter().sum()
}

/// Densities from which on sets are united by word: one row in n.
const DENSE_ONE_IN: [u64; 4] = [16, 32, 64, 128];

/// Sets that are united a block at a time.
struct Union {
    /// As bitsets.
    dense: Vec<Vec<u64>>,
    /// By block, the positions of all other sets in it.
    sparse: Vec<Vec<u16>>,
}

impl Union {
    /// Sets are dense from a density of one row in `one_in` on.
    fn of(sets: &[&RoaringBitmap], rows: usize, one_in: u64) -> Union {
        let blocks = rows.div_ceil(BLOCK);
        let mut union = Union {
            dense: Vec::new(),
            sparse: vec![Vec::new(); blocks],
        };
        for set in sets {
            if set.len() * one_in > rows as u64 {
                union.dense.push(words(set, blocks * BLOCK));
            } else {
                set.iter()
                    .for_each(|row| union.sparse[row as usize / BLOCK].push(row as u16));
            }
        }
        union
    }

    fn count(&self) -> u64 {
        const WORDS: usize = BLOCK / 64;
        let blocks = self.sparse.iter().enumerate().map(|(block, positions)| {
            let mut bits = [0; WORDS];
            for set in &self.dense {
                unite(&mut bits, &set[block * WORDS..][..WORDS]);
            }
            for position in positions {
                bits[usize::from(position / 64)] |= 1 << (position % 64);
            }
            count_bits(&bits)
        });
        blocks.sum()
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn unite(bits: &mut [u64], others: &[u64]) {
    bits.iter_mut()
        .zip(others)
        .for_each(|(word, other)| *word |= other);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+popcnt"
))]
fn count_bits(bits: &[u64]) -> u64 {
    bits.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Categories and days, read row by row.
struct Columns {
    categories: Vec<u8>,
    rows: Range<u32>,
    days: RangeInclusive<u16>,
}

impl Columns {
    fn count(&self, limit: &Limit) -> u64 {
        let rows = self.rows.start as usize..self.rows.end as usize;
        let (categories, days) = (&limit.categories[rows.clone()], &limit.days[rows]);
        match <[u8; 5]>::try_from(self.categories.as_slice()) {
            Ok(wanted) => count_columns(categories, days, wanted, &self.days),
            Err(_) => 0,
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn count_columns(
    categories: &[u8],
    days: &[u16],
    wanted: [u8; 5],
    range: &RangeInclusive<u16>,
) -> u64 {
    /// Rows whose count fits into a byte, so that bytes are added up.
    const CHUNK: usize = 128;
    let (first, length) = (*range.start(), range.end() - range.start());
    let mut count = 0;
    for (categories, days) in categories.chunks(CHUNK).zip(days.chunks(CHUNK)) {
        let matches = categories.iter().zip(days).map(|(category, day)| {
            let is_wanted = wanted.iter().fold(false, |is, one| is | (one == category));
            u8::from(is_wanted & (day.wrapping_sub(first) <= length))
        });
        count += u64::from(matches.sum::<u8>());
    }
    count
}

/// Where each term stands.
struct Titles(HashMap<String, Vec<u32>>);

/// Bits of a position that say which word of its title it is.
const WORD_BITS: u32 = 8;

impl Titles {
    fn of(titles: &[String]) -> Result<Titles> {
        if titles.len() > 1 << (u32::BITS - WORD_BITS) {
            return Err("positions of words do not fit that many titles".into());
        }
        let mut positions: HashMap<String, Vec<u32>> = HashMap::new();
        for (row, title) in titles.iter().enumerate() {
            for (word, term) in title.split(' ').enumerate() {
                let position = (row as u32) << WORD_BITS | word as u32;
                positions.entry(term.to_owned()).or_default().push(position);
            }
        }
        Ok(Titles(positions))
    }

    fn positions(&self, phrase: &[String]) -> Positions {
        let words = phrase.iter().enumerate();
        let mut lists: Vec<Vec<u32>> = words
            .map(|(word, term)| {
                let positions = self.0.get(term).into_iter().flatten();
                let starts =
                    positions.filter(|&&position| position % (1 << WORD_BITS) >= word as u32);
                starts.map(|position| position - word as u32).collect()
            })
            .collect();
        lists.sort_by_key(Vec::len);
        Positions(lists)
    }
}

/// For each word of a phrase, where the phrase would have to start, ascending; shortest first.
struct Positions(Vec<Vec<u32>>);

impl Positions {
    fn count(&self) -> u64 {
        let Some((shortest, others)) = self.0.split_first() else {
            return 0;
        };
        let mut others: Vec<&[u32]> = others.iter().map(Vec::as_slice).collect();
        let (mut count, mut last_row) = (0, None);
        for &start in shortest {
            let is_start = others.iter_mut().all(|list| advance(list, start));
            let row = Some(start >> WORD_BITS);
            // A title that has the phrase twice is one match.
            if is_start && row != last_row {
                (count, last_row) = (count + 1, row);
            }
        }
        count
    }
}

/// Drops what is below a position, in steps that double; says whether the position is there.
fn advance(list: &mut &[u32], position: u32) -> bool {
    let mut step = 1;
    while list.get(step).is_some_and(|&other| other < position) {
        step *= 2;
    }
    let reached = &list[step / 2..list.len().min(step + 1)];
    let below = step / 2 + reached.partition_point(|&other| other < position);
    *list = &list[below..];
    list.first() == Some(&position)
}
