//! `GET /api/v1/signals/{id}` and `GET /api/v1/companies/{slug}`: one record, one unit.

use std::sync::Arc;

use super::answer::{Answer, Price};
use super::asking;
use super::call::Call;
use super::charging;
use super::endpoint::Endpoint;
use super::etag;
use super::problem::{Problem, ProblemCode};
use super::request;
use signaldex::SignalId;
use signaldex::query::{ErrorCode, ParameterError};

/// A record with its entity tag.
struct Record {
    body: Vec<u8>,
    tag: String,
}

pub(super) async fn signal(call: &Call<'_>, segment: &str) -> Result<Answer, Problem> {
    request::refuse_parameters(call.parts.uri.query())?;
    let record = find_signal(call, parse_id(segment)?).await?;
    deliver(call, Endpoint::Signal, record).await
}

pub(super) async fn company(call: &Call<'_>, segment: &str) -> Result<Answer, Problem> {
    request::refuse_parameters(call.parts.uri.query())?;
    let slug = request::decode_segment(segment)?;
    let record = find_company(call, &slug).await?;
    deliver(call, Endpoint::Company, record).await
}

async fn deliver(call: &Call<'_>, endpoint: Endpoint, record: Record) -> Result<Answer, Problem> {
    let counter = endpoint.description().counter;
    if etag::is_current(&call.parts.headers, &record.tag) {
        let answer = Answer::not_modified().tagged(&record.tag);
        return Ok(answer.priced(Price::FREE));
    }
    if call.is_head() {
        charging::left(call, counter).await?;
        let answer = Answer::json(record.body).tagged(&record.tag);
        return Ok(answer.priced(Price::FREE));
    }
    let room = call.service.room_for(record.body.len())?;
    let charged = charging::charge(call, counter, 1, None, None).await?;
    let answer = Answer::json(room.hold(record.body)).tagged(&record.tag);
    Ok(answer.priced(charging::price(call, counter, 1, charged)))
}

async fn find_signal(call: &Call<'_>, id: SignalId) -> Result<Record, Problem> {
    call.expect_charge();
    let corpus = call.corpus();
    let view = asking::trusted_view(call).await?;
    let body = corpus.signal(Arc::clone(&view), id).await?;
    Ok(Record {
        body: body.ok_or_else(no_signal)?,
        tag: etag::of(&[b"signal", &view.tag_seed, &id.get().to_le_bytes()]),
    })
}

async fn find_company(call: &Call<'_>, slug: &str) -> Result<Record, Problem> {
    call.expect_charge();
    let corpus = call.corpus();
    let view = asking::trusted_view(call).await?;
    let body = corpus.company(Arc::clone(&view), slug.to_owned()).await?;
    Ok(Record {
        body: body.ok_or_else(no_company)?,
        tag: etag::of(&[b"company", &view.tag_seed, slug.as_bytes()]),
    })
}

pub(super) fn no_signal() -> Problem {
    let detail = "There is no signal with this id; search returns valid ids.";
    Problem::new(ProblemCode::NotFound, detail)
}

pub(super) fn no_company() -> Problem {
    let detail = "There is no company with this slug; use the companySlug of a signal.";
    Problem::new(ProblemCode::NotFound, detail)
}

/// Parses the id in a path segment.
pub(super) fn parse_id(segment: &str) -> Result<SignalId, Problem> {
    let id = request::decode_segment(segment)?.parse();
    id.map_err(|_| {
        Problem::of_errors(vec![ParameterError::new(
            "id",
            ErrorCode::InvalidValue,
            "id has to be a whole number of 1 to 19 digits without a leading zero",
        )])
    })
}
