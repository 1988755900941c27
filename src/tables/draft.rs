//! A record while it is read: the values of its fields, and every fault of it.

use std::borrow::Cow;

use super::cell::{Cell, FieldType, Value, read_cell};
use super::error::RecordError;
use super::fields::{RecordKind, fault_of_key};
use super::hints::options_that_read;
use super::options::CellOptions;
use crate::signal::{Company, Funding, Hiring, Signal};

/// A text or another value of a field, taken out of a draft.
type FieldSlots<'a, 'd> = std::slice::IterMut<'d, Option<Value<'a>>>;

/// The values of a record's fields.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    kind: RecordKind,
    /// In the order of the kind's fields.
    values: Vec<Option<Value<'a>>>,
    /// The name of a signal's company, where the record has it.
    pub(crate) company_name: Option<Cow<'a, str>>,
    /// Whether JSON has the object `funding` or `hiring`, perhaps without members.
    has_funding: bool,
    has_hiring: bool,
    /// What is wrong with it.
    pub(crate) faults: Vec<RecordError>,
    /// Optional cells that were made null.
    pub(crate) nulled: Vec<RecordError>,
    nulls_faults: bool,
}

impl<'a> Draft<'a> {
    /// A record without values. If `nulls_faults`, optional cells with a fault become null.
    pub(crate) fn new(kind: RecordKind, nulls_faults: bool) -> Draft<'a> {
        Draft {
            kind,
            values: vec![None; kind.lines().len()],
            company_name: None,
            has_funding: false,
            has_hiring: false,
            faults: Vec::new(),
            nulled: Vec::new(),
            nulls_faults,
        }
    }

    /// Reads the cell of the field with this index.
    pub(crate) fn read(&mut self, index: usize, cell: Cell<'a>, options: &CellOptions) {
        let (field, field_type, _) = self.kind.lines()[index];
        match read_cell(field_type, cell, options) {
            Ok(value) => self.values[index] = value,
            Err(reason) => {
                let error = RecordError::of_field(field, reason).with_value(cell.shown());
                let options = options_that_read(field_type, cell, options);
                self.refuse(index, error.with_options(options));
            }
        }
    }

    /// Reads the name of a signal's company.
    pub(crate) fn read_company_name(&mut self, cell: Cell<'a>, options: &CellOptions) {
        if let Ok(Some(Value::Text(name))) = read_cell(FieldType::Text, cell, options) {
            self.company_name = Some(name);
        }
    }

    /// The record has this object, perhaps without members.
    pub(crate) fn note_object(&mut self, object: &str) {
        match object {
            "funding" => self.has_funding = true,
            _ => self.has_hiring = true,
        }
    }

    /// The record has something else in place of this object.
    pub(crate) fn refuse_object(&mut self, object: &'static str, cell: Cell<'_>) {
        let error = RecordError::of_field(object, "is not an object").with_value(cell.shown());
        if self.nulls_faults {
            self.nulled.push(error);
        } else {
            self.faults.push(error);
        }
    }

    /// Whether a field has no value yet and no fault.
    pub(crate) fn is_missing(&self, field: &str) -> bool {
        let mut told = self.faults.iter().chain(&self.nulled);
        let index = self.index_of(field);
        index.is_some_and(|index| self.values[index].is_none())
            && !told.any(|fault| fault.field() == Some(field))
    }

    /// Gives a field a value.
    pub(crate) fn set(&mut self, field: &str, value: Value<'a>) {
        if let Some(index) = self.index_of(field) {
            self.values[index] = Some(value);
        }
    }

    /// The text of a field.
    pub(crate) fn text(&self, field: &str) -> Option<&Cow<'a, str>> {
        match &self.values[self.index_of(field)?] {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Adds the faults that concern several fields or missing ones.
    pub(crate) fn check(&mut self) {
        self.join_currency();
        for (index, &(field, field_type, is_required)) in self.kind.lines().iter().enumerate() {
            let is_told = || self.faults.iter().any(|fault| fault.field() == Some(field));
            let fault_of = |value: &Value<'_>| match value {
                Value::Text(text) if field_type == FieldType::Key => fault_of_key(text),
                _ => None,
            };
            match &self.values[index] {
                None if is_required && !is_told() => {
                    let reason = format!(
                        "is missing, null or empty; it must be {}",
                        field_type.expected()
                    );
                    self.faults.push(RecordError::of_field(field, reason));
                }
                Some(value) => {
                    let fault = fault_of(value);
                    let fault = fault.map(|reason| RecordError::of_field(field, reason));
                    self.faults.extend(fault);
                }
                None => {}
            }
        }
    }

    /// The currency that stands beside an amount is the record's.
    fn join_currency(&mut self) {
        let of = |field| self.index_of(field);
        let (Some(amount), Some(currency)) = (of("funding.amount"), of("funding.currency")) else {
            return;
        };
        let Some(Value::Amount(_, Some(beside))) = self.values[amount] else {
            return;
        };
        let own = self.values[currency].replace(Value::Currency(beside));
        if let Some(Value::Currency(own)) = own
            && own != beside
        {
            let reason = format!("is another currency than that of the amount, {beside}");
            self.refuse(
                currency,
                RecordError::of_field("funding.currency", reason).with_value(own.to_string()),
            );
        }
    }

    fn refuse(&mut self, index: usize, error: RecordError) {
        let is_required = self.kind.lines()[index].2;
        if self.nulls_faults && !is_required {
            self.nulled.push(error);
        } else {
            self.faults.push(error);
        }
    }

    fn index_of(&self, field: &str) -> Option<usize> {
        self.kind.fields().position(|known| known == field)
    }

    /// The company; [`check`](Self::check) has found no fault. The fields are taken in their order.
    pub(crate) fn company(&mut self) -> Option<Company<'a>> {
        let mut slots = self.values.iter_mut();
        let slots = &mut slots;
        Some(Company {
            slug: text(slots)?,
            name: text(slots)?,
            about: text(slots),
            tagline: text(slots),
            logo_url: text(slots),
            country: text(slots),
            city: text(slots),
            employees: whole_number(slots),
            industry: text(slots),
            founded_year: whole_number(slots),
            linkedin_url: text(slots),
            updated_at: instant(slots),
        })
    }

    /// The signal; [`check`](Self::check) has found no fault. The fields are taken in their order.
    pub(crate) fn signal(&mut self) -> Option<Signal<'a>> {
        let (has_funding, has_hiring) = (self.has_funding, self.has_hiring);
        let mut slots = self.values.iter_mut();
        let slots = &mut slots;
        Some(Signal {
            id: match next(slots)? {
                Value::Id(id) => id,
                _ => return None,
            },
            slug: text(slots)?,
            title: text(slots)?,
            evidence: text(slots),
            category: text(slots),
            date: match next(slots) {
                Some(Value::Day(day)) => Some(day),
                _ => None,
            },
            published_at: instant(slots),
            updated_at: instant(slots),
            company_slug: text(slots)?,
            activity_url: text(slots),
            author_name: text(slots),
            author_title: text(slots),
            author_url: text(slots),
            funding: Some(funding(slots))
                .filter(|funding| has_funding || *funding != Funding::default()),
            hiring: Some(hiring(slots)).filter(|hiring| has_hiring || *hiring != Hiring::default()),
        })
    }
}

fn funding<'a>(slots: &mut FieldSlots<'a, '_>) -> Funding<'a> {
    Funding {
        stage: text(slots),
        amount: match next(slots) {
            Some(Value::Amount(amount, _)) => Some(amount),
            _ => None,
        },
        currency: match next(slots) {
            Some(Value::Currency(currency)) => Some(currency),
            _ => None,
        },
    }
}

fn hiring<'a>(slots: &mut FieldSlots<'a, '_>) -> Hiring<'a> {
    Hiring {
        hiring_type: text(slots),
        job_function: text(slots),
        seniority: text(slots),
        employment_type: text(slots),
        work_arrangement: text(slots),
    }
}

fn next<'a>(slots: &mut FieldSlots<'a, '_>) -> Option<Value<'a>> {
    slots.next()?.take()
}

fn text<'a>(slots: &mut FieldSlots<'a, '_>) -> Option<Cow<'a, str>> {
    match next(slots)? {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn whole_number(slots: &mut FieldSlots<'_, '_>) -> Option<i64> {
    match next(slots)? {
        Value::WholeNumber(number) => Some(number),
        _ => None,
    }
}

fn instant(slots: &mut FieldSlots<'_, '_>) -> Option<time::UtcDateTime> {
    match next(slots)? {
        Value::Instant(instant) => Some(instant),
        _ => None,
    }
}
