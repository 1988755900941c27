//! The columns of the tables: their names, types and where their values come from.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::Result;
use signaldex::{CompanyProfile, Facet, Signal, SizeBucket};
use time::UtcDateTime;

/// Where the tables are: what stands before their names in full.
pub(crate) const CATALOG: &str = "signaldex";
pub(crate) const SCHEMA: &str = "public";

/// A column of the table `signals`.
#[derive(Clone, Copy)]
pub(crate) struct SignalColumn {
    pub(crate) name: &'static str,
    pub(crate) source: SignalSource,
}

/// Where the values of a column come from.
#[derive(Clone, Copy)]
pub(crate) enum SignalSource {
    Id,
    Date,
    Amount,
    Facet(Facet),
    CompanySlug,
    CompanyName,
    /// A text of the record.
    Text(for<'r> fn(&'r Signal<'_>) -> Option<&'r str>),
    /// A point in time of the record.
    Instant(fn(&Signal<'_>) -> Option<UtcDateTime>),
    /// The search that found the row.
    Query,
}

use SignalSource as S;

const fn signal(name: &'static str, source: SignalSource) -> SignalColumn {
    SignalColumn { name, source }
}

/// The columns of `signals`, in the order of `SELECT *`.
pub(crate) const SIGNAL_COLUMNS: [SignalColumn; 26] = [
    signal("id", S::Id),
    signal("date", S::Date),
    signal("funding_amount", S::Amount),
    signal("category", S::Facet(Facet::Category)),
    signal("funding_stage", S::Facet(Facet::FundingStage)),
    signal("funding_currency", S::Facet(Facet::FundingCurrency)),
    signal("hiring_type", S::Facet(Facet::HiringType)),
    signal("job_function", S::Facet(Facet::JobFunction)),
    signal("seniority", S::Facet(Facet::Seniority)),
    signal("employment_type", S::Facet(Facet::EmploymentType)),
    signal("work_arrangement", S::Facet(Facet::WorkArrangement)),
    signal("country", S::Facet(Facet::Country)),
    signal("industry", S::Facet(Facet::Industry)),
    signal("size", S::Facet(Facet::Size)),
    signal("company_slug", S::CompanySlug),
    signal("company_name", S::CompanyName),
    signal("slug", S::Text(|signal| Some(&signal.slug))),
    signal("title", S::Text(|signal| Some(&signal.title))),
    signal("evidence", S::Text(|signal| signal.evidence.as_deref())),
    signal(
        "activity_url",
        S::Text(|signal| signal.activity_url.as_deref()),
    ),
    signal(
        "author_name",
        S::Text(|signal| signal.author_name.as_deref()),
    ),
    signal(
        "author_title",
        S::Text(|signal| signal.author_title.as_deref()),
    ),
    signal("author_url", S::Text(|signal| signal.author_url.as_deref())),
    signal("published_at", S::Instant(|signal| signal.published_at)),
    signal("updated_at", S::Instant(|signal| signal.updated_at)),
    signal("query", S::Query),
];

/// The type of texts that repeat.
pub(crate) fn dictionary_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8))
}

fn instant_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

impl SignalColumn {
    pub(crate) fn named(name: &str) -> Option<SignalColumn> {
        let mut columns = SIGNAL_COLUMNS.into_iter();
        columns.find(|column| column.name == name)
    }

    fn field(self) -> Field {
        let (data_type, nullable) = match self.source {
            S::Id => (DataType::UInt64, false),
            S::Date => (DataType::Date32, true),
            S::Amount => (DataType::Float64, true),
            S::Facet(_) => (dictionary_type(), true),
            S::CompanySlug | S::CompanyName => (dictionary_type(), false),
            S::Text(_) => (DataType::Utf8, !["slug", "title"].contains(&self.name)),
            S::Instant(_) => (instant_type(), true),
            S::Query => (DataType::Utf8, true),
        };
        Field::new(self.name, data_type, nullable)
    }
}

pub(crate) fn signals_schema() -> SchemaRef {
    let fields: Vec<Field> = SIGNAL_COLUMNS.iter().map(|column| column.field()).collect();
    Arc::new(Schema::new(fields))
}

/// How counts travel between nodes.
pub(crate) static COUNTS_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(Schema::new(vec![
        Field::new("label", DataType::Utf8, true),
        Field::new("count", DataType::UInt64, false),
    ]))
});

/// A column of the table `companies`.
#[derive(Clone, Copy)]
pub(crate) struct CompanyColumn {
    pub(crate) name: &'static str,
    pub(crate) source: CompanySource,
    nullable: bool,
}

/// Where the values of a company's column come from.
#[derive(Clone, Copy)]
pub(crate) enum CompanySource {
    Text(for<'r> fn(&'r CompanyProfile<'_>) -> Option<&'r str>),
    Number(fn(&CompanyProfile<'_>) -> Option<i64>),
    SignalCount,
    LatestSignalDate,
    UpdatedAt,
}

use CompanySource as C;

const fn company(name: &'static str, source: CompanySource, nullable: bool) -> CompanyColumn {
    CompanyColumn {
        name,
        source,
        nullable,
    }
}

/// The columns of `companies`, in the order of `SELECT *`.
pub(crate) const COMPANY_COLUMNS: [CompanyColumn; 15] = [
    company("slug", C::Text(|found| Some(&found.company.slug)), false),
    company("name", C::Text(|found| Some(&found.company.name)), false),
    company(
        "about",
        C::Text(|found| found.company.about.as_deref()),
        true,
    ),
    company(
        "tagline",
        C::Text(|found| found.company.tagline.as_deref()),
        true,
    ),
    company(
        "logo_url",
        C::Text(|found| found.company.logo_url.as_deref()),
        true,
    ),
    company(
        "country",
        C::Text(|found| found.company.country.as_deref()),
        true,
    ),
    company("city", C::Text(|found| found.company.city.as_deref()), true),
    company(
        "industry",
        C::Text(|found| found.company.industry.as_deref()),
        true,
    ),
    company(
        "size",
        C::Text(|found| {
            let size = found.company.employees.and_then(SizeBucket::of);
            size.map(SizeBucket::as_str)
        }),
        true,
    ),
    company(
        "linkedin_url",
        C::Text(|found| found.company.linkedin_url.as_deref()),
        true,
    ),
    company(
        "employees",
        C::Number(|found| found.company.employees),
        true,
    ),
    company(
        "founded_year",
        C::Number(|found| found.company.founded_year),
        true,
    ),
    company("signal_count", C::SignalCount, false),
    company("latest_signal_date", C::LatestSignalDate, true),
    company("updated_at", C::UpdatedAt, true),
];

pub(crate) fn companies_schema() -> SchemaRef {
    let field = |column: &CompanyColumn| {
        let data_type = match column.source {
            C::Text(_) => DataType::Utf8,
            C::Number(_) => DataType::Int64,
            C::SignalCount => DataType::UInt64,
            C::LatestSignalDate => DataType::Date32,
            C::UpdatedAt => instant_type(),
        };
        Field::new(column.name, data_type, column.nullable)
    };
    let fields: Vec<Field> = COMPANY_COLUMNS.iter().map(field).collect();
    Arc::new(Schema::new(fields))
}

/// The columns of a projection, all without one, and their schema.
pub(crate) fn projected<C: Copy>(
    all: &[C],
    schema: &SchemaRef,
    projection: Option<&Vec<usize>>,
) -> Result<(Vec<C>, SchemaRef)> {
    let Some(indices) = projection else {
        return Ok((all.to_vec(), Arc::clone(schema)));
    };
    let columns = indices.iter().map(|&index| all[index]).collect();
    Ok((columns, Arc::new(schema.project(indices)?)))
}

/// Microseconds since 1970.
pub(crate) fn microseconds(instant: UtcDateTime) -> i64 {
    let since = instant.unix_timestamp_nanos().div_euclid(1000);
    // Years have four digits, so the number fits.
    i64::try_from(since).unwrap_or(i64::MAX)
}
