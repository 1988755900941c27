//! Records as the dataclasses of `signaldex._records`, in both directions.

use std::borrow::Cow;

use pyo3::BoundObject;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};
use signaldex::json::{ColumnSource, ColumnValue};
use signaldex::{
    Change, Company, CompanyProfile, Currency, Found, Funding, Hiring, Item, MatchedSignal,
    ParseCurrencyError, Signal, SignalId,
};
use time::{Date, UtcDateTime};

use crate::arrow::ChosenColumns;
use crate::{dates, errors};

const MODULE: &str = "signaldex._records";

/// The classes that are made in bulk, looked up once.
struct Classes {
    signal: Py<PyAny>,
    company: Py<PyAny>,
    funding: Py<PyAny>,
    hiring: Py<PyAny>,
    item: Py<PyAny>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

impl Classes {
    fn get(py: Python<'_>) -> PyResult<&Classes> {
        CLASSES.get_or_try_init(py, || {
            let module = py.import(MODULE)?;
            let class = |name| Ok::<_, PyErr>(module.getattr(name)?.unbind());
            Ok(Classes {
                signal: class("Signal")?,
                company: class("Company")?,
                funding: class("Funding")?,
                hiring: class("Hiring")?,
                item: class("Item")?,
            })
        })
    }
}

/// A record of a class of `signaldex._records`, from its fields in their order.
pub(crate) fn new_record<'py>(
    py: Python<'py>,
    class: &str,
    fields: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import(MODULE)?.getattr(class)?.call1(fields)
}

/// A value as a Python object, of whatever type.
fn object<'py, T: IntoPyObject<'py>>(py: Python<'py>, value: T) -> PyResult<Bound<'py, PyAny>> {
    let object = value.into_pyobject(py).map_err(Into::into)?;
    Ok(object.into_any().into_bound())
}

fn text<'py>(py: Python<'py>, text: Option<&str>) -> Bound<'py, PyAny> {
    match text {
        Some(text) => PyString::new(py, text).into_any(),
        None => py.None().into_bound(py),
    }
}

pub(crate) fn signal<'py>(py: Python<'py>, signal: &Signal<'_>) -> PyResult<Bound<'py, PyAny>> {
    let classes = Classes::get(py)?;
    let of_funding = signal.funding.as_ref();
    let of_hiring = signal.hiring.as_ref();
    let fields = [
        object(py, signal.id.get())?,
        text(py, Some(&signal.company_slug)),
        text(py, Some(&signal.title)),
        text(py, Some(&signal.slug)),
        text(py, signal.evidence.as_deref()),
        text(py, signal.category.as_deref()),
        object(py, signal.date)?,
        object(py, signal.published_at)?,
        object(py, signal.updated_at)?,
        text(py, signal.activity_url.as_deref()),
        text(py, signal.author_name.as_deref()),
        text(py, signal.author_title.as_deref()),
        text(py, signal.author_url.as_deref()),
        object(
            py,
            of_funding
                .map(|funding_| funding(py, classes, funding_))
                .transpose()?,
        )?,
        object(
            py,
            of_hiring
                .map(|hiring_| hiring(py, classes, hiring_))
                .transpose()?,
        )?,
    ];
    classes.signal.bind(py).call1(PyTuple::new(py, fields)?)
}

fn funding<'py>(
    py: Python<'py>,
    classes: &Classes,
    funding: &Funding<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let currency = funding.currency.as_ref().map(Currency::as_str);
    let fields = (funding.stage.as_deref(), funding.amount, currency);
    classes.funding.bind(py).call1(fields)
}

fn hiring<'py>(
    py: Python<'py>,
    classes: &Classes,
    hiring: &Hiring<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = (
        hiring.hiring_type.as_deref(),
        hiring.job_function.as_deref(),
        hiring.seniority.as_deref(),
        hiring.employment_type.as_deref(),
        hiring.work_arrangement.as_deref(),
    );
    classes.hiring.bind(py).call1(fields)
}

pub(crate) fn company<'py>(py: Python<'py>, company: &Company<'_>) -> PyResult<Bound<'py, PyAny>> {
    let fields = (
        &*company.slug,
        &*company.name,
        company.about.as_deref(),
        company.tagline.as_deref(),
        company.logo_url.as_deref(),
        company.country.as_deref(),
        company.city.as_deref(),
        company.employees,
        company.industry.as_deref(),
        company.founded_year,
        company.linkedin_url.as_deref(),
        company.updated_at,
    );
    Classes::get(py)?.company.bind(py).call1(fields)
}

pub(crate) fn item<'py>(py: Python<'py>, item: &Item<'_>) -> PyResult<Bound<'py, PyAny>> {
    let fields = (signal(py, &item.signal)?, &*item.company_name);
    Classes::get(py)?.item.bind(py).call1(fields)
}

pub(crate) fn found<'py>(py: Python<'py>, found: &Found<'_>) -> PyResult<Bound<'py, PyAny>> {
    let fields = (signal(py, &found.signal)?, company(py, &found.company)?);
    new_record(py, "Found", fields)
}

pub(crate) fn profile<'py>(
    py: Python<'py>,
    profile: &CompanyProfile<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let record = company(py, &profile.company)?;
    let fields = (record, profile.signal_count, profile.latest_signal_date);
    new_record(py, "CompanyProfile", fields)
}

pub(crate) fn change<'py>(py: Python<'py>, change: &Change<'_>) -> PyResult<Bound<'py, PyAny>> {
    match change {
        Change::Upsert {
            item: found,
            is_new,
        } => new_record(py, "Upsert", (item(py, found)?, *is_new)),
        Change::Remove { id } => new_record(py, "Remove", (id.get(),)),
        // The library may come to tell of other changes; passing one over would make copies wrong.
        _ => Err(errors::exception(
            py,
            "SignaldexError",
            "a change of a kind that this package does not know",
        )),
    }
}

pub(crate) fn matched<'py>(
    py: Python<'py>,
    matched: &MatchedSignal<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = (
        item(py, &matched.item)?,
        matched.is_new,
        matched.searches.clone(),
    );
    new_record(py, "MatchedSignal", fields)
}

/// The columns of an item, with their names as keys of dicts.
type RowColumns = (ChosenColumns, Vec<Py<PyString>>);

static ROW_COLUMNS: PyOnceLock<RowColumns> = PyOnceLock::new();

/// An item as a flat dict, with the names and the order of the Arrow columns.
pub(crate) fn row<'py>(py: Python<'py>, item: &Item<'_>) -> PyResult<Bound<'py, PyAny>> {
    let (columns, names) = ROW_COLUMNS.get_or_try_init(py, || {
        let columns = ChosenColumns::of(None)?;
        let names = columns.names.iter();
        let names = names.map(|name| PyString::new(py, name).unbind()).collect();
        Ok::<_, PyErr>((columns, names))
    })?;
    let row = PyDict::new(py);
    for (name, value) in names.iter().zip(columns.values(ColumnSource::from(item))) {
        row.set_item(name, column_value(py, value)?)?;
    }
    Ok(row.into_any())
}

/// The value of a column.
fn column_value<'py>(py: Python<'py>, value: ColumnValue<'_>) -> PyResult<Bound<'py, PyAny>> {
    match value {
        ColumnValue::Null => Ok(py.None().into_bound(py)),
        ColumnValue::Id(id) => object(py, id.get()),
        ColumnValue::Text(text) => object(py, text),
        ColumnValue::Day(day) => object(py, day),
        ColumnValue::Instant(instant) => object(py, instant),
        ColumnValue::Whole(number) => object(py, number),
        ColumnValue::Amount(amount) => object(py, amount),
    }
}

/// The id of a number.
pub(crate) fn read_id(number: &Bound<'_, PyAny>) -> PyResult<SignalId> {
    let out_of_range = || {
        let allowed = "a signal id is a whole number from 1 to 9999999999999999999";
        errors::invalid_field(number.py(), "id", allowed)
    };
    match number.extract::<u64>() {
        Ok(number) => SignalId::new(number).ok_or_else(out_of_range),
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyOverflowError>(number.py()) => {
            Err(out_of_range())
        }
        Err(_) => {
            let given = number.get_type().name()?;
            Err(PyTypeError::new_err(format!(
                "id: a whole number is wanted, not {given}"
            )))
        }
    }
}

/// Reads the attributes of a record.
struct Attributes<'a, 'py>(&'a Bound<'py, PyAny>);

impl<'py> Attributes<'_, 'py> {
    fn value<T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>>(
        &self,
        name: &str,
    ) -> PyResult<T> {
        let value = self.0.getattr(name)?;
        value
            .extract()
            .map_err(|error: <T as FromPyObject<'_, 'py>>::Error| {
                let error: PyErr = error.into();
                PyTypeError::new_err(format!("{name}: {}", error.value(self.0.py())))
            })
    }

    fn text(&self, name: &str) -> PyResult<Cow<'static, str>> {
        self.value::<String>(name).map(Cow::Owned)
    }

    fn optional(&self, name: &str) -> PyResult<Option<Cow<'static, str>>> {
        Ok(self.value::<Option<String>>(name)?.map(Cow::Owned))
    }

    fn instant(&self, name: &str) -> PyResult<Option<UtcDateTime>> {
        let value = self.0.getattr(name)?;
        if value.is_none() {
            return Ok(None);
        }
        let instant = dates::instant(&value).map_err(|error| self.named(name, &error))?;
        instant.map(Some).ok_or_else(|| {
            let reason = "an instant needs a time zone, such as datetime.timezone.utc";
            errors::invalid_field(value.py(), name, reason)
        })
    }

    /// A day; `None` where there is none.
    fn day(&self, name: &str) -> PyResult<Option<Date>> {
        let value = self.0.getattr(name)?;
        let day = (!value.is_none()).then(|| dates::day(&value)).transpose();
        day.map_err(|error| self.named(name, &error))
    }

    /// The error of a field: one of its type, or of its value.
    fn named(&self, name: &str, error: &PyErr) -> PyErr {
        let py = self.0.py();
        let reason = error.value(py).to_string();
        if error.is_instance_of::<PyValueError>(py) {
            return errors::invalid_field(py, name, &reason);
        }
        PyTypeError::new_err(format!("{name}: {reason}"))
    }

    /// The record of an attribute; `None` where there is none.
    fn inner(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = self.0.getattr(name)?;
        Ok((!value.is_none()).then_some(value))
    }
}

fn check_class(record: &Bound<'_, PyAny>, class: &Py<PyAny>, name: &str) -> PyResult<()> {
    if record.is_instance(class.bind(record.py()))? {
        return Ok(());
    }
    let given = record.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "a {name} is wanted, not {given}"
    )))
}

/// The signal of a dataclass.
pub(crate) fn read_signal(record: &Bound<'_, PyAny>) -> PyResult<Signal<'static>> {
    check_class(record, &Classes::get(record.py())?.signal, "Signal")?;
    let attributes = Attributes(record);
    let id = read_id(&record.getattr("id")?)?;
    let mut signal = Signal::new(
        id,
        attributes.text("company_slug")?,
        attributes.text("title")?,
    );
    signal.slug = attributes.text("slug")?;
    signal.evidence = attributes.optional("evidence")?;
    signal.category = attributes.optional("category")?;
    signal.date = attributes.day("date")?;
    signal.published_at = attributes.instant("published_at")?;
    signal.updated_at = attributes.instant("updated_at")?;
    signal.activity_url = attributes.optional("activity_url")?;
    signal.author_name = attributes.optional("author_name")?;
    signal.author_title = attributes.optional("author_title")?;
    signal.author_url = attributes.optional("author_url")?;
    signal.funding = attributes
        .inner("funding")?
        .as_ref()
        .map(read_funding)
        .transpose()?;
    signal.hiring = attributes
        .inner("hiring")?
        .as_ref()
        .map(read_hiring)
        .transpose()?;
    Ok(signal)
}

fn read_funding(record: &Bound<'_, PyAny>) -> PyResult<Funding<'static>> {
    check_class(record, &Classes::get(record.py())?.funding, "Funding")?;
    let attributes = Attributes(record);
    let code: Option<String> = attributes.value("currency")?;
    let refused = |error: RecordFieldError| error.into_python(record.py());
    Ok(Funding {
        stage: attributes.optional("stage")?,
        amount: amount(attributes.value("amount")?).map_err(refused)?,
        currency: code.as_deref().map(currency).transpose().map_err(refused)?,
    })
}

/// What is wrong with a field.
pub(crate) struct RecordFieldError {
    pub(crate) field: String,
    pub(crate) reason: String,
}

impl RecordFieldError {
    fn into_python(self, py: Python<'_>) -> PyErr {
        errors::invalid_field(py, &self.field, &self.reason)
    }
}

/// An amount, if it is one: the library trusts its types, and JSON lines are checked likewise.
pub(crate) fn amount(amount: Option<f64>) -> Result<Option<f64>, RecordFieldError> {
    match amount {
        Some(amount) if !(amount.is_finite() && amount >= 0.0) => Err(RecordFieldError {
            field: "funding.amount".to_owned(),
            reason: format!("{amount} is not a finite number of at least 0"),
        }),
        _ => Ok(amount),
    }
}

/// The currency of a code.
pub(crate) fn currency(code: &str) -> Result<Currency, RecordFieldError> {
    code.parse()
        .map_err(|error: ParseCurrencyError| RecordFieldError {
            field: "funding.currency".to_owned(),
            reason: error.to_string(),
        })
}

fn read_hiring(record: &Bound<'_, PyAny>) -> PyResult<Hiring<'static>> {
    check_class(record, &Classes::get(record.py())?.hiring, "Hiring")?;
    let attributes = Attributes(record);
    Ok(Hiring {
        hiring_type: attributes.optional("hiring_type")?,
        job_function: attributes.optional("job_function")?,
        seniority: attributes.optional("seniority")?,
        employment_type: attributes.optional("employment_type")?,
        work_arrangement: attributes.optional("work_arrangement")?,
    })
}

/// The company of a dataclass.
pub(crate) fn read_company(record: &Bound<'_, PyAny>) -> PyResult<Company<'static>> {
    check_class(record, &Classes::get(record.py())?.company, "Company")?;
    let attributes = Attributes(record);
    let mut company = Company::new(attributes.text("slug")?, attributes.text("name")?);
    company.about = attributes.optional("about")?;
    company.tagline = attributes.optional("tagline")?;
    company.logo_url = attributes.optional("logo_url")?;
    company.country = attributes.optional("country")?;
    company.city = attributes.optional("city")?;
    company.employees = attributes.value("employees")?;
    company.industry = attributes.optional("industry")?;
    company.founded_year = attributes.value("founded_year")?;
    company.linkedin_url = attributes.optional("linkedin_url")?;
    company.updated_at = attributes.instant("updated_at")?;
    Ok(company)
}
