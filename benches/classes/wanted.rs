//! A query in plain words, which any engine can be asked, and the same for signaldex.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use signaldex::query::{Days, Facet, QueryBuilder};
use signaldex::{Currency, Filter, Query, SizeBucket};
use time::Date;

/// What a query asks for; everything that is given has to hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wanted {
    /// Terms of which each occurs in the title.
    pub all: Vec<String>,
    /// Terms that stand next to each other in the title.
    pub phrase: Vec<String>,
    /// Terms of which at least one occurs; empty: no such condition.
    pub any: Vec<String>,
    /// Terms of which none occurs.
    pub none: Vec<String>,
    /// For each facet named, the labels of which a signal has one.
    pub facets: Vec<(Facet, Vec<String>)>,
    /// The slugs of companies, one of which is the signal's; empty: no such condition.
    pub companies: Vec<String>,
    /// When it happened.
    pub dates: Option<Dates>,
    /// The lowest and the highest amount of funding.
    pub amounts: Option<(f64, f64)>,
    /// The first page starts with the newest signal older than this id.
    pub before: Option<u64>,
}

/// When a signal is dated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Dates {
    /// Within the last days.
    Last(Days),
    /// From a day to a day, both included.
    Between(Date, Date),
}

/// The terms of a query as the texts that a host has in hand; empty where there are none.
#[derive(Clone, Debug)]
pub(crate) struct Texts {
    all: String,
    exact: String,
    any: String,
    exclude: String,
}

impl Wanted {
    /// The terms as texts.
    pub(crate) fn texts(&self) -> Texts {
        Texts {
            all: self.all.join(" "),
            exact: self.phrase.join(" "),
            any: self.any.join(" "),
            exclude: self.none.join(" "),
        }
    }

    /// The query for the first page.
    pub(crate) fn query(&self, today: Date) -> Query {
        match self.before {
            Some(id) => self.query_before(id, today),
            None => built(self.builder()),
        }
    }

    /// The query for the page that starts with the newest signal older than `id`.
    pub(crate) fn query_before(&self, id: u64, today: Date) -> Query {
        query_before(self.builder(), id, today)
    }

    /// The builder with every condition set.
    pub(crate) fn builder(&self) -> QueryBuilder {
        self.builder_of(&self.texts())
    }

    /// The builder with every condition set, from texts that are made already.
    pub(crate) fn builder_of(&self, texts: &Texts) -> QueryBuilder {
        let mut builder = Query::builder();
        if !texts.all.is_empty() {
            builder = builder.all(texts.all.as_str());
        }
        if !texts.exact.is_empty() {
            builder = builder.exact(texts.exact.as_str());
        }
        if !texts.any.is_empty() {
            builder = builder.any(texts.any.as_str());
        }
        if !texts.exclude.is_empty() {
            builder = builder.exclude(texts.exclude.as_str());
        }
        builder = match self.companies.as_slice() {
            [] => builder,
            [slug] => builder.company_slug(slug),
            slugs => builder.companies(slugs),
        };
        for (facet, labels) in &self.facets {
            builder = with_facet(builder, *facet, labels);
        }
        self.with_ranges(builder)
    }

    fn with_ranges(&self, mut builder: QueryBuilder) -> QueryBuilder {
        builder = match self.dates {
            Some(Dates::Last(days)) => builder.days(days),
            Some(Dates::Between(from, to)) => builder.date_from(from).date_to(to),
            None => builder,
        };
        match self.amounts {
            Some((min, max)) => builder.funding_min(min).funding_max(max),
            None => builder,
        }
    }
}

/// The query of a builder that was given nothing but values of the corpus.
pub(crate) fn built(builder: QueryBuilder) -> Query {
    builder
        .build()
        .expect("what is drawn from a corpus is valid")
}

/// The query of a builder for the page that starts with the newest signal older than `id`.
pub(crate) fn query_before(builder: QueryBuilder, id: u64, today: Date) -> Query {
    let first = built(builder.clone());
    let cursor = cursor_before(id, first.filter(), today);
    built(builder.cursor(&cursor))
}

/// Sets a facet. Those of which a query has one value take the first.
fn with_facet(builder: QueryBuilder, facet: Facet, labels: &[String]) -> QueryBuilder {
    let first = labels.first().map_or("", String::as_str);
    match facet {
        Facet::Category => builder.categories(labels),
        Facet::Country => builder.country(first),
        Facet::Industry => builder.industry(first),
        Facet::Size => builder.size(size(first)),
        Facet::FundingStage => builder.funding_stage(first),
        Facet::FundingCurrency => {
            builder.funding_currency(Currency::new(first).expect("a drawn code is well-formed"))
        }
        Facet::HiringType => builder.hiring_types(labels),
        Facet::JobFunction => builder.job_functions(labels),
        Facet::Seniority => builder.seniorities(labels),
        Facet::EmploymentType => builder.employment_types(labels),
        Facet::WorkArrangement => builder.work_arrangements(labels),
    }
}

fn size(label: &str) -> SizeBucket {
    let mut sizes = SizeBucket::ALL.into_iter();
    let found = sizes.find(|size| size.as_str() == label);
    found.expect("a drawn label is one of the buckets")
}

/// The text of the cursor after a page whose last signal has this id.
///
/// A walk to the middle of a million matches would take longer than everything that is measured,
/// so the cursor is written here as the library documents it: version, order, day, id, the
/// fingerprint of the filter, and a checksum.
pub(crate) fn cursor_before(id: u64, filter: &Filter, today: Date) -> String {
    const VERSION: u8 = 1;
    const NEWEST_FIRST: u8 = 0;
    const EPOCH_JULIAN_DAY: i32 = 2_440_588;
    let mut bytes = vec![VERSION, NEWEST_FIRST];
    bytes.extend((today.to_julian_day() - EPOCH_JULIAN_DAY).to_le_bytes());
    bytes.extend(id.to_le_bytes());
    bytes.extend(filter.fingerprint().as_bytes());
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}
