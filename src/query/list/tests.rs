//! White-box tests of `query/list.rs`.

use proptest::prelude::*;

use super::*;

#[test]
fn lists_and_what_is_none() {
    assert_eq!(split("a"), Ok(vec!["a".into()]));
    assert_eq!(
        split("a,\u{A0}b\t,c\"d"),
        Ok(vec!["a".into(), "b".into(), "c\"d".into()])
    );
    assert_eq!(
        split(r#" "a,""b""" ,c"#),
        Ok(vec!["a,\"b\"".into(), "c".into()])
    );
    assert_eq!(split(""), Err(ListError::EmptyItem(1)));
    assert_eq!(split("a, "), Err(ListError::EmptyItem(2)));
    assert_eq!(split("a,"), Err(ListError::EmptyItem(2)));
    assert_eq!(split("a,,b"), Err(ListError::EmptyItem(2)));
    assert_eq!(split(r#"a,"""#), Err(ListError::EmptyItem(2)));
    assert_eq!(split(r#""a"#), Err(ListError::OpenQuote(1)));
    assert_eq!(split(r#"a,"b"c"#), Err(ListError::AfterQuote(2)));
}

proptest! {
    #[test]
    fn what_is_joined_is_split(items in prop::collection::vec("[a,\" é]{1,6}", 1..6)) {
        let text = join(&items);
        let read = split(&text).map(|items| items.into_iter().map(Cow::into_owned).collect());
        prop_assert_eq!(read, Ok(items));
    }

    #[test]
    fn any_text_is_split_or_refused(text in any::<String>()) {
        if let Ok(items) = split(&text) {
            prop_assert!(items.iter().all(|item| !item.is_empty()));
        }
    }
}
