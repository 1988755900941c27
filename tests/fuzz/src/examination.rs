//! Every question that can be put to an index, and the answers' agreement with their plain meaning.

use std::sync::LazyLock;

use signaldex::query::Order;
use signaldex::{
    Company, Error, ErrorKind, Facets, Filter, Found, Index, Query, Result, Signal, SignalId,
    Snapshot, Strategies,
};
use time::Date;
use time::macros::date;

/// What counts as today.
pub const TODAY: Date = date!(2026 - 06 - 30);

/// Pages that a walk follows at most: enough for every seed's.
const WALK_PAGES_MAX: usize = 40;

/// Records that queries are made of at a time.
const SAMPLED_RECORDS: usize = 3;

/// One query in n is asked at a time.
const QUERY_TURNS: usize = 3;

/// Characters of a title that `exact` may have.
const TITLE_CHARS: usize = 180;

/// Queries that reach every kind of step of a plan.
static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(|| {
    let texts = [
        "",
        "limit=3",
        "q=series",
        "q=the -and",
        "q=ser* -hir*",
        "any=hir* \"series a\" eng*&exclude=the*",
        "any=hires a \"series a\"&limit=2&page=2",
        "exact=machine learning&exclude=a",
        "company=labs",
        "companies=acme,labs&days=90",
        "country=Germany&categories=funding,hiring",
        "size=1-49&industry=software",
        "dateFrom=2025-01-01&dateTo=2026-03-01&limit=5",
        "dateRanges=7,older&fundingMin=1000",
        "fundingMax=5000000&fundingCurrency=USD&fundingStage=seed",
        "hiringType=new-role&jobFunction=sales&seniority=senior",
        "employmentType=full-time&workArrangement=remote",
        "ids=1,2,3,4,5,6,7,8,9&activityIds=2,3",
    ];
    let parsed = texts.map(|text| Query::from_query_string(text).expect("a valid query"));
    let orders = Order::ALL
        .into_iter()
        .filter(|order| !order.needs_currency());
    let ordered = parsed
        .clone()
        .into_iter()
        .zip(orders.cycle())
        .map(|(query, order)| {
            let builder = query.into_builder().order(order);
            builder.build().expect("a valid query")
        });
    ordered.chain(parsed.clone()).collect()
});

/// Asks an index everything, whatever its files hold. Queries take turns, which `turn` chooses, so
/// that many files are looked at rather than few at length.
///
/// # Errors
/// What the engine says of files that are damaged; that it is of no other kind is checked here.
pub fn examine(index: &Index, turn: usize) -> Result<()> {
    let snapshot = index.snapshot();
    for strategies in [Strategies::ALL, Strategies::NONE] {
        let snapshot = snapshot.with_strategies(strategies);
        for query in QUERIES.iter().skip(turn % QUERY_TURNS).step_by(QUERY_TURNS) {
            tolerate(|| ask(&snapshot, query))?;
        }
    }
    let all = Query::from_query_string("limit=7").expect("a valid query");
    tolerate(|| walk(&snapshot, &all))?;
    for found in snapshot.scan() {
        if let Some(found) = tolerate(|| found)? {
            tolerate(|| snapshot.signal(found.signal.id))?;
        }
    }
    for company in snapshot.scan_companies() {
        if let Some(company) = tolerate(|| company)? {
            tolerate(|| snapshot.company(&company.slug))?;
        }
    }
    tolerate(|| snapshot.statistics())?;
    snapshot.verify()
}

/// Compares the answers of an index with the plain meaning of the queries, which take turns.
pub fn compare(index: &Index, turn: usize) {
    let snapshot = index.snapshot();
    let records: Vec<Found<'_>> = snapshot
        .scan()
        .map(|found| found.expect("a record that was verified"))
        .collect();
    let sampled = records.iter().cycle().skip(turn % records.len().max(1));
    let of_records = sampled
        .take(SAMPLED_RECORDS)
        .flat_map(|found| queries_about(&found.signal, &found.company));
    let others = QUERIES.iter().skip(turn % QUERY_TURNS).step_by(QUERY_TURNS);
    for query in of_records.chain(others.cloned()) {
        compare_query(&snapshot, &records, &query);
    }
    let pairs = records.iter().map(|found| (&found.signal, &found.company));
    let facets = snapshot.facets(&Filter::default(), TODAY);
    let facets = facets.expect("an index that was verified");
    assert_eq!(facets, Facets::of(pairs, &Filter::default(), TODAY));
}

/// Compares the answers to one query with its plain meaning, under all optimisations and none.
pub fn compare_query(snapshot: &Snapshot, records: &[Found<'_>], query: &Query) {
    let filter = query.filter();
    let matching = records
        .iter()
        .filter(|found| filter.matches(&found.signal, &found.company, TODAY));
    let mut matching: Vec<_> = matching.map(|found| &found.signal).collect();
    matching.sort_by(|a, b| query.order().compare(a, b));
    let expected: Vec<SignalId> = matching.iter().map(|signal| signal.id).collect();
    let text = filter.to_string();
    for strategies in [Strategies::ALL, Strategies::NONE] {
        let snapshot = snapshot.with_strategies(strategies);
        let count = snapshot.count(filter, TODAY);
        let count = count.expect("an index that was verified");
        assert_eq!(count, expected.len() as u64, "{text}");
        if let Some(found) = walk(&snapshot, query).expect("pages read no records") {
            assert_eq!(found, expected, "{text}");
        }
    }
}

/// The ids of a query from its first page to its last; none where it does not start at the first
/// or has too many.
fn walk(snapshot: &Snapshot, query: &Query) -> Result<Option<Vec<SignalId>>> {
    let is_walk = *query.start() == signaldex::query::Start::First && !query.count_only();
    let mut query = query.clone();
    let mut ids = Vec::new();
    for _ in 0..if is_walk { WALK_PAGES_MAX } else { 0 } {
        let page = snapshot.search(&query, TODAY)?;
        assert!(page.len() <= query.limit());
        ids.extend(page.ids());
        let Some(cursor) = page.next_cursor() else {
            return Ok(Some(ids));
        };
        let next = query.into_builder().cursor(cursor.to_string()).build();
        query = next.expect("a cursor of these filters");
    }
    Ok(None)
}

fn ask(snapshot: &Snapshot, query: &Query) -> Result<()> {
    let page = snapshot.search(query, TODAY)?;
    assert!(page.len() <= query.limit());
    snapshot.count(query.filter(), TODAY)?;
    snapshot.facets(query.filter(), TODAY)?;
    snapshot.explain(query, TODAY)?;
    snapshot.records(&page).map(drop)
}

/// That a question met damage is an answer; anything else is not to happen.
fn tolerate<T>(question: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
    match question() {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether files that nobody promised anything about may give this error.
pub fn is_typed(error: &Error) -> bool {
    error.kind() == ErrorKind::Corrupt
        || error.kind() == ErrorKind::Foreign
        || error.kind() == ErrorKind::NewerFormat
        || error.kind() == ErrorKind::Missing
}

/// Queries that find a record by each of its fields.
fn queries_about(signal: &Signal<'_>, company: &Company<'_>) -> Vec<Query> {
    let query = Query::builder;
    let title: String = signal.title.chars().take(TITLE_CHARS).collect();
    let mut builders = vec![
        query().ids([signal.id]),
        query().exact(&title),
        query().any(&title).limit(2),
        query().exclude(&title),
        query().company(&company.name),
        query().company_slug(&company.slug),
        query().companies([&company.name]),
    ];
    let value =
        |value: &Option<std::borrow::Cow<'_, str>>| value.clone().map(|text| text.into_owned());
    builders.extend(value(&company.country).map(|text| query().country(&text)));
    builders.extend(value(&company.industry).map(|text| query().industry(&text)));
    builders.extend(value(&signal.category).map(|text| query().categories([&text])));
    builders.extend(
        signal
            .date
            .map(|date| query().date_from(date).date_to(date)),
    );
    if let Some(funding) = &signal.funding {
        builders.extend(value(&funding.stage).map(|text| query().funding_stage(&text)));
        builders.extend(
            funding
                .amount
                .map(|amount| query().funding_min(amount).funding_max(amount)),
        );
        builders.extend(
            funding
                .currency
                .map(|currency| query().funding_currency(currency)),
        );
    }
    if let Some(hiring) = &signal.hiring {
        builders.extend(value(&hiring.hiring_type).map(|text| query().hiring_types([&text])));
        builders.extend(value(&hiring.job_function).map(|text| query().job_functions([&text])));
        builders.extend(value(&hiring.seniority).map(|text| query().seniorities([&text])));
        builders
            .extend(value(&hiring.employment_type).map(|text| query().employment_types([&text])));
        builders
            .extend(value(&hiring.work_arrangement).map(|text| query().work_arrangements([&text])));
    }
    // What a record holds may be too long to be asked for, or hold nothing searchable.
    builders
        .into_iter()
        .filter_map(|builder| builder.build().ok())
        .collect()
}
