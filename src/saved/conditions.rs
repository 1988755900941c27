//! Filters compiled to conditions on the numbers of values.
//!
//! They are equivalent to [`Filter::matches`]. The conditions of all searches are in one list, those of a
//! search next to each other, so checking a candidate reads contiguous memory. A condition is a word with its
//! kind and length, followed by its values.

use super::document::Document;
use super::keys::{Key, Kind};
use super::vocabulary::Vocabulary;
use smol_str::SmolStr;

use crate::query::{CompanyReference, Facet, Filter, Phrase, Wanted};

/// Words next to each other.
type Sequence = Box<[Key]>;

/// Values of which a signal must have one, ascending and distinct.
pub(super) type Alternatives = Box<[Key]>;

/// The kind of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum ConditionKind {
    /// Each value occurs.
    All,
    /// At least one value occurs.
    Any,
    /// No value occurs.
    None,
    /// The words occur in the title, next to each other.
    InTitle,
    /// The words do not occur in the title next to each other.
    NotInTitle,
    /// The words occur in the company's name, next to each other.
    InCompanyName,
    /// At least one of that number of words, prefixes and sequences occurs in the title. They follow as sequences, each
    /// preceded by its length.
    AnyInTitle,
    /// Ranges of dates and amounts, and legal forms of companies, which the filter itself checks.
    OfFilter,
    End,
}

/// All kinds, by number.
const CLAUSES: [ConditionKind; 9] = [
    ConditionKind::All,
    ConditionKind::Any,
    ConditionKind::None,
    ConditionKind::InTitle,
    ConditionKind::NotInTitle,
    ConditionKind::InCompanyName,
    ConditionKind::AnyInTitle,
    ConditionKind::OfFilter,
    ConditionKind::End,
];

/// Bits of the kind, the lowest of a condition's word.
const CLAUSE_BITS: u32 = 4;

/// The result of checking the conditions of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Match,
    NoMatch,
    /// The signal matches if it is within the filter's ranges, and its company's legal form is one that is meant.
    AskFilter,
}

/// The conditions of all searches.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    words: Vec<u32>,
    /// The start of each search's conditions.
    starts: Vec<usize>,
}

impl Conditions {
    /// Adds the conditions of the next search. Returns alternatives, of each of which every matching signal has one
    /// value.
    pub(super) fn push(
        &mut self,
        filter: &Filter,
        vocabulary: &mut Vocabulary,
    ) -> Vec<Alternatives> {
        let mut parts = Parts::new(vocabulary);
        parts.add_texts(filter);
        parts.add_values(filter);
        self.starts.push(self.words.len());
        let is_exact = !filter.has_ranges() && !filter.has_legal_forms();
        parts.write(is_exact, &mut self.words);
        parts.found_by
    }

    /// Checks the conditions of a search.
    pub(super) fn decide(&self, search: usize, document: &Document) -> Decision {
        let mut rest = &self.words[self.starts[search]..];
        loop {
            let (clause, length) = clause_of(rest[0]);
            let (values, others) = rest[1..].split_at(match clause {
                ConditionKind::AnyInTitle => 0,
                _ => length,
            });
            rest = others;
            let holds = match clause {
                ConditionKind::All => values.iter().all(|&key| document.has(key)),
                ConditionKind::Any => values.iter().any(|&key| document.has(key)),
                ConditionKind::None => !values.iter().any(|&key| document.has(key)),
                ConditionKind::InTitle => occurs(values, &document.title),
                ConditionKind::NotInTitle => !occurs(values, &document.title),
                ConditionKind::InCompanyName => occurs(values, &document.company_name),
                ConditionKind::AnyInTitle => any_occurs(&mut rest, length, document),
                ConditionKind::OfFilter => return Decision::AskFilter,
                ConditionKind::End => return Decision::Match,
            };
            if !holds {
                return Decision::NoMatch;
            }
        }
    }
}

fn clause_of(word: u32) -> (ConditionKind, usize) {
    let clause = CLAUSES[(word & ((1 << CLAUSE_BITS) - 1)) as usize];
    (clause, (word >> CLAUSE_BITS) as usize)
}

fn occurs(sequence: &[Key], text: &[Key]) -> bool {
    text.windows(sequence.len())
        .any(|window| window == sequence)
}

/// Reads `count` sequences, each preceded by its length, and returns whether any occurs in the title.
fn any_occurs(words: &mut &[u32], count: usize, document: &Document) -> bool {
    let mut any = false;
    for _ in 0..count {
        let (sequence, rest) = words[1..].split_at(words[0] as usize);
        any = any
            || match sequence {
                // A prefix is a value of the title but none of its words, and a word alone is found by each of its forms.
                &[key] => document.has(key),
                _ => occurs(sequence, &document.title),
            };
        *words = rest;
    }
    any
}

/// The conditions of one filter, by kind.
struct Parts<'v> {
    vocabulary: &'v mut Vocabulary,
    found_by: Vec<Alternatives>,
    required: Vec<Key>,
    alternatives: Vec<Alternatives>,
    excluded: Vec<Key>,
    in_title: Vec<Sequence>,
    not_in_title: Vec<Sequence>,
    in_company_name: Vec<Sequence>,
    any_in_title: Vec<Sequence>,
}

impl<'v> Parts<'v> {
    fn new(vocabulary: &'v mut Vocabulary) -> Parts<'v> {
        Parts {
            vocabulary,
            found_by: Vec::new(),
            required: Vec::new(),
            alternatives: Vec::new(),
            excluded: Vec::new(),
            in_title: Vec::new(),
            not_in_title: Vec::new(),
            in_company_name: Vec::new(),
            any_in_title: Vec::new(),
        }
    }

    fn add_texts(&mut self, filter: &Filter) {
        for phrase in &filter.all {
            let words = self.required_words(Kind::TitleTerm, phrase);
            self.in_title.extend(words);
        }
        for phrase in &filter.company_words {
            let words = self.required_words(Kind::CompanyTerm, phrase);
            self.in_company_name.extend(words);
        }
        for phrase in &filter.none {
            match &*self.sequence(Kind::TitleTerm, phrase) {
                [word] => self.excluded.push(*word),
                words => self.not_in_title.push(words.into()),
            }
        }
        self.add_any(&filter.any);
    }

    /// Requires each word of a phrase. Returns the words if their order matters, too.
    fn required_words(&mut self, kind: Kind, phrase: &Phrase) -> Option<Sequence> {
        let words = self.sequence(kind, phrase);
        words.iter().for_each(|&word| self.require(vec![word]));
        (words.len() > 1).then_some(words)
    }

    fn add_any(&mut self, phrases: &[Phrase]) {
        if phrases.is_empty() {
            return;
        }
        let words = phrases.iter();
        let words = words.map(|phrase| self.sequence(Kind::TitleTerm, phrase));
        let words: Vec<Sequence> = words.collect();
        // Each phrase is indexed by its rarest word.
        let rarest = words
            .iter()
            .filter_map(|words| self.vocabulary.rarest(words));
        let rarest = rarest.collect();
        if words.iter().all(|words| words.len() == 1) {
            return self.require(rarest);
        }
        self.any_in_title = words;
        self.found_by.push(ascending(rarest));
    }

    fn sequence(&mut self, kind: Kind, phrase: &Phrase) -> Sequence {
        if let Wanted::Prefix(beginning) = phrase.wanted() {
            return [self.vocabulary.add(Kind::TitlePrefix, beginning)].into();
        }
        let terms = phrase.terms();
        terms.map(|term| self.vocabulary.add(kind, term)).collect()
    }

    fn add_values(&mut self, filter: &Filter) {
        if let Some(slug) = &filter.company_slug {
            self.require_texts(Kind::CompanySlug, [slug.as_str()]);
        }
        if !filter.companies.is_empty() {
            self.require_companies(&filter.companies);
        }
        for facet in Facet::ALL {
            let wanted = filter.value_keys(facet);
            if !wanted.is_empty() {
                self.require_texts(Kind::Facet(facet), wanted.iter().map(SmolStr::as_str));
            }
        }
        for ids in [&filter.ids, &filter.activity_ids].into_iter().flatten() {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            self.require_texts(Kind::Id, ids.iter().map(String::as_str));
        }
    }

    /// Requires one of some companies, each by its slug or the key of its name.
    fn require_companies(&mut self, companies: &[CompanyReference]) {
        let mut wanted = Vec::new();
        for company in companies {
            wanted.push(self.vocabulary.add(Kind::CompanySlug, &company.slug));
            let key = company.name.key();
            wanted.push(self.vocabulary.add(Kind::CompanyName, key));
        }
        self.require(wanted);
    }

    fn require_texts<'t>(&mut self, kind: Kind, texts: impl IntoIterator<Item = &'t str>) {
        let texts = texts.into_iter();
        let keys = texts.map(|text| self.vocabulary.add(kind, text));
        let keys = keys.collect();
        self.require(keys);
    }

    /// Requires one of some values.
    fn require(&mut self, keys: Vec<Key>) {
        let keys = ascending(keys);
        match &*keys {
            [key] => self.required.push(*key),
            _ => self.alternatives.push(keys.clone()),
        }
        self.found_by.push(keys);
    }

    /// Writes the conditions, cheapest first.
    fn write(&self, is_exact: bool, words: &mut Vec<u32>) {
        if !self.required.is_empty() {
            write(words, ConditionKind::All, &self.required);
        }
        if !self.excluded.is_empty() {
            write(words, ConditionKind::None, &self.excluded);
        }
        let lists = [
            (ConditionKind::Any, &self.alternatives),
            (ConditionKind::InTitle, &self.in_title),
            (ConditionKind::NotInTitle, &self.not_in_title),
            (ConditionKind::InCompanyName, &self.in_company_name),
        ];
        for (clause, lists) in lists {
            lists.iter().for_each(|list| write(words, clause, list));
        }
        if !self.any_in_title.is_empty() {
            words.push(word_of(ConditionKind::AnyInTitle, self.any_in_title.len()));
            for sequence in &self.any_in_title {
                words.push(sequence.len() as u32);
                words.extend(sequence);
            }
        }
        let last = if is_exact {
            ConditionKind::End
        } else {
            ConditionKind::OfFilter
        };
        words.push(word_of(last, 0));
    }
}

fn ascending(mut keys: Vec<Key>) -> Alternatives {
    keys.sort_unstable();
    keys.dedup();
    keys.into()
}

fn write(words: &mut Vec<u32>, clause: ConditionKind, values: &[Key]) {
    words.push(word_of(clause, values.len()));
    words.extend(values);
}

fn word_of(clause: ConditionKind, length: usize) -> u32 {
    let length = u32::try_from(length << CLAUSE_BITS).expect("a filter has fewer than 2^28 values");
    length | clause as u32
}
