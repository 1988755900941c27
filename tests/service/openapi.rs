//! The description for programs: complete, served as it is kept.

use signaldex::query::PARAMETERS;

use crate::errors::assert_golden;
use crate::fixture::Fixture;

#[test]
fn the_document_is_the_one_that_is_kept() {
    let document =
        serde_json::to_string_pretty(&signaldex::http::openapi_document()).expect("JSON");
    assert_golden("openapi.json", &(document + "\n"));
}

#[test]
fn the_document_is_served_and_has_every_parameter_with_an_example() {
    let fixture = Fixture::start();
    let document = fixture.send_as_is("GET", "/openapi.json", &[]).json();
    assert_eq!(document, signaldex::http::openapi_document());
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
