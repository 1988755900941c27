//! Sells the items of a page or of the feed: charges them, cut to what the key's quota has left.

use std::sync::Arc;

use super::answer::{Answer, Price};
use super::call::Call;
use super::charging::{self, ChargeRefusal};
use super::idempotency_keys::IdempotencyGuard;
use super::metering::Counter;
use super::problem::Problem;
use super::replay::Replay;

/// A page before it is charged. Each item is a unit.
pub(super) trait SoldPage {
    /// The number of items.
    fn units(&self) -> u64;

    /// Keeps the first items, fewer than there are; the tag is then that of such a page.
    fn cut(&mut self, shown: usize);

    fn tag(&self) -> &str;

    fn body(&self) -> Vec<u8>;
}

/// Charges a page and returns its answer, with only the first items if the key's quota does not cover all. What is kept
/// under an idempotency key is what was charged. An empty page and HEAD are free.
///
/// # Errors
/// Nothing is left of the quota, or the charge is not recorded.
pub(super) async fn sell(
    call: &Call<'_>,
    counter: Counter,
    mut page: impl SoldPage,
    replay: Option<Replay>,
    guard: Option<Arc<IdempotencyGuard>>,
) -> Result<Answer, Problem> {
    if call.is_head() || page.units() == 0 {
        if let Some(left) = charging::left(call, counter).await? {
            cut_to(&mut page, left);
        }
        let answer = Answer::json(page.body()).tagged(page.tag());
        return Ok(answer.priced(Price::FREE));
    }
    // The loop ends because each attempt charges fewer units than the previous one.
    loop {
        let (units, body) = (page.units(), page.body());
        let room = call.service.room_for(body.len())?;
        let kept = replay
            .as_ref()
            .map(|replay| replay.keep(page.tag(), &body))
            .transpose()?;
        let charge = charging::charge(call, counter, units, kept, guard.as_ref());
        match charge.await {
            Ok(charged) => {
                let price = charging::price(call, counter, units, charged);
                let answer = Answer::json(room.hold(body)).tagged(page.tag());
                return Ok(answer.priced(price));
            }
            Err(ChargeRefusal::Left(_, _, left)) if left > 0 => cut_to(&mut page, left),
            Err(refusal) => return Err(refusal.into()),
        }
    }
}

/// Cuts a page that has more items than `left`.
fn cut_to(page: &mut impl SoldPage, left: u64) {
    if left < page.units() {
        // Less than the number of items, which a `usize` holds.
        page.cut(usize::try_from(left).unwrap_or(usize::MAX));
    }
}

/// A part of the feed of changes. Where the quota does not cover all of it, it is found anew with fewer items, since the
/// position after them is another one.
pub(super) trait SoldFeed {
    async fn find(&self) -> Result<FeedPart, Problem>;

    /// Sets the maximum number of items that cost a unit.
    fn bound(&mut self, units: usize);
}

/// What was found, ready to be sent.
pub(super) struct FeedPart {
    pub(super) units: u64,
    pub(super) tag: String,
    pub(super) body: Vec<u8>,
}

/// Charges a part of the feed and sends it, shortened if the key's quota does not cover all of it.
pub(super) async fn sell_feed(
    call: &Call<'_>,
    mut feed: impl SoldFeed,
    replay: Option<Replay>,
    guard: Option<Arc<IdempotencyGuard>>,
) -> Result<Answer, Problem> {
    call.expect_charge();
    // The loop ends because each attempt charges fewer units than the previous one.
    loop {
        let FeedPart { units, tag, body } = feed.find().await?;
        if call.is_head() || units == 0 {
            return Ok(Answer::json(body).tagged(&tag).priced(Price::FREE));
        }
        let room = call.service.room_for(body.len())?;
        let kept = replay.as_ref().map(|replay| replay.keep(&tag, &body));
        let kept = kept.transpose()?;
        let charge = charging::charge(call, Counter::Signals, units, kept, guard.as_ref());
        match charge.await {
            Ok(charged) => {
                let price = charging::price(call, Counter::Signals, units, charged);
                return Ok(Answer::json(room.hold(body)).tagged(&tag).priced(price));
            }
            Err(ChargeRefusal::Left(_, _, left)) if left > 0 => {
                feed.bound(usize::try_from(left).unwrap_or(usize::MAX));
            }
            Err(refusal) => return Err(refusal.into()),
        }
    }
}
