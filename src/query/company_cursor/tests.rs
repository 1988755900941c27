//! White-box tests of `query/company_cursor.rs`.

use proptest::prelude::*;

use super::*;

fn cursors() -> impl Strategy<Value = CompanyCursor> {
    let days = day_number(Date::MIN)..=day_number(Date::MAX);
    let parts = (
        0..3_usize,
        days,
        any::<Option<i64>>(),
        "\\PC{1,180}",
        any::<[u8; 16]>(),
    );
    parts.prop_map(|(order, day, value, slug, filter)| {
        let day = day_of_number(day).expect("a day of the calendar");
        let slug = slug.into();
        let filter = Fingerprint::from_bytes(filter);
        CompanyCursor::new(
            filter,
            CompanyOrder::ALL[order],
            day,
            CompanyKey { value, slug },
        )
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(cursor in cursors()) {
        let text = cursor.to_string();
        prop_assert!(text.len() <= COMPANY_CURSOR_CHARS_MAX);
        prop_assert_eq!(CompanyCursor::parse(&text), Ok(cursor));
    }

    #[test]
    fn every_change_is_noticed(cursor in cursors(), position in 0_usize..40, letter in "[A-Za-z0-9_-]") {
        let text = cursor.to_string();
        let mut changed = text.clone();
        changed.replace_range(position..=position, &letter);
        if changed != text {
            prop_assert!(CompanyCursor::parse(&changed).is_err());
        }
        prop_assert!(CompanyCursor::parse(&text[..position]).is_err());
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        prop_assert!(CompanyCursor::parse(&text).is_err());
    }
}

/// The text of a cursor with these bytes before its checksum.
fn sealed(covered: &[u8]) -> String {
    let checksum = crc32c::crc32c(covered).to_le_bytes();
    URL_SAFE_NO_PAD.encode([covered, &checksum].concat())
}

#[test]
fn what_no_cursor_says_is_refused() {
    let mut bytes = [0; FIELD_BYTES + 1];
    bytes[0] = VERSION + 1;
    assert_eq!(
        CompanyCursor::parse(&sealed(&bytes)),
        Err(ParseCursorError::Newer)
    );
    bytes[0] = VERSION;
    bytes[FIELD_BYTES] = b'a';
    assert!(CompanyCursor::parse(&sealed(&bytes)).is_ok());
    assert!(
        CompanyCursor::parse(&sealed(&bytes[..FIELD_BYTES])).is_err(),
        "no slug"
    );
    for (offset, byte) in [(1, 3), (22, 2), (23, 1), (FIELD_BYTES, 0xFF)] {
        let mut wrong = bytes;
        wrong[offset] = byte;
        assert_eq!(
            CompanyCursor::parse(&sealed(&wrong)),
            Err(ParseCursorError::Foreign)
        );
    }
}
