//! Which field a header or a member's name means.

use super::error::RecordError;
use super::fields::{COMPANY_NAME, RecordKind};
use super::hints::shell_quoted;
use super::options::FileOptions;
use super::words::words;
use crate::text::{nearest_name, quoted};

/// What a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    /// The field with this index.
    Field(usize),
    /// The name of a signal's company, by which its slug is found.
    CompanyName,
    /// Left out: by an option, or because it is computed.
    LeftOut,
    /// No field has this name.
    Unknown,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableColumn {
    pub(crate) name: String,
    pub(crate) binding: Binding,
}

/// The columns of a table.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    kind: RecordKind,
    pub(crate) columns: Vec<TableColumn>,
}

impl Header {
    /// Finds the field of each column.
    ///
    /// # Errors
    /// Two columns are for one field.
    pub(crate) fn bind(
        kind: RecordKind,
        names: Vec<String>,
        options: &FileOptions,
    ) -> Result<Header, RecordError> {
        let columns = names.iter().map(|name| TableColumn {
            binding: binding_of(kind, name, options, |exact| {
                names.iter().any(|name| name == exact)
            }),
            name: name.clone(),
        });
        let header = Header {
            kind,
            columns: columns.collect(),
        };
        for (index, column) in header.columns.iter().enumerate() {
            let Binding::Field(field) = column.binding else {
                continue;
            };
            let mut before = header.columns[..index].iter();
            if let Some(earlier) = before.find(|other| other.binding == column.binding) {
                return Err(twice(kind, field, &earlier.name, &column.name));
            }
        }
        Ok(header)
    }

    pub(crate) fn kind(&self) -> RecordKind {
        self.kind
    }

    /// The required fields that no column and no option gives.
    pub(crate) fn missing(&self, options: &FileOptions, makes_ids: bool) -> Vec<&'static str> {
        let required = self
            .kind
            .lines()
            .iter()
            .enumerate()
            .filter(|(_, line)| line.2);
        let missing = required.filter(|(index, line)| {
            let is_set = options.defaults.iter().any(|(field, _)| *field == line.0);
            let is_made = options.make_keys && self.can_make(line.0, &[], makes_ids);
            !self.has(Binding::Field(*index)) && !is_set && !is_made
        });
        missing.map(|(_, line)| line.0).collect()
    }

    /// Whether `make-keys` makes this field, where `also` are fields that columns will be read as.
    pub(crate) fn can_make(&self, field: &str, also: &[&str], makes_ids: bool) -> bool {
        let has = |name| self.has_field(name) || also.contains(&name);
        match (self.kind, field) {
            (RecordKind::Company, "slug") => has("name"),
            (RecordKind::Signal, "slug") => has("title"),
            (RecordKind::Signal, "companySlug") => {
                self.has(Binding::CompanyName) || also.contains(&COMPANY_NAME)
            }
            (RecordKind::Signal, "id") => makes_ids,
            _ => false,
        }
    }

    /// Whether a column is this field.
    pub(crate) fn has_field(&self, name: &str) -> bool {
        let index = self.kind.fields().position(|field| field == name);
        index.is_some_and(|index| self.has(Binding::Field(index)))
    }

    fn has(&self, binding: Binding) -> bool {
        self.columns.iter().any(|column| column.binding == binding)
    }

    /// The columns of unknown names, each with the nearest field that has no column yet. Where signals have to name
    /// their companies, a column "Account" is such a name, otherwise a slug.
    pub(crate) fn suggestions(&self, names_companies: bool) -> Vec<(&str, Option<&'static str>)> {
        let mut taken: Vec<&'static str> = Vec::new();
        for column in &self.columns {
            if let Binding::Field(index) = column.binding {
                taken.push(self.kind.lines()[index].0);
            }
        }
        let unknown = self
            .columns
            .iter()
            .filter(|column| column.binding == Binding::Unknown && !column.name.is_empty());
        let suggestions = unknown.map(|column| {
            let nearest = match self.kind.nearest_field(&column.name) {
                Some("companySlug") if names_companies && is_name_of_company(&column.name) => {
                    Some(COMPANY_NAME)
                }
                nearest => nearest,
            };
            let nearest = nearest.filter(|field| !taken.contains(field));
            taken.extend(nearest);
            (&*column.name, nearest)
        });
        suggestions.collect()
    }
}

/// Whether people call a company's name so.
fn is_name_of_company(header: &str) -> bool {
    RecordKind::Company.nearest_field(header) == Some("name")
}

/// Refuses two columns for one field.
fn twice(kind: RecordKind, field: usize, one: &str, other: &str) -> RecordError {
    let field = kind.lines()[field].0;
    let way_out = if one == other {
        "rename one of them".to_owned()
    } else {
        let map = shell_quoted(&format!("{}:{other}=", kind.plural()));
        format!("--map {map} leaves one out")
    };
    let (one, other) = (quoted(one), quoted(other));
    RecordError::of_line(format!(
        "the columns {one} and {other} are both for the field {field}; {way_out}"
    ))
}

/// What a name means, where `has_column` tells whether a column has exactly some name.
pub(crate) fn binding_of(
    kind: RecordKind,
    name: &str,
    options: &FileOptions,
    has_column: impl Fn(&str) -> bool,
) -> Binding {
    let maps = options.maps.iter();
    let exact = maps.clone().rev().find(|(theirs, _)| theirs == name);
    // A mapping of another spelling counts where no column has the spelling of the mapping.
    let folded = || {
        let same = |theirs: &str| folds_alike(theirs, name) && !has_column(theirs);
        maps.clone().rev().find(|(theirs, _)| same(theirs))
    };
    match exact.or_else(folded) {
        Some((_, Some(ours))) => field_binding(kind, ours),
        Some((_, None)) => Binding::LeftOut,
        None => match kind.field_named(name) {
            Some(field) => field_binding(kind, field),
            None => derived_binding(kind, name),
        },
    }
}

fn field_binding(kind: RecordKind, field: &str) -> Binding {
    let index = kind.fields().position(|known| known == field);
    index.map_or(Binding::CompanyName, Binding::Field)
}

fn derived_binding(kind: RecordKind, name: &str) -> Binding {
    match kind.derived_named(name) {
        Some(COMPANY_NAME) => Binding::CompanyName,
        Some(_) => Binding::LeftOut,
        None => Binding::Unknown,
    }
}

impl RecordKind {
    /// The field that a header of a table, or a member of JSON, names: its path, whatever the case, without regard to
    /// white space, `_`, `-` and `.`. The kind of record may stand before it, and `hiring.` may be missing.
    ///
    /// ```
    /// use signaldex::json::RecordKind;
    ///
    /// let kind = RecordKind::Signal;
    /// assert_eq!(kind.field_named("Funding Amount"), Some("funding.amount"));
    /// assert_eq!(kind.field_named("Signal ID"), Some("id"));
    /// assert_eq!(kind.field_named("job_function"), Some("hiring.jobFunction"));
    /// assert_eq!(kind.field_named("Headline"), None);
    /// ```
    pub fn field_named(self, name: &str) -> Option<&'static str> {
        let is_named = |field: &&'static str| {
            let short = field.strip_prefix(HIRING).unwrap_or(field);
            folds_alike(field, name) || folds_alike(short, name)
        };
        let with_kind = |field: &&'static str| {
            let mut name = letters(name);
            let mut kind = self.name().chars();
            kind.all(|letter| name.next() == Some(letter)) && letters(field).eq(name)
        };
        self.fields()
            .find(is_named)
            .or_else(|| self.fields().find(with_kind))
    }

    /// Whether a header names what answers compute and a table never loads, such as `signalCount` of a company.
    ///
    /// ```
    /// use signaldex::json::RecordKind;
    ///
    /// assert!(RecordKind::Signal.is_computed("company_name"));
    /// assert!(!RecordKind::Company.is_computed("company_name"), "it is the company's own");
    /// ```
    pub fn is_computed(self, name: &str) -> bool {
        self.field_named(name).is_none() && self.derived_named(name).is_some()
    }

    /// The field that an unknown header probably means: by the words that people use, then by spelling.
    ///
    /// ```
    /// use signaldex::json::RecordKind;
    ///
    /// assert_eq!(RecordKind::Signal.nearest_field("Headline"), Some("title"));
    /// assert_eq!(RecordKind::Signal.nearest_field("titel"), Some("title"));
    /// assert_eq!(RecordKind::Signal.nearest_field("mood"), None);
    /// ```
    pub fn nearest_field(self, name: &str) -> Option<&'static str> {
        let folded = folded_name(name);
        let mut known = words(self).iter();
        let word = known
            .find(|(word, _)| *word == folded)
            .and_then(|(_, field)| self.field(field));
        word.or_else(|| nearest_name(name, self.fields()))
    }

    fn derived_named(self, name: &str) -> Option<&'static str> {
        let mut derived = self.derived().iter().copied();
        derived.find(|derived| folds_alike(derived, name))
    }
}

const HIRING: &str = "hiring.";

/// The name of a signal's company, by which its slug is found.
pub(super) fn company_name(kind: RecordKind, name: &str) -> Option<&'static str> {
    (kind == RecordKind::Signal && folds_alike(COMPANY_NAME, name)).then_some(COMPANY_NAME)
}

/// The object of JSON that a name means: `funding` or `hiring`.
pub(crate) fn object_named(kind: RecordKind, name: &str) -> Option<&'static str> {
    let mut objects = kind
        .fields()
        .filter_map(|field| Some(field.split_once('.')?.0));
    objects.find(|object| folds_alike(object, name))
}

fn folds_alike(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

/// A name in lower case without white space, `_`, `-` and `.`.
pub(super) fn folded_name(name: &str) -> String {
    letters(name).collect()
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    let counts = |letter: &char| !letter.is_whitespace() && !matches!(letter, '_' | '-' | '.');
    name.chars().filter(counts).flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_columns_for_one_field_are_refused_with_what_leaves_one_out() {
        let options = FileOptions::default();
        let refused = |names: [&str; 2]| {
            let names = names.map(str::to_owned).into();
            let error = Header::bind(RecordKind::Company, names, &options);
            error.expect_err("one field").to_string()
        };
        assert_eq!(
            refused(["Name", "Company Name"]),
            "the columns \"Name\" and \"Company Name\" are both for the field name; \
             --map 'companies:Company Name=' leaves one out"
        );
        assert!(refused(["slug", "slug"]).ends_with("; rename one of them"));
    }
}
