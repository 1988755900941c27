//! The description for programs: complete, served as it is kept.

use serde_json::Value;
use signaldex::query::{PARAMETERS, ParameterKind};

use crate::errors::assert_golden;
use crate::fixture::Fixture;
use crate::reference::without_position;

#[test]
fn the_document_is_the_one_that_is_kept() {
    let document =
        serde_json::to_string_pretty(&signaldex_server::openapi_document()).expect("JSON");
    assert_golden("openapi.json", &(document + "\n"));
}

#[test]
fn the_document_is_served_and_has_every_parameter_with_an_example() {
    let fixture = Fixture::start();
    let document = fixture.send_as_is("GET", "/openapi.json", &[]).json();
    assert_eq!(document, signaldex_server::openapi_document());
    let parameters = document["paths"]["/api/v1/signals"]["get"]["parameters"]
        .as_array()
        .expect("a list")
        .clone();
    for known in &PARAMETERS {
        let parameter = parameters
            .iter()
            .find(|parameter| parameter["name"] == known.name);
        let parameter = parameter.unwrap_or_else(|| panic!("{} is described", known.name));
        assert!(
            !parameter["example"].is_null() && !parameter["schema"].is_null(),
            "{}",
            known.name
        );
    }
}

/// The operations of the document: path and GET.
fn operations(document: &Value) -> Vec<(&str, &Value)> {
    let paths = document["paths"].as_object().expect("paths").iter();
    paths
        .map(|(path, methods)| {
            let methods = methods.as_object().expect("methods");
            assert_eq!(methods.keys().collect::<Vec<_>>(), ["get"], "{path}");
            (path.as_str(), &methods["get"])
        })
        .collect()
}

#[test]
fn each_example_of_an_answer_is_what_the_service_answers() {
    let fixture = Fixture::start();
    let document = signaldex_server::openapi_document();
    let mut compared = 0;
    for (path, operation) in operations(&document) {
        let contents = operation["responses"]["200"]["content"].as_object();
        let content = contents.and_then(|contents| contents.values().next());
        let content = content.expect("a form of the answer");
        let Some(examples) = content["examples"].as_object() else {
            // What is pulled depends on a search that an operator has saved.
            assert!(["/openapi.json", "/api/v1/saved-searches/{id}/matches"].contains(&path));
            continue;
        };
        for (name, example) in examples {
            let summary = example["summary"].as_str().expect("a request");
            let request = summary.strip_prefix("GET ").expect("a request");
            let answer = fixture.get(request);
            let (answer, shown) = (answer.json(), example["value"].clone());
            assert_eq!(
                without_position(answer),
                without_position(shown),
                "{path} {name}"
            );
            // An export does not say in advance what it charges.
            fixture.note(u64::from(path == "/api/v1/export"));
            compared += 1;
        }
    }
    assert_eq!(compared, 13);
}

#[test]
fn every_error_of_an_operation_has_an_example_of_its_status() {
    let document = signaldex_server::openapi_document();
    for (path, operation) in operations(&document) {
        let responses = operation["responses"].as_object().expect("responses");
        for status in responses.keys().filter(|status| status.as_str() >= "400") {
            let component = &document["components"]["responses"][format!("Problem{status}")];
            let content = &component["content"]["application/problem+json"];
            let examples = content["examples"].as_object().expect("examples");
            assert!(!examples.is_empty(), "{path} {status}");
            for example in examples.values() {
                assert_eq!(example["value"]["status"].to_string(), *status, "{path}");
            }
        }
    }
}

#[test]
fn lists_are_arrays_in_one_value_and_closed_values_have_names() {
    let document = signaldex_server::openapi_document();
    let parameters = &document["paths"]["/api/v1/signals"]["get"]["parameters"];
    let schemas = document["components"]["schemas"]
        .as_object()
        .expect("schemas");
    for (known, parameter) in PARAMETERS
        .iter()
        .zip(parameters.as_array().expect("a list"))
    {
        let (name, schema) = (known.name, &parameter["schema"]);
        let is_list = matches!(
            known.kind,
            ParameterKind::List { .. }
                | ParameterKind::AttributeList(_)
                | ParameterKind::IdList(_)
                | ParameterKind::ChoiceList { .. }
        );
        assert_eq!(schema["type"] == "array", is_list, "{name}");
        if is_list {
            assert_eq!(
                (&parameter["style"], &parameter["explode"]),
                (&"form".into(), &false.into()),
                "{name}"
            );
            let items = parameter["example"].as_array().expect("items");
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            assert_eq!(items.join(","), known.example, "{name}");
        }
        if matches!(known.kind, ParameterKind::Choice(_)) {
            let name = schema["$ref"]
                .as_str()
                .and_then(|path| path.rsplit('/').next());
            let schema = &schemas[name.expect("a named schema")];
            assert!(schema["enum"].is_array(), "{schema}");
        }
    }
}

/// Every property of a schema, with its path.
fn add_properties<'d>(start: &str, schema: &'d Value, found: &mut Vec<(String, &'d Value)>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{start}.{name}");
        found.push((path.clone(), property));
        add_properties(&path, property, found);
    }
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

/// What the document or the list of tools describes without a word.
fn undescribed(document: &Value, tools: &Value) -> Vec<String> {
    let mut described = Vec::new();
    for (path, operation) in operations(document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            described.push((format!("{path} {}", parameter["name"]), parameter));
        }
    }
    for (name, schema) in document["components"]["schemas"]
        .as_object()
        .expect("schemas")
    {
        add_properties(name, schema, &mut described);
    }
    for tool in tools.as_array().expect("tools") {
        let name = tool["name"].as_str().expect("a name");
        add_properties(name, &tool["inputSchema"], &mut described);
        add_properties(name, &tool["outputSchema"], &mut described);
    }
    let missing = described
        .iter()
        .filter(|(_, value)| !is_text(&value["description"]));
    let mut missing: Vec<String> = missing.map(|(path, _)| path.clone()).collect();
    for set in ["ProblemCode", "ParameterErrorCode"] {
        let schema = &document["components"]["schemas"][set];
        let text = schema["description"].as_str().unwrap_or_default();
        for code in schema["enum"].as_array().expect("codes") {
            let start = format!("- `{}`: ", code.as_str().expect("a code"));
            let line = text.lines().find_map(|line| line.strip_prefix(&start));
            if line.is_none_or(|meaning| meaning.len() < 10) {
                missing.push(format!("{set} {code}"));
            }
        }
    }
    missing
}

#[test]
fn each_field_parameter_and_code_is_described() {
    let fixture = Fixture::start();
    let list = fixture.send_message(&crate::mcp::message("tools/list", serde_json::json!({})));
    let tools = list.json()["result"]["tools"].clone();
    let document = signaldex_server::openapi_document();
    assert_eq!(undescribed(&document, &tools), Vec::<String>::new());
    for path in [
        "/components/schemas/Signal/properties/date/description",
        "/components/schemas/Problem/properties/errors/description",
        "/components/schemas/ProblemCode/description",
        "/paths/~1api~1v1~1export/get/parameters/0/description",
    ] {
        let mut lacking = document.clone();
        *lacking.pointer_mut(path).expect(path) = "".into();
        assert!(!undescribed(&lacking, &tools).is_empty(), "{path}");
    }
    let mut lacking = tools.clone();
    let path = "/3/outputSchema/properties/signal/properties/date/description";
    *lacking.pointer_mut(path).expect(path) = "".into();
    assert_eq!(undescribed(&document, &lacking).len(), 1);
}
