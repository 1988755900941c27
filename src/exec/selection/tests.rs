//! Selections against a sort of all matches, over several blocks, with every strategy on and off.

use super::*;
use crate::exec::observer::{Counting, Unobserved};
use crate::exec::plain;
use crate::fixtures::{self, Random, Records};
use crate::plan::Strategies;
use crate::query::{Filter, SortField, ValueOrder};
use crate::segment::{Deleted, Segment};

/// Three blocks.
const SIGNALS: u64 = 135_000;

/// What no question to these segments can fail with.
const WHOLE: &str = "a whole segment";

/// Filters with all, many, and few matches in every order, by each way of finding them.
const FILTERS: [&str; 16] = [
    "",
    "fundingCurrency=EUR",
    "all=raises&fundingCurrency=EUR",
    "all=w1&fundingCurrency=EUR",
    "fundingStage=Seed&country=Germany&fundingCurrency=EUR",
    "categories=Hiring,Funding&exclude=raises",
    "country=Germany,France",
    "country=Kenya&days=90",
    "dateFrom=2025-08-01&dateTo=2025-09-30",
    "fundingMin=1000000&fundingMax=2000000&fundingCurrency=EUR",
    "companySlug=company-3",
    "companySlug=company-3&fundingCurrency=EUR",
    "all=w2999",
    "exact=raises series",
    "any=w1 w2 w3",
    "q=raises&country=Japan&size=101-500",
];

const ORDERS: [ValueOrder; 4] = {
    const fn order(field: SortField, descending: bool) -> ValueOrder {
        ValueOrder { field, descending }
    }
    [
        order(SortField::Date, true),
        order(SortField::Date, false),
        order(SortField::Amount, true),
        order(SortField::Amount, false),
    ]
};

/// Nothing deleted; every ninth; some; and all but every thirtieth, as where a key sees little.
fn deletions(segment: &Segment) -> [Deleted; 4] {
    let rows = segment.row_count();
    let of = |deletes: &dyn Fn(u32) -> bool| {
        let deleted = (0..rows).filter(|&row| deletes(row)).collect();
        Deleted::new(deleted, std::iter::empty::<u32>().collect(), rows)
    };
    [
        Deleted::default(),
        of(&|row| row % 9 == 0),
        of(&|row| row % 977 == 5),
        of(&|row| row % 30 != 7),
    ]
}

/// All matches in an order: by the definition.
fn sorted(live: LiveSegment<'_>, matches: &[u32], order: ValueOrder) -> Vec<(SortKey, Row)> {
    let column = ValueColumn::of(live.segment, order).expect(WHOLE);
    let ids = live.segment.ids().expect(WHOLE);
    let key = |&row: &u32| {
        let id = SignalId::of_checked(ids.get(Row(row).index()));
        let value = column.value(column.code(Row(row)));
        (SortKey { value, id }, Row(row))
    };
    let mut keys: Vec<_> = matches.iter().map(key).collect();
    keys.sort_by_key(|&(key, _)| order.rank(key));
    keys
}

/// Compares random parts of all matches.
fn compare(
    live: LiveSegment<'_>,
    request: &Request<'_>,
    (expected, order): (&[(SortKey, Row)], ValueOrder),
    (random, context): (&mut Random, &str),
) {
    let mut start = 0_usize;
    for max in [1, 51, 400] {
        let until = random.chance(30).then(|| start + random.below(2 * max));
        let key_at = |index: usize| expected.get(index).map(|&(key, _)| key);
        let wanted = WantedValues {
            order,
            after: start.checked_sub(1).and_then(key_at),
            until: until.and_then(key_at),
            max,
        };
        let found = live.select::<Unobserved>(request, &wanted).expect(WHOLE);
        let end = (start + max).min(expected.len());
        let last = wanted
            .until
            .and(until)
            .map_or(end, |until| end.min(until + 1));
        let found: Vec<_> = found.matches().collect();
        let rest = &expected[start.min(end)..end];
        let needed = last.saturating_sub(start.min(end)).min(rest.len());
        // Of the matches after the last one wanted, any may be there.
        assert!(found.len() >= needed, "{context}, {wanted:?}");
        assert_eq!(found[..needed], rest[..needed], "{context}, {wanted:?}");
        let observed = live.select::<Counting>(request, &wanted).expect(WHOLE);
        assert_eq!(observed.matches().collect::<Vec<_>>(), found, "{context}");
        start = random.below(expected.len() + 1);
    }
}

#[test]
fn the_first_matches_by_value_are_those_of_a_sort() {
    let segment = fixtures::segment(&Records::new(SIGNALS, 7));
    let strategies: Vec<_> = Strategies::each_off().collect();
    let mut random = Random::new(5);
    for text in FILTERS {
        let filter = Filter::from_query_string(&text.replace(' ', "+")).expect("a valid filter");
        for deleted in &deletions(&segment) {
            let live = LiveSegment {
                segment: &segment,
                deleted,
            };
            let request = |strategies| Request {
                filter: &filter,
                today: Records::AS_OF,
                order: IdOrder::default(),
                strategies,
                may_be_eager: false,
                executor: None,
            };
            let mut storage = PlanStorage::new();
            let plan = live.plan(&mut storage, &request(&Strategies::ALL), None);
            let matches = plain::matches(live, plan.expect(WHOLE));
            for order in ORDERS {
                let expected = sorted(live, &matches, order);
                let one_off = random.pick(&strategies);
                for (name, strategies) in [&strategies[0], one_off] {
                    let deleted = deleted.row_count();
                    let context = format!("{text} {order:?}, {deleted} deleted, {name}");
                    let sought = (expected.as_slice(), order);
                    compare(live, &request(strategies), sought, (&mut random, &context));
                }
            }
        }
    }
}

#[test]
fn damage_of_rows_by_amount_is_an_error() {
    let records = Records::new(300, 3);
    let bytes = fixtures::segment_bytes(&records);
    let segment = Segment::from_bytes(&bytes).expect("a valid segment");
    let listed = segment.rows_by_amount().expect(WHOLE);
    let bytes_of = |number: &u32| number.to_le_bytes();
    let stored: Vec<u8> = listed.numbers().flat_map(bytes_of).collect();
    let place = bytes.windows(stored.len()).position(|part| part == stored);
    let place = place.expect("they are stored as they are");
    for at in [0, stored.len() / 2, stored.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[place + at] ^= 1;
        let error = Segment::from_bytes(&damaged).expect_err("damage");
        assert!(error.to_string().contains("RowsByCode"), "{error}");
    }
}
