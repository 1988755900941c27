//! What a version of the API promises: nothing that was in its description once is lost, and its end is announced.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use signaldex_server::{Deprecation, Service, openapi_document};

use crate::fixture::{Fixture, Settings};

/// Everything that clients can rely on, a line each. Lines are added, never removed.
const RECORD: &str = "data/golden/openapi-v1.txt";

type Promises = BTreeSet<String>;

/// What clients can rely on.
fn promises(document: &Value) -> Promises {
    let mut promises = Promises::new();
    for (path, methods) in members(&document["paths"]) {
        for (method, operation) in members(methods) {
            add_operation(
                &format!("{method} {path}"),
                operation,
                document,
                &mut promises,
            );
        }
    }
    for (name, schema) in members(&document["components"]["schemas"]) {
        promises.insert(format!("schema {name}"));
        add_schema(&format!("schema {name}"), schema, &mut promises);
    }
    promises
}

fn members(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn add_operation(start: &str, operation: &Value, document: &Value, promises: &mut Promises) {
    promises.insert(format!("{start} is {}", operation["operationId"]));
    for parameter in items(&operation["parameters"]) {
        let parameter_start = format!("{start} {} {}", parameter["in"], parameter["name"]);
        promises.insert(parameter_start.clone());
        if parameter["required"] != true {
            promises.insert(format!("{parameter_start} may be left out"));
        }
        add_schema(&parameter_start, &parameter["schema"], promises);
    }
    for (status, response) in members(&operation["responses"]) {
        let response_start = format!("{start} {status}");
        promises.insert(response_start.clone());
        let response = resolved(response, document);
        for (name, _) in members(&response["headers"]) {
            promises.insert(format!("{response_start} header {name}"));
        }
        for (media, content) in members(&response["content"]) {
            promises.insert(format!("{response_start} as {media}"));
            add_schema(
                &format!("{response_start} as {media}"),
                &content["schema"],
                promises,
            );
        }
    }
}

fn resolved<'d>(value: &'d Value, document: &'d Value) -> &'d Value {
    let path = value["$ref"]
        .as_str()
        .and_then(|path| path.strip_prefix('#'));
    path.and_then(|path| document.pointer(path))
        .unwrap_or(value)
}

fn add_schema(start: &str, schema: &Value, promises: &mut Promises) {
    for name in ["type", "$ref", "const", "format", "pattern", "style"] {
        if !schema[name].is_null() {
            promises.insert(format!("{start} has {name} {}", schema[name]));
        }
    }
    for name in ["maxLength", "maxItems", "maximum"] {
        if !schema[name].is_null() {
            promises.insert(format!("{start} has {name} {}", schema[name]));
        }
    }
    for value in items(&schema["enum"]) {
        promises.insert(format!("{start} may be {value}"));
    }
    for alternative in items(&schema["oneOf"]) {
        add_schema(&format!("{start} or"), alternative, promises);
    }
    if !schema["items"].is_null() {
        add_schema(&format!("{start}[]"), &schema["items"], promises);
    }
    for (name, property) in members(&schema["properties"]) {
        promises.insert(format!("{start}.{name}"));
        add_schema(&format!("{start}.{name}"), property, promises);
    }
    for name in items(&schema["required"]) {
        promises.insert(format!("{start}.{name} is always there"));
    }
}

/// The promises that a document breaks. A greater limit breaks none.
fn broken(record: &Promises, present: &Promises) -> Vec<String> {
    let is_kept = |promise: &str| {
        let Some((start, limit)) = promise.rsplit_once(' ') else {
            return false;
        };
        let limits = ["maxLength", "maxItems", "maximum"];
        let (true, Ok(limit)) = (
            limits.iter().any(|name| start.ends_with(name)),
            limit.parse::<u64>(),
        ) else {
            return false;
        };
        let mut similar = present.iter().filter_map(|line| line.strip_prefix(start));
        similar.any(|other| {
            other
                .trim()
                .parse::<u64>()
                .is_ok_and(|other| other >= limit)
        })
    };
    let missing = record.difference(present);
    missing
        .filter(|promise| !is_kept(promise))
        .cloned()
        .collect()
}

#[test]
fn the_document_keeps_what_it_has_promised() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(RECORD);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let record: Promises = text.lines().map(str::to_owned).collect();
    let present = promises(&openapi_document());
    if std::env::var_os("SIGNALDEX_BLESS").is_some() {
        let all = record.union(&present);
        let lines: String = all.map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, lines).expect("a writable file");
    }
    let broken = broken(&record, &present);
    assert!(
        broken.is_empty(),
        "/api/v1 only gains, but it has lost {broken:#?}"
    );
    assert!(record.len() > 500, "{RECORD} has {} lines", record.len());
}

/// Changes of the document at a path, with what takes the place of the value there; `None` removes it.
fn changed(path: &str, value: Option<Value>) -> Value {
    let mut document = openapi_document();
    let (parent, name) = path.rsplit_once('/').expect("a path");
    let name = name.replace("~1", "/").replace("~0", "~");
    let parent = document.pointer_mut(parent).expect(path);
    match (parent, value) {
        (Value::Array(list), None) => {
            list.remove(name.parse().expect("a position"));
        }
        (Value::Object(object), None) => {
            object.remove(&name).expect(path);
        }
        (parent, Some(value)) => {
            let place = match parent {
                Value::Array(list) => &mut list[name.parse::<usize>().expect("a position")],
                other => &mut other[name],
            };
            *place = value;
        }
        _ => panic!("{path}"),
    }
    document
}

#[test]
fn each_loss_is_noticed_and_no_gain_is_one() {
    const SEARCH: &str = "/paths/~1api~1v1~1signals/get";
    const SIGNAL: &str = "/components/schemas/Signal";
    let record = promises(&openapi_document());
    let lost = |path: &str, value| broken(&record, &promises(&changed(path, value))).len();
    let search = |rest: &str| format!("{SEARCH}{rest}");
    let signal = |rest: &str| format!("{SIGNAL}{rest}");
    for (path, value) in [
        ("/paths/~1api~1v1~1export".to_owned(), None),
        (search("/operationId"), Some(json!("search"))),
        (search("/parameters/0"), None),
        (search("/parameters/0/required"), Some(json!(true))),
        (search("/parameters/0/schema/maxLength"), Some(json!(999))),
        (search("/parameters/0/in"), Some(json!("header"))),
        (search("/responses/200"), None),
        (search("/responses/402"), None),
        (search("/responses/200/headers/ETag"), None),
        (search("/responses/200/content/application~1json"), None),
        (
            "/components/responses/Problem429/headers/Retry-After".to_owned(),
            None,
        ),
        ("/components/schemas/CompanySize/enum/0".to_owned(), None),
        ("/components/schemas/ProblemCode/enum/0".to_owned(), None),
        (
            "/components/schemas/ParameterErrorCode/enum/3".to_owned(),
            None,
        ),
        ("/components/schemas/Remove".to_owned(), None),
        (
            "/components/schemas/Remove/properties/op/const".to_owned(),
            Some(json!("delete")),
        ),
        (signal("/properties/title"), None),
        (
            signal("/properties/title/type"),
            Some(json!(["string", "null"])),
        ),
        (signal("/properties/date/format"), None),
        (signal("/properties/funding/oneOf/0"), None),
        (signal("/required/0"), None),
    ] {
        assert!(lost(&path, value) > 0, "{path}");
    }
    let parameter = json!({"name": "order", "in": "query", "schema": {"type": "string"}});
    for (path, value) in [
        (search("/parameters/0/schema/maxLength"), json!(2000)),
        (search("/parameters/0/description"), json!("Words.")),
        (
            search("/responses/418"),
            json!({"description": "A new one."}),
        ),
        (
            "/paths/~1api~1v1~1new".to_owned(),
            json!({"get": {"parameters": [parameter]}}),
        ),
        (
            "/components/schemas/New".to_owned(),
            json!({"type": "object"}),
        ),
        (signal("/properties/language"), json!({"type": "string"})),
    ] {
        assert_eq!(lost(&path, Some(value)), 0, "{path}");
    }
}

#[test]
fn the_end_of_a_version_is_announced_in_its_answers() {
    fn ending(service: &Service) -> axum::Router {
        let day = |year, month, day| {
            let month = time::Month::try_from(month).expect("a month");
            time::Date::from_calendar_date(year, month, day).expect("a day")
        };
        let (since, sunset) = (day(2027, 1, 31), day(2028, 2, 1));
        service.set_deprecation(Deprecation::new(since, sunset).expect("a year"));
        axum::Router::new().nest("/data", service.router())
    }
    let fixture = Fixture::with(Settings {
        host: Some(ending),
        ..Settings::default()
    });
    let link = "</data/docs#versions>; rel=\"deprecation sunset\"; type=\"text/html\"";
    for (path, status) in [
        ("signals?limit=1", 200),
        ("signals?limit=0", 400),
        ("signals/7", 404),
    ] {
        let answer = fixture.get(&format!("/data/api/v1/{path}"));
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.header("deprecation"), Some("@1801353600"), "{path}");
        let sunset = answer.header("sunset");
        assert_eq!(sunset, Some("Tue, 01 Feb 2028 00:00:00 GMT"), "{path}");
        assert_eq!(answer.header("link"), Some(link), "{path}");
    }
    for path in ["/data/docs", "/data/healthz"] {
        let answer = fixture.send_as_is("GET", path, &[]);
        assert_eq!(answer.header("deprecation"), None, "{path}");
    }
    let other = Fixture::start();
    assert_eq!(other.search("limit=1").header("deprecation"), None);
}
