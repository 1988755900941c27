//! What a service charges and keeps, said as plainly as it can be.
//!
//! The model counts units in a map and knows nothing of segments, transactions or bytes. An answer is checked
//! against it, and what is charged and kept for it is noted.

use std::collections::BTreeMap;

use signaldex_server::Month;
use time::UtcDateTime;

use super::corpus::{Change, Corpus, Filter, Item, Position, Standing};

/// How long an answer can be repeated, and a signal of a named export is free, in seconds.
pub(super) const DAY: i64 = 24 * 60 * 60;
/// Slices of an export that may be charged and on their way when its client leaves: one waits to be read,
/// another to be queued.
const SLICES_UNDER_WAY: usize = 2;

/// A defect by which model and service are made to differ, to show that histories find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A named export frees every id between those that were charged.
    PaidRanges,
    /// A position is good wherever its number is, whatever was committed there.
    PositionsWithoutDigests,
    /// A crash takes the last charge with it. Planted in the disk, not in the model.
    LostCharge,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Question {
    Search {
        filter: Filter,
        limit: usize,
    },
    Count {
        filter: Filter,
    },
    Changes {
        filter: Filter,
        limit: usize,
        since: Option<Position>,
    },
    Export {
        filter: Filter,
        after: Option<u64>,
        max_items: Option<usize>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) question: Question,
    /// The number of its `Idempotency-Key`.
    pub(super) name: Option<u8>,
}

/// What an answer says, over HTTP or as a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    Page {
        items: Vec<Item>,
        has_next: bool,
    },
    Count(usize),
    Changes {
        changes: Vec<Change>,
        next: String,
        more: bool,
    },
    Export {
        items: Vec<Item>,
        /// Slices read before the client left; `None` if it has read to the end.
        read: Option<usize>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// What it says, or the code of the problem.
    pub(super) body: Result<Body, String>,
    /// Of an export, what it added to the usage.
    pub(super) charged: usize,
    pub(super) remaining: Option<usize>,
    pub(super) is_replayed: bool,
}

/// What is kept under an `Idempotency-Key`.
#[derive(Clone, Debug)]
enum Kept {
    Answer {
        question: Question,
        body: Body,
        next: Option<Position>,
        at: i64,
    },
    /// The instant at which each signal was charged.
    Export {
        filter: Filter,
        paid: BTreeMap<u64, i64>,
    },
}

/// Units and free answers of a month.
pub(super) type Usage = BTreeMap<Month, [usize; 2]>;

/// The position that an answer gives, or what is wrong with it.
type Checked = Result<Option<Position>, String>;

#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) corpus: Corpus,
    pub(super) now: UtcDateTime,
    pub(super) quota: Option<usize>,
    pub(super) usage: Usage,
    names: BTreeMap<u8, Kept>,
    fault: Option<Fault>,
}

impl Question {
    fn is_export_of(&self, named: Filter) -> bool {
        matches!(self, Question::Export { filter, .. } if *filter == named)
    }
}

impl Model {
    pub(super) fn new(now: UtcDateTime, fault: Option<Fault>) -> Model {
        Model {
            corpus: Corpus::default(),
            now,
            quota: None,
            usage: Usage::new(),
            names: BTreeMap::new(),
            fault,
        }
    }

    pub(super) fn used(&self) -> usize {
        self.usage
            .get(&Month::of(self.now))
            .map_or(0, |[units, _]| *units)
    }

    /// Units left of the quota; all there are without one.
    fn left(&self) -> usize {
        let left = self.quota.map(|quota| quota.saturating_sub(self.used()));
        left.unwrap_or(usize::MAX)
    }

    fn add(&mut self, counter: usize, units: usize) {
        if units > 0 {
            self.usage.entry(Month::of(self.now)).or_default()[counter] += units;
        }
    }

    fn lasts(&self, since: i64) -> bool {
        self.now.unix_timestamp() < since + DAY
    }

    /// How a position stands to the index, or how a service without digests takes it.
    pub(super) fn standing(&self, position: &Position) -> Standing {
        match self.corpus.standing(position) {
            Standing::Lost if self.fault == Some(Fault::PositionsWithoutDigests) => Standing::Known,
            standing => standing,
        }
    }

    fn kept(&self, request: &Request) -> Option<&Kept> {
        let kept = self.names.get(&request.name?)?;
        let lasts = match kept {
            Kept::Answer { at, .. } => self.lasts(*at),
            Kept::Export { paid, .. } => paid.values().any(|&at| self.lasts(at)),
        };
        lasts.then_some(kept)
    }

    /// Compares an answer with what the request has to be answered, and notes its charge. Returns the
    /// position that it gives.
    pub(super) fn check(&mut self, request: &Request, answer: &Answer) -> Checked {
        let question = &request.question;
        match self.kept(request).cloned() {
            Some(Kept::Export { filter, paid }) if question.is_export_of(filter) => {
                self.check_export(request, paid, answer)
            }
            Some(Kept::Answer {
                question: named,
                body,
                next,
                ..
            }) if *question == named => {
                equal("replayed", answer.is_replayed, true)?;
                equal("answer", &answer.body, &Ok(body))?;
                self.check_charge(answer, 0)?;
                Ok(next)
            }
            Some(_) => self.check_refusal(answer, "idempotency_key_reused"),
            None => self.check_first(request, answer),
        }
    }

    fn check_first(&mut self, request: &Request, answer: &Answer) -> Checked {
        equal("replayed", answer.is_replayed, false)?;
        match &request.question {
            Question::Count { filter } => {
                self.add(1, 1);
                let count = self.corpus.scan(*filter).len();
                equal("answer", &answer.body, &Ok(Body::Count(count)))?;
                self.check_charge(answer, 0)
            }
            Question::Export { .. } => self.check_export(request, BTreeMap::new(), answer),
            &Question::Search { filter, limit } => {
                self.check_search(request, (filter, limit), answer)
            }
            Question::Changes {
                filter,
                limit,
                since,
            } => self.check_changes(request, (*filter, *limit, since.as_ref()), answer),
        }
    }

    fn check_refusal(&mut self, answer: &Answer, code: &str) -> Checked {
        equal("answer", &answer.body, &Err(code.to_owned()))?;
        self.check_charge(answer, 0)
    }

    fn check_charge(&mut self, answer: &Answer, units: usize) -> Checked {
        equal("charged", answer.charged, units)?;
        self.add(0, units);
        let remaining = self.quota.map(|quota| quota.saturating_sub(self.used()));
        let is_told = answer.remaining.is_some();
        let has_to_tell = units > 0 && !matches!(answer.body, Ok(Body::Export { .. }));
        if is_told || has_to_tell {
            equal("remaining", answer.remaining, remaining)?;
        }
        Ok(None)
    }

    fn keep(&mut self, request: &Request, body: &Body, next: Option<&Position>) {
        if let Some(name) = request.name {
            let kept = Kept::Answer {
                question: request.question.clone(),
                body: body.clone(),
                next: next.cloned(),
                at: self.now.unix_timestamp(),
            };
            self.names.insert(name, kept);
        }
    }

    fn check_search(
        &mut self,
        request: &Request,
        (filter, limit): (Filter, usize),
        answer: &Answer,
    ) -> Checked {
        if self.left() == 0 {
            return self.check_refusal(answer, "quota_exceeded");
        }
        let mut items = self.corpus.scan(filter);
        let has_next = items.len() > limit.min(self.left());
        items.truncate(limit.min(self.left()));
        let units = items.len();
        let body = Body::Page { items, has_next };
        equal("answer", &answer.body, &Ok(body.clone()))?;
        self.check_charge(answer, units)?;
        if units > 0 {
            self.keep(request, &body, None);
        }
        Ok(None)
    }

    fn check_changes(
        &mut self,
        request: &Request,
        (filter, limit, since): (Filter, usize, Option<&Position>),
        answer: &Answer,
    ) -> Checked {
        let end = self.corpus.end();
        let since = since.unwrap_or(&end);
        let is_refused = answer.body == Err("position_expired".to_owned());
        let refusal = match self.standing(since) {
            Standing::Known => None,
            Standing::Twin if !is_refused => None,
            Standing::Ahead => Some("invalid_request"),
            Standing::Lost | Standing::Twin => Some("position_expired"),
        };
        if let Some(code) = refusal {
            return self.check_refusal(answer, code);
        }
        let left = self.left();
        let body = match &answer.body {
            // Removals before the first upsert are free, and the model cannot know whether there are some.
            Err(code) if code == "quota_exceeded" && left == 0 => {
                equal("is due", self.corpus.due(filter, since).is_empty(), false)?;
                return self.check_charge(answer, 0);
            }
            Err(code) => return Err(format!("refused: {code}")),
            Ok(body) => body,
        };
        let Body::Changes {
            changes,
            next,
            more,
        } = body
        else {
            return Err(format!("no changes: {body:?}"));
        };
        let upserts = self.corpus.check_changes(filter, since, (changes, *more))?;
        if changes.len() > limit || upserts > left {
            return Err(format!("more than {limit} changes or {left} upserts"));
        }
        if *more && changes.len() < limit && upserts < left {
            return Err("an answer that ends early".to_owned());
        }
        self.check_charge(answer, upserts)?;
        let next = self.corpus.position_after(next, since, (changes, *more));
        if upserts > 0 {
            self.keep(request, body, Some(&next));
        }
        Ok(Some(next))
    }

    fn check_export(
        &mut self,
        request: &Request,
        mut paid: BTreeMap<u64, i64>,
        answer: &Answer,
    ) -> Checked {
        let &Question::Export {
            filter,
            after,
            max_items,
        } = &request.question
        else {
            return Err("no export".to_owned());
        };
        paid.retain(|_, at| self.lasts(*at));
        let mut items = self.corpus.scan(filter);
        items.retain(|item| after.is_none_or(|after| item.id < after));
        items.truncate(max_items.unwrap_or(usize::MAX));
        let unpaid = |items: &[Item]| items.iter().filter(|i| !paid.contains_key(&i.id)).count();
        if unpaid(&items) > self.left() {
            return self.check_refusal(answer, "quota_exceeded");
        }
        let slices: Vec<&[Item]> = items.split_inclusive(|item| item.has_evidence).collect();
        let Ok(Body::Export { items: found, read }) = &answer.body else {
            return Err(format!("no export: {:?}", answer.body));
        };
        let delivered = read.map_or(slices.len(), |read| read.min(slices.len()));
        equal("signals", found, &slices[..delivered].concat())?;
        // The first slice is charged before the answer begins; others once the client reads.
        let charged_max = match read {
            None => slices.len(),
            Some(0) => slices.len().min(1),
            Some(read) => slices.len().min(read + SLICES_UNDER_WAY),
        };
        let charged_min = delivered.max(slices.len().min(1));
        let possible = (charged_min..=charged_max).map(|n| &slices[..n]);
        let mut possible = possible.filter(|slices| unpaid(&slices.concat()) == answer.charged);
        let charged = possible.next().ok_or_else(|| {
            let units = unpaid(&slices[..charged_max].concat());
            format!("charged: {}, and not {units}", answer.charged)
        })?;
        for slice in charged {
            self.pay(&mut paid, slice);
        }
        if let Some(name) = request.name {
            self.names.insert(name, Kept::Export { filter, paid });
        }
        self.check_charge(answer, answer.charged)
    }

    fn pay(&self, paid: &mut BTreeMap<u64, i64>, slice: &[Item]) {
        let now = self.now.unix_timestamp();
        for item in slice {
            paid.entry(item.id).or_insert(now);
        }
        if self.fault == Some(Fault::PaidRanges)
            && let [newest, .., oldest] = slice
        {
            for id in oldest.id..newest.id {
                paid.entry(id).or_insert(now);
            }
        }
    }
}

pub(super) fn equal<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: T,
    expected: T,
) -> Result<(), String> {
    if found != expected {
        return Err(format!("{what}: {found:?}, and not {expected:?}"));
    }
    Ok(())
}
