//! What is asked: a table of aggregates and of queries for companies, and pages by value for each class of queries.

use signaldex::query::{CompanyQuery, GroupBy, Measure, Order, ParameterSet};
use signaldex::{AggregateQuery, Filter, Query, Snapshot, sample};

use crate::classes::{self, Statistics, Wanted};
use crate::{Result, WHOLE, median, micros};

/// A name, and what is asked of a snapshot.
type Task = (String, Box<dyn Fn(&Snapshot)>);

/// Matches from which a page by value is compared.
const MATCHES_MIN: u64 = 1_000;

/// Aggregates by name, under the most frequent word and others.
const AGGREGATES: [(&str, &str); 14] = [
    ("months of a word", "q=in&by=month"),
    ("months", "by=month"),
    ("countries of a word", "q=in&by=countries"),
    ("sums by month of a word", "q=in&by=month&measures=sum"),
    (
        "medians by month of a word",
        "q=in&by=month&measures=median",
    ),
    ("sums by month", "by=month&measures=sum"),
    ("medians by month", "by=month&measures=median"),
    (
        "sums by month and country of \"series a\"",
        "q=\"series a\"&by=month,countries&measures=sum",
    ),
    (
        "sums by month and country",
        "by=month,countries&measures=sum",
    ),
    ("ten companies of a word", "q=in&by=company&limit=10"),
    (
        "ten companies of \"raises\"",
        "q=raises&by=company&limit=10",
    ),
    ("number of companies of a word", "q=in&measures=companies"),
    (
        "number of companies of \"raises\"",
        "q=raises&measures=companies",
    ),
    (
        "number of companies by month of a word",
        "q=in&by=month&measures=companies",
    ),
];

/// Queries for companies by name.
const COMPANIES: [(&str, &str); 7] = [
    (
        "companies, two conditions",
        "has=(categories=hiring;days=90;min=2),(fundingStage=series a)&limit=50",
    ),
    (
        "companies, two conditions of words, most matches first",
        "has=(q=raises),(q=hires;days=90)&order=-matches&limit=50",
    ),
    (
        "companies, a country and a condition",
        "country=germany&has=(fundingStage=series a)&limit=50",
    ),
    ("companies of a city", "city=berlin&limit=50"),
    (
        "companies of a year",
        "foundedFrom=2019&foundedTo=2020&limit=50",
    ),
    ("companies by employees", "employeesMin=500&limit=50"),
    ("companies by latest signal", "order=-latest&limit=50"),
];

/// Pages by value by name, under the most frequent word.
const PAGES: [(&str, &str); 2] = [
    ("page by date of a word", "q=in&order=-date"),
    (
        "page by amount of a word",
        "q=in&fundingCurrency=USD&order=-amount",
    ),
];

/// Counts the companies of all signals.
pub(crate) const COUNT_COMPANIES: fn(&Snapshot) = |snapshot| {
    let builder = AggregateQuery::builder(Filter::default());
    let query = builder
        .by([GroupBy::Company])
        .measures([Measure::Count])
        .limit(10);
    let query = query.build().expect("a valid query");
    std::hint::black_box(snapshot.aggregate(&query, sample::AS_OF).expect(WHOLE));
};

/// Counts the companies with a round.
pub(crate) const COUNT_FULFILLING: fn(&Snapshot) = |snapshot| {
    let query = CompanyQuery::from_query_string("has=(fundingStage=series a)");
    let query = query.expect("a valid query");
    let count = snapshot.count_companies(query.filter(), sample::AS_OF);
    std::hint::black_box(count.expect(WHOLE));
};

/// All tasks but the classes of pages.
pub(crate) fn all() -> Result<Vec<Task>> {
    let mut tasks: Vec<Task> = Vec::new();
    for (name, text) in AGGREGATES {
        let query = AggregateQuery::from_query_string(text, ParameterSet::FILTERS)?;
        let ask = move |snapshot: &Snapshot| {
            std::hint::black_box(
                snapshot
                    .aggregate(&query.clone(), sample::AS_OF)
                    .expect(WHOLE),
            );
        };
        tasks.push((name.to_owned(), Box::new(ask)));
    }
    for (name, text) in PAGES {
        let query: Query = text.parse()?;
        let page = move |snapshot: &Snapshot| {
            std::hint::black_box(snapshot.search(&query, sample::AS_OF).expect(WHOLE));
        };
        tasks.push((name.to_owned(), Box::new(page)));
    }
    for (name, text) in COMPANIES {
        let query = CompanyQuery::from_query_string(text)?;
        let filter = query.filter().clone();
        let count = move |snapshot: &Snapshot| {
            let count = snapshot.count_companies(&filter, sample::AS_OF);
            std::hint::black_box(count.expect(WHOLE));
        };
        tasks.push((format!("{name}, count"), Box::new(count)));
        let conditions: Vec<Filter> = query
            .filter()
            .has()
            .iter()
            .map(|it| it.filter().clone())
            .collect();
        if conditions.len() > 1 {
            let counts = move |snapshot: &Snapshot| {
                for filter in &conditions {
                    std::hint::black_box(snapshot.count(filter, sample::AS_OF).expect(WHOLE));
                }
            };
            tasks.push((format!("{name}, the two counts alone"), Box::new(counts)));
        }
        let page = move |snapshot: &Snapshot| {
            std::hint::black_box(
                snapshot
                    .companies(&query.clone(), sample::AS_OF)
                    .expect(WHOLE),
            );
        };
        tasks.push((name.to_owned(), Box::new(page)));
    }
    let facet = Filter::from_query_string("q=in")?;
    let facets = move |snapshot: &Snapshot| {
        let values = [signaldex::Facet::Category];
        std::hint::black_box(
            snapshot
                .facets_of(&facet, sample::AS_OF, &values)
                .expect(WHOLE),
        );
    };
    tasks.push((
        "one list of filter options of a word".to_owned(),
        Box::new(facets),
    ));
    Ok(tasks)
}

/// Shows for each class how many times as long pages by value take as pages by id, and the geometric mean.
pub(crate) fn pages_by_value(
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
