//! White-box tests of `query/cursor.rs`.

use proptest::prelude::*;

use super::*;

fn cursors() -> impl Strategy<Value = Cursor> {
    let days = day_number(Date::MIN)..=day_number(Date::MAX);
    (
        any::<bool>(),
        days,
        1..=SignalId::MAX.get(),
        any::<[u8; 16]>(),
    )
        .prop_map(|(oldest_first, day, id, filter)| {
            let order = if oldest_first {
                Order::OldestFirst
            } else {
                Order::NewestFirst
            };
            let day = day_of_number(day).unwrap();
            Cursor::new(
                Fingerprint::from_bytes(filter),
                order,
                day,
                SignalId::new(id).unwrap(),
            )
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read(cursor in cursors()) {
        let text = cursor.to_string();
        prop_assert_eq!(text.len(), 46);
        prop_assert_eq!(Cursor::parse(&text), Ok(cursor));
    }

    #[test]
    fn every_change_is_noticed(cursor in cursors(), position in 0_usize..46, letter in "[A-Za-z0-9_-]") {
        let text = cursor.to_string();
        let mut changed = text.clone();
        changed.replace_range(position..=position, &letter);
        if changed != text {
            prop_assert!(Cursor::parse(&changed).is_err());
        }
        prop_assert_eq!(Cursor::parse(&text[..position]), Err(ParseCursorError::Foreign));
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        prop_assert!(Cursor::parse(&text).is_err());
    }
}

#[test]
fn a_cursor_of_a_later_version_is_told_apart() {
    let mut bytes = [0; BYTES];
    bytes[0] = VERSION + 1;
    let checksum = crc32c::crc32c(&bytes[..COVERED_BYTES]);
    bytes[30..].copy_from_slice(&checksum.to_le_bytes());
    let text = URL_SAFE_NO_PAD.encode(bytes);
    assert_eq!(Cursor::parse(&text), Err(ParseCursorError::Newer));
}
