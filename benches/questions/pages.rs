//! Pages by value for each class of queries, beside pages by id.

use signaldex::query::Order;
use signaldex::{Query, Snapshot, sample};

use crate::classes::{self, Statistics, Wanted};
use crate::{Result, WHOLE, median, micros};

/// Matches from which a page by value is compared.
const MATCHES_MIN: u64 = 1_000;

/// Shows for each class how many times as long pages by value take as pages by id, and the geometric mean.
pub(crate) fn by_value(
    fresh: &Snapshot,
    updated: &Snapshot,
    statistics: &Statistics,
) -> Result<()> {
    let (mut logs, mut classes) = (Vec::new(), 0);
    for class in classes::draw(fresh, statistics, sample::AS_OF)? {
        for (name, [first, second]) in [
            ("date", [Order::LatestDate, Order::EarliestDate]),
            ("amount", [Order::LargestAmount, Order::SmallestAmount]),
        ] {
            let by_id = pages(fresh, &class.queries, name == "amount", Order::NewestFirst);
            if by_id.is_empty() {
                continue;
            }
            for order in [first, second] {
                let by_value = pages(fresh, &class.queries, name == "amount", order);
                let (id, value) = (time(fresh, &by_id), time(fresh, &by_value));
                let four = time(updated, &by_value);
                let ratio = value / id;
                logs.push(ratio.ln());
                classes += 1;
                println!(
                    "{id:>8.2} µs by id {value:>8.2} µs by {:<7} {ratio:>5.2}, four segments {four:>8.2} µs {:>5.2}  {} ({})",
                    order.as_str(),
                    four / value,
                    class.name,
                    by_id.len()
                );
            }
        }
    }
    let mean = (logs.iter().sum::<f64>() / f64::from(classes)).exp();
    println!("geometric mean of {classes}: {mean:.2}");
    Ok(())
}

/// The queries of a class with enough matches, in an order.
fn pages(snapshot: &Snapshot, wanted: &[Wanted], with_currency: bool, order: Order) -> Vec<Query> {
    let mut queries = Vec::new();
    for wanted in wanted.iter().filter(|wanted| wanted.before.is_none()) {
        let mut builder = wanted.builder().order(order);
        let has_currency = wanted
            .facets
            .iter()
            .any(|(facet, _)| *facet == signaldex::Facet::FundingCurrency);
        if with_currency && !has_currency {
            builder = builder.funding_currency(signaldex::Currency::new("USD"));
        }
        let query = builder.build().expect("a valid query");
        if snapshot.count(query.filter(), sample::AS_OF).expect(WHOLE) > MATCHES_MIN {
            queries.push(query);
        }
    }
    queries
}

/// The mean time of the queries, in microseconds.
fn time(snapshot: &Snapshot, queries: &[Query]) -> f64 {
    let all = median(|| {
        for query in queries {
            std::hint::black_box(snapshot.search(query, sample::AS_OF).expect(WHOLE));
        }
    });
    micros(all) / queries.len() as f64
}
