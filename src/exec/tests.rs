//! Executions against the plain executor, and observed runs against unobserved ones.

use std::ops::Range;

use time::Date;

use super::eager::PhraseSteps;
use super::live::{LiveSegment, Request};
use super::matches::{Consumer, MatchRuns};
use super::observer::{Counting, Method, Observer, Run, StepKey};
use super::plain;
use crate::fixtures::{self, Records};
use crate::plan::{AppliedPart, Clause, PhraseStep, Plan, PlanStorage, Strategies};
use crate::query::{Facet, Filter, IdOrder};
use crate::segment::Deleted;

/// Enough for several blocks would take too long here; `tests/engine/agreement.rs` has them.
const SIGNALS: u64 = 4_000;
const FILTERS: usize = 600;
/// What no question to these segments can fail with.
const WHOLE: &str = "a whole segment";

/// Tells what the run was, and is as blind to its steps as a search.
#[derive(Debug, Default)]
struct RunOnly;

impl Observer for RunOnly {
    type Time = ();
    type Explained = Run;

    const SPLITS: bool = false;

    fn now() {}

    fn ran(&mut self, _: StepKey, _: Method, (): (), _: impl FnOnce() -> Option<u64>) {}

    fn read(&mut self, _: impl FnOnce() -> u64) {}

    fn took_whole(&mut self, _: impl Iterator<Item = usize>, _: impl Fn() -> u64) {}

    fn applied(&mut self, _: AppliedPart<'_>, (): (), _: impl FnOnce() -> u64) {}

    fn explain_eager(self, run: Run, _: Option<Clause<'_>>, _: &[PhraseStep<'_>]) -> Run {
        run
    }

    fn explain(self, run: Run, _: &Plan<'_>, _: LiveSegment<'_>) -> Run {
        run
    }
}

/// Takes all matches, a few at a time.
struct All;

impl<'a, O: Observer> Consumer<'a, O> for All {
    type Output = (Vec<u32>, Run);

    fn consume(self, mut matches: impl MatchRuns<O> + 'a) -> (Vec<u32>, Run) {
        let mut rows = Vec::new();
        loop {
            let run = matches.next_run(7);
            if run.len() == 0 {
                return (rows, matches.finish().0);
            }
            let n = run.len();
            rows.extend_from_slice(run.rows());
            matches.take(n);
        }
    }
}

/// Query strings made of the records' own words and values; the same for each run.
fn filters(records: &Records) -> impl Iterator<Item = String> + use<'_> {
    let Records { companies, signals } = records;
    (0..FILTERS).map(move |number| {
        let signal = &signals[number * 7919 % signals.len()];
        let other = &signals[number * 104_729 % signals.len()];
        let company = &companies[number * 31 % companies.len()];
        let words: Vec<&str> = signal.title.split(' ').collect();
        let titles = format!("{} {}", signal.title, other.title);
        let word = |index: usize| words[index % words.len()].replace(['&', '+', '"', '%'], "");
        let mut parts = vec![match number % 6 {
            0 => format!("all={}", word(number)),
            1 => format!("exact={} {}", word(0), word(1)),
            2 if number % 4 < 2 => format!("any={} {}", word(number), word(number / 2)),
            // Many sources beside facets of companies.
            2 => format!("any={}", titles.replace(['&', '+', '"', '%'], "")),
            3 => format!("companySlug={}", signal.company_slug),
            4 => format!("companies={},{}", signal.company_slug, other.company_slug),
            _ => format!("exclude={}", word(number)),
        }];
        if number % 3 == 1 {
            parts.push(format!("days={}", 1 + number % 300));
        }
        for (facet, name) in [(Facet::Country, "country"), (Facet::Size, "size")] {
            let label = facet.label(signal, company);
            if let Some(label) = label.filter(|_| number % 4 > 1) {
                parts.push(format!("{name}={label}"));
            }
        }
        if number % 5 == 4 {
            parts.push(format!("fundingMin={}", 1_000 * number));
        }
        parts.join("&").replace(' ', "+")
    })
}

/// Checks every answer of a segment to a request.
fn check(live: LiveSegment<'_>, filter: &Filter, today: Date, strategies: &Strategies) -> usize {
    let request = |order| Request {
        filter,
        today,
        order,
        strategies,
        may_be_eager: false,
        executor: None,
    };
    let oldest_first = request(IdOrder::OldestFirst);
    let expected = plain::matches(
        live,
        live.plan(&mut PlanStorage::new(), &oldest_first, None)
            .expect(WHOLE),
    );
    let all = 0..live.segment.row_count();
    let part = all.end / 3..all.end / 2;
    let few = part.start..part.start + 30;
    for rows in [all, part, few] {
        let mut inside = expected.clone();
        inside.retain(|row| rows.contains(row));
        assert_eq!(found(live, &oldest_first, &rows), inside);
        inside.reverse();
        assert_eq!(found(live, &request(IdOrder::NewestFirst), &rows), inside);
        let newest_first = eager(&request(IdOrder::NewestFirst));
        assert_eq!(found_eagerly(live, &newest_first, &rows), inside);
        inside.reverse();
        assert_eq!(found_eagerly(live, &eager(&oldest_first), &rows), inside);
    }
    for request in [oldest_first, eager(&oldest_first)] {
        let (count, run) = live.count::<RunOnly>(&request).expect(WHOLE);
        let (counted, explained) = live.count::<Counting>(&request).expect(WHOLE);
        assert_eq!((count, counted), (expected.len() as u64, count));
        assert_eq!(run.strategy.to_string(), explained.strategy);
        assert_eq!(run.counters.rows_checked, explained.rows_checked);
        assert_eq!(run.counters.blocks_visited, explained.blocks_visited);
        assert_eq!(run.counters.blocks_skipped, explained.blocks_skipped);
    }
    expected.len()
}

/// The same request, evaluated eagerly.
fn eager<'a>(request: &Request<'a>) -> Request<'a> {
    Request {
        may_be_eager: true,
        ..*request
    }
}

/// All matches among some rows by eager evaluation.
fn found_eagerly(live: LiveSegment<'_>, request: &Request<'_>, rows: &Range<u32>) -> Vec<u32> {
    assert!(request.is_eager(rows), "rows are few here");
    let mut phrases = PhraseSteps::new();
    let evaluated = live.evaluate::<RunOnly>(&mut phrases, request, rows);
    let evaluated = evaluated.expect(WHOLE);
    if evaluated.no_match.is_some() {
        return Vec::new();
    }
    live.search_evaluated(evaluated, &phrases, request.order, rows.clone(), All)
        .expect(WHOLE)
        .0
}

/// All matches among some rows, found in the same way whether steps are observed or not.
fn found(live: LiveSegment<'_>, request: &Request<'_>, rows: &Range<u32>) -> Vec<u32> {
    let mut storage = PlanStorage::new();
    let plan = live.plan_among(&mut storage, request, rows, 20);
    let plan = plan.expect(WHOLE);
    let (found, run) = live
        .search::<RunOnly, _>(plan, request, rows.clone(), All)
        .expect(WHOLE);
    let (observed, observed_run) = live
        .search::<Counting, _>(plan, request, rows.clone(), All)
        .expect(WHOLE);
    assert_eq!(found, observed);
    assert_eq!(run.strategy, observed_run.strategy);
    assert_eq!(run.counters, observed_run.counters);
    found
}

#[test]
fn executions_agree_with_the_plain_executor_and_with_themselves_when_observed() {
    let records = Records::new(SIGNALS, 11);
    let segment = fixtures::segment(&records);
    let none = Deleted::default();
    // Many are bits, few are listed.
    let [many, few] = [9, 200].map(|step| {
        let rows = (0..segment.row_count()).step_by(step).collect();
        let companies = std::iter::empty::<u32>().collect();
        Deleted::new(rows, companies, segment.row_count())
    });
    let strategies: Vec<_> = Strategies::each_off().collect();
    let mut answered = 0;
    for (number, text) in filters(&records).enumerate() {
        let Ok(filter) = Filter::from_query_string(&text) else {
            continue;
        };
        for (_, strategies) in [&strategies[0], &strategies[number % strategies.len()]] {
            for deleted in [&none, &many, &few] {
                let live = LiveSegment {
                    segment: &segment,
                    deleted,
                };
                answered += check(live, &filter, Records::AS_OF, strategies).min(1);
            }
        }
    }
    assert!(
        answered > FILTERS,
        "most filters find something: {answered}"
    );
}
