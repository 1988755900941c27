//! The tables of searches in `data`, and the check that an interface answers them.
//!
//! A line of `searches.tsv` has a parameter (or `?` for a raw query string), its value, and the numbers of the lines of
//! `titles.txt` that it finds, `-` for none, or the code of the error. A line of `names.tsv` has an item of `companies`
//! and the names that it finds among its own and those of `members.tsv`.

use std::collections::BTreeSet;
use std::fmt::Write;

use signaldex::{Company, Index, IndexBuilder, Signal, SignalId};

const SEARCHES: &str = include_str!("../../data/searches/searches.tsv");
const TITLES: &str = include_str!("../../data/searches/titles.txt");
const TYPED: &str = include_str!("../../data/names/names.tsv");
const MEMBERS: &str = include_str!("../../data/names/members.tsv");

/// Fewer searches than this are not the whole table.
const SEARCHES_MIN: usize = 100;

/// Records, and searches over them.
pub(crate) struct Table {
    /// By id, from 1 on.
    pub(crate) records: Vec<(Signal<'static>, Company<'static>)>,
    pub(crate) searches: Vec<Search>,
}

/// A search with one parameter, and what it finds.
pub(crate) struct Search {
    /// `?` if the value is a whole query string.
    pub(crate) parameter: &'static str,
    pub(crate) value: &'static str,
    /// Ids, or the code of the error.
    pub(crate) found: Result<Vec<u64>, &'static str>,
}

impl Search {
    pub(crate) fn query_string(&self) -> String {
        match self.parameter {
            "?" => self.value.to_owned(),
            "companies" => {
                let item = self.value.replace('"', "\"\"");
                format!("companies={}", encoded(&format!("\"{item}\"")))
            }
            parameter => format!("{parameter}={}", encoded(self.value)),
        }
    }
}

impl Table {
    /// `searches.tsv` over `titles.txt`; the company of each title is named as the title.
    pub(crate) fn of_titles() -> Table {
        let records = TITLES.lines().zip(1..);
        let searches = rows(SEARCHES).map(|row| {
            let [parameter, value, found] = row[..] else {
                panic!("{row:?} has three fields");
            };
            let numbers = found.split(' ').filter(|number| *number != "-");
            let numbers: Option<_> = numbers.map(|number| number.parse().ok()).collect();
            Search {
                parameter,
                value,
                found: numbers.ok_or(found),
            }
        });
        Table {
            records: records
                .map(|(title, number)| record(number, title, title))
                .collect(),
            searches: searches.collect(),
        }
    }

    /// `names.tsv` over all names.
    pub(crate) fn of_names() -> Table {
        let names_of = |cell: &'static str| cell.split(" | ").filter(|name| *name != "-");
        let mut names: BTreeSet<&str> = rows(MEMBERS).map(|row| row[0]).collect();
        rows(TYPED).for_each(|row| names.extend(names_of(row[1])));
        let names: Vec<&str> = names.into_iter().collect();
        let id_of = |name| names.binary_search(&name).expect("a known name") as u64 + 1;
        let searches = rows(TYPED).map(|row| {
            let mut found: Vec<u64> = names_of(row[1]).map(id_of).collect();
            found.sort_unstable();
            Search {
                parameter: "companies",
                value: row[0],
                found: Ok(found),
            }
        });
        Table {
            searches: searches.collect(),
            records: named(&names),
        }
    }

    /// An index of the records.
    pub(crate) fn index(&self, builder: IndexBuilder) -> Index {
        index_of(&self.records, builder)
    }

    /// Panics unless `ask` finds what each search does: its ids in any order, or the code of its error.
    pub(crate) fn check(&self, mut ask: impl FnMut(&Search) -> Result<Vec<u64>, String>) {
        let count = self.searches.len();
        assert!(count > SEARCHES_MIN, "only {count} searches");
        for search in &self.searches {
            let mut found = ask(search);
            if let Ok(ids) = &mut found {
                ids.sort_unstable();
            }
            let expected = search.found.clone().map_err(str::to_owned);
            assert_eq!(found, expected, "{} {}", search.parameter, search.value);
        }
    }
}

fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| row.split('\t').collect())
}

fn record(number: u64, title: &str, name: &str) -> (Signal<'static>, Company<'static>) {
    let id = SignalId::new(number).expect("numbers begin at 1");
    let slug = format!("slug {number}");
    (
        Signal::new(id, slug.clone(), title.to_owned()),
        Company::new(slug, name.to_owned()),
    )
}

/// A signal of a company with each name.
pub(crate) fn named(names: &[&str]) -> Vec<(Signal<'static>, Company<'static>)> {
    let records = names.iter().zip(1..);
    records
        .map(|(name, number)| record(number, "A title", name))
        .collect()
}

/// An index of records, half of them in a segment of a later commit.
pub(crate) fn index_of(
    records: &[(Signal<'static>, Company<'static>)],
    mut builder: IndexBuilder,
) -> Index {
    let (first, later) = records.split_at(records.len() / 2);
    for (signal, company) in first {
        builder.add_company(company).expect("a valid company");
        builder.add_signal(signal).expect("a valid signal");
    }
    let index = builder.finish().expect("a valid index");
    let mut writer = index.writer().expect("one writer");
    for (signal, company) in later {
        writer.upsert_company(company).expect("a valid company");
        writer.upsert_signal(signal).expect("a valid signal");
    }
    writer.commit().expect("a commit");
    drop(writer);
    index
}

/// A value of a query string.
pub(crate) fn encoded(value: &str) -> String {
    value.bytes().fold(String::new(), |mut text, byte| {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'.' | b'_' => text.push(byte as char),
            _ => write!(text, "%{byte:02X}").expect("a string can be written"),
        }
        text
    })
}
