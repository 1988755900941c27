//! Takes the steps of a history with the service and with the model, and compares the two after each.

use std::collections::BTreeMap;

use time::{Date, Duration, Time, UtcDateTime};

use super::corpus::{Change, Corpus, Filter, Item, Position, Standing, Writes};
use super::model::{Body, Fault, Model, Question, Request, equal};
use super::steps::{Asked, COPIES, Edit, Step, What};
use super::subject::Subject;

/// The names of requests.
const REQUEST_NAMES: [&str; 3] = ["order-4711", "order-4712", "order-4713"];
/// The filters of the copies.
const FILTERS: [Filter; COPIES] = [Filter::All, Filter::North];
/// The changes that a check asks for at once.
const CHECKED_AT_ONCE: usize = 50;

/// What an answer says, or the code of its problem.
type Told = Result<Body, String>;

/// What a client holds.
#[derive(Clone, Debug, Default)]
struct Copy {
    items: BTreeMap<u64, Item>,
    position: Option<Position>,
}

/// The last export, to go on with.
struct Exported {
    request: Request,
    last: Option<u64>,
}

struct History {
    model: Model,
    subject: Subject,
    fault: Option<Fault>,
    copies: [Copy; COPIES],
    /// Commits of all branches so far.
    commits: usize,
    /// The records and the past that the backup has.
    backup: Option<Corpus>,
    asked: Vec<Request>,
    exported: Option<Exported>,
}

/// Takes every step. The error names the first that differs.
pub(super) fn run(steps: &[Step], fault: Option<Fault>) -> Result<(), String> {
    let start = Date::from_calendar_date(2026, time::Month::November, 29).expect("a date");
    let start = UtcDateTime::new(start, Time::MIDNIGHT);
    let mut history = History {
        model: Model::new(start, fault),
        subject: Subject::new(start),
        fault,
        copies: Default::default(),
        commits: 0,
        backup: None,
        asked: Vec::new(),
        exported: None,
    };
    for (number, step) in steps.iter().enumerate() {
        let taken = history.take(step).and_then(|()| history.check());
        taken.map_err(|difference| format!("step {number}, {step:?}: {difference}"))?;
    }
    Ok(())
}

impl History {
    fn take(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Commit(edits) => self.commit(edits),
            Step::BackUp => {
                self.subject.back_up();
                self.backup = Some(self.model.corpus.clone());
            }
            Step::Restore => {
                self.subject.restore();
                if let Some(backup) = &self.backup {
                    self.model.corpus = backup.clone();
                }
            }
            Step::Merge => self.subject.merge(),
            Step::Ask(asked) => self.ask(asked)?,
            Step::Repeat { back, by_tool } => {
                let from = self.asked.len().checked_sub(1 + back);
                if let Some(request) = from.and_then(|from| self.asked.get(from)).cloned() {
                    self.deliver(&request, *by_tool, None)?;
                }
            }
            Step::Resume { read } => self.resume(*read)?,
            Step::Quota(more) => {
                let quota = more.map(|more| self.model.used() + more);
                self.model.quota = quota;
                self.subject.set_quota(quota);
            }
            Step::Wait(seconds) => self.set_clock(self.model.now + Duration::seconds(*seconds)),
            Step::TurnOfMonth { is_over } => {
                let second = if *is_over { 0 } else { 1 };
                let turn = next_month(self.model.now) - Duration::seconds(second);
                self.set_clock(turn.max(self.model.now));
            }
            Step::Crash(asked) => self.crash(asked)?,
        }
        Ok(())
    }

    fn set_clock(&mut self, now: UtcDateTime) {
        self.model.now = now;
        self.subject.set_clock(now);
    }

    fn commit(&mut self, edits: &[Edit]) {
        let mut writes = Writes::default();
        for edit in edits {
            match *edit {
                Edit::Upsert(id, record) => {
                    writes.signals.insert(id, Some(record));
                }
                Edit::Delete(id) if self.model.corpus.has(id) => {
                    writes.signals.insert(id, None);
                }
                Edit::Delete(id) => {
                    writes.signals.remove(&id);
                }
                Edit::Company { company, name } => {
                    writes.companies.insert(company, name);
                }
            }
        }
        if !writes.signals.is_empty() || !writes.companies.is_empty() {
            self.subject.commit(&writes);
            self.commits += 1;
            self.model.corpus.commit(self.commits, &writes);
        }
    }

    fn ask(&mut self, asked: &Asked) -> Result<(), String> {
        let (request, read) = self.request(asked);
        if let What::Take { copy } = asked.what {
            return self.take_copy(copy, request.name);
        }
        self.asked.push(request.clone());
        self.deliver(&request, asked.by_tool, read)
    }

    /// The request of a step, and the slices that its client reads of an export.
    fn request(&self, asked: &Asked) -> (Request, Option<usize>) {
        let mut slices = None;
        let question = match asked.what {
            What::Count(filter) => Question::Count { filter },
            What::Search(filter, limit) => Question::Search { filter, limit },
            What::Follow { copy, limit } => Question::Changes {
                filter: FILTERS[copy],
                limit,
                since: Some(
                    self.copies[copy]
                        .position
                        .clone()
                        .unwrap_or_else(Position::start),
                ),
            },
            What::Take { copy } => Question::Export {
                filter: FILTERS[copy],
                after: None,
                max_items: None,
            },
            What::Export {
                filter,
                after,
                max_items,
                read,
            } => {
                slices = read;
                Question::Export {
                    filter,
                    after,
                    max_items,
                }
            }
        };
        let name = asked.name;
        (Request { question, name }, slices)
    }

    /// A client takes the present position and then a copy of what matches.
    fn take_copy(&mut self, copy: usize, name: Option<u8>) -> Result<(), String> {
        let filter = FILTERS[copy];
        let question = Question::Changes {
            filter,
            limit: 50,
            since: None,
        };
        let unnamed = Request {
            question,
            name: None,
        };
        let (_, position) = self.send(&unnamed, false, None)?;
        let question = Question::Export {
            filter,
            after: None,
            max_items: None,
        };
        let (body, _) = self.send(&Request { question, name }, false, None)?;
        if let Ok(Body::Export { items, .. }) = body {
            self.copies[copy] = Copy {
                items: items.into_iter().map(|item| (item.id, item)).collect(),
                position,
            };
        }
        Ok(())
    }

    /// Sends a request, and lets its client have the answer.
    fn deliver(
        &mut self,
        request: &Request,
        by_tool: bool,
        read: Option<usize>,
    ) -> Result<(), String> {
        let (body, position) = self.send(request, by_tool, read)?;
        match (&request.question, body) {
            (Question::Changes { filter, since, .. }, body) => {
                let copy = FILTERS.iter().position(|of| of == filter);
                let copy = copy.map(|copy| &mut self.copies[copy]);
                if let Some(copy) = copy.filter(|copy| copy.stands_at(since.as_ref())) {
                    copy.take(body, position);
                }
            }
            (Question::Export { .. }, Ok(Body::Export { items, .. })) => {
                self.exported = Some(Exported {
                    request: request.clone(),
                    last: items.last().map(|item| item.id),
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn resume(&mut self, read: Option<usize>) -> Result<(), String> {
        let Some(Exported { request, last }) = &self.exported else {
            return Ok(());
        };
        let mut request = request.clone();
        if let (Question::Export { after, .. }, Some(last)) = (&mut request.question, last) {
            *after = Some(*last);
        }
        self.deliver(&request, false, read)
    }

    /// The service ends when a request is charged, and its client gets no answer.
    fn crash(&mut self, asked: &Asked) -> Result<(), String> {
        let uncharged = self.subject.copy_state();
        let (request, _) = self.request(asked);
        self.asked.push(request.clone());
        // Before the client reads, the first slice of an export is charged.
        let _ = self.send(&request, asked.by_tool, Some(0))?;
        let state = match self.fault {
            Some(Fault::LostCharge) => uncharged,
            _ => self.subject.copy_state(),
        };
        self.subject.crash(state);
        Ok(())
    }

    /// Sends a request and compares its answer. Returns what it said and the position that it gave.
    fn send(
        &mut self,
        request: &Request,
        by_tool: bool,
        read: Option<usize>,
    ) -> Result<(Told, Option<Position>), String> {
        let question = &request.question;
        let name = request.name.map(|name| REQUEST_NAMES[usize::from(name)]);
        let answer = if by_tool && question.has_tool(name) {
            question.read_result(&self.subject.ask(question.call(name), usize::MAX))
        } else if let Question::Export { .. } = question {
            let before = self.units();
            let parts_max = read.unwrap_or(usize::MAX);
            let answered = self.subject.ask(question.request(name), parts_max);
            let mut answer = question.read(&answered);
            answer.charged = self.units() - before;
            if let Ok(Body::Export { read: cut, .. }) = &mut answer.body {
                *cut = read.filter(|_| !answered.is_whole);
            }
            answer
        } else {
            question.read(&self.subject.ask(question.request(name), usize::MAX))
        };
        let position = self.model.check(request, &answer)?;
        Ok((answer.body, position))
    }

    /// Units on record.
    fn units(&mut self) -> usize {
        self.subject.usage().values().map(|[units, _]| units).sum()
    }

    /// Compares the usage, and each copy, followed to the end, with what matches.
    fn check(&mut self) -> Result<(), String> {
        equal("usage", self.subject.usage(), self.model.usage.clone())?;
        for (filter, copy) in FILTERS.into_iter().zip(self.copies.clone()) {
            self.check_copy(filter, copy)?;
        }
        Ok(())
    }

    fn check_copy(&mut self, filter: Filter, mut copy: Copy) -> Result<(), String> {
        while let Some(since) = copy.position.clone() {
            let question = Question::Changes {
                filter,
                limit: CHECKED_AT_ONCE,
                since: Some(since.clone()),
            };
            let answered = self.subject.ask_free(question.request(None));
            let body = match (self.model.standing(&since), question.read(&answered).body) {
                (Standing::Known | Standing::Twin, Ok(body)) => body,
                (Standing::Ahead, Err(code)) if code == "invalid_request" => return Ok(()),
                (Standing::Lost | Standing::Twin, Err(code)) if code == "position_expired" => {
                    return Ok(());
                }
                (standing, body) => {
                    return Err(format!("a copy of {filter:?} is {standing:?}: {body:?}"));
                }
            };
            let Body::Changes {
                changes,
                next,
                more,
            } = &body
            else {
                return Err(format!("no changes: {body:?}"));
            };
            let position = self
                .model
                .corpus
                .position_after(next, &since, (changes, *more));
            let is_over = !more;
            copy.take(Ok(body), Some(position));
            if is_over {
                let held: Vec<Item> = copy.items.into_values().rev().collect();
                return equal("a copy", held, self.model.corpus.scan(filter));
            }
        }
        Ok(())
    }
}

impl Copy {
    fn stands_at(&self, since: Option<&Position>) -> bool {
        let own = self.position.as_ref();
        since.is_some_and(|since| own.unwrap_or(&Position::start()) == since)
    }

    /// Applies an answer, or begins anew where the position has expired.
    fn take(&mut self, told: Told, position: Option<Position>) {
        let changes = match told {
            Ok(Body::Changes { changes, .. }) => changes,
            Err(code) if code == "position_expired" => return *self = Copy::default(),
            _ => return,
        };
        for change in changes {
            match change {
                Change::Upsert(item) => {
                    self.items.insert(item.id, item);
                }
                Change::Remove(id) => {
                    self.items.remove(&id);
                }
            }
        }
        self.position = position;
    }
}

/// The first second of the next month.
fn next_month(now: UtcDateTime) -> UtcDateTime {
    let last = now.month().length(now.year());
    let last = now.replace_day(last).expect("a day of the month");
    UtcDateTime::new(last.date(), Time::MIDNIGHT) + Duration::days(1)
}
