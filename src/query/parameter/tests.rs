//! White-box tests of `query/parameter.rs`.

use super::*;

#[test]
fn the_table_is_in_the_order_of_the_parameters() {
    for (position, known) in PARAMETERS.iter().enumerate() {
        assert_eq!(known.parameter as usize, position, "{}", known.name);
        assert_eq!(Parameter::of_name(known.name), Some(known.parameter));
    }
}

#[test]
fn every_example_is_valid() {
    for known in PARAMETERS.iter().filter(|known| !known.example.is_empty()) {
        let text = format!("{}={}", known.name, known.example.replace('+', "%2B"));
        assert!(crate::Query::from_query_string(&text).is_ok(), "{text}");
    }
}
