//! What an export would cost, and whether the key's quota and the kept ids have room for it.

use std::sync::Arc;

use crate::asking::{self, AskedQuery};
use crate::call::Call;
use crate::charging;
use crate::corpus::{CorpusView, ExportRequest, QueryKind};
use crate::idempotency_keys::IdempotencyGuard;
use crate::metering::Counter;
use crate::problem::{Problem, ProblemCode};
use crate::replay::Replay;
use crate::search;
use crate::service::ServiceCore;
use crate::slow::AskedFilter;
use crate::state::{ExportName, KeptFull};
use signaldex::query::SortKey;
use signaldex::{Cost, SignalId};

/// Signals whose price is looked up at a time: half a megabyte.
const PRICED_AT_ONCE: usize = 1 << 14;

/// The idempotency key of an export.
pub(super) struct Named {
    pub(super) name: ExportName,
    /// Reserves the idempotency key.
    pub(super) guard: Arc<IdempotencyGuard>,
    /// Why nothing more could be kept when the export began, if so.
    full: Option<KeptFull>,
}

/// Refuses an export that needs more units than are left of the key's quota.
pub(super) async fn check_quota(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    request: &ExportRequest,
    name: Option<&Named>,
) -> Result<(), Problem> {
    let Some(left) = charging::unused(call, Counter::Signals).await? else {
        return Ok(());
    };
    // The number of all matches is cheap for most filters and often sufficient.
    let matches = search::matches(call, view, &request.filter).await?;
    if matches.min(request.items_max) <= left {
        return Ok(());
    }
    if unpaid(call, view, request, name, left).await? <= left {
        return Ok(());
    }
    if left == 0 {
        return Err(charging::exhausted(Counter::Signals, call.month));
    }
    let detail = format!(
        "The export has more signals than the {left} that remain in the key's quota {}; narrow the filters, \
         set maxItems={left}, or ask the operator for more.",
        charging::until_end(call.month)
    );
    Err(Problem::new(ProblemCode::QuotaExceeded, detail))
}

/// Refuses an export that would charge signals while their ids cannot be kept.
pub(super) async fn check_room(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    request: &ExportRequest,
    name: Option<&Named>,
) -> Result<(), Problem> {
    match name.and_then(|name| name.full) {
        Some(full) if unpaid(call, view, request, name, 0).await? > 0 => {
            Err(charging::no_room(full))
        }
        _ => Ok(()),
    }
}

/// The sort keys of the next signals of an export, at most `max`.
pub(super) async fn keys_of(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    request: &ExportRequest,
    max: usize,
) -> Result<Vec<SortKey>, Problem> {
    let asked = AskedQuery {
        kind: QueryKind::Count,
        filter: AskedFilter::Signals(&request.filter),
        // Always on the pool.
        cost: Cost::MAX,
    };
    let (view, owned) = (Arc::clone(view), request.clone());
    let keys = call.corpus().export_keys(view, owned, max, call.today);
    asking::ask(call, asked, keys).await
}

/// The number of signals that an export would be charged for. If it exceeds `most`, any number above `most`.
async fn unpaid(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    request: &ExportRequest,
    name: Option<&Named>,
    most: u64,
) -> Result<u64, Problem> {
    let (mut unpaid, mut next) = (0, Some(request.clone()));
    while let Some(request) = next.filter(|_| unpaid <= most) {
        let keys = keys_of(call, view, &request, PRICED_AT_ONCE).await?;
        let is_last = keys.len() < PRICED_AT_ONCE;
        next = request.after_keys(&keys).filter(|_| !is_last);
        unpaid += match name {
            None => keys.len() as u64,
            Some(name) => {
                let ids = keys.iter().map(|key| key.id()).collect();
                name.unpaid(call, ids).await?
            }
        };
    }
    Ok(unpaid)
}

impl Named {
    /// Reserves the idempotency key of an export.
    pub(super) async fn resume(call: &Call<'_>, replay: &Replay) -> Result<Named, Problem> {
        let (guard, full) = replay.resume(call).await?;
        Ok(Named {
            name: replay.export_name(call),
            guard: Arc::new(guard),
            full,
        })
    }

    /// The number of signals that were not charged under the idempotency key.
    async fn unpaid(&self, call: &Call<'_>, ids: Vec<SignalId>) -> Result<u64, Problem> {
        let (name, now) = (self.name.clone(), call.now.unix_timestamp());
        let unpaid = move |service: &ServiceCore| service.state.unpaid(&name, &ids, now);
        call.service.read(call.deadline.at(), unpaid).await
    }
}
