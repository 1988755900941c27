//! White-box tests of `hints.rs`.

use proptest::prelude::*;
use sfv::{BareItem, ListEntry, Parser};

use super::*;

fn texts(hints: &[&str]) -> Vec<String> {
    hints.iter().map(|hint| (*hint).to_owned()).collect()
}

#[test]
fn ascii_is_a_string_and_everything_else_a_display_string() {
    let hints = texts(&["no title has \"a\\b\"", "no title has \"łódź\""]);
    let expected = r#""no title has \"a\\b\"", %"no title has %22%c5%82%c3%b3d%c5%ba%22""#;
    assert_eq!(value(&hints).as_deref(), Some(expected));
    assert_eq!(value(&[]), None);
}

#[test]
fn hints_that_do_not_fit_are_left_out() {
    let hints = vec!["é".repeat(300); 8];
    let shown = value(&hints).expect("some fit");
    assert!(shown.len() <= BYTES_MAX);
    assert_eq!(read(&shown).len(), 2, "6 bytes a letter");
}

/// The texts of a list.
fn read(value: &str) -> Vec<String> {
    let list: sfv::List = Parser::new(value).parse().expect("a list");
    let text = |entry: ListEntry| match entry {
        ListEntry::Item(item) => match item.bare_item {
            BareItem::String(text) => text.as_str().to_owned(),
            BareItem::DisplayString(text) => text,
            other => panic!("{other:?} is no text"),
        },
        ListEntry::InnerList(_) => panic!("hints are in no inner list"),
    };
    list.into_iter().map(text).collect()
}

proptest! {
    #[test]
    fn a_header_is_printable_ascii_that_reads_back(hints in prop::collection::vec(".{0,40}", 1..8)) {
        let shown = value(&hints).expect("all fit");
        prop_assert!(shown.bytes().all(|byte| (0x20..0x7F).contains(&byte)));
        prop_assert_eq!(read(&shown), hints);
    }
}
