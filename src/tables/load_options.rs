//! The options of a load, each set by its name and a text, as the command line and Python do.

use std::fs;
use std::path::Path;

use super::fields::RecordKind;
use super::header;
use super::options::{FileOptions, refused};
use crate::text::{nearest_name, quoted};
use crate::{Error, Result};

/// How the files of a load are read.
///
/// ```
/// use signaldex::json::{LoadOptions, Loader};
/// use signaldex::IndexBuilder;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("companies");
///
/// std::fs::write(&path, "Name;Headcount\nAcme GmbH;1.200\n")?;
/// let mut options = LoadOptions::default();
/// options.set("map", "Headcount=employees")?;
/// options.set("decimal", "companies:,")?;
/// options.set("make-keys", "")?;
/// let mut loader = Loader::with_options(options);
/// loader.companies(&path, &mut IndexBuilder::in_memory())?;
/// assert_eq!(loader.report().companies, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    companies: FileOptions,
    signals: FileOptions,
    pub(crate) strict: bool,
    pub(crate) skip_invalid: bool,
    pub(crate) invalid_as_null: bool,
}

const KINDS: [RecordKind; 2] = [RecordKind::Company, RecordKind::Signal];

impl LoadOptions {
    /// The default, but for whether invalid records are skipped.
    pub(crate) fn skipping(skip_invalid: bool) -> LoadOptions {
        LoadOptions {
            skip_invalid,
            ..LoadOptions::default()
        }
    }

    /// Sets an option as the command line has it, without its dashes. A value that begins with `companies:` or
    /// `signals:` concerns that file alone; the value of an option without one, such as `strict`, is not read.
    ///
    /// ```
    /// let mut options = signaldex::json::LoadOptions::default();
    /// options.set("date-format", "signals:%d.%m.%Y")?;
    /// assert!(options.set("date-fromat", "%d.%m.%Y").is_err());
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such option, or the value is not one of it ([`Invalid`](crate::ErrorKind::Invalid)); or a file of
    /// mappings cannot be read.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let prefixed =
            |kind: RecordKind| Some((kind, value.strip_prefix(kind.plural())?.strip_prefix(':')?));
        let (kind, value) = match KINDS.into_iter().find_map(prefixed) {
            Some((kind, value)) => (Some(kind), value),
            None => (None, value),
        };
        match name {
            "strict" => self.strict = true,
            "skip-invalid" => self.skip_invalid = true,
            "invalid-as-null" => self.invalid_as_null = true,
            "map" => match value.strip_prefix('@') {
                Some(path) => self.maps_of_file(Path::new(path))?,
                None => self.map(kind, value)?,
            },
            "set" => self.default_value(kind, value)?,
            _ => {
                for of in KINDS
                    .into_iter()
                    .filter(|of| kind.is_none_or(|kind| kind == *of))
                {
                    self.file_mut(of).set(name, value)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn file(&self, kind: RecordKind) -> &FileOptions {
        match kind {
            RecordKind::Company => &self.companies,
            RecordKind::Signal => &self.signals,
        }
    }

    fn file_mut(&mut self, kind: RecordKind) -> &mut FileOptions {
        match kind {
            RecordKind::Company => &mut self.companies,
            RecordKind::Signal => &mut self.signals,
        }
    }

    fn maps_of_file(&mut self, path: &Path) -> Result<()> {
        let text =
            fs::read_to_string(path).map_err(|error| Error::io("read the file", error).at(path))?;
        for line in text.trim_start_matches('\u{FEFF}').lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') || line.starts_with('@') {
                continue;
            }
            self.set("map", line)?;
        }
        Ok(())
    }

    fn map(&mut self, kind: Option<RecordKind>, value: &str) -> Result<()> {
        let needed = || {
            refused(
                "map",
                value,
                "THEIRS=OURS, such as headline=title, or THEIRS= to leave a column out",
            )
        };
        let (theirs, ours) = value.rsplit_once('=').ok_or_else(needed)?;
        if theirs.is_empty() {
            return Err(needed());
        }
        for (kind, ours) in fields_named("map", kind, ours)? {
            self.file_mut(kind).maps.push((theirs.to_owned(), ours));
        }
        Ok(())
    }

    fn default_value(&mut self, kind: Option<RecordKind>, value: &str) -> Result<()> {
        let needed = || refused("set", value, "FIELD=VALUE, such as category=news");
        let (field, text) = value.split_once('=').ok_or_else(needed)?;
        if field.is_empty() {
            return Err(needed());
        }
        for (kind, field) in fields_named("set", kind, field)? {
            let field = field.ok_or_else(needed)?;
            self.file_mut(kind).defaults.push((field, text.to_owned()));
        }
        Ok(())
    }
}

/// Our field for each kind of record that an option concerns; of an empty name, none.
fn fields_named(
    option: &str,
    kind: Option<RecordKind>,
    name: &str,
) -> Result<Vec<(RecordKind, Option<&'static str>)>> {
    let kinds = || {
        KINDS
            .into_iter()
            .filter(|of| kind.is_none_or(|kind| kind == *of))
    };
    if name.is_empty() {
        return Ok(kinds().map(|kind| (kind, None)).collect());
    }
    let named =
        |kind: RecordKind| (kind.field_named(name)).or_else(|| header::company_name(kind, name));
    let known = kinds().filter_map(|kind| Some((kind, Some(named(kind)?))));
    let known: Vec<_> = known.collect();
    if known.is_empty() {
        let fields = kinds().flat_map(RecordKind::fields);
        let hint = match nearest_name(name, fields) {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => "`signaldex fields` lists the fields".to_owned(),
        };
        return Err(Error::invalid(format!(
            "--{option}: {} is not a field of records; {hint}",
            quoted(name)
        )));
    }
    Ok(known)
}
