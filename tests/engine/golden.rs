//! Promises frozen in files under `data/golden`: errors word by word, answers, plans, and
//! fingerprints. `SIGNALDEX_BLESS=1` writes them anew; what changed is then seen in the diff.

use std::fmt::Write;

use signaldex::query::limits::{
    CATEGORIES_MAX, COMPANIES_MAX, CURSOR_CHARS_MAX, ERRORS_MAX, IDS_MAX, ITEM_CHARS_MAX,
    KEYWORDS_CHARS_MAX, LIMIT_MAX, PAGE_MAX, QUERY_STRING_BYTES_MAX, TEXT_CHARS_MAX,
};
use signaldex::query::{ErrorCode, PARAMETERS, Parameter, ParameterKind};
use signaldex::{ExecutionExplanation, Explanation, Filter, Query, sample};

use crate::golden_file::compare_with_golden;

/// Searches of the sample corpus whose hints are recorded, which other interfaces are compared with.
const HINTED: &str = include_str!("../../data/searches/hinted.tsv");

#[test]
fn hints_read_as_they_did() {
    let snapshot = sample::index().expect("the sample").snapshot();
    let mut text = String::new();
    for line in HINTED.lines().filter(|line| !line.starts_with('#')) {
        let (query_string, _) = line.split_once('\t').expect("two fields");
        let query = Query::from_query_string(query_string).expect("a valid query");
        let count = snapshot.count(query.filter(), sample::AS_OF);
        let hints = snapshot.hints(&query, count.expect("a whole index") == 0);
        writeln!(text, "{query_string}").expect("a string can be written");
        for hint in hints.expect("a whole index") {
            writeln!(text, "  {hint}").expect("a string can be written");
        }
    }
    compare_with_golden("hints.txt", &text);
}

/// Values that are wrong for a kind of parameter.
fn bad_values(kind: ParameterKind) -> Vec<String> {
    let chars = |count: usize| "é".repeat(count);
    let items = |count: usize| vec!["7"; count].join(",");
    let values: Vec<String> = match kind {
        ParameterKind::Text(most) => vec!["%20".into(), "%21%3F".into(), chars(most + 1)],
        ParameterKind::List {
            items: most,
            chars: longest,
        } => vec![
            ",".into(),
            "a,".into(),
            "a,,b".into(),
            "\"a".into(),
            "\"a\"b".into(),
            "\"\"".into(),
            items(most + 1),
            format!("a,{}", chars(longest + 1)),
        ],
        ParameterKind::AttributeList(most) => {
            vec![
                "a,".into(),
                "\"a".into(),
                chars(most + 1),
                format!("a,{}", chars(most - 1)),
            ]
        }
        ParameterKind::IdList(most) => [
            "0",
            "-1",
            "007",
            "1.0",
            "1e3",
            "a",
            "1, 2",
            "1,",
            "10000000000000000000",
            "%D9%A1",
        ]
        .map(str::to_owned)
        .into_iter()
        .chain([items(most + 1)])
        .collect(),
        ParameterKind::Choice(_) => vec!["x".into(), "7,30".into(), "0".into(), chars(70)],
        ParameterKind::ChoiceList { items: most, .. } => {
            vec!["x".into(), "7,".into(), "7,Older".into(), items(most + 1)]
        }
        ParameterKind::Date => [
            "2026-1-01",
            "2026-02-30",
            "20260101",
            "2026-01-01T00:00:00Z",
            "today",
            "-001-01-01",
            "%D9%A22026-01-0",
        ]
        .map(str::to_owned)
        .into(),
        ParameterKind::Amount => [
            "-1", "NaN", "inf", "1e309", "%2B1", "1.", ".5", "1_000", "1,5", "0x10", "1e", "",
        ]
        .map(str::to_owned)
        .into(),
        ParameterKind::Number(most) => {
            vec![
                "0".into(),
                "-1".into(),
                (most + 1).to_string(),
                "1.0".into(),
                "%2B1".into(),
                "99999999999".into(),
                "one".into(),
            ]
        }
        ParameterKind::Flag => vec!["1".into(), "True".into(), "yes".into()],
        ParameterKind::Cursor(most) => {
            vec![
                "x".into(),
                "AQAAAAAA".into(),
                "a".repeat(most),
                "a".repeat(most + 1),
            ]
        }
    };
    values
}

/// A query string and all that is wrong with it; long values are shortened by their count.
fn describe(text: &str) -> String {
    let shown = if text.chars().count() > 100 {
        format!(
            "{}… ({} bytes)",
            text.chars().take(60).collect::<String>(),
            text.len()
        )
    } else {
        text.to_owned()
    };
    let mut described = format!("{shown}\n");
    match Query::from_query_string(text) {
        Ok(query) => writeln!(described, "  valid: {:?}", query.filter().to_string()),
        Err(invalid) => invalid.errors().iter().try_for_each(|error| {
            writeln!(
                described,
                "  {} [{}] {}",
                error.code.as_str(),
                error.parameter,
                error.message
            )
        }),
    }
    .expect("a string can be written to");
    described
}

#[test]
fn every_error_of_every_parameter_is_as_recorded() {
    let mut text = String::new();
    for known in &PARAMETERS {
        let name = known.name;
        text += &describe(&format!("{name}="));
        text += &describe(name);
        text += &describe(&format!("{name}={0}&{name}={0}", known.example));
        text += &describe(&format!("{name}=%ff"));
        for value in bad_values(known.kind) {
            let described = describe(&format!("{name}={value}"));
            text += &described;
        }
    }
    for query in [
        "contry=Germany",
        "=x",
        "&&",
        "%zz=1",
        "q=%4",
        "country=%C3",
        "Country=x",
        "q%5B%5D=x",
        "limit=0&page=101&countOnly=maybe&x=1",
        "dateFrom=2026-02-01&dateTo=2026-01-31",
        "fundingMin=2&fundingMax=1.5",
        "countOnly=true&limit=5&page=1",
        "size=501+",
        "size=501%2B",
        "size=501",
        "q=-a",
        "q=-",
        "q=%22%22",
        "q=ro* series",
        "q=-AI-power*",
        "q=%22head of*%22",
        "all=京*&any=京都*&exclude=a*",
        "exact=head off*",
        "company=lab*",
        "fundingMin=-0&fundingMax=1e3",
        "q=\u{202E}evil",
        "country=%00%1B[31m&days=%1B[31mred",
    ] {
        text += &describe(query);
    }
    let cursor = first_cursor();
    text += &describe(&format!("cursor={cursor}"));
    text += &describe(&format!("all=series&cursor={cursor}&page=2")).replace(&cursor, "CURSOR");
    text +=
        &describe(&format!("all=series&cursor={cursor}&countOnly=true")).replace(&cursor, "CURSOR");
    compare_with_golden("parameter-errors.txt", &text);
}

/// The cursor behind the first page of `all=series` on the sample.
fn first_cursor() -> String {
    let index = signaldex::sample::index().expect("the sample is valid");
    let query = Query::from_query_string("all=series").expect("a valid query");
    let page = index
        .snapshot()
        .search(&query, signaldex::sample::AS_OF)
        .expect("a whole index");
    page.next_cursor()
        .expect("there is more than a page")
        .to_string()
}

#[test]
fn every_limit_holds_at_the_bound_and_not_past_it() {
    let text = |length: usize| "é".repeat(length);
    let list = |count: usize| {
        (1..=count)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(",")
    };
    let code = |query: &str| match Query::from_query_string(query) {
        Ok(_) => None,
        Err(invalid) => Some(invalid.errors()[0].code),
    };
    let mut cases: Vec<(String, String, ErrorCode)> = Vec::new();
    let mut bound = |name: &str, value: &dyn Fn(usize) -> String, most: usize, error: ErrorCode| {
        let query = |count| format!("{name}={}", value(count));
        cases.push((query(most), query(most + 1), error));
    };
    for name in ["q", "all", "any", "exclude"] {
        bound(name, &text, KEYWORDS_CHARS_MAX, ErrorCode::TooLong);
    }
    for name in [
        "exact",
        "company",
        "companySlug",
        "country",
        "industry",
        "fundingStage",
        "hiringType",
        "jobFunction",
        "seniority",
        "employmentType",
        "workArrangement",
    ] {
        bound(name, &text, TEXT_CHARS_MAX, ErrorCode::TooLong);
    }
    for name in ["companies", "categories"] {
        bound(name, &text, ITEM_CHARS_MAX, ErrorCode::TooLong);
    }
    bound("companies", &list, COMPANIES_MAX, ErrorCode::TooManyItems);
    bound("categories", &list, CATEGORIES_MAX, ErrorCode::TooManyItems);
    bound("ids", &list, IDS_MAX, ErrorCode::TooManyItems);
    bound("activityIds", &list, IDS_MAX, ErrorCode::TooManyItems);
    bound(
        "limit",
        &|number| number.to_string(),
        LIMIT_MAX,
        ErrorCode::InvalidValue,
    );
    bound(
        "page",
        &|number| number.to_string(),
        usize::from(PAGE_MAX),
        ErrorCode::InvalidValue,
    );
    for (at, past, error) in cases {
        assert_eq!(code(&at), None, "{at}");
        assert_eq!(code(&past), Some(error), "{past}");
    }
    let ranges = "dateRanges=7,30,90,older";
    assert_eq!(code(ranges), None);
    assert_eq!(code(&format!("{ranges},7")), Some(ErrorCode::TooManyItems));
    let id = "ids=9999999999999999999";
    assert_eq!(code(id), None);
    assert_eq!(
        code("ids=10000000000000000000"),
        Some(ErrorCode::InvalidValue)
    );
    let cursor = |length: usize| format!("cursor={}", "a".repeat(length));
    assert_eq!(
        code(&cursor(CURSOR_CHARS_MAX)),
        Some(ErrorCode::InvalidCursor)
    );
    assert_eq!(
        code(&cursor(CURSOR_CHARS_MAX + 1)),
        Some(ErrorCode::TooLong)
    );
    let padded = |length: usize| format!("q=a{}", "&".repeat(length - 3));
    assert_eq!(code(&padded(QUERY_STRING_BYTES_MAX)), None);
    assert_eq!(
        code(&padded(QUERY_STRING_BYTES_MAX + 1)),
        Some(ErrorCode::MalformedQuery)
    );
    let wrong_parameters = "x=1&".repeat(ERRORS_MAX + 1);
    assert_eq!(
        Query::from_query_string(&wrong_parameters)
            .expect_err("errors")
            .errors()
            .len(),
        ERRORS_MAX
    );
}

#[test]
fn filter_options_take_filters_only() {
    for known in PARAMETERS.iter().filter(|known| !known.example.is_empty()) {
        let text = format!("{}={}", known.name, known.example.replace('+', "%2B"));
        let taken = Filter::from_query_string(&text);
        assert_eq!(taken.is_ok(), known.parameter.is_filter(), "{text}");
        if let Err(invalid) = taken {
            assert_eq!(invalid.errors()[0].code, ErrorCode::UnknownParameter);
        }
    }
    assert!(!Parameter::Cursor.is_filter());
}

/// Queries whose answers and plans on the sample are kept.
const QUERIES: [&str; 26] = [
    "",
    "all=series a&country=Germany",
    "q=\"machine learning\" -intern",
    "exact=head of",
    "any=robotics biotech \"supply chain\"&size=1-49",
    "exclude=series",
    "company=gmbh",
    "companySlug=plumridge",
    "companies=plumridge,\"Pomelora AG\"",
    "country=france&industry=biotechnology",
    "size=501+",
    "days=30",
    "dateRanges=7,older&limit=5",
    "dateFrom=2025-01-01&dateTo=2025-01-31",
    "categories=funding,acquisition&days=90",
    "seniority=senior&workArrangement=remote",
    "hiringType=new-role&jobFunction=engineering&employmentType=full-time",
    "fundingStage=series b&fundingCurrency=EUR&fundingMin=20000000",
    "fundingMax=500000",
    "q=zzzz",
    "country=Atlantis",
    "page=3&limit=7&country=Germany",
    "limit=1",
    "q=-series -\"head of\" c++",
    "q=robot* -robots&country=Germany",
    "any=biotec* \"head of sales\" aero*&exclude=fund*",
];

#[test]
fn answers_on_the_sample_are_as_recorded() {
    let snapshot = signaldex::sample::index()
        .expect("the sample is valid")
        .snapshot();
    let mut text = String::new();
    for query in QUERIES {
        let parsed = Query::from_query_string(query).expect("a valid query");
        let today = signaldex::sample::AS_OF;
        let page = snapshot.search(&parsed, today).expect("a whole index");
        let count = snapshot
            .count(parsed.filter(), today)
            .expect("a whole index");
        let ids: Vec<String> = page.ids().map(|id| id.to_string()).collect();
        let next = page
            .next_cursor()
            .map_or("none".to_owned(), ToString::to_string);
        writeln!(
            text,
            "{query}\n  count {count}\n  ids {}\n  next {next}",
            ids.join(" ")
        )
        .expect("a string can be written to");
    }
    compare_with_golden("answers.txt", &text);
}

#[test]
fn plans_on_the_sample_are_as_recorded() {
    let snapshot = signaldex::sample::index()
        .expect("the sample is valid")
        .snapshot();
    let mut text = String::new();
    for query in QUERIES {
        let parsed = Query::from_query_string(query).expect("a valid query");
        let explained = snapshot
            .explain(&parsed, signaldex::sample::AS_OF)
            .expect("a whole index");
        text += &format!("{query}\n{}", plan(&explained));
    }
    compare_with_golden("plans.txt", &text);
}

/// A plan without its times.
fn plan(explained: &Explanation) -> String {
    let mut text = String::new();
    for segment in &explained.segments {
        text += &format!("  {} matches\n", segment.matches);
        if let Some(page) = &segment.page {
            text += &format!("  page: {}", execution(page));
        }
        text += &format!("  count: {}", execution(&segment.count));
    }
    text
}

fn execution(explained: &ExecutionExplanation) -> String {
    let mut text = match &explained.no_match {
        Some(clause) => format!("no results for {clause}\n"),
        None => format!("{}\n", explained.strategy),
    };
    for step in &explained.steps {
        let actual = step.actual.map(|left| format!(", left {left}"));
        text += &format!(
            "    {}: {} (estimated {}{}; {})\n",
            step.strategy,
            step.clause,
            step.estimate,
            actual.unwrap_or_default(),
            step.reason
        );
    }
    text += &format!(
        "    {} rows checked, {} blocks visited, {} skipped\n",
        explained.rows_checked, explained.blocks_visited, explained.blocks_skipped
    );
    text
}

#[test]
fn fingerprints_stay_the_same_over_releases() {
    let mut text = String::new();
    for query in QUERIES {
        let parsed = Query::from_query_string(query).expect("a valid query");
        let filter = parsed.filter();
        text += &format!(
            "{query}\n  {:?}\n  filter {}, query {}\n",
            filter.to_string(),
            filter.fingerprint(),
            parsed.fingerprint()
        );
    }
    compare_with_golden("fingerprints.txt", &text);
}

#[test]
fn one_meaning_has_one_fingerprint() {
    for (one, other) in [
        (
            "country=Germany&all=b a",
            "all=a%20b%20A&country=%20GERMANY",
        ),
        ("categories=a,b", "categories=b,a,b"),
        ("q=x -y", "all=x&exclude=y"),
        ("exact=one two", "q=\"one two\""),
        ("fundingMin=1000", "fundingMin=1e3"),
        ("fundingMin=0e5", "fundingMin=0.0"),
        ("size=501%2B", "size=501+"),
        ("q=Robot*", "all=(robot**)"),
        ("companies=\"a\"", "companies=a"),
    ] {
        let parse = |text: &str| Filter::from_query_string(text).expect("a valid filter");
        assert_eq!(parse(one), parse(other), "{one}, {other}");
        assert_eq!(
            parse(one).fingerprint(),
            parse(other).fingerprint(),
            "{one}, {other}"
        );
    }
    for (one, other) in [
        ("categories=a,b", "categories=\"a,b\""),
        ("all=a b", "exact=a b"),
        ("all=a", "any=a"),
        ("all=robot", "all=robot*"),
        ("ids=1", "activityIds=1"),
        ("country=a", "industry=a"),
        ("companySlug=a%26country=b", "companySlug=a&country=b"),
    ] {
        let fingerprint = |text: &str| {
            Filter::from_query_string(text)
                .expect("a valid filter")
                .fingerprint()
        };
        assert_ne!(fingerprint(one), fingerprint(other), "{one}, {other}");
    }
}
