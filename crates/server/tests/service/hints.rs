//! Hints: those of the library, over HTTP, in exports and in tools, wherever an answer may have them.

use serde_json::Value;
use sfv::{BareItem, ListEntry, Parser};
use signaldex::{Query, sample};

use crate::client::Response;
use crate::fixture::Fixture;
use crate::mcp::content;

/// Searches of the sample corpus: query strings, and the same as arguments of tools.
const SEARCHES: &str = include_str!("../../../../data/searches/hinted.tsv");

fn searches() -> impl Iterator<Item = (&'static str, Value)> {
    let lines = SEARCHES.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let (query, arguments) = line.split_once('\t').expect("two fields");
        (query, serde_json::from_str(arguments).expect("JSON"))
    })
}

/// The hints of an answer.
fn hints(answer: &Response) -> Vec<String> {
    let Some(header) = answer.header("x-hints") else {
        return Vec::new();
    };
    let list: sfv::List = Parser::new(header).parse().expect("a list");
    assert!(!list.is_empty() && header.len() <= 4_096 && header.is_ascii());
    let text = |entry| match entry {
        ListEntry::Item(item) => match item.bare_item {
            BareItem::String(text) => text.as_str().to_owned(),
            BareItem::DisplayString(text) => text,
            other => panic!("{other:?} is no text"),
        },
        ListEntry::InnerList(_) => panic!("a list in a list"),
    };
    list.into_iter().map(text).collect()
}

fn hints_of_tool(fixture: &Fixture, tool: &str, search: &Value) -> Vec<String> {
    let content = content(&fixture.call(tool, search.clone()));
    let hints = content["hints"].as_array().cloned().unwrap_or_default();
    let text = |hint: &Value| hint.as_str().expect("a sentence").to_owned();
    hints.iter().map(text).collect()
}

#[test]
fn every_door_has_the_hints_of_the_library() {
    let fixture = Fixture::start();
    let snapshot = sample::index().expect("the sample").snapshot();
    let mut hinted = 0;
    for (text, search) in searches() {
        let query = Query::from_query_string(text).expect("a valid query");
        let count = snapshot
            .count(query.filter(), sample::AS_OF)
            .expect("a whole index");
        let expected = snapshot.hints(&query, count == 0).expect("a whole index");
        assert!(expected.len() <= 8 && expected.iter().all(|hint| hint.chars().count() <= 300));
        hinted += usize::from(!expected.is_empty());
        let answers = [
            ("page", hints(&fixture.search(text))),
            (
                "count",
                hints(&fixture.search(&format!("{text}&countOnly=true"))),
            ),
            (
                "HEAD",
                hints(&fixture.send("HEAD", &format!("/api/v1/signals?{text}"), &[])),
            ),
            ("tool", hints_of_tool(&fixture, "search", &search)),
            ("counting tool", hints_of_tool(&fixture, "count", &search)),
        ];
        for (door, hints) in answers {
            assert_eq!(hints, expected, "{door}: {text}");
        }
        if query.filter().to_string().contains("ids=") {
            continue;
        }
        let export = format!("/api/v1/export?{text}");
        let exported = fixture.get(&export);
        fixture.note(exported.body.split(|byte| *byte == b'\n').count() as u64 - 1);
        assert_eq!(hints(&exported), expected, "export: {text}");
        assert_eq!(
            hints(&fixture.send("HEAD", &export, &[])),
            expected,
            "export: {text}"
        );
        let changes = hints(&fixture.get(&format!("/api/v1/changes?{text}")));
        assert_eq!(
            changes,
            snapshot.hints(&query, true).expect("a whole index"),
            "changes: {text}"
        );
    }
    assert!(hinted >= 30, "only {hinted} searches have hints");
}

#[test]
fn hints_come_with_the_first_page_and_replays_but_not_with_304() {
    let fixture = Fixture::start();
    let target = "/api/v1/signals?q=robotics&categories=foundng,funding,hiring,launch&limit=2";
    let key = ("idempotency-key", "hinted-4711");
    let first = fixture.send("GET", target, &[key]);
    let expected = ["no signal has categories \"foundng\"; did you mean funding?"];
    assert_eq!(hints(&first), expected);
    let replay = fixture.send("GET", target, &[key]);
    assert_eq!(replay.header("idempotency-replayed"), Some("true"));
    assert_eq!(hints(&replay), expected);
    let tag = first.header("etag").expect("a tag");
    let unchanged = fixture.send("GET", target, &[("if-none-match", tag)]);
    assert_eq!((unchanged.status, hints(&unchanged)), (304, Vec::new()));
    let next = first.json()["data"]["nextCursor"]
        .as_str()
        .map(|next| format!("{target}&cursor={next}"));
    let second = fixture.get(&next.expect("a second page"));
    assert_eq!((second.status, hints(&second)), (200, Vec::new()));
    assert_eq!(
        hints(&fixture.get(&format!("{target}&page=2"))),
        Vec::<String>::new()
    );
    assert_eq!(hints(&fixture.get(&format!("{target}&page=1"))), expected);
    let since = fixture.get("/api/v1/changes?country=Germny&since=start");
    assert_eq!(hints(&since), Vec::<String>::new());
}

#[test]
fn a_plus_at_an_end_is_told_where_nothing_is_found() {
    let fixture = Fixture::start();
    let plus = ["a + at an end in q is a space; for a plus sign write %2B"];
    assert_eq!(
        hints(&fixture.search("q=%22zebra+series+c+%22"))[0],
        plus[0]
    );
    assert_eq!(hints(&fixture.search("q=series+")), Vec::<String>::new());
}
