//! Random queries made of a corpus's own words and values, as query strings.

use std::fmt::Write;

use signaldex::Facet;
use time::Date;

use crate::oracle::Record;
use crate::random::Random;
use crate::search_tables::encoded;

/// Makes up filters from records, so that most find something and some find nothing.
pub(crate) struct Questions<'c> {
    records: &'c [Record],
    today: Date,
    pub(crate) random: Random,
}

impl<'c> Questions<'c> {
    pub(crate) fn new(records: &'c [Record], today: Date, seed: u64) -> Questions<'c> {
        Questions {
            records,
            today,
            random: Random::new(seed),
        }
    }

    /// The query string of a random filter: one to four parts, mostly of one and the same record.
    pub(crate) fn filter(&mut self) -> String {
        let parts = 1 + self.random.below(4);
        let mut query = QueryString::default();
        let record = self.record();
        for _ in 0..parts {
            let record = if self.random.chance(80) {
                record
            } else {
                self.record()
            };
            self.add_part(&mut query, record);
        }
        query.text
    }

    fn record(&mut self) -> &'c Record {
        self.random.pick(self.records)
    }

    fn add_part(&mut self, query: &mut QueryString, record: &'c Record) {
        let (signal, company) = record;
        match self.random.below(24) {
            0 | 1 => query.add("q", &self.keywords(&signal.title)),
            2 | 3 => {
                let words = self.words(&signal.title, 3);
                query.add("all", &self.with_prefixes(&words));
            }
            4 | 5 => query.add("exact", &self.run(&signal.title, 3)),
            6 | 7 => {
                let other = &self.record().0.title;
                let phrase = self.run(other, 2).replace('"', " ");
                let words = self.words(&signal.title, 3);
                let words = self.with_prefixes(&words);
                let phrases = [format!("\"{phrase}\""), String::new()];
                query.add("any", &format!("{words} {}", self.random.pick(&phrases)));
            }
            8 => {
                let other = &self.record().0.title;
                let words = self.words(other, 2);
                query.add("exclude", &self.with_prefixes(&words));
            }
            9 => query.add("company", &self.words(&company.name, 2)),
            10 => query.add("companySlug", &company.slug),
            11 => {
                let companies = self.several(|(_, company)| Some(company.name.to_string()));
                query.add("companies", &listed(&companies));
            }
            12 => self.add_facet(query, "country", Facet::Country, record),
            13 => self.add_facet(query, "industry", Facet::Industry, record),
            14 => self.add_facet(query, "size", Facet::Size, record),
            15 => {
                let categories =
                    self.several(|(signal, _)| signal.category.as_deref().map(str::to_owned));
                query.add("categories", &listed(&categories));
            }
            16 => self.add_hiring(query),
            17 => self.add_facet(query, "fundingStage", Facet::FundingStage, record),
            18 => query.add("fundingCurrency", self.random.word(&["USD", "EUR", "GBP"])),
            19 => self.add_amounts(query),
            20 => query.add("days", self.random.word(&["7", "30", "90"])),
            21 => {
                let ranges = ["7", "30", "90", "older"];
                let chosen: Vec<String> = (0..=self.random.below(2))
                    .map(|_| self.random.word(&ranges).to_owned())
                    .collect();
                query.add("dateRanges", &chosen.join(","));
            }
            22 => self.add_dates(query),
            _ => {
                let ids = self.several(|(signal, _)| Some(signal.id.to_string()));
                query.add(["ids", "activityIds"][self.random.below(2)], &ids.join(","));
            }
        }
    }

    fn add_facet(
        &mut self,
        query: &mut QueryString,
        parameter: &str,
        facet: Facet,
        (signal, company): &Record,
    ) {
        if let Some(label) = facet.label(signal, company) {
            let spelled = if self.random.chance(30) {
                label.to_uppercase()
            } else {
                label.into_owned()
            };
            query.add(parameter, &spelled);
        }
    }

    fn add_hiring(&mut self, query: &mut QueryString) {
        let (parameter, facet) = *self.random.pick(&[
            ("hiringType", Facet::HiringType),
            ("jobFunction", Facet::JobFunction),
            ("seniority", Facet::Seniority),
            ("employmentType", Facet::EmploymentType),
            ("workArrangement", Facet::WorkArrangement),
        ]);
        let values = self.several(|(signal, company)| {
            facet.label(signal, company).map(|label| label.into_owned())
        });
        query.add(parameter, &listed(&values));
    }

    fn add_amounts(&mut self, query: &mut QueryString) {
        let mut amounts: Vec<f64> = (0..2)
            .filter_map(|_| {
                (0..20).find_map(|_| {
                    self.record()
                        .0
                        .funding
                        .as_ref()
                        .and_then(|funding| funding.amount)
                })
            })
            .collect();
        amounts.sort_by(f64::total_cmp);
        let which = self.random.below(3);
        if let (Some(min), true) = (amounts.first(), which != 1) {
            query.add("fundingMin", &min.to_string());
        }
        if let (Some(max), true) = (amounts.last(), which != 0) {
            query.add("fundingMax", &max.to_string());
        }
    }

    fn add_dates(&mut self, query: &mut QueryString) {
        let mut dates: Vec<Date> = (0..2)
            .map(|_| self.record().0.date.unwrap_or(self.today))
            .collect();
        dates.sort();
        let which = self.random.below(3);
        if which != 1 {
            query.add("dateFrom", &dates[0].to_string());
        }
        if which != 0 {
            query.add("dateTo", &dates[1].to_string());
        }
    }

    /// Keywords: words, phrases and exclusions.
    fn keywords(&mut self, title: &str) -> String {
        let mut parts = Vec::new();
        if self.random.chance(80) {
            let words = self.words(title, 2);
            parts.push(self.with_prefixes(&words));
        }
        if self.random.chance(40) {
            parts.push(format!("\"{}\"", self.run(title, 3).replace('"', " ")));
        }
        let other = &self.record().0.title;
        if self.random.chance(30) {
            let word = self.words(other, 1);
            parts.push(format!("-{}", self.with_prefixes(&word)));
        }
        if self.random.chance(20) || parts.is_empty() {
            parts.push(format!("-\"{}\"", self.run(other, 2).replace('"', " ")));
        }
        parts.join(" ")
    }

    /// Some of a list of words become prefix words.
    fn with_prefixes(&mut self, words: &str) -> String {
        let words = words.split_whitespace().map(|word| {
            let kept = 3 + self.random.below(5);
            let beginning: String = word.chars().take(kept).collect();
            let letters = beginning.chars().filter(|c| c.is_alphanumeric()).count();
            // Another beginning may be too short, or of several words.
            if letters < beginning.chars().count().max(3) || self.random.chance(70) {
                return word.to_owned();
            }
            beginning + "*"
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Up to `most` words of a text, in any order.
    fn words(&mut self, text: &str, most: usize) -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.is_empty() {
            return String::new();
        }
        let count = 1 + self.random.below(most);
        (0..count)
            .map(|_| self.random.word(&words))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Up to `most` words of a text that stand next to each other.
    fn run(&mut self, text: &str, most: usize) -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        let start = self.random.below(words.len().max(1));
        let count = 1 + self.random.below(most);
        words
            .into_iter()
            .skip(start)
            .take(count)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// A few values of random records, as far as they have one.
    fn several(&mut self, value: impl Fn(&Record) -> Option<String>) -> Vec<String> {
        let count = 1 + self.random.below(4);
        (0..count).filter_map(|_| value(self.record())).collect()
    }
}

/// A query string under construction; a parameter is given once, and blank values are left out.
#[derive(Default)]
struct QueryString {
    text: String,
    names: Vec<String>,
}

impl QueryString {
    fn add(&mut self, name: &str, value: &str) {
        if value.trim().is_empty() || self.names.iter().any(|other| other == name) {
            return;
        }
        self.names.push(name.to_owned());
        let ampersand = if self.text.is_empty() { "" } else { "&" };
        write!(self.text, "{ampersand}{name}={}", encoded(value)).expect("a string can be written");
    }
}

/// Items as a list: those with a comma or a quote in quotes.
pub(crate) fn listed(items: &[String]) -> String {
    let quoted = items.iter().map(|item| {
        if item.contains([',', '"']) {
            format!("\"{}\"", item.replace('"', "\"\""))
        } else {
            item.clone()
        }
    });
    quoted.collect::<Vec<_>>().join(",")
}
