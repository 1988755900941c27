//! The parts of queries that cost most, and how they are put together.

use signaldex::query::{DateRange, Days, Facet, Order, QueryBuilder};
use signaldex::{Query, Snapshot, sample};

use crate::Result;
use crate::classes::Statistics;
use crate::classes::random::Random;
use crate::classes::wanted::{built, query_before};

/// Words that are drawn from: the most frequent ones, since their sets are the largest.
const WORDS: usize = 60;
/// Parts of a query at most.
const PARTS_MAX: usize = 4;
/// Characters of a list of words, somewhat below the limit.
const TEXT_CHARS: usize = 980;
/// Characters of a phrase, somewhat below the limit.
const PHRASE_CHARS: usize = 170;

/// Adds a part to a query.
type AddPart = fn(&mut Draw<'_>, QueryBuilder) -> QueryBuilder;

/// Every part, with its name.
const PARTS: [(&str, AddPart); 19] = [
    ("all of frequent words", |draw, query| {
        query.all(draw.text(Draw::words, 1, 6, TEXT_CHARS))
    }),
    ("any of frequent words", |draw, query| {
        query.any(draw.text(Draw::words, 2, WORDS, TEXT_CHARS))
    }),
    ("any of phrases", |draw, query| {
        query.any(draw.text(Draw::phrases, 1, WORDS, TEXT_CHARS))
    }),
    ("any of phrases that occur", |draw, query| {
        query.any(draw.text(Draw::titles_phrases, 1, WORDS, TEXT_CHARS))
    }),
    ("all of phrases", |draw, query| {
        query.all(draw.text(Draw::phrases, 1, 3, TEXT_CHARS))
    }),
    ("exact phrase of frequent words", |draw, query| {
        query.exact(draw.text(Draw::words, 2, 4, PHRASE_CHARS))
    }),
    ("exact phrase of a title", |draw, query| {
        query.exact(draw.text(Draw::window, 2, 5, PHRASE_CHARS))
    }),
    ("none of frequent words", |draw, query| {
        query.exclude(draw.text(Draw::words, 1, WORDS, TEXT_CHARS))
    }),
    ("none of phrases", |draw, query| {
        query.exclude(draw.text(Draw::phrases, 1, WORDS, TEXT_CHARS))
    }),
    ("none of phrases that occur", |draw, query| {
        query.exclude(draw.text(Draw::titles_phrases, 1, WORDS, TEXT_CHARS))
    }),
    ("narrow amounts", |draw, query| {
        let amount = draw.amount();
        query.funding_min(amount).funding_max(amount)
    }),
    ("wide amounts", |draw, query| {
        let amounts = [draw.amount(), draw.amount()];
        let [min, max] = [amounts[0].min(amounts[1]), amounts[0].max(amounts[1])];
        query.funding_min(min).funding_max(max)
    }),
    ("one day", |draw, query| {
        let day = draw.sample().date;
        query.date_from(day).date_to(day)
    }),
    ("last days", |_, query| query.days(Days::Thirty)),
    ("country", |draw, query| {
        query.country(draw.label(Facet::Country))
    }),
    ("industry and country", |draw, query| {
        let industry = draw.label(Facet::Industry);
        query.country(draw.label(Facet::Country)).industry(industry)
    }),
    ("many categories", |draw, query| {
        let count = 1 + draw.random.below(12);
        let ids: Vec<String> = (0..count).map(|_| draw.label(Facet::Category)).collect();
        query.categories(ids)
    }),
    ("50 companies", |draw, query| {
        let slugs: Vec<String> = (0..50).map(|_| draw.sample().company.clone()).collect();
        query.companies(slugs)
    }),
    ("company name", |draw, query| {
        query.company(draw.name_word())
    }),
];

/// Parts that the gate does not draw, so that its queries stay the same.
const MORE_PARTS: [(&str, AddPart); 3] = [
    ("exact phrase of a repeated word", |draw, query| {
        let count = 2 + draw.random.below(3);
        query.exact(fitting(draw.repeated(count), PHRASE_CHARS))
    }),
    ("any of repeated words", |draw, query| {
        query.any(draw.text(Draw::repeated, 2, WORDS, TEXT_CHARS))
    }),
    ("older days", |_, query| {
        query.date_ranges([DateRange::Older])
    }),
];

/// The parts of the slowest pages as long as titles were read before amounts were compared.
const SLOWEST: [&str; 3] = [
    "any of phrases that occur",
    "many categories",
    "narrow amounts",
];

/// Draws queries; the same ones of the same corpus.
pub(crate) struct Draw<'a> {
    random: Random,
    statistics: &'a Statistics,
    /// The most frequent words first.
    words: Vec<&'a str>,
    amounts: Vec<f64>,
    names: Vec<String>,
}

impl<'a> Draw<'a> {
    /// Draws from a corpus.
    ///
    /// # Errors
    /// A record is corrupt.
    pub(crate) fn new(snapshot: &Snapshot, statistics: &'a Statistics) -> Result<Draw<'a>> {
        const NAMES: usize = 200;
        let mut words = statistics.terms_between(1, usize::MAX);
        words.sort_by_key(|word| std::cmp::Reverse(statistics.frequency(word)));
        words.truncate(WORDS);
        let amounts = statistics.samples().iter().filter_map(|one| one.amount);
        let companies = snapshot.scan_companies().take(NAMES);
        let names = companies.map(|company| Ok(company?.name.into_owned()));
        Ok(Draw {
            random: Random::named("slow shapes"),
            statistics,
            words,
            amounts: amounts.collect(),
            names: names.collect::<Result<_>>()?,
        })
    }

    /// One query, with the names of its parts.
    pub(crate) fn one(&mut self) -> (String, Query) {
        let (names, builder) = self.parts();
        let order = self.order();
        let query = match self.random.below(2) {
            0 => built(builder.order(order)),
            _ => self.in_the_middle(builder),
        };
        (joined(names), query)
    }

    /// As [`one`](Self::one), of more parts, and also of pages by number.
    #[allow(dead_code, reason = "not of the gate")]
    pub(crate) fn wider(&mut self) -> (String, Query) {
        const NUMBER_MAX: usize = 100;
        let (mut names, mut builder) = self.parts();
        for (name, add) in MORE_PARTS {
            if self.random.below(3) == 0 && is_free(&names, name) {
                names.push(name);
                builder = add(self, builder);
            }
        }
        let order = self.order();
        let query = match self.random.below(3) {
            0 => built(builder.order(order)),
            1 => {
                names.push("page by number");
                let number = 1 + self.random.below(NUMBER_MAX);
                built(builder.order(order).page(number as u16))
            }
            _ => self.in_the_middle(builder),
        };
        (joined(names), query)
    }

    /// Some parts, with their names.
    fn parts(&mut self) -> (Vec<&'static str>, QueryBuilder) {
        let mut builder = Query::builder();
        let mut names = Vec::new();
        for _ in 0..=self.random.below(PARTS_MAX) {
            let (name, add) = PARTS[self.random.below(PARTS.len())];
            if is_free(&names, name) {
                names.push(name);
                builder = add(self, builder);
            }
        }
        (names, builder)
    }

    /// Any of the prefixes of three letters that stand for most words, as many as fit; and its name.
    #[allow(dead_code, reason = "not of the gate")]
    pub(crate) fn prefixes(&self) -> (&'static str, Query) {
        const PREFIXES: usize = 200;
        let prefixes = self.statistics.prefixes(3).into_iter().take(PREFIXES);
        let prefixes: Vec<String> = prefixes.map(|(prefix, _)| format!("{prefix}*")).collect();
        let query = Query::builder().any(prefixes.join(" "));
        ("any of 200 prefixes", built(query))
    }

    /// As many phrases of frequent words or of titles as fit.
    #[allow(dead_code, reason = "not of the gate")]
    pub(crate) fn any_phrases(&mut self) -> String {
        if self.one_of_two() {
            self.text(Draw::phrases, WORDS, 1, TEXT_CHARS)
        } else {
            self.text(Draw::titles_phrases, WORDS, 1, TEXT_CHARS)
        }
    }

    /// Two neighbouring words each of as many titles.
    #[allow(dead_code, reason = "not of the gate")]
    pub(crate) fn rare_phrases(&mut self, count: usize) -> String {
        let phrases = (0..count).map(|_| format!("\"{}\"", self.window(2).join(" ")));
        fitting(phrases.collect(), TEXT_CHARS)
    }

    #[allow(dead_code, reason = "not of the gate")]
    pub(crate) fn one_of_two(&mut self) -> bool {
        self.random.below(2) == 0
    }

    /// Some queries of each part alone, with its name, and some of several parts.
    #[allow(dead_code, reason = "the gate asks for them")]
    pub(crate) fn fixed(&mut self) -> Vec<(&'static str, Vec<Query>)> {
        const QUERIES: usize = 10;
        let mut fixed = Vec::new();
        for (name, add) in PARTS {
            let query = |_| built(add(self, Query::builder()));
            fixed.push((name, (0..QUERIES).map(query).collect()));
        }
        let together = (0..10 * QUERIES).map(|_| self.one().1);
        fixed.push(("together", together.collect()));
        let slowest = (0..QUERIES).map(|_| built(self.with_parts(&SLOWEST)));
        fixed.push(("phrases after ranges", slowest.collect()));
        fixed
    }

    /// A query of the parts with these names.
    fn with_parts(&mut self, names: &[&str]) -> QueryBuilder {
        let parts = PARTS.into_iter().filter(|(name, _)| names.contains(name));
        parts.fold(Query::builder(), |query, (_, add)| add(self, query))
    }

    /// The query for a page from somewhere on, newest first.
    fn in_the_middle(&mut self, builder: QueryBuilder) -> Query {
        let ids = &self.statistics.ids;
        query_before(builder, ids[self.random.below(ids.len())], sample::AS_OF)
    }

    fn order(&mut self) -> Order {
        match self.random.below(4) {
            0 => Order::OldestFirst,
            _ => Order::NewestFirst,
        }
    }

    /// At least `least` words or phrases, in one of `choices` numbers, as far as they fit.
    fn text(
        &mut self,
        items: impl FnOnce(&mut Self, usize) -> Vec<String>,
        least: usize,
        choices: usize,
        chars: usize,
    ) -> String {
        let count = least + self.random.below(choices);
        fitting(items(self, count), chars)
    }

    fn words(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.word().to_owned()).collect()
    }

    /// A word as often as wanted.
    fn repeated(&mut self, count: usize) -> Vec<String> {
        vec![self.word().to_owned(); count]
    }

    /// A word, the most frequent ones rather than others.
    fn word(&mut self) -> &'a str {
        let below = 1 + self.random.below(self.words.len());
        self.words[self.random.below(below)]
    }

    /// Quoted phrases of frequent words, which seldom stand next to each other.
    fn phrases(&mut self, count: usize) -> Vec<String> {
        let phrase = |_| {
            let length = 2 + self.random.below(3);
            format!("\"{}\"", self.words(length).join(" "))
        };
        (0..count).map(phrase).collect()
    }

    /// Quoted phrases that stand in titles.
    fn titles_phrases(&mut self, count: usize) -> Vec<String> {
        let phrase = |_| {
            let length = 2 + self.random.below(3);
            format!("\"{}\"", self.window(length).join(" "))
        };
        (0..count).map(phrase).collect()
    }

    /// Some neighbouring words of a title.
    fn window(&mut self, length: usize) -> Vec<String> {
        let terms = &self.sample().terms;
        let first = terms.len().saturating_sub(length);
        let first = self.random.below(first + 1);
        terms[first..(first + length).min(terms.len())].to_vec()
    }

    fn sample(&mut self) -> &'a crate::classes::statistics::Sample {
        let samples = self.statistics.samples();
        &samples[self.random.below(samples.len())]
    }

    fn label(&mut self, facet: Facet) -> String {
        loop {
            if let Some(label) = self.sample().label(facet) {
                return label.to_owned();
            }
        }
    }

    fn amount(&mut self) -> f64 {
        self.random.pick(&self.amounts).copied().unwrap_or(1.0)
    }

    fn name_word(&mut self) -> String {
        let name = self.random.pick(&self.names).cloned().unwrap_or_default();
        let word = name.split_whitespace().next().unwrap_or("a");
        word.to_owned()
    }
}

/// Whether a part may be added: two of one parameter would be refused.
fn is_free(names: &[&str], name: &str) -> bool {
    names
        .iter()
        .all(|other| parameter(other) != parameter(name))
}

/// The names of parts in alphabetical order.
fn joined(mut names: Vec<&str>) -> String {
    names.sort_unstable();
    names.join(" + ")
}

/// The words of the part's name that say which parameter it sets.
fn parameter(part: &str) -> &str {
    match part {
        "country" | "industry and country" => "country",
        "narrow amounts" | "wide amounts" => "amounts",
        "one day" | "last days" | "older days" => "dates",
        _ => part.split(' ').next().unwrap_or(part),
    }
}

/// As many items as fit in some characters, one after the other.
fn fitting(items: Vec<String>, chars: usize) -> String {
    let mut text = String::new();
    for item in items {
        if text.chars().count() + 1 + item.chars().count() > chars {
            break;
        }
        text.push(' ');
        text.push_str(&item);
    }
    text.trim_start().to_owned()
}
