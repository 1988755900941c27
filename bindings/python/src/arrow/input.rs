//! Records from tables: whatever offers Arrow's C stream, such as pyarrow, polars, pandas and DuckDB.
//!
//! Columns are named as the headers of files are ([`RecordKind::field_named`]), and texts are read as strings of JSON
//! ([`read_cell`](signaldex::json::read_cell)). A column that is missing is null, one of an unknown name is an error, and
//! so is a value that its field cannot hold.

use std::borrow::Cow;
use std::collections::HashMap;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use signaldex::json::{FieldType, RecordKind, Sink};
use signaldex::text::nearest_name;
use signaldex::{Company, Currency, Funding, Hiring, Signal};

use super::columns::python_name;
use super::output::CAPSULE_NAME;
use super::values::ArrowColumn;
use crate::errors;
use crate::records::{RecordFieldError, amount, currency};

/// Why a table could not be taken in.
pub(crate) enum TableError {
    /// A row breaks a rule.
    Row(u64, RecordFieldError),
    Library(signaldex::Error),
    Arrow(ArrowError),
}

impl TableError {
    pub(crate) fn into_python(self, py: Python<'_>) -> PyErr {
        match self {
            TableError::Row(row, RecordFieldError { field, reason }) => {
                errors::invalid_field(py, &field, &format!("{reason} (row {row})"))
            }
            TableError::Library(error) => errors::of_library(py, &error),
            TableError::Arrow(error) => PyValueError::new_err(error.to_string()),
        }
    }
}

/// The fields of columns that have other names; `None` leaves a column out.
pub(crate) type Renames = HashMap<String, Option<String>>;

/// A table that is read batch by batch.
pub(crate) struct ArrowTable {
    batches: RecordBatchStreamReader,
    kind: RecordKind,
    /// By column: the field, unless the column is left out.
    fields: Vec<Option<&'static str>>,
}

impl ArrowTable {
    /// The table that an object offers; `None` where it offers none.
    pub(crate) fn open(
        source: &Bound<'_, PyAny>,
        kind: RecordKind,
        renames: &Renames,
    ) -> PyResult<Option<ArrowTable>> {
        if !source.hasattr("__arrow_c_stream__")? {
            return Ok(None);
        }
        let capsule = source.call_method0("__arrow_c_stream__")?;
        let stream = take_stream(capsule.cast::<PyCapsule>()?)?;
        let batches = RecordBatchStreamReader::try_new(stream);
        let batches = batches.map_err(|error| PyTypeError::new_err(error.to_string()))?;
        let schema = batches.schema();
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| &**field.name())
            .collect();
        let fields = fields_of(&names, kind, renames).map_err(PyValueError::new_err)?;
        Ok(Some(ArrowTable {
            batches,
            kind,
            fields,
        }))
    }

    /// Adds all records; returns how many. Those before a refused one stay added.
    pub(crate) fn add_to(self, sink: &mut impl Sink) -> Result<u64, TableError> {
        let schema = self.batches.schema();
        let mut added = 0;
        for batch in self.batches {
            let batch = batch.map_err(TableError::Arrow)?;
            let columns = Columns::of(&schema, &self.fields, &batch)?;
            for row in 0..columns.rows {
                let refused = |error| match error {
                    TableError::Row(_, error) => TableError::Row(added, error),
                    other => other,
                };
                columns.add(row, self.kind, sink).map_err(refused)?;
                added += 1;
            }
        }
        Ok(added)
    }
}

/// Takes the stream out of a capsule, which is left released.
fn take_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let pointer = capsule.pointer_checked(Some(CAPSULE_NAME))?;
    // SAFETY: by Arrow's PyCapsule interface a capsule of this name points to a valid stream, which is the
    // consumer's to move from while the interpreter is attached, as it is here.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast().as_ptr()) })
}

/// What pandas calls the columns of an index without a name.
const UNNAMED_INDEX: &str = "__index_level_";

/// The field of each column.
fn fields_of(
    names: &[&str],
    kind: RecordKind,
    renames: &Renames,
) -> Result<Vec<Option<&'static str>>, String> {
    if let Some(theirs) = renames.keys().find(|theirs| !names.contains(&&***theirs)) {
        let hint = nearest_name(theirs, names.iter().copied())
            .map(|nearest| format!("; did you mean {nearest}?"));
        let hint = hint.unwrap_or_default();
        return Err(format!("rename: {theirs:?} is not a column{hint}"));
    }
    let mut fields: Vec<Option<&str>> = Vec::with_capacity(names.len());
    for &name in names {
        let field = match renames.get(name) {
            Some(None) => None,
            None if name.starts_with(UNNAMED_INDEX) => None,
            Some(Some(ours)) => loaded_field(ours, kind).map_err(|hint| {
                format!("rename: {ours:?} is not a field of these records; {hint}")
            })?,
            None => loaded_field(name, kind).map_err(|hint| {
                format!(
                    "{name:?} is not a column of these records; {hint} rename={{{name:?}: None}} leaves it out"
                )
            })?,
        };
        let earlier = fields.iter().position(|other| *other == field);
        if let (Some(field), Some(earlier)) = (field, earlier) {
            return Err(format!(
                "the columns {:?} and {name:?} are both for the field {}; rename={{{name:?}: None}} leaves one out",
                names[earlier],
                python_name(field),
            ));
        }
        fields.push(field);
    }
    Ok(fields)
}

/// The field that a header names; none for what is computed, which tables of matches have.
///
/// # Errors
/// A hint where the header names nothing.
fn loaded_field(name: &str, kind: RecordKind) -> Result<Option<&'static str>, String> {
    let field = kind.field_named(name);
    if field.is_some() || kind.is_computed(name) {
        return Ok(field);
    }
    let names = || kind.fields().map(python_name).collect::<Vec<_>>();
    Err(match kind.nearest_field(name) {
        Some(nearest) => format!("did you mean {}?", python_name(nearest)),
        None => format!("the columns are {};", names().join(", ")),
    })
}

/// The columns of a batch.
struct Columns<'b> {
    rows: usize,
    columns: Vec<(&'static str, &'b ArrayRef, ArrowColumn<'b>)>,
}

impl<'b> Columns<'b> {
    fn of(
        schema: &'b Schema,
        fields: &[Option<&'static str>],
        batch: &'b RecordBatch,
    ) -> Result<Columns<'b>, TableError> {
        let columns = schema.fields().iter().zip(fields).zip(batch.columns());
        let columns = columns.filter_map(|((column, field), values)| {
            let field = (*field)?;
            let read = ArrowColumn::of(values).map_err(|kind| {
                let name = column.name();
                TableError::Arrow(ArrowError::SchemaError(format!(
                    "the column {name} has the type {kind}, which no field has"
                )))
            });
            Some(read.map(|read| (field, values, read)))
        });
        Ok(Columns {
            rows: batch.num_rows(),
            columns: columns.collect::<Result<_, TableError>>()?,
        })
    }

    fn add(&self, row: usize, kind: RecordKind, sink: &mut impl Sink) -> Result<(), TableError> {
        // The number of the row is set by the caller, who counts those of all batches.
        let refused = |error| TableError::Row(0, error);
        let row = BatchRow { columns: self, row };
        let added = if kind == RecordKind::Company {
            sink.add_company(&row.company().map_err(refused)?)
        } else {
            sink.add_signal(&row.signal().map_err(refused)?)
        };
        added.map(|_| ()).map_err(TableError::Library)
    }
}

/// A row of a batch.
#[derive(Clone, Copy)]
struct BatchRow<'c> {
    columns: &'c Columns<'c>,
    row: usize,
}

impl<'c> BatchRow<'c> {
    /// The value of a column as `read` has it; none where the column or the value is not there.
    fn value<T>(
        self,
        field: &'static str,
        read: impl FnOnce(&'c ArrowColumn<'c>, usize) -> Result<Option<T>, String>,
    ) -> Result<Option<T>, RecordFieldError> {
        let mut columns = self.columns.columns.iter();
        let Some((_, values, column)) = columns.find(|(known, ..)| *known == field) else {
            return Ok(None);
        };
        if values.is_null(self.row) {
            return Ok(None);
        }
        read(column, self.row).map_err(|reason| fault(field, reason))
    }

    fn text(self, field: &'static str) -> Result<Option<Cow<'c, str>>, RecordFieldError> {
        let text = self.value(field, ArrowColumn::text)?;
        // As in a table, nothing is no text.
        let text = text.filter(|text| !text.is_empty());
        Ok(text.map(Cow::Borrowed))
    }

    fn number(
        self,
        field: &'static str,
        of_text: FieldType,
    ) -> Result<Option<i64>, RecordFieldError> {
        self.value(field, |column, row| column.number(row, of_text))
    }

    fn required(self, field: &'static str) -> Result<Cow<'c, str>, RecordFieldError> {
        self.text(field)?.ok_or_else(|| missing(field))
    }

    fn signal(self) -> Result<Signal<'c>, RecordFieldError> {
        let id = self
            .value("id", ArrowColumn::id)?
            .ok_or_else(|| missing("id"))?;
        let mut signal = Signal::new(id, self.required("companySlug")?, self.required("title")?);
        if let Some(slug) = self.text("slug")? {
            signal.slug = slug;
        }
        signal.evidence = self.text("evidence")?;
        signal.category = self.text("category")?;
        signal.date = self.value("date", ArrowColumn::date)?;
        signal.published_at = self.value("publishedAt", ArrowColumn::instant)?;
        signal.updated_at = self.value("updatedAt", ArrowColumn::instant)?;
        signal.activity_url = self.text("activityUrl")?;
        signal.author_name = self.text("authorName")?;
        signal.author_title = self.text("authorTitle")?;
        signal.author_url = self.text("authorUrl")?;
        signal.funding = self.funding()?;
        signal.hiring = self.hiring()?;
        Ok(signal)
    }

    fn funding(self) -> Result<Option<Funding<'c>>, RecordFieldError> {
        let (number, beside) = match self.value("funding.amount", ArrowColumn::amount)? {
            Some((number, beside)) => (Some(number), beside),
            None => (None, None),
        };
        let code = self.text("funding.currency")?;
        let code = code.as_deref().map(currency).transpose()?;
        let funding = Funding {
            stage: self.text("funding.stage")?,
            amount: amount(number)?,
            currency: same_currency(beside, code)?,
        };
        Ok((funding != Funding::default()).then_some(funding))
    }

    fn hiring(self) -> Result<Option<Hiring<'c>>, RecordFieldError> {
        let hiring = Hiring {
            hiring_type: self.text("hiring.hiringType")?,
            job_function: self.text("hiring.jobFunction")?,
            seniority: self.text("hiring.seniority")?,
            employment_type: self.text("hiring.employmentType")?,
            work_arrangement: self.text("hiring.workArrangement")?,
        };
        Ok((hiring != Hiring::default()).then_some(hiring))
    }

    fn company(self) -> Result<Company<'c>, RecordFieldError> {
        let mut company = Company::new(self.required("slug")?, self.required("name")?);
        company.about = self.text("about")?;
        company.tagline = self.text("tagline")?;
        company.logo_url = self.text("logoUrl")?;
        company.country = self.text("country")?;
        company.city = self.text("city")?;
        company.employees = self.number("employees", FieldType::Employees)?;
        company.industry = self.text("industry")?;
        company.founded_year = self.number("foundedYear", FieldType::WholeNumber)?;
        company.linkedin_url = self.text("linkedinUrl")?;
        company.updated_at = self.value("updatedAt", ArrowColumn::instant)?;
        Ok(company)
    }
}

/// The currency of an amount, which may stand beside it and in a column of its own.
fn same_currency(
    beside: Option<Currency>,
    own: Option<Currency>,
) -> Result<Option<Currency>, RecordFieldError> {
    match (beside, own) {
        (Some(beside), Some(own)) if beside != own => {
            let reason = format!("{own} is another currency than that of the amount, {beside}");
            Err(fault("funding.currency", reason))
        }
        (beside, own) => Ok(beside.or(own)),
    }
}

fn missing(field: &'static str) -> RecordFieldError {
    fault(field, "is missing, null or empty".to_owned())
}

fn fault(field: &'static str, reason: String) -> RecordFieldError {
    RecordFieldError {
        field: python_name(field),
        reason,
    }
}
