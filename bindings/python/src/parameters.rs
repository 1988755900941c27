//! Keyword arguments as the parameters of a query.

use std::fmt::Display;
use std::str::FromStr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use signaldex::query::{DateRange, Days, QueryBuilder};
use signaldex::text::nearest_name;
use signaldex::{Currency, SignalId, SizeBucket};
use time::Date;

use crate::arguments::{self, list_of};
use crate::dates;
use crate::errors::{self, QueryError};
use crate::query::{PyCursor, PyQuery, facet_of, order_of};
use crate::records;

/// Sets parameters by their names in Python and builds the query, or tells of all that is wrong.
pub(crate) fn build(
    py: Python<'_>,
    builder: QueryBuilder,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyQuery> {
    let mut built = Parameters {
        builder,
        errors: Vec::new(),
    };
    for (name, value) in parameters
        .into_iter()
        .flat_map(|parameters| parameters.iter())
    {
        let name = name.cast::<PyString>()?.to_cow()?;
        if name == "keywords" && parameters.is_some_and(|all| all.contains("q").unwrap_or(true)) {
            return Err(PyTypeError::new_err("q and keywords are one parameter"));
        }
        let set = built.set(&name, &value);
        set.map_err(|error| arguments::named(py, &name, error))?;
    }
    let Parameters {
        builder,
        mut errors,
    } = built;
    match builder.build() {
        Ok(query) if errors.is_empty() => return Ok(PyQuery(query)),
        Ok(_) => {}
        Err(error) => errors.extend(errors::query_errors(&error)),
    }
    Err(errors::invalid_query(py, &errors))
}

/// A builder, and what is wrong with values that never reached it.
struct Parameters {
    builder: QueryBuilder,
    errors: Vec<QueryError>,
}

/// The names of parameters in Python: those of the builder's methods.
const PARAMETER_NAMES: [&str; 34] = [
    "q",
    "keywords",
    "all",
    "exact",
    "any",
    "exclude",
    "company",
    "company_slug",
    "companies",
    "country",
    "industry",
    "size",
    "days",
    "date_ranges",
    "date_from",
    "date_to",
    "categories",
    "hiring_types",
    "job_functions",
    "seniorities",
    "employment_types",
    "work_arrangements",
    "funding_stage",
    "funding_currency",
    "funding_min",
    "funding_max",
    "ids",
    "activity_ids",
    "order",
    "limit",
    "cursor",
    "page",
    "count_only",
    "facets",
];

impl Parameters {
    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.set_text(name, value)? || self.set_list(name, value)? {
            return Ok(());
        }
        let is_known = self.set_value(name, value)?;
        if is_known {
            return Ok(());
        }
        let hint = match nearest_name(name, PARAMETER_NAMES) {
            Some(nearest) => format!("; did you mean {nearest}?"),
            None => String::new(),
        };
        Err(PyTypeError::new_err(format!(
            "{name}: there is no parameter of that name{hint}"
        )))
    }

    fn change(&mut self, change: impl FnOnce(QueryBuilder) -> QueryBuilder) {
        self.builder = change(std::mem::take(&mut self.builder));
    }

    /// Sets a parameter that is a text; says whether it is one.
    fn set_text(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        type Setter = fn(QueryBuilder, Option<&str>) -> QueryBuilder;
        let setter: Setter = match name {
            "q" | "keywords" => |builder, text| builder.keywords(text),
            "all" => |builder, text| builder.all(text),
            "exact" => |builder, text| builder.exact(text),
            "any" => |builder, text| builder.any(text),
            "exclude" => |builder, text| builder.exclude(text),
            "company" => |builder, text| builder.company(text),
            "company_slug" => |builder, text| builder.company_slug(text),
            "country" => |builder, text| builder.country(text),
            "industry" => |builder, text| builder.industry(text),
            "funding_stage" => |builder, text| builder.funding_stage(text),
            "cursor" => {
                if let Ok(cursor) = value.cast::<PyCursor>() {
                    self.change(|builder| builder.after(&cursor.get().0));
                    return Ok(true);
                }
                |builder, text| builder.cursor(text)
            }
            _ => return Ok(false),
        };
        if value.is_none() {
            self.change(|builder| setter(builder, None));
        } else {
            let text = value.cast::<PyString>().map_err(|_| no_text(value))?;
            let text = text.to_cow()?;
            self.change(|builder| setter(builder, Some(&text)));
        }
        Ok(true)
    }

    /// Sets a parameter that is a list of texts; says whether it is one.
    fn set_list(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        type Setter = fn(QueryBuilder, Vec<String>) -> QueryBuilder;
        let setter: Setter = match name {
            "companies" => |builder, texts| builder.companies(texts),
            "categories" => |builder, texts| builder.categories(texts),
            "hiring_types" => |builder, texts| builder.hiring_types(texts),
            "job_functions" => |builder, texts| builder.job_functions(texts),
            "seniorities" => |builder, texts| builder.seniorities(texts),
            "employment_types" => |builder, texts| builder.employment_types(texts),
            "work_arrangements" => |builder, texts| builder.work_arrangements(texts),
            _ => return Ok(false),
        };
        let texts = list_of(value, |item| item.extract::<String>())?;
        self.change(|builder| setter(builder, texts));
        Ok(true)
    }

    /// Sets a parameter with a type of its own; says whether there is one of that name.
    fn set_value(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        match name {
            "size" => {
                let size = self.typed::<SizeBucket>("size", value)?;
                self.change(|builder| builder.size(size));
            }
            "days" => {
                let days = self.typed::<Days>("days", value)?;
                self.change(|builder| builder.days(days));
            }
            "date_ranges" => self.set_date_ranges(value)?,
            "date_from" => {
                let date = day(value)?;
                self.change(|builder| builder.date_from(date));
            }
            "date_to" => {
                let date = day(value)?;
                self.change(|builder| builder.date_to(date));
            }
            "funding_currency" => {
                let currency = self.typed::<Currency>("fundingCurrency", value)?;
                self.change(|builder| builder.funding_currency(currency));
            }
            "funding_min" => {
                let amount: Option<f64> = value.extract()?;
                self.change(|builder| builder.funding_min(amount));
            }
            "funding_max" => {
                let amount: Option<f64> = value.extract()?;
                self.change(|builder| builder.funding_max(amount));
            }
            "ids" => {
                let ids = self.ids("ids", value)?;
                self.change(|builder| builder.ids(ids));
            }
            "activity_ids" => {
                let ids = self.ids("activityIds", value)?;
                self.change(|builder| builder.activity_ids(ids));
            }
            _ => return self.set_paging(name, value),
        }
        Ok(true)
    }

    /// Sets a parameter that is not about signals but about which of them are shown.
    fn set_paging(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        match name {
            "order" => {
                let order = order_of(&value.extract::<String>()?)?;
                self.change(|builder| builder.order(order));
            }
            "limit" => {
                if let Some(limit) = self.number(value)? {
                    self.change(|builder| builder.limit(limit));
                }
            }
            "page" => {
                let number = self.number(value)?;
                if let Some(number) = number {
                    let number = u16::try_from(number).unwrap_or(u16::MAX);
                    self.change(|builder| builder.page(number));
                }
            }
            "count_only" => {
                if value.extract::<bool>()? {
                    self.change(QueryBuilder::count_only);
                }
            }
            "facets" => {
                for (name, values) in value.cast::<PyDict>()?.iter() {
                    let facet = facet_of(&name.extract::<String>()?)?;
                    let labels = list_of(&values, |item| item.extract::<String>())?;
                    self.change(|builder| builder.facet(facet, labels));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_date_ranges(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let texts = list_of(value, |item| Ok(item.str()?.to_string()))?;
        let ranges = texts
            .iter()
            .filter_map(|text| self.parsed::<DateRange>("dateRanges", text));
        let ranges: Vec<DateRange> = ranges.collect::<Vec<_>>();
        self.change(|builder| builder.date_ranges(ranges));
        Ok(())
    }

    /// A value that has a text of its own, such as a size; `None` lifts the filter.
    fn typed<T: FromStr<Err: Display>>(
        &mut self,
        name: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Option<T>> {
        if value.is_none() {
            return Ok(None);
        }
        let text = value.str()?;
        Ok(self.parsed(name, &text.to_cow()?))
    }

    fn parsed<T: FromStr<Err: Display>>(&mut self, name: &str, text: &str) -> Option<T> {
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.invalid(name, &format!("{name}: {error}"));
                None
            }
        }
    }

    /// A number for which a limit holds; none where it is no such number, or `None`.
    fn number(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        if value.is_none() {
            return Ok(None);
        }
        let number: i64 = value.extract()?;
        // The builder says which numbers are allowed; 0 is not among them, nor is anything below.
        Ok(Some(usize::try_from(number).unwrap_or(0)))
    }

    fn ids(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<SignalId>> {
        let numbers = list_of(value, |item| Ok(item.clone()))?;
        let mut ids = Vec::with_capacity(numbers.len());
        for number in numbers {
            match records::read_id(&number) {
                Ok(id) => ids.push(id),
                Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => return Err(error),
                Err(_) => {
                    let message = format!("{name} has {}, which is not an id", number.str()?);
                    self.invalid(name, &message);
                }
            }
        }
        Ok(ids)
    }

    fn invalid(&mut self, name: &str, message: &str) {
        self.errors
            .push((name.to_owned(), "invalid_value", message.to_owned()));
    }
}

/// A day; none for `None`.
fn day(value: &Bound<'_, PyAny>) -> PyResult<Option<Date>> {
    (!value.is_none()).then(|| dates::day(value)).transpose()
}

fn no_text(given: &Bound<'_, PyAny>) -> PyErr {
    match given.get_type().name() {
        Ok(given) => PyTypeError::new_err(format!("a text is wanted, not {given}")),
        Err(error) => error,
    }
}
