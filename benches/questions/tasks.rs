//! What is asked: a table of aggregates and of queries for companies, and two pages by value.

use signaldex::query::{CompanyQuery, ParameterSet};
use signaldex::{AggregateQuery, Filter, Query, Snapshot, sample};

use crate::{Result, WHOLE};

/// A name, and what is asked of a snapshot.
type Task = (String, Box<dyn Fn(&Snapshot)>);

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
