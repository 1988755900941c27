//! Random titles, names and filters of the pieces of text that the rules of the analysis are about:
//! `data/searches/pieces.txt`.

use std::fmt::Write;

use signaldex::{Company, Filter, Signal, SignalId};
use time::Date;
use time::macros::date;

use crate::oracle::Record;
use crate::random::Random;
use crate::search_tables::encoded;

const PIECES: &str = include_str!("../../data/searches/pieces.txt");

/// The day on which filters are asked; none of them is about days.
pub(crate) const TODAY: Date = date!(2026 - 06 - 30);

/// Pairs of quotes.
const QUOTES: [[&str; 2]; 4] = [["\"", "\""], ["“", "”"], ["„", "“"], ["«", "»"]];

/// Signs that exclude directly before a word, and one that does not.
const MINUS: [&str; 4] = ["-", "–", "−", "+"];

/// Parameters that take a text, and one that takes names.
const PARAMETERS: [&str; 9] = [
    "q",
    "q",
    "q",
    "all",
    "any",
    "exclude",
    "exact",
    "company",
    "companies",
];

/// Random texts and filters.
pub(crate) struct Awkward {
    pub(crate) random: Random,
    pieces: Vec<&'static str>,
}

impl Awkward {
    pub(crate) fn new(seed: u64) -> Awkward {
        Awkward {
            random: Random::new(seed),
            pieces: PIECES.lines().collect(),
        }
    }

    fn piece(&mut self) -> &'static str {
        self.random.word(&self.pieces)
    }

    /// One to six pieces, mostly with spaces between them.
    pub(crate) fn text(&mut self) -> String {
        let mut text = self.piece().to_owned();
        for _ in 0..self.random.below(6) {
            let between = self
                .random
                .word(&[" ", " ", " ", " ", "", "-", "\u{3000}", "/"]);
            text += between;
            text += self.piece();
        }
        text
    }

    /// A signal of a company of its own.
    pub(crate) fn record(&mut self, id: SignalId) -> Record {
        let slug = format!("slug-{id}");
        (
            Signal::new(id, slug.clone(), self.text()),
            Company::new(slug, self.text()),
        )
    }

    /// A filter, as its query string and as it is read; most have one parameter.
    pub(crate) fn filter(&mut self) -> (String, Filter) {
        // Each turn draws one; those that are refused, such as a star on too short a word, are left out.
        loop {
            let first = *self.random.pick(&PARAMETERS);
            let second = *self.random.pick(&PARAMETERS);
            let mut query_string = self.parameter(first);
            if first != second && self.random.chance(20) {
                query_string = format!("{query_string}&{}", self.parameter(second));
            }
            if let Ok(filter) = Filter::from_query_string(&query_string) {
                return (query_string, filter);
            }
        }
    }

    fn parameter(&mut self, name: &str) -> String {
        let text = match name {
            "companies" => format!("\"{}\"", self.text()),
            "exact" | "company" => self.text(),
            _ => self.keywords(),
        };
        format!("{name}={}", encoded(&text))
    }

    /// Words, prefix words and phrases, some of them after a minus.
    fn keywords(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..1 + self.random.below(3) {
            if self.random.chance(20) {
                text += self.random.word(&MINUS);
            }
            let piece = match self.random.below(4) {
                0 => {
                    let [open, close] = *self.random.pick(&QUOTES);
                    format!("{open}{}{close}", self.text())
                }
                1 => self.beginning(),
                _ => self.piece().to_owned(),
            };
            write!(text, "{piece} ").expect("a string can be written");
        }
        text
    }

    /// The first letters of a piece with a star.
    fn beginning(&mut self) -> String {
        let piece = self.piece();
        let letters = 3 + self.random.below(3);
        let beginning: String = piece.chars().take(letters).collect();
        beginning + self.random.word(&["*", "*", "＊"])
    }
}
