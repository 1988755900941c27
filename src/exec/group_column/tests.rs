//! Counts of groups against a look at each row, in blocks whose periods have many rows.

use super::*;
use crate::exec::live::{LiveSegment, Request};
use crate::exec::observer::Unobserved;
use crate::fixtures::{self, Records};
use crate::plan::Strategies;
use crate::query::{Facet, Filter, IdOrder, TimeUnit};
use crate::segment::Deleted;

/// Two blocks.
const SIGNALS: u64 = 70_000;

/// What no question to these segments can fail with.
const WHOLE: &str = "a whole segment";

/// The number of rows of each code.
fn counted(column: &GroupColumn<'_>, rows: impl Iterator<Item = Row>) -> Vec<u64> {
    let mut counts = vec![0; column.len() as usize];
    rows.for_each(|row| counts[column.get(row) as usize] += 1);
    counts
}

#[test]
fn groups_have_the_numbers_of_their_rows() {
    let segment = fixtures::segment(&Records::new(SIGNALS, 9));
    let rows = 0..segment.row_count();
    let deletes = |row: &u32| row % 200 == 3;
    let deleted = Deleted::new(
        rows.clone().filter(deletes).collect(),
        std::iter::empty::<u32>().collect(),
        rows.end,
    );
    let none = Deleted::default();
    let facets = [Facet::Category, Facet::Country, Facet::FundingStage];
    let units = TimeUnit::ALL.map(GroupBy::Time);
    for by in units.into_iter().chain(facets.map(GroupBy::Facet)) {
        let column = GroupColumn::of(&segment, by).expect(WHOLE);
        for deleted in [&none, &deleted] {
            let live = LiveSegment {
                segment: &segment,
                deleted,
            };
            let live_rows = rows.clone().map(Row).filter(|&row| !deleted.contains(row));
            let stored = live.stored_groups(by).expect(WHOLE).expect("no companies");
            assert_eq!(stored, counted(&column, live_rows), "{by:?}, all");
            for text in [
                "",
                "all=raises",
                "all=w1",
                "all=w2999",
                "categories=Hiring&days=90",
            ] {
                let text = text.replace(' ', "+");
                let filter = Filter::from_query_string(&text).expect("a valid filter");
                let request = Request {
                    filter: &filter,
                    today: Records::AS_OF,
                    order: IdOrder::default(),
                    strategies: &Strategies::ALL,
                    may_be_eager: false,
                    executor: None,
                };
                let matched = live.matched_rows::<Unobserved>(&request).expect(WHOLE).0;
                let mut expected = Vec::new();
                matched.all().for_each_block(|block, offsets| {
                    expected.extend(offsets.iter().map(|&offset| Row::of(block, offset)));
                });
                let expected = counted(&column, expected.into_iter());
                let mut counters = column.counters();
                column.count(matched.all(), &mut counters);
                assert_eq!(column.counts(counters), expected, "{by:?}, {text}");
            }
        }
    }
}
