//! `roaring` bitmaps in hash maps, as one would write it without measuring: every set is looked
//! up, the smallest come first, all are intersected, and then the page is cut; what is no set, the
//! order of words and the range of amounts, is checked row by row.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use roaring::{MultiOps, RoaringBitmap};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::engine::{Build, Engine, FacetAnswer, PAGE, PageAnswer, Prepared, Tally};
use crate::question::{Question, Start};
use crate::record::{FACETS, NONE, Record};

/// All maps. A row is a signal's rank.
#[derive(Default, Serialize, Deserialize)]
pub struct Maps {
    pub(super) ids: Vec<u64>,
    pub(super) all: RoaringBitmap,
    terms: HashMap<String, RoaringBitmap>,
    pub(super) values: HashMap<(usize, u32), RoaringBitmap>,
    companies: HashMap<u32, RoaringBitmap>,
    pub(super) days: BTreeMap<i32, RoaringBitmap>,
    /// Not a number where there is none.
    pub(super) amounts: Vec<f64>,
    /// For phrases.
    pub(super) titles: Vec<String>,
}

/// What a set belongs to.
#[derive(Clone, Copy)]
pub enum Name<'a> {
    /// A term of titles.
    Term(&'a str),
    /// A facet's value, by number.
    Value(usize, u32),
    /// A company, by number.
    Company(u32),
}

/// Maps being built.
pub struct Builder {
    maps: Maps,
    path: PathBuf,
}

impl Builder {
    /// Starts maps that are written to a folder in the end.
    pub fn new(folder: &Path) -> Builder {
        Builder {
            maps: Maps::default(),
            path: path(folder),
        }
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("maps")
}

impl Build for Builder {
    fn add(&mut self, record: Record) -> Result<()> {
        let (maps, rank) = (&mut self.maps, record.rank);
        maps.all.insert(rank);
        for term in record.title.split(' ').filter(|term| !term.is_empty()) {
            // Most terms are there already; only a new one needs a text of its own.
            match maps.terms.get_mut(term) {
                Some(rows) => rows.insert(rank),
                None => maps.terms.entry(term.into()).or_default().insert(rank),
            };
        }
        let values = record.facets.into_iter().enumerate();
        for (facet, number) in values.filter(|&(_, number)| number != NONE) {
            maps.values.entry((facet, number)).or_default().insert(rank);
        }
        maps.companies
            .entry(record.company)
            .or_default()
            .insert(rank);
        if let Some(day) = record.day {
            maps.days.entry(day).or_default().insert(rank);
        }
        maps.ids.push(record.id);
        maps.amounts.push(record.amount.unwrap_or(f64::NAN));
        maps.titles.push(record.title);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let mut file = BufWriter::new(File::create(&self.path)?);
        let configuration = bincode::config::standard();
        bincode::serde::encode_into_std_write(&self.maps, &mut file, configuration)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        Ok(())
    }
}

/// Maps in memory.
pub struct Bitmaps {
    maps: Maps,
    value_bounds: [usize; FACETS],
    /// What a value that nothing has looks up.
    nothing: RoaringBitmap,
}

impl Bitmaps {
    /// Reads what was built.
    pub fn open(folder: &Path, value_bounds: [usize; FACETS]) -> Result<Bitmaps> {
        let mut file = BufReader::new(File::open(path(folder))?);
        let configuration = bincode::config::standard();
        Ok(Bitmaps {
            maps: bincode::serde::decode_from_std_read(&mut file, configuration)?,
            value_bounds,
            nothing: RoaringBitmap::new(),
        })
    }

    /// The rows that all sets have, the condition of one facet lifted; amounts and the order of
    /// words are not sets.
    fn candidates(&self, question: &Question, lifted: Option<usize>) -> Cow<'_, RoaringBitmap> {
        let mut sets = self.sets(question, lifted);
        sets.sort_by_key(|set| set.len());
        let mut sets = sets.into_iter();
        let first = sets.next().unwrap_or(Cow::Borrowed(&self.maps.all));
        let mut rows = match sets.next() {
            None => first,
            Some(second) => Cow::Owned(&*first & &*second),
        };
        for set in sets {
            *rows.to_mut() &= &*set;
        }
        for term in &question.wanted.none {
            *rows.to_mut() -= self.term(term);
        }
        rows
    }

    fn sets(&self, question: &Question, lifted: Option<usize>) -> Vec<Cow<'_, RoaringBitmap>> {
        let mut sets = self.undated_sets(question, lifted);
        if let Some((first, last)) = question.days {
            let days = self.maps.days.range(first..=last);
            sets.push(union(days.map(|(_, rows)| rows)));
        }
        sets
    }

    fn undated_sets(
        &self,
        question: &Question,
        lifted: Option<usize>,
    ) -> Vec<Cow<'_, RoaringBitmap>> {
        let wanted = &question.wanted;
        let terms = wanted.all.iter().chain(&wanted.phrase);
        let mut sets: Vec<_> = terms.map(|term| Cow::Borrowed(self.term(term))).collect();
        if !wanted.any.is_empty() {
            sets.push(union(wanted.any.iter().map(|term| self.term(term))));
        }
        for (facet, numbers) in question.facets_without(lifted) {
            let value = |&number| self.find(&Name::Value(*facet, number));
            sets.push(union(numbers.iter().map(value)));
        }
        if !question.companies.is_empty() {
            let company = |&number| self.find(&Name::Company(number));
            sets.push(union(question.companies.iter().map(company)));
        }
        sets
    }

    /// The sets of everything but days, which have to hold together.
    pub fn value_sets(&self, question: &Question) -> Vec<RoaringBitmap> {
        let sets = self.undated_sets(question, None).into_iter();
        sets.map(Cow::into_owned).collect()
    }

    /// All maps.
    pub fn maps(&self) -> &Maps {
        &self.maps
    }

    /// The set of a name; empty where nothing has it.
    pub fn find(&self, name: &Name<'_>) -> &RoaringBitmap {
        let found = match name {
            Name::Term(term) => self.maps.terms.get(*term),
            Name::Value(facet, number) => self.maps.values.get(&(*facet, *number)),
            Name::Company(number) => self.maps.companies.get(number),
        };
        found.unwrap_or(&self.nothing)
    }

    fn term(&self, term: &str) -> &RoaringBitmap {
        self.find(&Name::Term(term))
    }

    /// Whether a row passes what is no set.
    fn passes(&self, question: &Question, rank: u32) -> bool {
        let wanted = &question.wanted;
        let amount = self.maps.amounts[rank as usize];
        wanted
            .amounts
            .is_none_or(|(min, max)| (min..=max).contains(&amount))
            && (wanted.phrase.is_empty() || self.has_phrase(rank, &wanted.phrase))
    }

    fn has_phrase(&self, rank: u32, phrase: &[String]) -> bool {
        let title: Vec<&str> = self.maps.titles[rank as usize].split(' ').collect();
        title.windows(phrase.len()).any(|window| window == phrase)
    }

    /// The matches as a set.
    fn matches(&self, question: &Question, lifted: Option<usize>) -> Cow<'_, RoaringBitmap> {
        let rows = self.candidates(question, lifted);
        if has_only_sets(question) {
            rows
        } else {
            Cow::Owned(
                rows.iter()
                    .filter(|&row| self.passes(question, row))
                    .collect(),
            )
        }
    }
}

fn has_only_sets(question: &Question) -> bool {
    question.wanted.amounts.is_none() && question.wanted.phrase.is_empty()
}

fn union<'a>(mut sets: impl Iterator<Item = &'a RoaringBitmap>) -> Cow<'a, RoaringBitmap> {
    match (sets.next(), sets.next()) {
        (None, _) => Cow::Owned(RoaringBitmap::new()),
        (Some(only), None) => Cow::Borrowed(only),
        (Some(first), Some(second)) => Cow::Owned([first, second].into_iter().chain(sets).union()),
    }
}

impl Engine for Bitmaps {
    fn prepare<'e>(&'e self, question: &'e Question) -> Result<Box<dyn Prepared + 'e>> {
        Ok(Box::new(Asked {
            engine: self,
            question,
        }))
    }
}

struct Asked<'e> {
    engine: &'e Bitmaps,
    question: &'e Question,
}

impl Prepared for Asked<'_> {
    fn page(&mut self, start: Start) -> Result<PageAnswer> {
        let (engine, question) = (self.engine, self.question);
        let rows = engine.candidates(question, None);
        let is_plain = has_only_sets(question);
        let found = rows
            .range(question.rank(start)..)
            .filter(|&row| is_plain || engine.passes(question, row));
        let ids = found.take(PAGE).map(|row| engine.maps.ids[row as usize]);
        Ok(PageAnswer::Numbers(ids.collect()))
    }

    fn count(&mut self) -> Result<u64> {
        Ok(self.engine.matches(self.question, None).len())
    }

    fn facets(&mut self) -> Result<FacetAnswer> {
        let (engine, question) = (self.engine, self.question);
        let mut tally = Tally::new(&engine.value_bounds);
        let matches = engine.matches(question, None);
        for facet in question.free_facets() {
            engine.count_values(&matches, facet, &mut tally);
        }
        for facet in question.filtered_facets() {
            let matches = engine.matches(question, Some(facet));
            engine.count_values(&matches, facet, &mut tally);
        }
        Ok(FacetAnswer::Numbered(tally))
    }
}

impl Bitmaps {
    fn count_values(&self, matches: &RoaringBitmap, facet: usize, tally: &mut Tally) {
        for (number, count) in tally.0[facet].iter_mut().enumerate() {
            if let Some(rows) = self.maps.values.get(&(facet, number as u32)) {
                *count = matches.intersection_len(rows);
            }
        }
    }
}
