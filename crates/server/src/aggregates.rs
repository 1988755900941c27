//! `GET /api/v1/aggregates`: figures over all matches, in groups. Free, but for groups by company, which are charged
//! per group.

use std::sync::Arc;

use super::answer::{Answer, Price};
use super::asking::{self, AskedQuery};
use super::call::Call;
use super::charging;
use super::endpoint::Endpoint;
use super::etag;
use super::idempotency_keys::IdempotencyGuard;
use super::keys::Scope;
use super::metering::Counter;
use super::problem::Problem;
use super::replay::{self, Attempt, Replay};
use super::selling::{self, SoldPage};
use super::slow::AskedFilter;
use crate::corpus::{CorpusView, QueryKind};
use signaldex::json::AggregateAnswer;
use signaldex::query::InvalidQuery;
use signaldex::{AggregateQuery, Aggregates};

/// A request for aggregates with everything that its answer depends on.
struct AggregatesCall<'a> {
    call: &'a Call<'a>,
    view: &'a Arc<CorpusView>,
    query: &'a Arc<AggregateQuery>,
}

pub(super) async fn aggregates(call: &Call<'_>) -> Result<Answer, Problem> {
    let query = Arc::new(parse(call.query())?);
    if query.names_companies() {
        call.check_scope(Some(Scope::CompaniesRead))?;
    }
    let (replay, guard) = match Attempt::begin(call, || parameters_of(&query)).await? {
        Attempt::Repeated(answer) => return Ok(answer),
        Attempt::First(replay, guard) => (replay, guard),
    };
    let view = asking::trusted_view(call).await?;
    let asked = AggregatesCall {
        call,
        view: &view,
        query: &query,
    };
    let tag = asked.tag(None);
    if etag::is_current(&call.parts.headers, &tag) {
        return Ok(Answer::not_modified().tagged(&tag).priced(Price::FREE));
    }
    if query.names_companies() {
        asked.sell(tag, replay, guard).await
    } else {
        asked.give(&tag).await
    }
}

/// Parses a query string. Filtering by id is refused: the figures would reveal a record's fields for free.
pub(super) fn parse(text: &str) -> Result<AggregateQuery, InvalidQuery> {
    AggregateQuery::from_query_string(text, Endpoint::Aggregates.description().search)
}

/// The body of an answer.
pub(super) fn body(query: &AggregateQuery, aggregates: &Aggregates) -> Vec<u8> {
    AggregateAnswer { query, aggregates }.to_bytes()
}

/// Identifies equal requests.
fn parameters_of(query: &AggregateQuery) -> [u8; 32] {
    replay::parameters_of(&[b"aggregates", query.to_string().as_bytes()])
}

impl AggregatesCall<'_> {
    /// A free answer, which is counted.
    async fn give(&self, tag: &str) -> Result<Answer, Problem> {
        let free = charging::take_free(self.call).await?;
        let body = body(self.query, &self.find().await?);
        let body = self.call.service.room_for(body.len())?.hold(body);
        charging::count_free(self.call, free);
        Ok(Answer::json(body).tagged(tag).priced(Price::FREE))
    }

    /// Charges the groups and sends them.
    async fn sell(
        &self,
        tag: String,
        replay: Option<Replay>,
        guard: Option<Arc<IdempotencyGuard>>,
    ) -> Result<Answer, Problem> {
        self.call.expect_charge();
        let found = SoldGroups {
            asked: self,
            found: self.find().await?,
            tag,
        };
        selling::sell(self.call, Counter::Companies, found, replay, guard).await
    }

    async fn find(&self) -> Result<Aggregates, Problem> {
        let (call, view, query) = (self.call, self.view, self.query);
        let corpus = call.corpus();
        let cheap = call.service.limits.cheap_query_cost;
        let asked = AskedQuery {
            kind: QueryKind::Aggregates,
            filter: AskedFilter::Signals(query.filter()),
            cost: corpus.aggregate_cost(view, query, call.today, cheap),
        };
        let found = corpus.aggregate(Arc::clone(view), Arc::clone(query), call.today);
        let found = asking::ask(call, asked, found).await?;
        Ok(found?)
    }

    fn tag(&self, shown: Option<usize>) -> String {
        let query = self.query.to_string();
        etag::of_page(
            b"aggregates",
            (self.call, self.view),
            query.as_bytes(),
            shown,
        )
    }
}

/// Groups before they are charged.
struct SoldGroups<'a> {
    asked: &'a AggregatesCall<'a>,
    found: Aggregates,
    tag: String,
}

impl SoldPage for SoldGroups<'_> {
    fn units(&self) -> u64 {
        self.found.groups.len() as u64
    }

    fn cut(&mut self, shown: usize) {
        self.found.groups.truncate(shown);
        self.found.truncated = true;
        self.tag = self.asked.tag(Some(shown));
    }

    fn tag(&self) -> &str {
        &self.tag
    }

    fn body(&self) -> Vec<u8> {
        body(self.asked.query, &self.found)
    }
}
