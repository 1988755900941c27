//! `GET /api/v1/companies`: companies by themselves and by their signals, charged per company. Counts are free.

use std::sync::Arc;

use super::answer::{Answer, Price};
use super::asking::{self, AskedQuery};
use super::call::Call;
use super::charging;
use super::etag;
use super::idempotency_keys::IdempotencyGuard;
use super::metering::Counter;
use super::problem::Problem;
use super::replay::{self, Attempt, Replay};
use super::search;
use super::selling::{self, SoldPage};
use crate::corpus::{Corpus, CorpusFuture, CorpusView, RenderedCompanies};
use signaldex::Facets;
use signaldex::json::{CompaniesData, Data, FilterOptions};
use signaldex::query::{
    CompanyCursor, CompanyQuery, CompanyQueryBuilder, CompanyStart, InvalidQuery, KeyFilter,
    ParameterError,
};
use time::Date;

/// A request for companies with everything that its answer depends on.
struct CompaniesCall<'a> {
    call: &'a Call<'a>,
    view: &'a Arc<CorpusView>,
    query: &'a Arc<CompanyQuery>,
}

/// The number of companies, and the counts of the facets that are asked for.
pub(super) struct CountedCompanies {
    count: u64,
    facets: Facets,
}

pub(super) async fn page_or_count(call: &Call<'_>) -> Result<Answer, Problem> {
    let query = Arc::new(parse(call.query(), call.filter())?);
    let parameters = || replay::parameters_of(&[query.fingerprint().as_bytes()]);
    let (replay, guard) = match Attempt::begin(call, parameters).await? {
        Attempt::Repeated(answer) => return Ok(answer),
        Attempt::First(replay, guard) => (replay, guard),
    };
    let view = asking::trusted_view(call).await?;
    let asked = CompaniesCall {
        call,
        view: &view,
        query: &query,
    };
    let tag = asked.tag(None);
    if etag::is_current(&call.parts.headers, &tag) {
        return Ok(Answer::not_modified().tagged(&tag).priced(Price::FREE));
    }
    if query.count_only() {
        asked.give(&tag).await
    } else {
        asked.sell(tag, replay, guard).await
    }
}

/// Parses a query string.
pub(super) fn parse(text: &str, filter: Option<&KeyFilter>) -> Result<CompanyQuery, InvalidQuery> {
    let builder = CompanyQueryBuilder::from_query_string(text);
    builder.for_key(filter).build()
}

/// The number of companies, and the facets that are asked for, of one view.
pub(super) fn counts(
    corpus: Arc<dyn Corpus>,
    view: Arc<CorpusView>,
    query: Arc<CompanyQuery>,
    today: Date,
) -> CorpusFuture<CountedCompanies> {
    Box::pin(async move {
        let counting =
            Arc::clone(&corpus).count_companies(Arc::clone(&view), Arc::clone(&query), today);
        let count = counting.await?;
        let facets = match query.facets() {
            [] => Facets::default(),
            _ => {
                corpus
                    .company_facets(view, Arc::clone(&query), today)
                    .await?
            }
        };
        Ok(CountedCompanies { count, facets })
    })
}

/// The body of an answer with numbers only.
pub(super) fn count_body(
    query: &CompanyQuery,
    found: &CountedCompanies,
) -> Result<Vec<u8>, Problem> {
    let (counts, facets) = (&found.facets, query.facets());
    let data = CompaniesData {
        items: &[],
        next_cursor: None,
        count: Some(found.count),
        facets: (!facets.is_empty()).then_some(FilterOptions { counts, facets }),
    };
    serde_json::to_vec(&Data { data }).map_err(|error| Problem::internal(&error))
}

/// The body of a page.
pub(super) fn body(found: RenderedCompanies) -> Vec<u8> {
    let next_cursor = found.next_cursor.as_ref().map(CompanyCursor::to_string);
    found.answer.finish(next_cursor.as_deref())
}

/// The page, unless it is a numbered one that has ended early.
///
/// # Errors
/// It is such a page.
pub(super) fn without_gap(
    found: RenderedCompanies,
    query: &CompanyQuery,
) -> Result<RenderedCompanies, ParameterError> {
    match query.start() {
        CompanyStart::Page(_) if found.ends_early => Err(search::too_large(found.keys.len())),
        _ => Ok(found),
    }
}

impl CompaniesCall<'_> {
    /// A number of companies: a free answer, which is counted.
    async fn give(&self, tag: &str) -> Result<Answer, Problem> {
        let CompaniesCall { call, view, query } = *self;
        let free = charging::take_free(call).await?;
        let asked = AskedQuery::of_companies(call, view, query);
        let counts = counts(
            call.corpus(),
            Arc::clone(view),
            Arc::clone(query),
            call.today,
        );
        let found = asking::ask(call, asked, counts).await?;
        let body = count_body(query, &found)?;
        let body = call.service.room_for(body.len())?.hold(body);
        charging::count_free(call, free);
        Ok(Answer::json(body).tagged(tag).priced(Price::FREE))
    }

    /// Charges the companies of a page and sends them.
    async fn sell(
        &self,
        tag: String,
        replay: Option<Replay>,
        guard: Option<Arc<IdempotencyGuard>>,
    ) -> Result<Answer, Problem> {
        let CompaniesCall { call, view, query } = *self;
        call.expect_charge();
        let asked = AskedQuery::of_companies(call, view, query);
        let page = call.corpus();
        let page = page.companies(Arc::clone(view), Arc::clone(query), call.today);
        let found = asking::ask(call, asked, page).await?;
        let page = SoldCompanies {
            asked: self,
            found: without_gap(found, query)?,
            tag,
        };
        selling::sell(call, Counter::Companies, page, replay, guard).await
    }

    fn tag(&self, shown: Option<usize>) -> String {
        let query = self.query.fingerprint();
        etag::of_page(
            b"companies",
            (self.call, self.view),
            query.as_bytes(),
            shown,
        )
    }
}

/// A page before it is charged.
struct SoldCompanies<'a> {
    asked: &'a CompaniesCall<'a>,
    found: RenderedCompanies,
    tag: String,
}

impl SoldPage for SoldCompanies<'_> {
    fn units(&self) -> u64 {
        self.found.keys.len() as u64
    }

    fn cut(&mut self, shown: usize) {
        let CompaniesCall { call, query, .. } = self.asked;
        self.found.truncate(shown, query, call.today);
        self.tag = self.asked.tag(Some(shown));
    }

    fn tag(&self) -> &str {
        &self.tag
    }

    fn body(&self) -> Vec<u8> {
        body(self.found.clone())
    }
}
