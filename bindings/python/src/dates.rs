//! Days and instants of arguments: dates, ISO texts, and instants such as those of pandas.

use std::time::SystemTime;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDate, PyDateTime, PyString, PyTzInfo};
use time::{Date, Month, UtcDateTime};

use crate::arguments;

/// What counts as today, as an argument: a date, its ISO text, or an instant, of which it is the UTC date.
pub(crate) struct Today(Date);

impl<'a, 'py> FromPyObject<'a, 'py> for Today {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Today> {
        let date_of = |instant| in_utc(instant)?.call_method0(intern!(value.py(), "date"));
        let date = match value.cast::<PyDateTime>() {
            Ok(instant) => date_of(&instant).and_then(|date| date.extract()),
            Err(_) => day(&value),
        };
        let date = date.map_err(|error| arguments::named(value.py(), "today", error));
        date.map(Today)
    }
}

/// The day of an argument; without one, the UTC date.
pub(crate) fn today_of(today: Option<Today>) -> Date {
    match today {
        Some(Today(day)) => day,
        None => UtcDateTime::from(SystemTime::now()).date(),
    }
}

/// The day of a date, an ISO text, or an instant at midnight.
pub(crate) fn day(value: &Bound<'_, PyAny>) -> PyResult<Date> {
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_cow()?;
        return iso_day(&text).ok_or_else(|| {
            PyValueError::new_err(format!("{text:?} is not a day such as 2026-06-30"))
        });
    }
    let Ok(instant) = value.cast::<PyDateTime>() else {
        let day = value.cast::<PyDate>().map_err(|_| wrong_type(value))?;
        return day.extract();
    };
    let py = value.py();
    let instant = in_utc(instant)?;
    let time = instant.call_method0(intern!(py, "time"))?;
    let midnight = py.import("datetime")?.getattr("time")?.call0()?;
    if !time.eq(midnight)? {
        return Err(PyValueError::new_err(format!(
            "{} has a time of day, and a day is wanted; its .date() is one",
            value.str()?
        )));
    }
    instant.call_method0(intern!(py, "date"))?.extract()
}

/// An instant in UTC; one without a zone as it is.
fn in_utc<'py>(instant: &Bound<'py, PyDateTime>) -> PyResult<Bound<'py, PyAny>> {
    let py = instant.py();
    // pandas has a value for an instant that is missing, which equals nothing.
    if instant.ne(instant)? {
        return Err(wrong_type(instant));
    }
    if instant.getattr(intern!(py, "tzinfo"))?.is_none() {
        return Ok(instant.clone().into_any());
    }
    instant.call_method1(intern!(py, "astimezone"), (PyTzInfo::utc(py)?,))
}

/// An instant of a record, from an instant with a zone or its ISO text; `None` where it has no zone.
pub(crate) fn instant(value: &Bound<'_, PyAny>) -> PyResult<Option<UtcDateTime>> {
    let py = value.py();
    let parsed = match value.cast::<PyString>() {
        Ok(text) => {
            // Python 3.10 does not know the letter.
            let text = text.to_cow()?.replace(['Z', 'z'], "+00:00");
            let class = py.import("datetime")?.getattr("datetime")?;
            class.call_method1("fromisoformat", (text,))?
        }
        Err(_) => value.clone(),
    };
    if parsed.getattr(intern!(py, "tzinfo"))?.is_none() {
        return Ok(None);
    }
    let utc = parsed.call_method1(intern!(py, "astimezone"), (PyTzInfo::utc(py)?,))?;
    utc.extract().map(Some)
}

fn iso_day(text: &str) -> Option<Date> {
    let is_iso = text.bytes().enumerate().all(|(index, byte)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    if text.len() != "2026-06-30".len() || !is_iso {
        return None;
    }
    let month: u8 = text[5..7].parse().ok()?;
    let month = Month::try_from(month).ok()?;
    Date::from_calendar_date(text[..4].parse().ok()?, month, text[8..].parse().ok()?).ok()
}

fn wrong_type(given: &Bound<'_, PyAny>) -> PyErr {
    match given.get_type().name() {
        Ok(given) => PyTypeError::new_err(format!(
            "a date or a text such as '2026-06-30' is wanted, not {given}"
        )),
        Err(error) => error,
    }
}
