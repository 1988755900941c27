//! From filter to steps.

use smallvec::SmallVec;
use time::Date;

use super::{
    Access, Clause, Estimate, PhraseCheck, PhraseStep, Plan, RangeColumn, RangeStep, Source,
    SourceStatistics, Statistics, Step, Strategies, TermStatistics,
};
use crate::query::{CompanyReference, Facet, Filter, Phrase};
use crate::segment::{EncodedPhrase, TextField};
use crate::signal::SignalId;

/// Turns each part of the filter into steps, then orders them by cost. Stops at the first part
/// that no row can fulfil.
pub(super) fn plan<'q, S: Statistics>(
    filter: &'q Filter,
    today: Date,
    statistics: &S,
    strategies: &Strategies,
) -> Plan<'q> {
    let mut planner = Planner {
        statistics,
        plan: Plan {
            required: SmallVec::new(),
            excluded: SmallVec::new(),
            ranges: SmallVec::new(),
            phrases: SmallVec::new(),
            impossible: None,
        },
    };
    planner.plan.impossible = planner
        .add_all(filter, today)
        .err()
        .map(|Impossible(clause)| clause);
    let mut plan = planner.plan;
    if strategies.cost_order {
        plan.required.sort_by_key(|step| step.estimate.expected);
    }
    plan
}

/// A clause that no row of the segment fulfils.
struct Impossible<'q>(Clause<'q>);

type Planned<'q> = Result<(), Impossible<'q>>;

struct Planner<'s, 'q, S> {
    statistics: &'s S,
    plan: Plan<'q>,
}

impl<'q, S: Statistics> Planner<'_, 'q, S> {
    fn add_all(&mut self, filter: &'q Filter, today: Date) -> Planned<'q> {
        self.add_ids(filter.ids.as_deref())?;
        self.add_ids(filter.activity_ids.as_deref())?;
        self.add_companies(filter)?;
        for facet in Facet::ALL {
            self.add_facet(filter, facet)?;
        }
        for phrase in &filter.company_words {
            self.add_phrase(TextField::Name, phrase)?;
        }
        for phrase in &filter.all {
            self.add_phrase(TextField::Title, phrase)?;
        }
        self.add_any(&filter.any)?;
        self.add_days(filter, today)?;
        self.add_amounts(filter)?;
        for phrase in &filter.none {
            self.exclude_phrase(phrase);
        }
        Ok(())
    }

    fn add_ids(&mut self, ids: Option<&'q [SignalId]>) -> Planned<'q> {
        let Some(ids) = ids else { return Ok(()) };
        let rows = self.statistics.rows_of_ids(ids);
        let clause = Clause::Ids(ids.len());
        let estimate = Estimate::exact(rows.len() as u64);
        self.require(clause, Access::Rows(rows), estimate)
    }

    fn add_companies(&mut self, filter: &'q Filter) -> Planned<'q> {
        if let Some(slug) = &filter.company_slug {
            let company = self.statistics.company_by_slug(slug);
            self.require_any(Clause::CompanySlug(slug), company.as_slice())?;
        }
        if !filter.companies.is_empty() {
            let companies = self.companies(&filter.companies);
            self.require_any(Clause::Companies(filter.companies.len()), &companies)?;
        }
        Ok(())
    }

    /// The companies that are meant, each once.
    fn companies(&self, references: &[CompanyReference]) -> Vec<SourceStatistics> {
        let mut companies: Vec<SourceStatistics> = Vec::new();
        for reference in references {
            companies.extend(self.statistics.company_by_slug(&reference.slug));
            companies.extend(self.statistics.companies_by_name(&reference.name_key));
        }
        companies.sort_by_key(|company| match company.source {
            Source::Company(number) => number,
            Source::Posting(posting) => posting.0,
        });
        companies.dedup();
        companies
    }

    fn add_facet(&mut self, filter: &'q Filter, facet: Facet) -> Planned<'q> {
        let keys = filter.value_keys(facet);
        let Some(&first) = keys.first() else {
            return Ok(());
        };
        let values: SmallVec<[SourceStatistics; 4]> = keys
            .iter()
            .flat_map(|key| self.statistics.facet_values(facet, key))
            .collect();
        self.require_any(Clause::Facet(facet, first, keys.len()), &values)
    }

    /// A source for each word, and a check of their order where there is more than one.
    fn add_phrase(&mut self, field: TextField, phrase: &'q Phrase) -> Planned<'q> {
        let clause = |word: &'q str| match field {
            TextField::Title => Clause::TitleWord(word),
            TextField::Name => Clause::NameWord(word),
        };
        let mut terms: SmallVec<[TermStatistics; 4]> = SmallVec::new();
        for word in phrase.terms() {
            let term = self
                .statistics
                .term(field, word)
                .ok_or(Impossible(clause(word)))?;
            if !terms.contains(&term) {
                let estimate = Estimate::exact(term.source.rows);
                self.require(clause(word), Access::One(term.source.source), estimate)?;
            }
            terms.push(term);
        }
        if terms.len() > 1 {
            let (check, rarest) = phrase_check(field, &terms);
            let clause = match field {
                TextField::Title => Clause::TitlePhrase(phrase),
                TextField::Name => Clause::NamePhrase(phrase),
            };
            let estimate = Estimate::phrase(rarest.rows);
            self.plan.phrases.push(PhraseStep {
                clause,
                check,
                estimate,
            });
        }
        Ok(())
    }

    /// The union of the rarest words of all alternatives, and a check where one is a phrase.
    fn add_any(&mut self, alternatives: &'q [Phrase]) -> Planned<'q> {
        if alternatives.is_empty() {
            return Ok(());
        }
        let clause = Clause::TitleAny(alternatives);
        let mut sources: SmallVec<[SourceStatistics; 4]> = SmallVec::new();
        let mut check = PhraseCheck {
            field: TextField::Title,
            any_of: SmallVec::new(),
        };
        let mut needs_check = false;
        for phrase in alternatives {
            let Some(terms) = self.terms(phrase) else {
                continue;
            };
            let (alternative, rarest) = phrase_check(TextField::Title, &terms);
            needs_check |= terms.len() > 1;
            check.any_of.extend(alternative.any_of);
            sources.push(rarest);
        }
        self.require_any(clause, &sources)?;
        if needs_check {
            let most = sources.iter().map(|source| source.rows).sum();
            let estimate = Estimate::phrase(most);
            self.plan.phrases.push(PhraseStep {
                clause,
                check,
                estimate,
            });
        }
        Ok(())
    }

    fn add_days(&mut self, filter: &'q Filter, today: Date) -> Planned<'q> {
        let Some(intervals) = filter.date_intervals(today) else {
            return Ok(());
        };
        let codes = intervals
            .iter()
            .filter_map(|days| self.statistics.day_codes(days))
            .collect();
        self.add_range(Clause::Dates, RangeColumn::Date, codes)
    }

    fn add_amounts(&mut self, filter: &'q Filter) -> Planned<'q> {
        let (min, max) = (filter.funding_min, filter.funding_max);
        if min.is_none() && max.is_none() {
            return Ok(());
        }
        let codes = self.statistics.amount_codes(min, max).into_iter().collect();
        self.add_range(Clause::Amounts(min, max), RangeColumn::Amount, codes)
    }

    fn add_range(
        &mut self,
        clause: Clause<'q>,
        column: RangeColumn,
        codes: SmallVec<[super::CodeRange; 2]>,
    ) -> Planned<'q> {
        if codes.is_empty() {
            return Err(Impossible(clause));
        }
        let estimate = self.statistics.rows_in_ranges(column, &codes);
        self.plan.ranges.push(RangeStep {
            clause,
            column,
            codes,
            estimate,
        });
        Ok(())
    }

    /// A phrase whose words do not all occur excludes nothing.
    fn exclude_phrase(&mut self, phrase: &'q Phrase) {
        let Some(terms) = self.terms(phrase) else {
            return;
        };
        let (check, rarest) = phrase_check(TextField::Title, &terms);
        let clause = Clause::TitlePhrase(phrase);
        let step = if terms.len() == 1 {
            let access = Access::One(rarest.source);
            Step {
                clause,
                access,
                estimate: Estimate::exact(rarest.rows),
            }
        } else {
            let access = Access::Phrase {
                rarest: rarest.source,
                check,
            };
            Step {
                clause,
                access,
                estimate: Estimate::phrase(rarest.rows),
            }
        };
        self.plan.excluded.push(step);
    }

    /// The terms of a title phrase, where all of them occur.
    fn terms(&self, phrase: &Phrase) -> Option<SmallVec<[TermStatistics; 4]>> {
        phrase
            .terms()
            .iter()
            .map(|word| self.statistics.term(TextField::Title, word))
            .collect()
    }

    fn require_any(&mut self, clause: Clause<'q>, sources: &[SourceStatistics]) -> Planned<'q> {
        if let [source] = sources {
            let estimate = Estimate::exact(source.rows);
            return self.require(clause, Access::One(source.source), estimate);
        }
        let rows = sources.iter().map(|source| source.rows);
        let estimate = Estimate::union(rows, self.statistics.row_count());
        let union = sources.iter().map(|source| source.source).collect();
        self.require(clause, Access::Union(union), estimate)
    }

    fn require(&mut self, clause: Clause<'q>, access: Access, estimate: Estimate) -> Planned<'q> {
        if estimate.max == 0 {
            return Err(Impossible(clause));
        }
        self.plan.required.push(Step {
            clause,
            access,
            estimate,
        });
        Ok(())
    }
}

/// The check for a phrase of these terms, and the rarest of their sources.
fn phrase_check(field: TextField, terms: &[TermStatistics]) -> (PhraseCheck, SourceStatistics) {
    let encoded = EncodedPhrase::new(terms.iter().map(|term| term.number));
    let mut rarest = terms[0].source;
    for term in terms {
        if term.source.rows < rarest.rows {
            rarest = term.source;
        }
    }
    (
        PhraseCheck {
            field,
            any_of: SmallVec::from_elem(encoded, 1),
        },
        rarest,
    )
}
