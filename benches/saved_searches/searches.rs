//! Searches such as users save, drawn from a corpus with a fixed seed. The comparison with another library in
//! `benches/peers` draws from here, too.

use signaldex::text::terms;
use signaldex::{Company, Signal};

/// What a saved search asks for; empty lists are no filter.
#[derive(Default)]
pub(crate) struct Search {
    /// Words that stand in the title, or prefix words with their star.
    pub(crate) all: Vec<String>,
    /// Whether they stand next to each other.
    pub(crate) is_phrase: bool,
    /// At least one stands in the title.
    pub(crate) any: Vec<String>,
    /// None does.
    pub(crate) none: Vec<String>,
    /// Slugs, of which the company has one.
    pub(crate) companies: Vec<String>,
    /// Parameters with one value each.
    pub(crate) values: Vec<(&'static str, String)>,
    pub(crate) funding_min: Option<u64>,
}

impl Search {
    /// The search as a query string.
    pub(crate) fn query_string(&self) -> String {
        let all = if self.is_phrase { "exact" } else { "all" };
        let words = |name: &str, words: &[String], separator: &str| {
            let given = !words.is_empty();
            given.then(|| format!("{name}={}", escaped(&words.join(separator))))
        };
        let texts = [
            words(all, &self.all, " "),
            words("any", &self.any, " "),
            words("exclude", &self.none, " "),
            words("companies", &self.companies, ","),
            self.funding_min.map(|min| format!("fundingMin={min}")),
        ];
        let values = self.values.iter();
        let values = values.map(|(name, value)| format!("{name}={}", escaped(value)));
        let pairs: Vec<String> = texts.into_iter().flatten().chain(values).collect();
        pairs.join("&")
    }

    /// Makes the longest of its words a prefix word, if it has a word of more than three letters. A word that the analysis
    /// splits, as it does Japanese, cannot be one.
    #[allow(dead_code, reason = "other libraries are not asked for prefixes")]
    pub(crate) fn begin_a_word(&mut self) {
        let words = self.all.iter_mut().chain(&mut self.any);
        let words = words.filter(|word| terms(word).len() == 1);
        let Some(word) = words.max_by_key(|word| word.chars().count()) else {
            return;
        };
        let letters = word.chars().count();
        if letters > 3 {
            let kept = (letters - 2).max(3);
            *word = word.chars().take(kept).chain(['*']).collect();
            self.is_phrase = false;
        }
    }
}

fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// Draws searches without end.
pub(crate) struct Searches<'c> {
    signals: &'c [Signal<'c>],
    companies: &'c [Company<'c>],
    state: u64,
}

impl<'c> Searches<'c> {
    pub(crate) fn new(signals: &'c [Signal<'c>], companies: &'c [Company<'c>]) -> Searches<'c> {
        Searches {
            signals,
            companies,
            state: 1,
        }
    }

    /// splitmix64
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn signal(&mut self) -> &'c Signal<'c> {
        let index = self.below(self.signals.len());
        &self.signals[index]
    }

    fn company(&mut self) -> &'c Company<'c> {
        let index = self.below(self.companies.len());
        &self.companies[index]
    }

    /// Words of a random title that stand next to each other.
    fn run(&mut self, length: usize) -> Vec<String> {
        loop {
            let title = &self.signal().title;
            let words: Vec<&str> = title
                .split(|letter: char| !letter.is_alphanumeric())
                .filter(|word| word.len() > 1)
                .collect();
            if words.len() >= length {
                let start = self.below(words.len() - length + 1);
                let words = words[start..start + length].iter();
                return words.map(|word| (*word).to_owned()).collect();
            }
        }
    }

    /// Words of as many random titles.
    fn words(&mut self, count: usize) -> Vec<String> {
        (0..count).flat_map(|_| self.run(1)).collect()
    }

    fn country(&mut self) -> (&'static str, String) {
        let country = self.company().country.as_deref();
        ("country", country.unwrap_or("Germany").to_owned())
    }

    fn category(&mut self) -> (&'static str, String) {
        let category = self.signal().category.as_deref();
        ("categories", category.unwrap_or("funding").to_owned())
    }

    fn search(&mut self) -> Search {
        let none = Search::default();
        match self.below(20) {
            0..6 => Search {
                all: self.words(2),
                ..none
            },
            6..10 => Search {
                all: self.words(1),
                values: vec![self.country()],
                ..none
            },
            10..13 => Search {
                all: self.words(1),
                values: vec![self.category()],
                ..none
            },
            13 | 14 => {
                let size = ["1-49", "50-100", "101-500", "501+"][self.below(4)];
                let size = ("size", size.to_owned());
                Search {
                    values: vec![self.category(), self.country(), size],
                    ..none
                }
            }
            15 | 16 => Search {
                companies: (0..5).map(|_| self.company().slug.to_string()).collect(),
                ..none
            },
            17 => Search {
                all: self.run(2),
                is_phrase: true,
                ..none
            },
            18 => Search {
                any: self.words(3),
                none: self.words(1),
                ..none
            },
            _ => {
                let industry = self.company().industry.as_deref();
                let industry = industry.unwrap_or("Software").to_owned();
                Search {
                    values: vec![("industry", industry)],
                    funding_min: Some(1_000_000),
                    ..none
                }
            }
        }
    }
}

impl Iterator for Searches<'_> {
    type Item = Search;

    fn next(&mut self) -> Option<Search> {
        Some(self.search())
    }
}
