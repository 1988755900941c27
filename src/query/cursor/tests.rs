//! White-box tests of `query/cursor.rs`.

use proptest::prelude::*;

use super::*;
use crate::query::SortField;

fn cursors() -> impl Strategy<Value = Cursor> {
    let day_numbers = day_number(Date::MIN)..=day_number(Date::MAX);
    let values = (any::<bool>(), day_numbers.clone(), 0.0..f64::MAX);
    (
        0..Order::ALL.len(),
        day_numbers,
        1..=SignalId::MAX.get(),
        values,
        any::<[u8; 16]>(),
    )
        .prop_map(|(order, day, id, (has_value, date, amount), filter)| {
            let value = match Order::ALL[order].sorting() {
                Sorting::ByValue(by) if has_value => Some(match by.field {
                    SortField::Date => SortValue::of_day(date),
                    SortField::Amount => SortValue::of_amount(amount),
                }),
                _ => None,
            };
            let last = SortKey {
                value,
                id: SignalId::new(id).unwrap(),
            };
            let filter = Fingerprint::from_bytes(filter);
            Cursor::new(filter, Order::ALL[order], day_of_number(day).unwrap(), last)
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read(cursor in cursors()) {
        let text = cursor.to_string();
        let is_by_value = matches!(cursor.order().sorting(), Sorting::ByValue(_));
        prop_assert_eq!(text.len(), if is_by_value { 56 } else { 46 });
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
        prop_assert!(Cursor::parse(&text[..position]).is_err());
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        prop_assert!(Cursor::parse(&text).is_err());
    }
}

/// The text of a cursor with these bytes before its checksum.
fn sealed(covered: &[u8]) -> String {
    let checksum = crc32c::crc32c(covered).to_le_bytes();
    URL_SAFE_NO_PAD.encode([covered, &checksum].concat())
}

#[test]
fn a_cursor_of_a_later_version_is_told_apart() {
    let mut bytes = [0; FIELD_BYTES];
    bytes[0] = VERSION + 1;
    assert_eq!(Cursor::parse(&sealed(&bytes)), Err(ParseCursorError::Newer));
}

#[test]
fn a_cursor_has_a_value_exactly_if_its_order_is_by_value() {
    let mut bytes = [0; FIELD_BYTES + VALUE_BYTES];
    (bytes[0], bytes[6]) = (VERSION, 1);
    // A date and an amount alike.
    let value = 1_u64 << 31;
    bytes[FIELD_BYTES..].copy_from_slice(&value.to_le_bytes());
    for (order, known) in Order::ALL.into_iter().enumerate() {
        bytes[1] = order as u8;
        for covered in [FIELD_BYTES, bytes.len()] {
            let by_value = matches!(known.sorting(), Sorting::ByValue(_));
            let is_valid = by_value == (covered > FIELD_BYTES);
            let parsed = Cursor::parse(&sealed(&bytes[..covered]));
            assert_eq!(parsed.is_ok(), is_valid, "{known}, {covered} bytes");
        }
    }
    bytes[1] = Order::ALL.len() as u8;
    assert_eq!(
        Cursor::parse(&sealed(&bytes)),
        Err(ParseCursorError::Foreign)
    );
}

#[test]
fn a_value_that_no_signal_has_is_refused() {
    let mut bytes = [0; FIELD_BYTES + VALUE_BYTES];
    (bytes[0], bytes[6]) = (VERSION, 1);
    for (order, value) in [
        (Order::LatestDate, u64::MAX - 1),
        (Order::SmallestAmount, f64::INFINITY.to_bits()),
        (Order::SmallestAmount, (-1.0_f64).to_bits()),
        (Order::SmallestAmount, f64::NAN.to_bits()),
    ] {
        bytes[1] = order as u8;
        bytes[FIELD_BYTES..].copy_from_slice(&value.to_le_bytes());
        assert_eq!(
            Cursor::parse(&sealed(&bytes)),
            Err(ParseCursorError::Foreign)
        );
    }
}
