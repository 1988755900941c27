//! Columns chosen by name, for rows of CSV, objects on lines, and tables.

mod members;
mod value;

use members::{COMPANY_COLUMNS, SIGNAL_COLUMNS, SignalRead};
pub use value::{ColumnType, ColumnValue};

use super::item_csv::write_csv_cell;
use crate::index::Found;
use crate::signal::{Company, CompanyProfile, Item, Signal};
use crate::text::{nearest_name, quoted};
use crate::{Error, Result};

/// What columns of signals are read from.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSource<'a> {
    /// The signal.
    pub signal: &'a Signal<'a>,
    /// The name of its company.
    pub company_name: &'a str,
    /// Its company; without one, the columns of the company are null. See [`SignalColumns::need_company`].
    pub company: Option<&'a Company<'a>>,
}

impl<'a> From<&'a Item<'a>> for ColumnSource<'a> {
    /// Without the company.
    fn from(item: &'a Item<'a>) -> ColumnSource<'a> {
        ColumnSource {
            signal: &item.signal,
            company_name: &item.company_name,
            company: None,
        }
    }
}

impl<'a> From<&'a Found<'a>> for ColumnSource<'a> {
    fn from(found: &'a Found<'a>) -> ColumnSource<'a> {
        ColumnSource {
            signal: &found.signal,
            company_name: &found.company.name,
            company: Some(&found.company),
        }
    }
}

type CompanyRead = for<'s> fn(&'s CompanyProfile<'s>) -> ColumnValue<'s>;

/// Columns of signals, in an order of your own: members of a search item such as `funding.amount`, hiring attributes
/// such as `hiring.seniority`, and members of the company such as `company.country`.
///
/// ```
/// use signaldex::json::{ColumnSource, SignalColumns};
/// use signaldex::{Signal, SignalId};
///
/// let columns = SignalColumns::parse("title,funding.amount,id")?;
/// let signal = Signal::new(SignalId::MIN, "acme", "Acme hires");
/// let source = ColumnSource { signal: &signal, company_name: "Acme GmbH", company: None };
/// let mut line = Vec::new();
/// columns.write_line(&mut line, source);
/// assert_eq!(line, b"{\"title\":\"Acme hires\",\"funding\":{\"amount\":null},\"id\":\"1\"}\n");
/// # Ok::<(), signaldex::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SignalColumns(Chosen<SignalRead>);

/// Columns of companies, in an order of your own: the members of the API's company.
///
/// ```
/// use signaldex::json::CompanyColumns;
///
/// let columns = CompanyColumns::parse("slug,signalCount")?;
/// let snapshot = signaldex::sample::index()?.snapshot();
/// let profile = snapshot.company("cpp-foundry")?.expect("the sample has it");
/// let mut row = Vec::new();
/// columns.write_row(&mut row, &profile);
/// assert_eq!(row, b"cpp-foundry,3\r\n");
/// # Ok::<(), signaldex::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CompanyColumns(Chosen<CompanyRead>);

impl SignalColumns {
    /// The columns of these names, separated by commas.
    ///
    /// # Errors
    /// A name is none of a column, or is there twice.
    ///
    /// ```
    /// use signaldex::json::SignalColumns;
    ///
    /// let error = SignalColumns::parse("id,titel").expect_err("a misspelt name");
    /// assert_eq!(error.to_string(), "\"titel\" is not a column; did you mean title?");
    /// ```
    pub fn parse(names: &str) -> Result<SignalColumns> {
        Chosen::parse(names, SIGNAL_COLUMNS).map(SignalColumns)
    }

    /// All columns: those of a search item, hiring attributes, members of the company.
    ///
    /// ```
    /// let columns = signaldex::json::SignalColumns::all();
    /// assert!(columns.names().any(|name| name == "hiring.seniority"));
    /// ```
    pub fn all() -> SignalColumns {
        SignalColumns(Chosen::of(SIGNAL_COLUMNS.to_vec()))
    }

    /// The columns of a signal's detail, which has no hiring attributes.
    ///
    /// ```
    /// let columns = signaldex::json::SignalColumns::of_detail();
    /// assert!(columns.names().any(|name| name == "company.country"));
    /// ```
    pub fn of_detail() -> SignalColumns {
        let shown = SIGNAL_COLUMNS
            .iter()
            .filter(|(name, _)| !name.starts_with("hiring."));
        SignalColumns(Chosen::of(shown.copied().collect()))
    }

    /// The names, in order.
    ///
    /// ```
    /// let columns = signaldex::json::SignalColumns::parse("title, id")?;
    /// assert!(columns.names().eq(["title", "id"]));
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.names()
    }

    /// The types of the columns, in order.
    ///
    /// ```
    /// use signaldex::json::{ColumnType, SignalColumns};
    ///
    /// let columns = SignalColumns::parse("date,funding.amount")?;
    /// assert!(columns.types().eq([ColumnType::Day, ColumnType::Amount]));
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn types(&self) -> impl Iterator<Item = ColumnType> + '_ {
        let columns = self.0.columns.iter();
        columns.map(|(_, read)| read.column_type())
    }

    /// Whether a column is read from the company's record.
    ///
    /// ```
    /// use signaldex::json::SignalColumns;
    ///
    /// assert!(SignalColumns::parse("id,company.city")?.need_company());
    /// assert!(!SignalColumns::parse("id,companyName")?.need_company());
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn need_company(&self) -> bool {
        self.names().any(|name| name.starts_with("company."))
    }

    /// The values of a signal, in order.
    ///
    /// ```
    /// use signaldex::json::{ColumnSource, SignalColumns};
    /// use signaldex::{Signal, SignalId};
    ///
    /// let signal = Signal::new(SignalId::MIN, "acme", "=1+1");
    /// let source = ColumnSource { signal: &signal, company_name: "Acme", company: None };
    /// let columns = SignalColumns::parse("id,title")?;
    /// assert_eq!(columns.values(source)[1].to_text(), "=1+1");
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn values<'s>(&self, source: ColumnSource<'s>) -> Vec<ColumnValue<'s>> {
        let columns = self.0.columns.iter();
        columns.map(|(_, read)| read.value(source)).collect()
    }

    /// Appends the names as the header of CSV.
    ///
    /// ```
    /// let mut header = Vec::new();
    /// signaldex::json::SignalColumns::parse("title,id")?.write_header(&mut header);
    /// assert_eq!(header, b"title,id\r\n");
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn write_header(&self, output: &mut Vec<u8>) {
        self.0.write_header(output);
    }

    /// Appends the values of a signal as a row of CSV.
    ///
    /// ```
    /// use signaldex::json::{ColumnSource, SignalColumns};
    /// use signaldex::{Signal, SignalId};
    ///
    /// let signal = Signal::new(SignalId::MIN, "acme", "=1+1");
    /// let source = ColumnSource { signal: &signal, company_name: "Acme", company: None };
    /// let columns = SignalColumns::parse("id,title")?;
    /// let mut row = Vec::new();
    /// columns.write_row(&mut row, source);
    /// assert_eq!(row, b"1,\"'=1+1\"\r\n");
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn write_row(&self, output: &mut Vec<u8>, source: ColumnSource<'_>) {
        write_row(output, &self.values(source));
    }

    /// Appends the values of a signal as an object on a line; the parts of a name with a dot nest.
    ///
    /// ```
    /// use signaldex::json::{ColumnSource, SignalColumns};
    /// use signaldex::{Signal, SignalId};
    ///
    /// let signal = Signal::new(SignalId::MIN, "acme", "=1+1");
    /// let source = ColumnSource { signal: &signal, company_name: "Acme", company: None };
    /// let columns = SignalColumns::parse("id,title")?;
    /// let mut line = Vec::new();
    /// columns.write_line(&mut line, source);
    /// assert_eq!(line, b"{\"id\":\"1\",\"title\":\"=1+1\"}\n");
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn write_line(&self, output: &mut Vec<u8>, source: ColumnSource<'_>) {
        self.0.write_line(output, &self.values(source));
    }
}

impl CompanyColumns {
    /// The columns of these names, separated by commas.
    ///
    /// # Errors
    /// As for [`SignalColumns::parse`].
    ///
    /// ```
    /// let error = signaldex::json::CompanyColumns::parse("contry").expect_err("a misspelt name");
    /// assert_eq!(error.to_string(), "\"contry\" is not a column; did you mean country?");
    /// ```
    pub fn parse(names: &str) -> Result<CompanyColumns> {
        Chosen::parse(names, COMPANY_COLUMNS).map(CompanyColumns)
    }

    /// All columns, in the order of the API's company.
    ///
    /// ```
    /// let columns = signaldex::json::CompanyColumns::all();
    /// assert_eq!(columns.names().next(), Some("slug"));
    /// ```
    pub fn all() -> CompanyColumns {
        CompanyColumns(Chosen::of(COMPANY_COLUMNS.to_vec()))
    }

    /// The names, in order.
    ///
    /// ```
    /// let columns = signaldex::json::CompanyColumns::parse("name,slug")?;
    /// assert!(columns.names().eq(["name", "slug"]));
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.names()
    }

    /// The values of a company, in order.
    ///
    /// ```
    /// use signaldex::json::{ColumnValue, CompanyColumns};
    ///
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// let profile = snapshot.company("cpp-foundry")?.expect("the sample has it");
    /// let columns = CompanyColumns::parse("signalCount")?;
    /// assert_eq!(columns.values(&profile), [ColumnValue::Whole(3)]);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn values<'s>(&self, profile: &'s CompanyProfile<'s>) -> Vec<ColumnValue<'s>> {
        let columns = self.0.columns.iter();
        columns.map(|(_, read)| read(profile)).collect()
    }

    /// Appends the names as the header of CSV.
    ///
    /// ```
    /// let mut header = Vec::new();
    /// signaldex::json::CompanyColumns::parse("slug,name")?.write_header(&mut header);
    /// assert_eq!(header, b"slug,name\r\n");
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn write_header(&self, output: &mut Vec<u8>) {
        self.0.write_header(output);
    }

    /// Appends the values of a company as a row of CSV.
    ///
    /// ```
    /// use signaldex::json::CompanyColumns;
    ///
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// let profile = snapshot.company("cpp-foundry")?.expect("the sample has it");
    /// let columns = CompanyColumns::parse("signalCount")?;
    /// let mut row = Vec::new();
    /// columns.write_row(&mut row, &profile);
    /// assert_eq!(row, b"3\r\n");
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn write_row(&self, output: &mut Vec<u8>, profile: &CompanyProfile<'_>) {
        write_row(output, &self.values(profile));
    }

    /// Appends the values of a company as an object on a line.
    ///
    /// ```
    /// use signaldex::json::CompanyColumns;
    ///
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// let profile = snapshot.company("cpp-foundry")?.expect("the sample has it");
    /// let columns = CompanyColumns::parse("signalCount")?;
    /// let mut line = Vec::new();
    /// columns.write_line(&mut line, &profile);
    /// assert_eq!(line, b"{\"signalCount\":3}\n");
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn write_line(&self, output: &mut Vec<u8>, profile: &CompanyProfile<'_>) {
        self.0.write_line(output, &self.values(profile));
    }
}

/// Columns with their names, and how they nest.
#[derive(Clone, Debug)]
struct Chosen<R> {
    columns: Vec<(&'static str, R)>,
    /// The members of an object on a line: one column, or several below one name.
    members: Vec<(Option<&'static str>, Vec<usize>)>,
}

impl<R: Copy> Chosen<R> {
    fn parse(names: &str, all: &[(&'static str, R)]) -> Result<Chosen<R>> {
        let mut columns: Vec<(&'static str, R)> = Vec::new();
        for name in names.split(',').map(str::trim) {
            let Some(&column) = all.iter().find(|(known, _)| *known == name) else {
                return Err(unknown_column(name, all.iter().map(|(known, _)| *known)));
            };
            if columns.iter().any(|(chosen, _)| *chosen == name) {
                let reason = format!("the column {name} is given twice; each is given once");
                return Err(Error::invalid(reason));
            }
            columns.push(column);
        }
        Ok(Chosen::of(columns))
    }

    fn of(columns: Vec<(&'static str, R)>) -> Chosen<R> {
        let mut members: Vec<(Option<&'static str>, Vec<usize>)> = Vec::new();
        for (index, (name, _)) in columns.iter().enumerate() {
            let outer = name.split_once('.').map(|(outer, _)| outer);
            let same = members
                .iter_mut()
                .find(|(other, _)| outer.is_some() && *other == outer);
            match same {
                Some((_, indices)) => indices.push(index),
                None => members.push((outer, vec![index])),
            }
        }
        Chosen { columns, members }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.columns.iter().map(|&(name, _)| name)
    }

    fn write_header(&self, output: &mut Vec<u8>) {
        let names: Vec<&str> = self.names().collect();
        output.extend_from_slice(names.join(",").as_bytes());
        output.extend_from_slice(b"\r\n");
    }

    fn write_line(&self, output: &mut Vec<u8>, values: &[ColumnValue<'_>]) {
        let mut separator = b'{';
        for (outer, indices) in &self.members {
            output.push(separator);
            separator = b',';
            if let Some(outer) = outer {
                write_name(output, outer);
                output.push(b'{');
            }
            for (position, &index) in indices.iter().enumerate() {
                if position > 0 {
                    output.push(b',');
                }
                let name = self.columns[index].0;
                write_name(
                    output,
                    name.split_once('.').map_or(name, |(_, inner)| inner),
                );
                values[index].write_json(output);
            }
            if outer.is_some() {
                output.push(b'}');
            }
        }
        output.extend_from_slice(b"}\n");
    }
}

fn write_name(output: &mut Vec<u8>, name: &str) {
    output.push(b'"');
    output.extend_from_slice(name.as_bytes());
    output.extend_from_slice(b"\":");
}

fn write_row(output: &mut Vec<u8>, values: &[ColumnValue<'_>]) {
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            output.push(b',');
        }
        match value {
            // A number is no formula, even with a minus.
            ColumnValue::Whole(_) | ColumnValue::Amount(_) => {
                output.extend_from_slice(value.to_text().as_bytes());
            }
            _ => write_csv_cell(output, &value.to_text()),
        }
    }
    output.extend_from_slice(b"\r\n");
}

fn unknown_column(name: &str, known: impl Iterator<Item = &'static str> + Clone) -> Error {
    let last = |path: &'static str| path.rsplit('.').next().unwrap_or(path);
    let is_part = |path: &&'static str| {
        last(path).eq_ignore_ascii_case(name) || path.split('.').next() == Some(name)
    };
    let nearest = known.clone().find(is_part);
    let hint = match nearest.or_else(|| nearest_name(name, known.clone())) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("columns are {}", known.collect::<Vec<_>>().join(", ")),
    };
    Error::invalid(format!("{} is not a column; {hint}", quoted(name)))
}

#[cfg(test)]
mod tests;
