//! Records from tables: whatever offers Arrow's C stream, such as pyarrow, polars, pandas and DuckDB.
//!
//! Columns have the names of the dataclasses' fields; those of inner records are `funding_stage`, `hiring_type`
//! and so on. A column that is missing is null, one of an unknown name is an error, and so is a value
//! that its field cannot hold.

use std::borrow::Cow;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use signaldex::json::Sink;
use signaldex::text::nearest_name;
use signaldex::{Company, Funding, Hiring, Signal};

use super::output::CAPSULE_NAME;
use super::values::ArrowColumn;
use crate::errors;
use crate::records::{RecordFieldError, amount, currency};

/// The columns of signals. `company_name`, which tables of matches have, is passed over.
const SIGNAL_COLUMNS: [&str; 22] = [
    "id",
    "company_slug",
    "title",
    "slug",
    "evidence",
    "category",
    "date",
    "published_at",
    "updated_at",
    "activity_url",
    "author_name",
    "author_title",
    "author_url",
    "funding_stage",
    "funding_amount",
    "funding_currency",
    "hiring_type",
    "job_function",
    "seniority",
    "employment_type",
    "work_arrangement",
    "company_name",
];

const COMPANY_COLUMNS: [&str; 12] = [
    "slug",
    "name",
    "about",
    "tagline",
    "logo_url",
    "country",
    "city",
    "employees",
    "industry",
    "founded_year",
    "linkedin_url",
    "updated_at",
];

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
                errors::invalid_field(py, field, &format!("{reason} (row {row})"))
            }
            TableError::Library(error) => errors::of_library(py, &error),
            TableError::Arrow(error) => PyValueError::new_err(error.to_string()),
        }
    }
}

/// Which records a table has.
#[derive(Clone, Copy)]
pub(crate) enum TableKind {
    Companies,
    Signals,
}

impl TableKind {
    fn columns(self) -> &'static [&'static str] {
        match self {
            TableKind::Companies => &COMPANY_COLUMNS,
            TableKind::Signals => &SIGNAL_COLUMNS,
        }
    }
}

/// A table that is read batch by batch.
pub(crate) struct ArrowTable {
    batches: RecordBatchStreamReader,
    kind: TableKind,
}

impl ArrowTable {
    /// The table that an object offers; `None` where it offers none.
    pub(crate) fn open(source: &Bound<'_, PyAny>, kind: TableKind) -> PyResult<Option<ArrowTable>> {
        if !source.hasattr("__arrow_c_stream__")? {
            return Ok(None);
        }
        let capsule = source.call_method0("__arrow_c_stream__")?;
        let stream = take_stream(capsule.cast::<PyCapsule>()?)?;
        let batches = RecordBatchStreamReader::try_new(stream);
        let batches = batches.map_err(|error| PyTypeError::new_err(error.to_string()))?;
        for field in batches.schema().fields() {
            check_name(field.name(), kind.columns())?;
        }
        Ok(Some(ArrowTable { batches, kind }))
    }

    /// Adds all records; returns how many. Those before a refused one stay added.
    pub(crate) fn add_to(self, sink: &mut impl Sink) -> Result<u64, TableError> {
        let schema = self.batches.schema();
        let mut added = 0;
        for batch in self.batches {
            let batch = batch.map_err(TableError::Arrow)?;
            let columns = Columns::of(&schema, &batch)?;
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

fn check_name(name: &str, known: &[&'static str]) -> PyResult<()> {
    if known.contains(&name) {
        return Ok(());
    }
    let hint = match nearest_name(name, known.iter().copied()) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("the columns are {}", known.join(", ")),
    };
    Err(PyValueError::new_err(format!(
        "{name:?} is not a column of these records; {hint}"
    )))
}

/// The columns of a batch.
struct Columns<'b> {
    rows: usize,
    columns: Vec<(&'b str, &'b ArrayRef, ArrowColumn<'b>)>,
}

impl<'b> Columns<'b> {
    fn of(schema: &'b Schema, batch: &'b RecordBatch) -> Result<Columns<'b>, TableError> {
        let columns = schema.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, values)| {
            let column = ArrowColumn::of(values).map_err(|kind| {
                let name = field.name();
                TableError::Arrow(ArrowError::SchemaError(format!(
                    "the column {name} has the type {kind}, which no field has"
                )))
            });
            Ok((field.name().as_str(), values, column?))
        });
        Ok(Columns {
            rows: batch.num_rows(),
            columns: columns.collect::<Result<_, TableError>>()?,
        })
    }

    fn add(&self, row: usize, kind: TableKind, sink: &mut impl Sink) -> Result<(), TableError> {
        // The number of the row is set by the caller, who counts those of all batches.
        let refused = |error| TableError::Row(0, error);
        let row = BatchRow { columns: self, row };
        let added = match kind {
            TableKind::Companies => sink.add_company(&row.company().map_err(refused)?),
            TableKind::Signals => sink.add_signal(&row.signal().map_err(refused)?),
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
        read(column, self.row).map_err(|reason| RecordFieldError { field, reason })
    }

    fn text(self, field: &'static str) -> Result<Option<Cow<'c, str>>, RecordFieldError> {
        let text = self.value(field, ArrowColumn::text)?;
        Ok(text.map(Cow::Borrowed))
    }

    fn required(self, field: &'static str) -> Result<Cow<'c, str>, RecordFieldError> {
        self.text(field)?.ok_or_else(|| missing(field))
    }

    fn signal(self) -> Result<Signal<'c>, RecordFieldError> {
        let id = self
            .value("id", ArrowColumn::id)?
            .ok_or_else(|| missing("id"))?;
        let mut signal = Signal::new(id, self.required("company_slug")?, self.required("title")?);
        if let Some(slug) = self.text("slug")? {
            signal.slug = slug;
        }
        signal.evidence = self.text("evidence")?;
        signal.category = self.text("category")?;
        signal.date = self.value("date", ArrowColumn::date)?;
        signal.published_at = self.value("published_at", ArrowColumn::instant)?;
        signal.updated_at = self.value("updated_at", ArrowColumn::instant)?;
        signal.activity_url = self.text("activity_url")?;
        signal.author_name = self.text("author_name")?;
        signal.author_title = self.text("author_title")?;
        signal.author_url = self.text("author_url")?;
        signal.funding = self.funding()?;
        signal.hiring = self.hiring()?;
        Ok(signal)
    }

    fn funding(self) -> Result<Option<Funding<'c>>, RecordFieldError> {
        let code = self.text("funding_currency")?;
        let funding = Funding {
            stage: self.text("funding_stage")?,
            amount: amount(self.value("funding_amount", ArrowColumn::amount)?)?,
            currency: code.as_deref().map(currency).transpose()?,
        };
        Ok((funding != Funding::default()).then_some(funding))
    }

    fn hiring(self) -> Result<Option<Hiring<'c>>, RecordFieldError> {
        let hiring = Hiring {
            hiring_type: self.text("hiring_type")?,
            job_function: self.text("job_function")?,
            seniority: self.text("seniority")?,
            employment_type: self.text("employment_type")?,
            work_arrangement: self.text("work_arrangement")?,
        };
        Ok((hiring != Hiring::default()).then_some(hiring))
    }

    fn company(self) -> Result<Company<'c>, RecordFieldError> {
        let mut company = Company::new(self.required("slug")?, self.required("name")?);
        company.about = self.text("about")?;
        company.tagline = self.text("tagline")?;
        company.logo_url = self.text("logo_url")?;
        company.country = self.text("country")?;
        company.city = self.text("city")?;
        company.employees = self.value("employees", ArrowColumn::number)?;
        company.industry = self.text("industry")?;
        company.founded_year = self.value("founded_year", ArrowColumn::number)?;
        company.linkedin_url = self.text("linkedin_url")?;
        company.updated_at = self.value("updated_at", ArrowColumn::instant)?;
        Ok(company)
    }
}

fn missing(field: &'static str) -> RecordFieldError {
    RecordFieldError {
        field,
        reason: "is missing or null".to_owned(),
    }
}
