//! The columns of matches, and how they are filled.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    Date32Builder, Float64Builder, StringBuilder, TimestampMicrosecondBuilder, UInt64Builder,
};
use arrow_schema::{DataType, Field, TimeUnit};
use signaldex::{Currency, Item};
use time::{Date, UtcDateTime};

/// What every instant is in.
pub(super) const UTC: &str = "UTC";

/// The days from 0000-12-31, which is day 0 of the Julian count that `time` gives, to 1970-01-01.
const UNIX_EPOCH: i32 = 2_440_588;

/// A column: its name, and where its values are in an item.
#[derive(Clone, Copy)]
pub(super) struct ColumnKind {
    pub(super) name: &'static str,
    value: FieldGetter,
}

#[derive(Clone, Copy)]
enum FieldGetter {
    Id,
    /// A text that every signal has.
    Text(for<'i> fn(&'i Item<'_>) -> &'i str),
    OptionalText(for<'i> fn(&'i Item<'_>) -> Option<&'i str>),
    Date(fn(&Item<'_>) -> Option<Date>),
    Instant(fn(&Item<'_>) -> Option<UtcDateTime>),
    Amount(fn(&Item<'_>) -> Option<f64>),
}

const fn column(name: &'static str, value: FieldGetter) -> ColumnKind {
    ColumnKind { name, value }
}

/// The columns of an item, in its order, with the names of the dataclasses' fields.
pub(super) const COLUMNS: [ColumnKind; 17] = {
    use FieldGetter as G;
    [
        column("id", G::Id),
        column("slug", G::Text(|item| &item.signal.slug)),
        column("title", G::Text(|item| &item.signal.title)),
        column(
            "evidence",
            G::OptionalText(|item| item.signal.evidence.as_deref()),
        ),
        column(
            "category",
            G::OptionalText(|item| item.signal.category.as_deref()),
        ),
        column("date", G::Date(|item| item.signal.date)),
        column("published_at", G::Instant(|item| item.signal.published_at)),
        column("updated_at", G::Instant(|item| item.signal.updated_at)),
        column("company_slug", G::Text(|item| &item.signal.company_slug)),
        column("company_name", G::Text(|item| &item.company_name)),
        column(
            "activity_url",
            G::OptionalText(|item| item.signal.activity_url.as_deref()),
        ),
        column(
            "author_name",
            G::OptionalText(|item| item.signal.author_name.as_deref()),
        ),
        column(
            "author_title",
            G::OptionalText(|item| item.signal.author_title.as_deref()),
        ),
        column(
            "author_url",
            G::OptionalText(|item| item.signal.author_url.as_deref()),
        ),
        column(
            "funding_stage",
            G::OptionalText(|item| item.signal.funding.as_ref()?.stage.as_deref()),
        ),
        column(
            "funding_amount",
            G::Amount(|item| item.signal.funding.as_ref()?.amount),
        ),
        column(
            "funding_currency",
            G::OptionalText(|item| {
                item.signal
                    .funding
                    .as_ref()?
                    .currency
                    .as_ref()
                    .map(Currency::as_str)
            }),
        ),
    ]
};

impl ColumnKind {
    pub(super) fn field(self) -> Field {
        let (data_type, is_nullable) = match self.value {
            FieldGetter::Id => (DataType::UInt64, false),
            FieldGetter::Text(_) => (DataType::Utf8, false),
            FieldGetter::OptionalText(_) => (DataType::Utf8, true),
            FieldGetter::Date(_) => (DataType::Date32, true),
            FieldGetter::Instant(_) => (
                DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
                true,
            ),
            FieldGetter::Amount(_) => (DataType::Float64, true),
        };
        Field::new(self.name, data_type, is_nullable)
    }

    /// Whether its values are in a record; the id is known without reading it.
    pub(super) fn needs_record(self) -> bool {
        !matches!(self.value, FieldGetter::Id)
    }

    pub(super) fn builder(self, rows: usize) -> ColumnBuilder {
        let values = match self.value {
            FieldGetter::Id => ValueBuilder::Id(UInt64Builder::with_capacity(rows)),
            FieldGetter::Text(get) => {
                ValueBuilder::Text(StringBuilder::with_capacity(rows, 0), get)
            }
            FieldGetter::OptionalText(get) => {
                ValueBuilder::OptionalText(StringBuilder::with_capacity(rows, 0), get)
            }
            FieldGetter::Date(get) => ValueBuilder::Date(Date32Builder::with_capacity(rows), get),
            FieldGetter::Instant(get) => {
                let builder = TimestampMicrosecondBuilder::with_capacity(rows);
                ValueBuilder::Instant(builder.with_timezone(UTC), get)
            }
            FieldGetter::Amount(get) => {
                ValueBuilder::Amount(Float64Builder::with_capacity(rows), get)
            }
        };
        ColumnBuilder(values)
    }
}

/// A column under construction.
pub(super) struct ColumnBuilder(ValueBuilder);

enum ValueBuilder {
    Id(UInt64Builder),
    Text(StringBuilder, for<'i> fn(&'i Item<'_>) -> &'i str),
    OptionalText(StringBuilder, for<'i> fn(&'i Item<'_>) -> Option<&'i str>),
    Date(Date32Builder, fn(&Item<'_>) -> Option<Date>),
    Instant(
        TimestampMicrosecondBuilder,
        fn(&Item<'_>) -> Option<UtcDateTime>,
    ),
    Amount(Float64Builder, fn(&Item<'_>) -> Option<f64>),
}

impl ColumnBuilder {
    /// Appends the value of an item; returns the bytes of its text.
    pub(super) fn append(&mut self, item: &Item<'_>) -> usize {
        match &mut self.0 {
            ValueBuilder::Id(builder) => builder.append_value(item.signal.id.get()),
            ValueBuilder::Text(builder, get) => {
                let text = get(item);
                builder.append_value(text);
                return text.len();
            }
            ValueBuilder::OptionalText(builder, get) => {
                let text = get(item);
                builder.append_option(text);
                return text.map_or(0, str::len);
            }
            ValueBuilder::Date(builder, get) => builder.append_option(get(item).map(days)),
            ValueBuilder::Instant(builder, get) => {
                builder.append_option(get(item).map(microseconds))
            }
            ValueBuilder::Amount(builder, get) => builder.append_option(get(item)),
        }
        0
    }

    /// Appends an id to the column of ids; others are left as they are.
    pub(super) fn append_id(&mut self, id: u64) {
        if let ValueBuilder::Id(builder) = &mut self.0 {
            builder.append_value(id);
        }
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        match &mut self.0 {
            ValueBuilder::Id(builder) => Arc::new(builder.finish()),
            ValueBuilder::Text(builder, _) | ValueBuilder::OptionalText(builder, _) => {
                Arc::new(builder.finish())
            }
            ValueBuilder::Date(builder, _) => Arc::new(builder.finish()),
            ValueBuilder::Instant(builder, _) => Arc::new(builder.finish()),
            ValueBuilder::Amount(builder, _) => Arc::new(builder.finish()),
        }
    }
}

/// Days since 1970.
fn days(date: Date) -> i32 {
    date.to_julian_day() - UNIX_EPOCH
}

/// The date of days since 1970.
pub(super) fn date_of(days: i32) -> Option<Date> {
    Date::from_julian_day(days.checked_add(UNIX_EPOCH)?).ok()
}

/// Microseconds since 1970; what is finer is cut off, as in Python's own instants.
fn microseconds(instant: UtcDateTime) -> i64 {
    instant.unix_timestamp() * 1_000_000 + i64::from(instant.microsecond())
}
