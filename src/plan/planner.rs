//! Turns filters into steps.

use smallvec::SmallVec;
use smol_str::SmolStr;
use time::Date;

use super::clause::Clause;
use super::estimate::Estimate;
use super::request::PlanRequest;
use super::statistics::{
    CodeRange, Pair, PrefixWords, RangeColumn, SourceStatistics, Statistics, TermStatistics,
};
use super::step_sink::{Planned, StepSink, Stop};
use super::steps::{
    Access, AnyPhrase, CheckedPhrase, PhraseCheck, PhraseStep, Plan, PlanStorage, RangeStep, Step,
};
use super::stored_union::{
    LISTED_OF_A_PAGE, LISTED_OF_EACH_BLOCK, LISTED_WITHOUT_A_PLAN, StoredUnion,
};
use super::strategies::Strategies;
use crate::Result;
use crate::encoding::tokens::EncodedPhrase;
use crate::query::{Facet, Filter, Phrase, Wanted};
use crate::segment::TextField;
use crate::signal::SignalId;

impl<'q> Plan<'q> {
    /// Plans in the storage, because moving a plan takes as long as planning a short filter.
    ///
    /// # Errors
    /// A part of the segment that the filter needs is damaged.
    #[inline(always)]
    pub(crate) fn new_in<'s>(
        storage: &'s mut PlanStorage<'q>,
        request: &PlanRequest<'q, '_>,
        statistics: &impl Statistics,
    ) -> Result<&'s Plan<'q>> {
        let PlanStorage(plan) = storage;
        find_steps(plan, request, statistics)?;
        Ok(plan)
    }
}

/// Adds steps for each part of the filter to an empty plan, then orders them by cost. Stops at the first
/// part that matches nothing.
///
/// # Errors
/// A part of the segment that the filter needs is damaged.
fn find_steps<'q, S: Statistics>(
    plan: &mut Plan<'q>,
    request: &PlanRequest<'q, '_>,
    statistics: &S,
) -> Result<()> {
    let PlanRequest {
        filter,
        today,
        strategies,
        matches,
    } = *request;
    let mut planner = Planner {
        statistics,
        stored_pairs: strategies.stored_pairs,
        listed_rows_max: matches.map_or(LISTED_OF_EACH_BLOCK, |_| LISTED_OF_A_PAGE),
        sink: plan,
    };
    let mut added = planner.add_all(filter, today);
    // After all facets, whose estimates decide whether companies lead.
    if strategies.company_sets {
        added = added.and_then(|()| planner.lead_by_companies(filter, matches));
    }
    planner.sink.no_match = Stop::no_match(added)?;
    let required = &mut planner.sink.required;
    // The sort is stable, so steps with equal estimates stay in the order of the filter.
    required.sort_by_key(|step| step.estimate.expected);
    if let Some((lead, others)) = required.split_first_mut()
        && matches!(lead.access, Access::OfCompanies(_))
    {
        // Sets with few sources are looked up for each row of the companies, so they come first.
        others.sort_by_key(Step::has_many_sources);
    }
    Ok(())
}

/// Passes the steps of a filter to a sink as they are found, in the order of [`Planner::add_all`]. Stops at the first
/// part of the filter that matches nothing, or that leaves no row to the sink.
#[inline]
pub(crate) fn visit_steps<'q>(
    sink: &mut impl StepSink<'q>,
    filter: &'q Filter,
    today: Date,
    strategies: &Strategies,
    statistics: &impl Statistics,
) -> Planned<'q> {
    let mut planner = Planner {
        statistics,
        stored_pairs: strategies.stored_pairs,
        listed_rows_max: LISTED_WITHOUT_A_PLAN,
        sink,
    };
    planner.add_all(filter, today)
}

struct Planner<'s, S, K> {
    statistics: &'s S,
    stored_pairs: bool,
    /// The rows of a word of a prefix that are listed, at most.
    listed_rows_max: u64,
    sink: &'s mut K,
}

impl<'q, S: Statistics, K: StepSink<'q>> Planner<'_, S, K> {
    fn add_all(&mut self, filter: &'q Filter, today: Date) -> Planned<'q> {
        // Eager evaluation applies the steps in this order, so sets that are usually small come
        // first.
        self.add_ids(filter.ids.as_deref())?;
        self.add_ids(filter.activity_ids.as_deref())?;
        self.add_companies(filter)?;
        // Small segments lack many ranges and words. What follows an absent one is not looked up.
        if filter.has_ranges() {
            self.add_days(filter, today)?;
            self.add_amounts(filter)?;
        }
        for phrase in &filter.all {
            self.add_phrase(TextField::Title, phrase)?;
        }
        for phrase in &filter.company_words {
            self.add_phrase(TextField::Name, phrase)?;
        }
        for facet in filter.filtered_facets() {
            self.add_facet(filter, facet)?;
        }
        if !filter.any.is_empty() {
            self.add_any(&filter.any)?;
        }
        // Exclusions come last, because eager evaluation subtracts them from the candidates of all
        // other steps.
        for phrase in &filter.none {
            self.exclude_phrase(phrase)?;
        }
        Ok(())
    }

    fn add_ids(&mut self, ids: Option<&'q [SignalId]>) -> Planned<'q> {
        let Some(ids) = ids else { return Ok(()) };
        let rows = self.statistics.rows_of_ids(ids)?;
        let clause = Clause::Ids(ids.len());
        let estimate = Estimate::exact(rows.len() as u64);
        self.require(clause, Access::Rows(rows), estimate)
    }

    fn add_companies(&mut self, filter: &'q Filter) -> Planned<'q> {
        if let Some(slug) = &filter.company_slug {
            let company = self.statistics.company(slug)?;
            self.require_any(Clause::CompanySlug(slug), company.as_slice())?;
        }
        if !filter.companies.is_empty() {
            let companies = self.statistics.companies(&filter.companies)?;
            self.require_any(Clause::Companies(filter.companies.len()), &companies)?;
        }
        Ok(())
    }

    fn add_facet(&mut self, filter: &'q Filter, facet: Facet) -> Planned<'q> {
        let keys = filter.value_keys(facet);
        let Some(first) = keys.first() else {
            return Ok(());
        };
        let mut values: SmallVec<[SourceStatistics; 4]> = SmallVec::new();
        for key in keys {
            // `extend` takes up to 1.12 times the instructions of a count (`benches/instructions`, many categories).
            for value in self.statistics.facet_values(facet, key)? {
                values.push(value);
            }
        }
        self.require_any(Clause::Facet(facet, first, keys.len()), &values)
    }

    /// Adds a source for each pair and word of the phrase, and a check of the word order unless the sources
    /// decide it.
    fn add_phrase(&mut self, field: TextField, phrase: &'q Phrase) -> Planned<'q> {
        let clause = match field {
            TextField::Title => Clause::TitlePhrase(phrase),
            TextField::Name => Clause::NamePhrase(phrase),
        };
        let word_clause = |word: &'q str| match field {
            TextField::Title => Clause::TitleWord(word),
            TextField::Name => Clause::NameWord(word),
        };
        let term = |word: &'q str| {
            let term = self.statistics.term(field, word)?;
            term.ok_or(Stop::NoMatch(word_clause(word)))
        };
        let words = match phrase.wanted() {
            // A single word has no order to check.
            Wanted::Word(word) => {
                let source = term(word)?.source;
                return self.require_source(word_clause(word), source);
            }
            Wanted::Prefix(beginning) => return self.add_prefix(beginning),
            Wanted::Sequence(words) => words,
        };
        let mut terms = Terms::new();
        // Ends at the first word that no row has.
        for word in words {
            terms.push(term(word)?);
        }
        let sources = self.phrase_sources(field, &terms)?;
        let sources = sources.ok_or(Stop::NoMatch(clause))?;
        for (part, source) in &sources.sources {
            let clause = match *part {
                PhrasePart::Word(word) => word_clause(&words[word]),
                // A pair starts before the last word, so both indices exist.
                PhrasePart::Pair(first) => Clause::TitlePair(&words[first..first + 2]),
            };
            self.require_source(clause, *source)?;
        }
        if sources.needs_check {
            self.sink.check(PhraseStep {
                clause,
                check: phrase_check(field, &terms),
                estimate: Estimate::phrase(sources.rarest().rows),
            });
        }
        Ok(())
    }

    /// Adds the union of the words that begin with a prefix.
    fn add_prefix(&mut self, beginning: &'q str) -> Planned<'q> {
        let words = self.prefix_words(beginning)?;
        let clause = Clause::TitlePrefix(beginning, words.count);
        let (union, estimate) = self.union(&words.sources, words.rows);
        self.require(clause, union.into_access(), estimate)
    }

    fn prefix_words(&self, beginning: &str) -> Result<PrefixWords> {
        self.statistics
            .title_prefix(beginning, self.listed_rows_max)
    }

    /// Adds the union of all alternatives that may occur.
    fn add_any(&mut self, alternatives: &'q [Phrase]) -> Planned<'q> {
        let mut stored: SmallVec<[SourceStatistics; 6]> = SmallVec::new();
        let mut checked: Vec<CheckedPhrase> = Vec::new();
        let (mut listed, mut prefixed_words) = (Vec::new(), 0);
        for phrase in alternatives {
            match self.rows_of_phrase(phrase)? {
                // An alternative that occurs nowhere adds nothing to the union.
                None => {}
                Some(PhraseRows::Stored(source)) => stored.push(source),
                Some(PhraseRows::Checked(phrase)) => checked.push(phrase),
                Some(PhraseRows::Prefix(words)) => {
                    stored.extend_from_slice(&words.sources);
                    listed.extend(words.rows);
                    prefixed_words += words.count;
                }
            }
        }
        let clause = Clause::TitleAny(alternatives, prefixed_words);
        if checked.is_empty() && listed.is_empty() {
            return self.require_any(clause, &stored);
        }
        let (stored, estimate) = self.union(&stored, listed);
        if checked.is_empty() {
            return self.require(clause, stored.into_access(), estimate);
        }
        let phrases = checked
            .iter()
            .map(|phrase| Estimate::phrase(phrase.rarest_rows));
        let estimate = estimate.or(phrases, self.statistics.row_count());
        let any = AnyPhrase { stored, checked };
        self.require(clause, Access::AnyPhrase(Box::new(any)), estimate)
    }

    fn add_days(&mut self, filter: &'q Filter, today: Date) -> Planned<'q> {
        let Some(intervals) = filter.date_intervals(today) else {
            return Ok(());
        };
        let mut codes = SmallVec::new();
        for days in &intervals {
            codes.extend(self.statistics.day_codes(days)?);
        }
        self.add_range(Clause::Dates, RangeColumn::Date, codes)
    }

    fn add_amounts(&mut self, filter: &'q Filter) -> Planned<'q> {
        let (min, max) = (filter.funding_min, filter.funding_max);
        if min.is_none() && max.is_none() {
            return Ok(());
        }
        let codes = self.statistics.amount_codes(min, max)?;
        let codes = codes.into_iter().collect();
        self.add_range(Clause::Amounts(min, max), RangeColumn::Amount, codes)
    }

    fn add_range(
        &mut self,
        clause: Clause<'q>,
        column: RangeColumn,
        codes: SmallVec<[CodeRange; 2]>,
    ) -> Planned<'q> {
        if codes.is_empty() {
            return Err(Stop::NoMatch(clause));
        }
        let estimate = self.statistics.rows_in_ranges(column, &codes)?;
        self.sink.limit(RangeStep {
            clause,
            column,
            codes,
            estimate,
        })
    }

    /// Adds the exclusion of a phrase, unless the phrase occurs nowhere.
    fn exclude_phrase(&mut self, phrase: &'q Phrase) -> Planned<'q> {
        let mut clause = Clause::TitlePhrase(phrase);
        let (access, estimate) = match self.rows_of_phrase(phrase)? {
            None => return Ok(()),
            Some(PhraseRows::Prefix(words)) => {
                let beginning = phrase.terms().next().unwrap_or_default();
                clause = Clause::TitlePrefix(beginning, words.count);
                let (union, estimate) = self.union(&words.sources, words.rows);
                (union.into_access(), estimate)
            }
            Some(PhraseRows::Stored(rows)) => {
                (Access::One(rows.source), Estimate::exact(rows.rows))
            }
            Some(PhraseRows::Checked(phrase)) => {
                let estimate = Estimate::phrase(phrase.rarest_rows);
                let any = AnyPhrase {
                    stored: StoredUnion::default(),
                    checked: vec![phrase],
                };
                (Access::AnyPhrase(Box::new(any)), estimate)
            }
        };
        self.sink.exclude(Step {
            clause,
            access,
            estimate,
        })
    }

    /// The rows of a title phrase, unless it is known to occur nowhere. Most phrases are single words, which need
    /// no more than a source.
    fn rows_of_phrase(&self, phrase: &Phrase) -> Result<Option<PhraseRows>> {
        let words = match phrase.wanted() {
            Wanted::Word(word) => {
                let term = self.statistics.term(TextField::Title, word)?;
                return Ok(term.map(|term| PhraseRows::Stored(term.source)));
            }
            Wanted::Prefix(beginning) => {
                let words = self.prefix_words(beginning)?;
                return Ok((words.count > 0).then_some(PhraseRows::Prefix(words)));
            }
            Wanted::Sequence(words) => words,
        };
        let Some((terms, sources)) = self.title_phrase(words)? else {
            return Ok(None);
        };
        Ok(Some(if sources.needs_check {
            PhraseRows::Checked(sources.checked(&terms))
        } else {
            PhraseRows::Stored(sources.rarest())
        }))
    }

    /// The terms and sources of a title phrase, unless it is known to occur nowhere.
    fn title_phrase(&self, words: &[SmolStr]) -> Result<Option<(Terms, PhraseSources)>> {
        let mut terms = Terms::new();
        for word in words {
            match self.statistics.term(TextField::Title, word)? {
                Some(term) => terms.push(term),
                None => return Ok(None),
            }
        }
        let sources = self.phrase_sources(TextField::Title, &terms)?;
        Ok(sources.map(|sources| (terms, sources)))
    }

    /// The sources of a phrase: stored pairs of neighbouring words, and words that are in no such pair. `None`
    /// if a pair of frequent neighbours does not occur.
    fn phrase_sources(&self, field: TextField, terms: &Terms) -> Result<Option<PhraseSources>> {
        let mut sources: SmallVec<[(PhrasePart, SourceStatistics); 4]> = SmallVec::new();
        let mut add = |part, source| {
            // A phrase may repeat a word or a pair, whose source is needed once.
            if !sources.iter().any(|(_, known)| *known == source) {
                sources.push((part, source));
            }
        };
        let mut covered = 0;
        for (word, term) in terms.iter().enumerate() {
            // Invariant: all words before `covered` are part of a stored pair.
            let pair = match terms.get(word + 1) {
                Some(next) if self.stored_pairs && field == TextField::Title => {
                    self.statistics.title_pair(term, next)?
                }
                _ => Pair::NotKept,
            };
            match pair {
                Pair::Absent => return Ok(None),
                Pair::Stored(source) => {
                    add(PhrasePart::Pair(word), source);
                    covered = word + 2;
                }
                Pair::NotKept if word < covered => {}
                Pair::NotKept => add(PhrasePart::Word(word), term.source),
            }
        }
        // One pair decides a phrase of two words, as one word decides a phrase of one.
        let needs_check = match terms.len() {
            0 | 1 => false,
            2 => covered == 0,
            _ => true,
        };
        Ok(Some(PhraseSources {
            sources,
            needs_check,
        }))
    }

    fn require_source(&mut self, clause: Clause<'q>, source: SourceStatistics) -> Planned<'q> {
        self.require(
            clause,
            Access::One(source.source),
            Estimate::exact(source.rows),
        )
    }

    fn require_any(&mut self, clause: Clause<'q>, sources: &[SourceStatistics]) -> Planned<'q> {
        if let [source] = sources {
            return self.require_source(clause, *source);
        }
        let rows = sources.iter().map(|source| source.rows);
        let estimate = Estimate::union(rows, self.statistics.row_count());
        let union = sources.iter().map(|source| source.source).collect();
        self.require(clause, Access::Union(union), estimate)
    }

    fn union(&self, sources: &[SourceStatistics], rows: Vec<u32>) -> (StoredUnion, Estimate) {
        StoredUnion::new(sources, rows, self.statistics.row_count())
    }

    fn require(&mut self, clause: Clause<'q>, access: Access, estimate: Estimate) -> Planned<'q> {
        if estimate.max == 0 {
            return Err(Stop::NoMatch(clause));
        }
        self.sink.require(Step {
            clause,
            access,
            estimate,
        })
    }
}

impl<'q, S: Statistics> Planner<'_, S, Plan<'q>> {
    /// Replaces several facets of companies by the rows of the matching companies, if these have few rows.
    fn lead_by_companies(&mut self, filter: &'q Filter, wanted: Option<usize>) -> Planned<'q> {
        let row_count = self.statistics.row_count();
        let Some((facets, most)) = self.sink.company_facets(row_count, wanted) else {
            return Ok(());
        };
        let Some(rows) = self.statistics.rows_of_companies(&facets, most)? else {
            return Ok(());
        };
        self.sink.required.retain(|step| !step.is_of_companies());
        let estimate = Estimate::exact(rows.len() as u64);
        self.require(
            Clause::OfCompanies(filter),
            Access::OfCompanies(rows),
            estimate,
        )?;
        // The new step was added last, but its rows lead.
        self.sink.required.rotate_right(1);
        Ok(())
    }
}

/// The terms of a phrase, in its order.
type Terms = SmallVec<[TermStatistics; 4]>;

/// The rows of a title phrase.
enum PhraseRows {
    /// All rows of a source.
    Stored(SourceStatistics),
    /// Some rows of the intersection of several sources.
    Checked(CheckedPhrase),
    /// All rows of the words of a prefix.
    Prefix(PrefixWords),
}

/// Words of a phrase, by index.
#[derive(Clone, Copy)]
enum PhrasePart {
    Word(usize),
    /// The word at this index and the next one.
    Pair(usize),
}

/// At least one set, each of which contains all rows of a phrase.
struct PhraseSources {
    /// The sources, each with the words that it is of.
    sources: SmallVec<[(PhrasePart, SourceStatistics); 4]>,
    /// Whether rows in all sources may still lack the phrase.
    needs_check: bool,
}

impl PhraseSources {
    /// A title phrase that needs a check.
    fn checked(self, terms: &Terms) -> CheckedPhrase {
        let mut sources = self.sources;
        sources.sort_by_key(|(_, source)| source.rows);
        CheckedPhrase {
            rarest_rows: sources.first().map_or(0, |(_, rarest)| rarest.rows),
            sources: sources.iter().map(|(_, source)| source.source).collect(),
            check: phrase_check(TextField::Title, terms),
        }
    }

    fn rarest(&self) -> SourceStatistics {
        let sources = self.sources.iter().map(|&(_, source)| source);
        let rarest = sources.min_by_key(|source| source.rows);
        rarest.expect("a phrase has at least one term")
    }
}

fn phrase_check(field: TextField, terms: &Terms) -> PhraseCheck {
    PhraseCheck {
        field,
        phrase: EncodedPhrase::new(terms.iter().map(|term| term.number)),
    }
}
