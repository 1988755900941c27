//! A page written directly is a page serialised.

use proptest::prelude::*;

use super::*;
use crate::json::write::tests::{company, signal};
use crate::json::{Data, SearchData};

proptest! {
    #[test]
    fn an_answer_is_what_serde_writes(
        records in prop::collection::vec((signal(), company()), 0..4),
        cursor in prop::option::of(any::<String>()),
    ) {
        let items: Vec<SignalItem<'_>> = records
            .iter()
            .map(|(signal, company)| SignalItem { signal, company_name: &company.name })
            .collect();
        let data = SearchData { items: &items, next_cursor: cursor.as_deref(), count: None };
        let expected = serde_json::to_string(&Data { data }).expect("a page can be written");
        let mut answer = SearchAnswer::new(items.len());
        items.iter().for_each(|item| answer.push(item));
        prop_assert_eq!(String::from_utf8(answer.finish(cursor.as_deref())), Ok(expected));
    }

    #[test]
    fn a_text_is_plain_where_serde_adds_only_quotes(text in any::<String>(), place in 0..40usize) {
        for text in [text.clone(), format!("{}{text}", "x".repeat(place))] {
            let written = serde_json::to_string(&text).expect("a text can be written");
            prop_assert_eq!(is_plain(&text), written == format!("\"{text}\""));
        }
    }
}

#[test]
fn each_character_below_128_is_plain_or_not_as_serde_has_it() {
    for byte in 0..128u8 {
        let text = format!("{}{}", "x".repeat(33), char::from(byte));
        let written = serde_json::to_string(&text).expect("a text can be written");
        assert_eq!(is_plain(&text), written == format!("\"{text}\""), "{byte}");
    }
}
