//! SQLite, in two layouts of which the faster one counts in each class: FTS5 for titles with
//! ordinary indexes for the rest, and FTS5 for titles and values alike.
//!
//! A rowid is the complement of an id, so that the newest signal comes first and a page goes the
//! way that FTS5 reads. Terms are written so that its simplest tokenizer gives them back.

use std::path::{Path, PathBuf};

use rusqlite::{CachedStatement, Connection, OpenFlags, params};

use crate::Result;
use crate::engine::{Build, Engine, FacetAnswer, PAGE, PageAnswer, Prepared, Tally};
use crate::question::{Question, Start};
use crate::record::{FACETS, NONE, Record};

/// What the full-text index holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Titles; values have ordinary indexes.
    Tables,
    /// Titles, and values and companies as tokens beside them.
    Tokens,
}

/// The rowid of an id: signed, and the smaller the newer the signal is.
fn rowid(id: u64) -> i64 {
    (!id ^ (1 << 63)).cast_signed()
}

/// The id of a rowid.
fn id(rowid: i64) -> u64 {
    !(rowid.cast_unsigned() ^ (1 << 63))
}

/// A term as a token: what is no letter or digit of ASCII is written in hexadecimal digits.
fn token(term: &str) -> String {
    let mut token = String::with_capacity(term.len());
    for byte in term.bytes() {
        if byte.is_ascii_alphanumeric() {
            token.push(char::from(byte))
        } else {
            token.push_str(&format!("_{byte:02x}"))
        }
    }
    token
}

fn value_token(facet: usize, number: u32) -> String {
    format!("f{facet}v{number}")
}

fn company_token(number: u32) -> String {
    format!("c{number}")
}

/// A database being built.
pub struct Builder {
    connection: Connection,
    layout: Layout,
}

impl Builder {
    /// Starts a database in a folder.
    pub fn new(folder: &Path, layout: Layout) -> Result<Builder> {
        let connection = Connection::open(path(folder))?;
        let columns: Vec<String> = (0..FACETS)
            .map(|facet| format!("f{facet} INTEGER"))
            .collect();
        // What is half built is worth nothing, so nothing has to survive a crash before the end.
        connection.execute_batch(&format!(
            "PRAGMA journal_mode = OFF;
             PRAGMA synchronous = OFF;
             PRAGMA cache_size = -1000000;
             CREATE TABLE signals (
                 id INTEGER PRIMARY KEY, {}, company INTEGER, day INTEGER, amount REAL
             );
             CREATE VIRTUAL TABLE texts USING fts5(
                 title, tags, content = '', columnsize = 0, tokenize = \"ascii tokenchars '_'\"
             );
             BEGIN;",
            columns.join(", ")
        ))?;
        Ok(Builder { connection, layout })
    }

    fn tags(&self, record: &Record) -> String {
        let values = record.facets.iter().enumerate();
        let values = values.filter(|&(_, &number)| number != NONE);
        let mut tags: Vec<String> = values
            .map(|(facet, &number)| value_token(facet, number))
            .collect();
        tags.push(company_token(record.company));
        tags.join(" ")
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("database")
}

impl Build for Builder {
    fn add(&mut self, record: Record) -> Result<()> {
        let id = rowid(record.id);
        let mut row = self.connection.prepare_cached(
            "INSERT INTO signals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        row.raw_bind_parameter(1, id)?;
        for (facet, number) in record.facets.into_iter().enumerate() {
            row.raw_bind_parameter(2 + facet, number)?;
        }
        row.raw_bind_parameter(2 + FACETS, record.company)?;
        row.raw_bind_parameter(3 + FACETS, record.day)?;
        row.raw_bind_parameter(4 + FACETS, record.amount)?;
        row.raw_execute()?;
        let terms: Vec<String> = record.title.split(' ').map(token).collect();
        let tags = match self.layout {
            Layout::Tables => String::new(),
            Layout::Tokens => self.tags(&record),
        };
        self.connection
            .prepare_cached("INSERT INTO texts (rowid, title, tags) VALUES (?, ?, ?)")?
            .execute(params![id, terms.join(" "), tags])?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let mut indexes = String::new();
        if self.layout == Layout::Tables {
            for facet in 0..FACETS {
                indexes += &format!("CREATE INDEX by_f{facet} ON signals (f{facet});");
            }
            indexes += "CREATE INDEX by_company ON signals (company);
                        CREATE INDEX by_place ON signals (f1, f3, day);
                        CREATE INDEX by_round ON signals (f4, f5, amount);";
        }
        self.connection.execute_batch(&format!(
            "COMMIT;
             {indexes}
             CREATE INDEX by_day ON signals (day);
             INSERT INTO texts (texts) VALUES ('optimize');
             ANALYZE;
             PRAGMA synchronous = FULL;"
        ))?;
        Ok(())
    }
}

/// An open database.
pub struct Sqlite {
    connection: Connection,
    layout: Layout,
    value_bounds: [usize; FACETS],
}

impl Sqlite {
    /// Opens what was built, mapped into memory.
    pub fn open(folder: &Path, layout: Layout, value_bounds: [usize; FACETS]) -> Result<Sqlite> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path(folder), flags)?;
        connection.execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE;
             PRAGMA cache_size = -1000000;
             PRAGMA mmap_size = 100000000000;",
        )?;
        connection.set_prepared_statement_cache_capacity(4096);
        Ok(Sqlite {
            connection,
            layout,
            value_bounds,
        })
    }

    fn conditions(&self, question: &Question, lifted: Option<usize>) -> Conditions {
        let mut conditions = Conditions::of_title(question);
        for (facet, numbers) in question.facets_without(lifted) {
            match self.layout {
                Layout::Tables => conditions.column(&format!("s.f{facet}"), numbers),
                Layout::Tokens => {
                    conditions.tags(numbers.iter().map(|&number| value_token(*facet, number)));
                }
            }
        }
        if !question.companies.is_empty() {
            match self.layout {
                Layout::Tables => conditions.column("s.company", &question.companies),
                Layout::Tokens => {
                    conditions.tags(
                        question
                            .companies
                            .iter()
                            .map(|&number| company_token(number)),
                    );
                }
            }
        }
        conditions.ranges(question);
        conditions
    }
}

/// A condition in two parts: for FTS5 and for SQL.
#[derive(Default)]
struct Conditions {
    all: Vec<String>,
    none: Vec<String>,
    sql: Vec<String>,
}

impl Conditions {
    fn of_title(question: &Question) -> Conditions {
        let wanted = &question.wanted;
        let mut all: Vec<String> = wanted.all.iter().map(|term| in_title(term)).collect();
        if !wanted.phrase.is_empty() {
            let words: Vec<String> = wanted.phrase.iter().map(|term| token(term)).collect();
            all.push(format!("title : \"{}\"", words.join(" ")));
        }
        if !wanted.any.is_empty() {
            let any: Vec<String> = wanted.any.iter().map(|term| in_title(term)).collect();
            all.push(format!("({})", any.join(" OR ")));
        }
        Conditions {
            all,
            none: wanted.none.iter().map(|term| in_title(term)).collect(),
            sql: Vec::new(),
        }
    }

    fn column(&mut self, name: &str, numbers: &[u32]) {
        let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
        self.sql.push(match numbers.as_slice() {
            [number] => format!("{name} = {number}"),
            numbers => format!("{name} IN ({})", numbers.join(", ")),
        });
    }

    fn tags(&mut self, tokens: impl Iterator<Item = String>) {
        let any: Vec<String> = tokens.map(|token| format!("tags : \"{token}\"")).collect();
        self.all.push(format!("({})", any.join(" OR ")));
    }

    fn ranges(&mut self, question: &Question) {
        if let Some((first, last)) = question.days {
            self.sql.push(format!("s.day BETWEEN {first} AND {last}"));
        }
        if let Some((min, max)) = question.wanted.amounts {
            self.sql
                .push(format!("s.amount BETWEEN {min:?} AND {max:?}"));
        }
    }

    /// The text that FTS5 matches; empty where it has nothing to do.
    fn text(&self) -> String {
        let mut text = self.all.join(" AND ");
        for excluded in &self.none {
            text = format!("({text}) NOT {excluded}");
        }
        text
    }

    /// A statement that selects from the matches. FTS5 leads where it takes part, since it can
    /// only be asked for all its matches; `columns` says whether the table is needed in any case.
    fn select(&self, what: &str, columns: Columns, rest: &str) -> String {
        let text = self.text();
        let mut sql = self.sql.clone();
        let from = match (text.is_empty(), sql.is_empty() && columns == Columns::Id) {
            (true, _) => "signals s",
            (false, true) => "texts",
            (false, false) => "texts CROSS JOIN signals s ON s.id = texts.rowid",
        };
        if !text.is_empty() {
            sql.push(format!("texts MATCH '{text}'"));
        }
        let id = if text.is_empty() {
            "s.id"
        } else {
            "texts.rowid"
        };
        let what = what.replace("{id}", id);
        let mut rest = rest.replace("{id}", id);
        if !sql.is_empty() {
            let (before, after) = ("WHERE ", sql.join(" AND "));
            rest = match rest.strip_prefix("WHERE ") {
                Some(more) => format!("{before}{after} AND {more}"),
                None => format!("{before}{after} {rest}"),
            };
        }
        format!("SELECT {what} FROM {from} {rest}")
    }
}

/// What a statement needs of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    Id,
    Values,
}

fn in_title(term: &str) -> String {
    format!("title : \"{}\"", token(term))
}

impl Engine for Sqlite {
    fn prepare<'e>(&'e self, question: &'e Question) -> Result<Box<dyn Prepared + 'e>> {
        Ok(Box::new(Asked {
            engine: self,
            question,
            page: None,
            count: None,
            facets: Vec::new(),
        }))
    }
}

impl Sqlite {
    fn page_statement(&self, question: &Question) -> Result<CachedStatement<'_>> {
        let page = self.conditions(question, None).select(
            "{id}",
            Columns::Id,
            &format!("WHERE {{id}} > ?1 ORDER BY {{id}} LIMIT {PAGE}"),
        );
        Ok(self.connection.prepare_cached(&page)?)
    }

    fn count_statement(&self, question: &Question) -> Result<CachedStatement<'_>> {
        let conditions = self.conditions(question, None);
        let count = conditions.select("count(*)", Columns::Id, "");
        Ok(self.connection.prepare_cached(&count)?)
    }

    fn counting(&self, question: &Question) -> Vec<Counting> {
        let lifted = question
            .filtered_facets()
            .map(|facet| (vec![facet], self.conditions(question, Some(facet))));
        let free = (question.free_facets(), self.conditions(question, None));
        let counted = std::iter::once(free).chain(lifted);
        counted
            .filter(|(facets, _)| !facets.is_empty())
            .flat_map(|(facets, conditions)| counting_statements(facets, &conditions))
            .collect()
    }
}

/// Facets and the statement that counts them: with conditions, one that gives the values of each
/// match; without, one a facet that its index answers.
fn counting_statements(facets: Vec<usize>, conditions: &Conditions) -> Vec<Counting> {
    if !conditions.text().is_empty() || !conditions.sql.is_empty() {
        let names: Vec<String> = facets.iter().map(|facet| format!("s.f{facet}")).collect();
        let sql = conditions.select(&names.join(", "), Columns::Values, "");
        return vec![Counting::ByMatch { facets, sql }];
    }
    let grouped = facets.into_iter().map(|facet| Counting::ByValue {
        facet,
        sql: format!("SELECT f{facet}, count(*) FROM signals GROUP BY f{facet}"),
    });
    grouped.collect()
}

enum Counting {
    ByMatch { facets: Vec<usize>, sql: String },
    ByValue { facet: usize, sql: String },
}

struct Asked<'e> {
    engine: &'e Sqlite,
    question: &'e Question,
    page: Option<CachedStatement<'e>>,
    count: Option<CachedStatement<'e>>,
    facets: Vec<Counting>,
}

impl Prepared for Asked<'_> {
    fn page(&mut self, start: Start) -> Result<PageAnswer> {
        let before = self.question.before(start);
        let page = match &mut self.page {
            Some(page) => page,
            none => none.insert(self.engine.page_statement(self.question)?),
        };
        let mut rows = page.query([before.map_or(i64::MIN, rowid)])?;
        let mut ids = Vec::with_capacity(PAGE);
        while let Some(row) = rows.next()? {
            ids.push(id(row.get(0)?));
        }
        Ok(PageAnswer::Numbers(ids))
    }

    fn count(&mut self) -> Result<u64> {
        let count = match &mut self.count {
            Some(count) => count,
            none => none.insert(self.engine.count_statement(self.question)?),
        };
        let count: i64 = count.query_row([], |row| row.get(0))?;
        Ok(count.cast_unsigned())
    }

    fn facets(&mut self) -> Result<FacetAnswer> {
        let mut tally = Tally::new(&self.engine.value_bounds);
        if self.facets.is_empty() {
            self.facets = self.engine.counting(self.question);
        }
        for counting in &self.facets {
            self.engine.add_counts(counting, &mut tally)?;
        }
        Ok(FacetAnswer::Numbered(tally))
    }
}

impl Sqlite {
    fn add_counts(&self, counting: &Counting, tally: &mut Tally) -> Result<()> {
        match counting {
            Counting::ByMatch { facets, sql } => {
                let mut statement = self.connection.prepare_cached(sql)?;
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    for (column, &facet) in facets.iter().enumerate() {
                        let number: u32 = row.get(column)?;
                        tally.0[facet][number as usize] += 1;
                    }
                }
            }
            Counting::ByValue { facet, sql } => {
                let mut statement = self.connection.prepare_cached(sql)?;
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    let number: u32 = row.get(0)?;
                    tally.0[*facet][number as usize] = row.get::<_, i64>(1)?.cast_unsigned();
                }
            }
        }
        Ok(())
    }
}
