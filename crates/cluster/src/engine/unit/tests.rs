//! Questions as work units: read as they were written, and refused where they are damaged.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use signaldex::json::Rendering;
use signaldex::query::{CompanyQuery, Facet, KeyFilter, Order, ParameterSet, Start};
use signaldex::{
    AggregateQuery, ChangeKind, ErrorKind, FacetQuery, Filter, Index, Position, Query, Result,
    SignalId,
};
use time::macros::date;

use super::{QuestionUnit, UnitKind};
use crate::companies::{CompaniesKind, CompaniesQuestion};
use crate::generation::SHARDS_MAX;
use crate::question::{
    ChangesOutput, ChangesQuestion, DeletedQuestion, Question, ROWS_MAX, RowFormat, ShardRequest,
};

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
        rendered_max: 26,
        key: None,
        wanted: Arc::new(ShardRequest::Rows {
            query: Box::new(query),
            today: date!(2026 - 06 - 30),
            rendering: Some(RowFormat::Item(Rendering::Short)),
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
    let csv = ShardRequest::Rows {
        query: Box::new(Query::from_query_string(QUERY).expect("a query")),
        today: date!(2026 - 06 - 30),
        rendering: Some(RowFormat::Csv),
    };
    let aggregates = "q=raises&by=month,countries&measures=sum,p25&fundingCurrency=EUR&order=-sum";
    let aggregates = aggregates_of(aggregates);
    let wanted = [
        ShardRequest::clone(&rows(QUERY).wanted),
        csv,
        many,
        count,
        facets,
        aggregates,
        aggregates_of(""),
        companies_of(CompaniesKind::Items),
        companies_of(CompaniesKind::Keys),
        companies_of(CompaniesKind::Count),
        companies_of(CompaniesKind::Facets),
        aggregates_of("by=company&limit=3"),
        ShardRequest::Signal(SignalId::MAX),
        ShardRequest::Company("acme".to_owned()),
        hints(true),
        hints(false),
        changes(ChangeKind::Upsert, ChangesOutput::Feed(Rendering::Whole)),
        changes(ChangeKind::Removal, ChangesOutput::Feed(Rendering::Short)),
        changes(ChangeKind::Upsert, ChangesOutput::Matches(Rendering::Short)),
        changes(ChangeKind::Upsert, searches()),
        deleted(50),
    ];
    for wanted in wanted {
        let shards = match wanted {
            ShardRequest::Changes(_) => 1,
            _ => SHARDS_MAX,
        };
        let question = Question {
            generation: u64::MAX,
            shards: (0..shards).collect(),
            rendered_max: usize::MAX,
            key: None,
            wanted: Arc::new(wanted),
        };
        assert_eq!(decoded(&encoded(&question)).ok(), Some(question));
    }
}

fn hints(is_empty: bool) -> ShardRequest {
    let query = Query::from_query_string(QUERY).expect("a query");
    ShardRequest::Hints {
        filter: Box::new(query.filter().clone()),
        is_empty,
    }
}

fn aggregates_of(query: &str) -> ShardRequest {
    let query = AggregateQuery::from_query_string(query, ParameterSet::FILTERS);
    ShardRequest::Aggregates {
        query: Box::new(query.expect("a query")),
        today: date!(2026 - 06 - 30),
    }
}

fn companies_of(kind: CompaniesKind) -> ShardRequest {
    const FILTER: &str = "country=Germany&has=(hiringType=new-role;days=90;min=2)&hasNot=()";
    let parameters = match kind {
        CompaniesKind::Facets => "countOnly=true&facets=sizes",
        _ => "order=-latest&limit=50",
    };
    let query = CompanyQuery::from_query_string(&format!("{FILTER}&{parameters}"));
    ShardRequest::Companies(Box::new(CompaniesQuestion {
        kind,
        query: query.expect("a query"),
        today: date!(2026 - 06 - 30),
    }))
}

fn searches() -> ChangesOutput {
    let filter = |query: &str| Filter::from_query_string(query).expect("a filter");
    ChangesOutput::Searches(["q=hires -intern&country=Germany", ""].map(filter).into())
}

fn deleted(ids: usize) -> ShardRequest {
    let position = Index::in_memory().expect("an index").snapshot().position();
    ShardRequest::Deleted(Box::new(DeletedQuestion {
        ids: vec![SignalId::MAX; ids],
        since: [(0, position), (300, position)].into(),
    }))
}

fn changes(kind: ChangeKind, output: ChangesOutput) -> ShardRequest {
    let index = Index::in_memory().expect("an index");
    ShardRequest::Changes(Box::new(ChangesQuestion {
        filter: Query::from_query_string(QUERY)
            .expect("a query")
            .filter()
            .clone(),
        today: date!(2026 - 06 - 30),
        output,
        limit: 50,
        since: Position::START,
        until: index.snapshot().position(),
        kind,
    }))
}

/// Changes are asked of one shard.
#[test]
fn changes_of_several_shards_are_refused() {
    for shards in [vec![], vec![1, 2]] {
        let question = Question {
            generation: 7,
            shards,
            rendered_max: 1,
            key: None,
            wanted: Arc::new(changes(
                ChangeKind::Upsert,
                ChangesOutput::Feed(Rendering::Whole),
            )),
        };
        assert!(decoded(&encoded(&question)).is_err());
    }
}

fn encoded(question: &Question) -> Vec<u8> {
    QuestionUnit::of(7, question, Duration::from_secs(1)).encode_to_vec()
}

fn decoded(bytes: &[u8]) -> Result<Question> {
    let unit =
        QuestionUnit::decode(bytes).map_err(|error| signaldex::Error::corrupt(error.to_string()));
    unit.and_then(QuestionUnit::question)
}

#[test]
fn what_is_unknown_or_too_much_is_refused() {
    let refused = |question: Question| decoded(&encoded(&question)).expect_err("refused").kind();
    for shards in [vec![1, 0, 1], (0..=SHARDS_MAX).collect()] {
        let question = Question {
            shards,
            ..rows("q=raises")
        };
        assert_eq!(refused(question), ErrorKind::Corrupt);
    }
    assert_eq!(refused(rows("page=2")), ErrorKind::Corrupt);
    for ids in [0, ROWS_MAX + 1] {
        let question = Question {
            wanted: Arc::new(deleted(ids)),
            ..rows("q=raises")
        };
        assert_eq!(refused(question), ErrorKind::Corrupt);
    }
    // A kind of a later release.
    let mut unit = QuestionUnit::of(7, &rows("q=raises"), Duration::from_secs(1));
    unit.kind = Some(99);
    assert!(
        unit.question()
            .is_err_and(|error| error.kind() == ErrorKind::NewerFormat)
    );
    // Fields of a later release are skipped.
    let mut bytes = encoded(&rows("q=raises"));
    prost::encoding::string::encode(500, &"later".to_owned(), &mut bytes);
    assert_eq!(decoded(&bytes).ok(), Some(rows("q=raises")));
}

#[test]
fn no_damaged_byte_makes_a_worker_panic() {
    let bytes = encoded(&rows(QUERY.replace('"', "").as_str()));
    for position in 0..bytes.len() {
        let _ = decoded(&bytes[..position]);
        for flip in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[position] ^= flip;
            let _ = decoded(&damaged);
        }
    }
}

/// A question of each kind, by name.
fn questions() -> Vec<(&'static str, Question)> {
    let of = |wanted: ShardRequest| Question {
        generation: 7,
        shards: vec![0, 2, 300],
        rendered_max: usize::MAX,
        key: None,
        wanted: Arc::new(wanted),
    };
    let filter = Filter::from_query_string(QUERY.trim_end_matches("&limit=7")).expect("a filter");
    let today = date!(2026 - 06 - 30);
    let count = ShardRequest::Count {
        filter: Box::new(filter.clone()),
        today,
    };
    let of_key = Question {
        key: Some((
            Arc::new(KeyFilter::parse(["days=30"], ["q=hires"]).expect("a filter")),
            today,
        )),
        ..of(count.clone())
    };
    let changes = |output: ChangesOutput| {
        let wanted = ShardRequest::Changes(Box::new(ChangesQuestion {
            filter: filter.clone(),
            today,
            output,
            limit: 50,
            since: Position::START,
            until: Position::START,
            kind: ChangeKind::Upsert,
        }));
        Question {
            shards: vec![3],
            ..of(wanted)
        }
    };
    let deleted = ShardRequest::Deleted(Box::new(DeletedQuestion {
        ids: [1, 300].map(|id| SignalId::new(id).expect("an id")).into(),
        since: [(0, Position::START), (300, Position::START)].into(),
    }));
    let csv = ShardRequest::Rows {
        query: Box::new(Query::from_query_string(QUERY).expect("a query")),
        today,
        rendering: Some(RowFormat::Csv),
    };
    let facets = ShardRequest::Facets {
        query: Box::new(FacetQuery::new(
            filter.clone(),
            [Facet::Category, Facet::Industry],
        )),
        today,
    };
    vec![
        ("rows", rows(QUERY)),
        ("count", of(count)),
        ("facets", of(facets)),
        ("signal", of(ShardRequest::Signal(SignalId::MAX))),
        ("company", of(ShardRequest::Company("acme".to_owned()))),
        ("changes", changes(ChangesOutput::Feed(Rendering::Short))),
        ("csv", of(csv)),
        ("hints", of(hints(true))),
        (
            "aggregates",
            of(aggregates_of(
                "q=raises&by=month,countries&measures=sum,p25&fundingCurrency=EUR&order=-sum",
            )),
        ),
        ("companies", of(companies_of(CompaniesKind::Items))),
        ("company-keys", of(companies_of(CompaniesKind::Keys))),
        ("company-count", of(companies_of(CompaniesKind::Count))),
        ("company-facets", of(companies_of(CompaniesKind::Facets))),
        ("matches", changes(ChangesOutput::Matches(Rendering::Whole))),
        ("searches", changes(searches())),
        ("deleted", of(deleted)),
        ("count-of-key", of_key),
    ]
}

#[test]
fn stored_messages_have_all_kinds_of_questions() {
    let kinds = questions().into_iter();
    let kinds: HashSet<Option<i32>> = kinds
        .map(|(_, question)| QuestionUnit::of(7, &question, Duration::ZERO).kind)
        .collect();
    // Kinds are numbered without gaps.
    let known = (1..).map_while(|kind| UnitKind::try_from(kind).ok());
    let missing: Vec<UnitKind> = known
        .filter(|&kind| !kinds.contains(&Some(kind as i32)))
        .collect();
    assert!(!kinds.is_empty() && missing.is_empty(), "{missing:?}");
}

/// The questions of each release, in hexadecimal digits, are read by this one; those of this one are as they were.
#[test]
fn questions_of_all_releases_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/messages");
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    let own: String = questions()
        .iter()
        .map(|(name, question)| format!("{name} {}\n", hex(&encoded(question))))
        .collect();
    let own_path = folder.join(concat!(env!("CARGO_PKG_VERSION"), ".txt"));
    if std::env::var_os("SIGNALDEX_BLESS").is_some() {
        std::fs::write(&own_path, &own).expect("a written file");
    }
    assert_eq!(std::fs::read_to_string(&own_path).expect("messages"), own);
    for file in std::fs::read_dir(&folder).expect("the folder") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("messages");
        for (line, (name, question)) in text.lines().zip(questions()) {
            let (of, digits) = line.split_once(' ').expect("a name");
            let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("digits");
            let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
            assert_eq!(of, name);
            assert_eq!(decoded(&bytes).ok(), Some(question), "{name}");
        }
    }
}
