//! White-box tests of `question.rs`.

use time::macros::date;

use super::*;
use signaldex::ErrorKind;

/// Every part of a filter, so that each crosses the network.
const QUERY: &str = "q=raises \"series a\" -intern&any=b \"c d\"&exclude=e&company=acme&\
                     country=germany&industry=software&size=1-49&days=30&dateRanges=7,older&\
                     dateFrom=2026-01-01&dateTo=2026-06-30&categories=funding,hiring&\
                     hiringType=x&jobFunction=y&seniority=z&employmentType=v&\
                     workArrangement=w&fundingStage=seed&fundingCurrency=EUR&fundingMin=1.5&\
                     fundingMax=2e9&ids=1,2&activityIds=3&companies=acme,globex&limit=7";

fn rows(query: &str) -> Question {
    let query = Query::from_query_string(query).expect("a query");
    Question {
        generation: 7,
        shards: vec![2, 0],
        wanted: Arc::new(ShardRequest::Rows {
            query: Box::new(query),
            today: date!(2026 - 06 - 30),
            rendering: Some(Rendering::Short),
        }),
    }
}

#[test]
fn questions_are_read_as_they_were_written() {
    let count = ShardRequest::Count {
        filter: Box::new(Filter::from_query_string("companySlug=acme").expect("a filter")),
        today: date!(2026 - 06 - 30),
    };
    let query = Query::from_query_string("q=a&limit=50").expect("a query");
    let query = query.into_builder().order(Order::OldestFirst).build();
    let many = ShardRequest::Rows {
        query: Box::new(query.expect("a query").part(Start::First, ROWS_MAX)),
        today: date!(2026 - 06 - 30),
        rendering: None,
    };
    let facets = ShardRequest::Facets {
        query: Box::new(FacetQuery::new(
            Filter::from_query_string("q=raises").expect("a filter"),
            Facet::ALL,
        )),
        today: date!(2026 - 06 - 30),
    };
    let wanted = [
        ShardRequest::clone(&rows(QUERY).wanted),
        many,
        count,
        facets,
        ShardRequest::Signal(SignalId::MAX),
        ShardRequest::Company("acme".to_owned()),
        ShardRequest::LoadedShards,
    ];
    for wanted in wanted {
        let question = Question {
            generation: u64::MAX,
            shards: (0..SHARDS_MAX).collect(),
            wanted: Arc::new(wanted),
        };
        let bytes = question.encode().expect("bytes");
        assert_eq!(Question::decode(&bytes).ok(), Some(question));
    }
}

#[test]
fn what_is_damaged_later_or_too_much_is_refused() {
    let bytes = rows("q=raises&limit=7").encode().expect("bytes");
    for end in 0..bytes.len() {
        assert!(Question::decode(&bytes[..end]).is_err(), "{end}");
    }
    let later = [&[VERSION + 1], &bytes[1..]].concat();
    assert!(Question::decode(&later).is_err_and(|error| error.kind() == ErrorKind::NewerFormat));
    let longer = [&bytes[..], &[0]].concat();
    assert!(Question::decode(&longer).is_err_and(|error| error.kind() == ErrorKind::Corrupt));
    for shards in [vec![1, 0, 1], (0..=SHARDS_MAX).collect()] {
        let question = Question {
            shards,
            ..rows("q=raises")
        };
        let bytes = question.encode().expect("bytes");
        assert!(Question::decode(&bytes).is_err_and(|error| error.kind() == ErrorKind::Corrupt));
    }
    let page = rows("page=2").encode().expect("bytes");
    assert!(Question::decode(&page).is_err_and(|error| error.kind() == ErrorKind::Corrupt));
}

#[test]
fn no_damaged_byte_makes_a_worker_panic() {
    let bytes = rows(QUERY.replace('"', "").as_str())
        .encode()
        .expect("bytes");
    for position in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[position] ^= flip;
            let _ = Question::decode(&damaged);
        }
    }
}
