//! How one query of each class is drawn.

use signaldex::query::{Days, Facet};
use signaldex::{Result, Snapshot};
use time::Date;

use super::random::Random;
use super::statistics::{Sample, Statistics};
use super::wanted::{Dates, Wanted};

/// Draws one query of a class, or none where what was drawn does not fit the class.
pub(crate) type DrawOne = fn(&mut Draw<'_>) -> Result<Option<Wanted>>;

/// The class whose pages start deep in the id space.
pub(crate) const DEEP_START: &str = "start deep in the ids";

/// Every class, in the order in which it is shown.
pub(crate) const CLASSES: [(&str, DrawOne); 18] = [
    ("no filter", |_| Ok(Some(Wanted::default()))),
    ("frequent term", |draw| Ok(draw.frequent_term())),
    ("rare term", |draw| Ok(draw.rare_term())),
    ("two or three terms", |draw| Ok(draw.several_terms())),
    ("any of 3 to 6 terms", |draw| Ok(draw.any_of_terms())),
    ("phrase of 2 or 3 words", |draw| Ok(draw.phrase())),
    ("term without two others", |draw| {
        Ok(draw.term_without_others())
    }),
    ("term + country", |draw| {
        Ok(draw.term_and_facets(&[Facet::Country]))
    }),
    ("term + country + industry + size", |draw| {
        Ok(draw.term_and_facets(&[Facet::Country, Facet::Industry, Facet::Size]))
    }),
    ("country + size", |draw| {
        Ok(draw.facets_alone(&[Facet::Country, Facet::Size]))
    }),
    (
        "country + size + last days",
        |draw| Ok(draw.recent_facets()),
    ),
    ("two hiring attributes + country", |draw| {
        Ok(draw.hiring_and_country())
    }),
    ("five categories + dates", |draw| {
        Ok(draw.categories_and_dates())
    }),
    ("one company", |draw| Ok(draw.companies(1))),
    ("20 companies", |draw| Ok(draw.companies(20))),
    ("stage + currency + amounts + term", |draw| {
        Ok(draw.funding_and_term())
    }),
    ("conjunction without a hit", |draw| draw.no_hit()),
    (DEEP_START, |draw| Ok(draw.deep_start())),
];

/// What queries are drawn from.
pub(crate) struct Draw<'a> {
    random: Random,
    snapshot: &'a Snapshot,
    statistics: &'a Statistics,
    today: Date,
}

/// A term is frequent where at least one title in n has it.
const FREQUENT_ONE_IN: usize = 100;
/// A term is common where at least one title in n has it.
const COMMON_ONE_IN: usize = 500;
/// A term is rare where at most n titles have it.
const RARE_AT_MOST: usize = 50;

impl<'a> Draw<'a> {
    /// A source of queries of one class.
    pub(crate) fn new(
        class: &str,
        snapshot: &'a Snapshot,
        statistics: &'a Statistics,
        today: Date,
    ) -> Draw<'a> {
        Draw {
            random: Random::named(class),
            snapshot,
            statistics,
            today,
        }
    }

    fn frequent_term(&mut self) -> Option<Wanted> {
        let term = self.term_of_a_title(FREQUENT_ONE_IN)?;
        Some(Wanted {
            all: vec![term],
            ..Wanted::default()
        })
    }

    fn rare_term(&mut self) -> Option<Wanted> {
        let terms = self.statistics.terms_between(1, RARE_AT_MOST);
        let term = self.random.pick(&terms)?;
        Some(Wanted {
            all: vec![(*term).to_owned()],
            ..Wanted::default()
        })
    }

    fn several_terms(&mut self) -> Option<Wanted> {
        let count = 2 + self.random.below(2);
        let sample = self.sample()?;
        Some(Wanted {
            all: self.common_terms(sample, count)?,
            ..Wanted::default()
        })
    }

    fn any_of_terms(&mut self) -> Option<Wanted> {
        let count = 3 + self.random.below(4);
        let terms = (0..count).map(|_| self.term_of_a_title(COMMON_ONE_IN));
        Some(Wanted {
            any: different(terms.collect::<Option<_>>()?)?,
            ..Wanted::default()
        })
    }

    fn phrase(&mut self) -> Option<Wanted> {
        let length = 2 + self.random.below(2);
        let terms = &self.sample()?.terms;
        let windows: Vec<&[String]> = terms.windows(length).collect();
        let phrase = self.random.pick(&windows)?;
        let is_common = |term: &String| self.is_at_least(term, COMMON_ONE_IN);
        phrase.iter().all(is_common).then(|| Wanted {
            phrase: phrase.to_vec(),
            ..Wanted::default()
        })
    }

    fn term_without_others(&mut self) -> Option<Wanted> {
        let term = self.term_of_a_title(COMMON_ONE_IN)?;
        let first = self.term_of_a_title(COMMON_ONE_IN)?;
        let second = self.term_of_a_title(COMMON_ONE_IN)?;
        let are_different = term != first && term != second && first != second;
        are_different.then(|| Wanted {
            all: vec![term],
            none: vec![first, second],
            ..Wanted::default()
        })
    }

    fn term_and_facets(&mut self, facets: &[Facet]) -> Option<Wanted> {
        let sample = self.sample()?;
        Some(Wanted {
            all: self.common_terms(sample, 1)?,
            facets: labels(sample, facets)?,
            ..Wanted::default()
        })
    }

    fn facets_alone(&mut self, facets: &[Facet]) -> Option<Wanted> {
        Some(Wanted {
            facets: labels(self.sample()?, facets)?,
            ..Wanted::default()
        })
    }

    fn recent_facets(&mut self) -> Option<Wanted> {
        let days = *self
            .random
            .pick(&[Days::Seven, Days::Thirty, Days::Ninety])?;
        Some(Wanted {
            dates: Some(Dates::Last(days)),
            ..self.facets_alone(&[Facet::Country, Facet::Size])?
        })
    }

    fn hiring_and_country(&mut self) -> Option<Wanted> {
        const ATTRIBUTES: [Facet; 5] = [
            Facet::HiringType,
            Facet::JobFunction,
            Facet::Seniority,
            Facet::EmploymentType,
            Facet::WorkArrangement,
        ];
        let first = *self.random.pick(&ATTRIBUTES)?;
        let second = *self.random.pick(&ATTRIBUTES)?;
        if first == second {
            None
        } else {
            self.facets_alone(&[first, second, Facet::Country])
        }
    }

    fn categories_and_dates(&mut self) -> Option<Wanted> {
        const CATEGORIES: usize = 5;
        const LONGEST_DAYS: usize = 365;
        const SHORTEST_DAYS: usize = 14;
        let categories = (0..CATEGORIES).map(|_| self.sample()?.label(Facet::Category));
        let categories = different(categories.collect::<Option<_>>()?)?;
        let from = self.sample()?.date?;
        let days = SHORTEST_DAYS + self.random.below(LONGEST_DAYS - SHORTEST_DAYS);
        let to = from + time::Duration::days(days as i64);
        Some(Wanted {
            facets: vec![(
                Facet::Category,
                categories.into_iter().map(str::to_owned).collect(),
            )],
            dates: Some(Dates::Between(from, to.min(self.today))),
            ..Wanted::default()
        })
    }

    fn companies(&mut self, count: usize) -> Option<Wanted> {
        let companies = (0..count).map(|_| Some(self.sample()?.company.clone()));
        Some(Wanted {
            companies: different(companies.collect::<Option<_>>()?)?,
            ..Wanted::default()
        })
    }

    /// A round much like one that there was: from half its amount to twice as much.
    fn funding_and_term(&mut self) -> Option<Wanted> {
        let sample = self.sample()?;
        let amount = sample.amount?;
        let currency = sample.label(Facet::FundingCurrency)?;
        let can_be_asked_for = ["USD", "EUR", "GBP"].contains(&currency);
        let terms = self.common_terms(sample, 1)?;
        let facets = labels(sample, &[Facet::FundingStage, Facet::FundingCurrency])?;
        can_be_asked_for.then(|| Wanted {
            all: terms,
            facets,
            amounts: Some(((amount / 2.0).floor(), (amount * 2.0).ceil())),
            ..Wanted::default()
        })
    }

    /// Two common terms and facets, each of which occurs, that never occur together.
    fn no_hit(&mut self) -> Result<Option<Wanted>> {
        let Some(wanted) = self.unrelated() else {
            return Ok(None);
        };
        let query = wanted.query(self.today);
        let count = self
            .snapshot
            .count(query.filter(), self.today)
            .expect("a whole index");
        Ok((count == 0).then_some(wanted))
    }

    fn unrelated(&mut self) -> Option<Wanted> {
        let terms = vec![
            self.term_of_a_title(COMMON_ONE_IN)?,
            self.term_of_a_title(COMMON_ONE_IN)?,
        ];
        let facets = labels(self.sample()?, &[Facet::Country, Facet::Industry])?;
        (terms[0] != terms[1]).then(|| Wanted {
            all: terms,
            facets,
            ..Wanted::default()
        })
    }

    /// A common term or a pair of facets, from somewhere in the older nine tenths on.
    fn deep_start(&mut self) -> Option<Wanted> {
        let newest = self.statistics.len() * 9 / 10;
        let before = self.statistics.ids[self.random.below(newest.max(1))];
        let wanted = match self.random.below(2) {
            0 => self.frequent_term()?,
            _ => self.facets_alone(&[Facet::Country, Facet::Size])?,
        };
        Some(Wanted {
            before: Some(before),
            ..wanted
        })
    }

    fn sample(&mut self) -> Option<&'a Sample> {
        self.random.pick(self.statistics.samples())
    }

    /// A term of some title that one title in `one_in` has, so that more frequent ones are drawn
    /// more often.
    fn term_of_a_title(&mut self, one_in: usize) -> Option<String> {
        let sample = self.sample()?;
        let term = self.random.pick(&sample.terms)?;
        self.is_at_least(term, one_in).then(|| term.clone())
    }

    /// So many different common terms of one title.
    fn common_terms(&mut self, sample: &Sample, count: usize) -> Option<Vec<String>> {
        let mut common: Vec<&String> = sample.terms.iter().collect();
        common.retain(|term| self.is_at_least(term, COMMON_ONE_IN));
        common.sort_unstable();
        common.dedup();
        let mut terms = Vec::new();
        while terms.len() < count && !common.is_empty() {
            let place = self.random.below(common.len());
            terms.push(common.swap_remove(place).clone());
        }
        (terms.len() == count).then_some(terms)
    }

    fn is_at_least(&self, term: &str, one_in: usize) -> bool {
        self.statistics.frequency(term) * one_in >= self.statistics.len()
    }
}

/// The items, sorted, where no two of them are the same.
fn different<T: Ord>(mut items: Vec<T>) -> Option<Vec<T>> {
    let count = items.len();
    items.sort_unstable();
    items.dedup();
    (items.len() == count).then_some(items)
}

/// The labels of some facets of a signal, where it has all of them.
fn labels(sample: &Sample, facets: &[Facet]) -> Option<Vec<(Facet, Vec<String>)>> {
    let labelled = facets.iter().map(|&facet| {
        let label = sample.label(facet)?;
        Some((facet, vec![label.to_owned()]))
    });
    labelled.collect()
}
