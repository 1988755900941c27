//! White-box tests of `admin/search/chart.rs`.

use signaldex::sample;
use time::macros::date;

use super::*;
use crate::admin::form::FormData;

fn text(query: &str) -> QueryText {
    QueryText::of(&FormData::parse(query.as_bytes()))
}

/// The chart of days with a match each.
fn chart(days: &[Date], query: &str) -> Chart {
    let index = signaldex::Index::in_memory().expect("memory");
    let mut writer = index.writer().expect("nobody else writes");
    let acme = signaldex::Company::new("acme", "Acme");
    writer.upsert_company(&acme).expect("a slug");
    for (day, number) in days.iter().zip(1..) {
        let id = signaldex::SignalId::new(number).expect("an id");
        let mut signal = signaldex::Signal::new(id, "acme", "Acme hires");
        signal.date = Some(*day);
        writer.upsert_signal(&signal).expect("a known company");
    }
    writer.commit().expect("committed");
    of(&index.snapshot(), query)
}

fn of(snapshot: &Snapshot, query: &str) -> Chart {
    let filter = Filter::from_query_string(query).expect("a filter");
    Chart::of(snapshot, &filter, &text(query), sample::AS_OF).expect("a whole index")
}

fn ends(chart: &Chart) -> (usize, &str, &str) {
    let [first, .., last] = chart.bars.as_slice() else {
        let only = chart.bars.first().map_or("", |bar| bar.period.as_str());
        return (chart.bars.len(), only, only);
    };
    (chart.bars.len(), &first.period, &last.period)
}

#[test]
fn the_span_decides_on_the_unit() {
    let first = date!(2025 - 12 - 20);
    for (last, unit, expected) in [
        (first, "day", (1, "2025-12-20", "2025-12-20")),
        (
            date!(2026 - 01 - 19),
            "day",
            (31, "2025-12-20", "2026-01-19"),
        ),
        (date!(2026 - 01 - 20), "month", (2, "2025-12", "2026-01")),
        (date!(2028 - 11 - 30), "month", (36, "2025-12", "2028-11")),
        (date!(2028 - 12 - 01), "year", (4, "2025", "2028")),
        (date!(2064 - 01 - 01), "year", (40, "2025", "2064")),
        (date!(2065 - 01 - 01), "year", (41, "before 2026", "2065")),
        (date!(9999 - 12 - 31), "year", (41, "before 9960", "9999")),
    ] {
        let chart = chart(&[first, last], "");
        assert_eq!((chart.unit, ends(&chart)), (unit, expected), "{last}");
    }
    let chart = chart(&[date!(0000 - 01 - 01), date!(9999 - 12 - 31)], "");
    assert_eq!(ends(&chart), (41, "before 9960", "9999"));
    assert_eq!(chart.bars[0].count, "1");
}

#[test]
fn a_bar_narrows_to_exactly_its_matches() {
    let snapshot = sample::index().expect("the sample corpus").snapshot();
    for query in [
        "",
        "q=raises",
        "days=30",
        "dateFrom=2026-06-03&dateTo=2026-06-20",
    ] {
        let filter = &of(&snapshot, query);
        let mut all = 0;
        for bar in &filter.bars {
            let count: u64 = bar.count.replace(',', "").parse().expect("a number");
            all += count;
            let Some(link) = &bar.link else {
                assert_eq!(count, 0, "{query}: {}", bar.period);
                continue;
            };
            let query = link.trim_start_matches("/search?");
            let query = signaldex::Query::from_query_string(query).expect(query);
            let found = snapshot
                .count(query.filter(), sample::AS_OF)
                .expect("a whole index");
            assert_eq!(found, count, "{link}");
        }
        let query = signaldex::Query::from_query_string(query).expect(query);
        let undated: u64 = filter.undated.replace(',', "").parse().unwrap_or(0);
        let found = snapshot
            .count(query.filter(), sample::AS_OF)
            .expect("a whole index");
        assert_eq!(all + undated, found, "{query}");
    }
}

#[test]
fn dates_that_are_narrower_stay_and_one_day_leads_nowhere() {
    let (from, to) = (date!(2026 - 03 - 01), date!(2026 - 03 - 31));
    let narrowed = |query: &str| super::narrowed(&text(query), Some(from), to);
    assert_eq!(
        narrowed("dateFrom=2026-03-10&q=a&cursor=x&page=2").as_deref(),
        Some("/search?q=a&dateFrom=2026-03-10&dateTo=2026-03-31")
    );
    assert_eq!(narrowed("dateFrom=2026-03-10&dateTo=2026-03-20"), None);
    assert_eq!(narrowed("dateFrom=2026-03-01&dateTo=2026-03-31"), None);
}

#[test]
fn nothing_has_no_bars() {
    let chart = chart(&[], "");
    assert!(chart.bars.is_empty() && chart.undated.is_empty());
}
