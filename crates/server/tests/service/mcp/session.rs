//! An agent's session, as it is recorded: options, count, aggregates, a search with a mistake, the search corrected
//! by what the error said, a signal, companies. The same over HTTP and over standard input.

use serde_json::{Value, json};

use super::{call, content, error_text, message, stdio_answer};
use crate::errors::assert_golden;
use crate::fixture::Fixture;

/// The calls of the session. The first search misspells a parameter and exceeds a bound.
fn calls() -> [Value; 10] {
    [
        message("server/discover", json!({})),
        call(
            "options",
            json!({"q": "\"series a\"", "facets": ["countries", "fundingStages"]}),
        ),
        call("count", json!({"q": "\"series a\"", "country": "Germany"})),
        call(
            "aggregate",
            json!({"q": "\"series a\"", "fundingCurrency": "EUR", "by": ["year", "countries"],
                "measures": ["companies", "sum", "median"], "order": "-sum", "limit": 2}),
        ),
        call(
            "aggregate",
            json!({"by": ["month", "quarter"], "measures": "average"}),
        ),
        call(
            "search",
            json!({"q": "\"series a\"", "contry": "Germany", "limit": 100}),
        ),
        call(
            "search",
            json!({"q": "\"series a\"", "country": "Germany", "limit": 2, "idempotencyKey": "session-1"}),
        ),
        call("signal", json!({"id": "7477456168553964859"})),
        call(
            "companies",
            json!({"country": "Germany", "has": [{"categories": ["hiring"], "min": 2}, {"categories": ["funding"]}],
                "order": "-matches", "limit": 1}),
        ),
        call(
            "companies",
            json!({"has": [{"hiringTypes": ["new-role"], "days": 60}], "min": 2}),
        ),
    ]
}

/// An answer as the record has it: without the version, and without what only metering says.
fn recorded(mut answer: Value) -> Value {
    let result = &mut answer["result"];
    result.as_object_mut().expect("a result").remove("_meta");
    if result["isError"] == false {
        result["content"][0]["text"] = "as structuredContent".into();
    }
    answer
}

#[test]
fn the_recorded_session_is_answered_as_it_was() {
    let fixture = Fixture::start();
    let mut transcript = String::new();
    for message in calls() {
        let answer = fixture.send_message(&message).json();
        let mut unmetered = answer.clone();
        let structured = unmetered.pointer_mut("/result/structuredContent");
        let structured = structured.and_then(Value::as_object_mut);
        let usage = structured.and_then(|content| content.remove("usage"));
        let local = stdio_answer(&message);
        assert_eq!(recorded(local), recorded(unmetered), "{message}");
        assert_eq!(
            usage.is_some(),
            answer["result"]["isError"] == false,
            "{message}"
        );
        let asked = json!({"method": message["method"], "name": message["params"]["name"], "arguments": message["params"]["arguments"]});
        for text in [asked, recorded(answer)["result"].clone()] {
            transcript.push_str(&serde_json::to_string_pretty(&text).expect("JSON"));
            transcript.push_str("\n\n");
        }
    }
    assert_golden("mcp-session.txt", &transcript);
}

/// What the session rests on: the error names what to write instead.
#[test]
fn the_mistake_is_corrected_from_its_message() {
    let fixture = Fixture::start();
    let mut arguments = json!({"q": "\"series a\"", "contry": "Germany", "limit": 100});
    let text = error_text(&fixture.call("search", arguments.clone()));
    let name = text
        .split("did you mean ")
        .nth(1)
        .and_then(|rest| rest.split('?').next());
    let limit = text
        .split("from 1 to ")
        .nth(1)
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    let members = arguments.as_object_mut().expect("an object");
    let country = members.remove("contry").expect("the mistake");
    members.insert(name.expect("a suggestion").to_owned(), country);
    members.insert(
        "limit".to_owned(),
        limit
            .expect("a bound")
            .parse::<u64>()
            .expect("a number")
            .into(),
    );
    let page = content(&fixture.call("search", arguments));
    assert_eq!(page["usage"]["charged"], 15);
}
