//! What cells mean: the table of docs/records.md, and cells at the bounds of their types.

use super::*;

const GUIDE: &str = include_str!("../../../docs/records.md");

fn options(given: &[(&str, &str)]) -> CellOptions {
    let mut options = CellOptions::default();
    for (name, value) in given {
        options.set(name, value).expect("an option");
    }
    options
}

fn type_of(name: &str) -> FieldType {
    match name {
        "text" => FieldType::Text,
        "id" => FieldType::Id,
        "whole number" => FieldType::WholeNumber,
        "employees" => FieldType::Employees,
        "amount" => FieldType::Amount,
        "currency" => FieldType::Currency,
        "day" => FieldType::Day,
        "instant" => FieldType::Instant,
        other => panic!("the guide has no type {other}"),
    }
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        Value::Id(id) => id.to_string(),
        Value::WholeNumber(number) => number.to_string(),
        Value::Amount(amount, Some(currency)) => format!("{amount} {currency}"),
        Value::Amount(amount, None) => amount.to_string(),
        Value::Currency(currency) => currency.to_string(),
        Value::Day(day) => day.to_string(),
        Value::Instant(instant) => instant
            .format(&time::format_description::well_known::Rfc3339)
            .expect("a year of four digits"),
    }
}

/// The rows of the guide's table of cells: type, written, meaning, options.
fn guide() -> Vec<[String; 4]> {
    let (_, table) = GUIDE
        .split_once("| type | written | meaning | with |\n|---|---|---|---|\n")
        .expect("the table");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let rows = rows.map(|row| {
        let row = row.replace("\\|", "\u{0}");
        let cells: Vec<String> = row
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().replace('\u{0}', "|"))
            .collect();
        cells.try_into().expect("four cells")
    });
    rows.collect()
}

/// What is between backquotes.
fn code(cell: &str) -> &str {
    cell.trim_matches('`')
}

#[test]
fn the_table_of_the_guide_holds() {
    let rows = guide();
    assert!(rows.len() > 40, "{}", rows.len());
    for [field_type, written, meaning, with] in &rows {
        let mut options = CellOptions::default();
        for given in code(with)
            .split("--")
            .filter(|given| !given.trim().is_empty())
        {
            let (name, value) = given.trim().split_once(' ').unwrap_or((given.trim(), ""));
            options.set(name, value.trim_matches('\'')).expect(with);
        }
        let read = read_cell(type_of(field_type), Cell::Text(code(written)), &options);
        let name = format!("{field_type} {written} {with}");
        match (&**meaning, read) {
            ("null", read) => assert_eq!(read, Ok(None), "{name}"),
            ("refused", read) => assert!(read.is_err(), "{name}: {read:?}"),
            (meaning, read) => {
                let value = read.expect(&name).expect(&name);
                assert_eq!(shown(&value), code(meaning), "{name}");
            }
        }
    }
}

#[test]
fn white_space_and_apostrophes_count_in_json_alone() {
    let options = CellOptions::default();
    for (written, of_table) in [
        (" a ", "a"),
        ("'=1", "=1"),
        ("''a", "'a"),
        ("'＝1", "＝1"),
        ("'a", "'a"),
        ("\u{a0}b\t", "b"),
    ] {
        let read = |cell| read_cell(FieldType::Text, cell, &options);
        assert_eq!(
            read(Cell::Text(written)),
            Ok(Some(Value::Text(of_table.into())))
        );
        assert_eq!(
            read(Cell::JsonString(written)),
            Ok(Some(Value::Text(written.into())))
        );
    }
    assert!(read_cell(FieldType::Day, Cell::JsonString(" 2026-06-12"), &options).is_err());
}

#[test]
fn formats_that_disagree_are_refused() {
    let both = options(&[("date-format", "%d/%m/%Y"), ("date-format", "%m/%d/%Y")]);
    assert!(read_cell(FieldType::Day, Cell::Text("6/12/2026"), &both).is_err());
    for agreed in ["12/12/2026", "31/12/2026", "12/31/2026"] {
        assert!(
            matches!(
                read_cell(FieldType::Day, Cell::Text(agreed), &both),
                Ok(Some(_))
            ),
            "{agreed}"
        );
    }
}

#[test]
fn typed_cells_mean_what_they_hold() {
    let plain = CellOptions::default();
    let float = |field_type, number| read_cell(field_type, Cell::Float(number), &plain);
    assert_eq!(
        float(FieldType::Id, 101.0).map(|value| value.map(|value| shown(&value))),
        Ok(Some("101".to_owned()))
    );
    assert!(float(FieldType::Id, 999_999_999_999_999.0).is_ok());
    assert!(float(FieldType::Id, 1e15).is_err_and(|fault| fault.contains("15 digits")));
    assert_eq!(
        float(FieldType::Employees, 45.0),
        Ok(Some(Value::WholeNumber(45)))
    );
    assert!(float(FieldType::Employees, 45.5).is_err() && float(FieldType::Amount, -1.0).is_err());
    assert_eq!(
        float(FieldType::Text, 7.0),
        Ok(Some(Value::Text("7".into())))
    );
    assert!(float(FieldType::Day, 46185.0).is_err());
    let serials = options(&[("excel-dates", "1900")]);
    let day = read_cell(FieldType::Day, Cell::Float(46185.0), &serials);
    assert_eq!(
        day,
        Ok(Some(Value::Day(time::macros::date!(2026 - 06 - 12))))
    );
    for error in ["#N/A", "true"] {
        assert!(read_cell(FieldType::Text, Cell::Other(error), &plain).is_err());
    }
    let noon = time::macros::datetime!(2026-06-12 12:00);
    assert!(read_cell(FieldType::Day, Cell::LocalTime(noon), &plain).is_err());
    assert!(read_cell(FieldType::Instant, Cell::LocalTime(noon), &plain).is_err());
    let offset = options(&[("utc-offset", "+02:00")]);
    let instant = read_cell(FieldType::Instant, Cell::LocalTime(noon), &offset);
    assert_eq!(
        instant,
        Ok(Some(Value::Instant(
            time::macros::utc_datetime!(2026-06-12 10:00)
        )))
    );
}

#[test]
fn a_spreadsheet_counts_days_from_either_year() {
    let (from_1900, from_1904) = (
        options(&[("excel-dates", "1900")]),
        options(&[("excel-dates", "1904")]),
    );
    let days = [
        ("1", "1900-01-01", &from_1900),
        ("59", "1900-02-28", &from_1900),
        ("61", "1900-03-01", &from_1900),
        ("2958465", "9999-12-31", &from_1900),
        ("0", "1904-01-01", &from_1904),
        ("44723", "2026-06-12", &from_1904),
    ];
    for (written, expected, options) in days {
        let day = read_cell(FieldType::Day, Cell::Text(written), options)
            .expect(written)
            .expect(written);
        assert_eq!(shown(&day), expected, "{written}");
    }
    for refused in ["0", "60", "60.5", "2958466", "-1", "46185.5"] {
        assert!(
            read_cell(FieldType::Day, Cell::Text(refused), &from_1900).is_err(),
            "{refused}"
        );
    }
}

#[test]
fn an_amount_with_an_exponent_is_refused_by_name() {
    let cells = ["1.2E+06", "5e3"].map(|text| [Cell::Text(text), Cell::JsonString(text)]);
    for cell in cells.into_iter().flatten() {
        let fault = read_cell(FieldType::Amount, cell, &CellOptions::default())
            .expect_err("digits are missing");
        assert!(fault.starts_with("has an exponent"), "{cell:?}: {fault}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_value_or_a_fault_of_any_type(text in "[0-9.,' kMBn€$+A-Z/:T-]{0,24}|\\PC{0,24}", flags in 0..64u32) {
        let all = [
            ("decimal", "."), ("employee-ranges", "lower"), ("currency", "$=USD"), ("amount-suffixes", ""),
            ("date-format", "%d.%m.%Y %H:%M"), ("excel-dates", "1904"),
        ];
        let given: Vec<(&str, &str)> = all.into_iter().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1).map(|(_, given)| given).collect();
        let options = options(&given);
        for name in ["text", "id", "whole number", "employees", "amount", "currency", "day", "instant"] {
            for cell in [Cell::Text(&text), Cell::JsonString(&text)] {
                let _ = read_cell(type_of(name), cell, &options);
            }
        }
    }

    #[test]
    fn what_is_a_number_is_not_read_as_a_range(text in " ?-?[0-9]{1,3}[.,' ]?[0-9]{0,3}\\+?") {
        for decimal in [".", ","] {
            let read = |given: &[(&str, &str)]| read_cell(FieldType::Employees, Cell::JsonString(&text), &options(given));
            if let Ok(number) = read(&[("decimal", decimal)]) {
                proptest::prop_assert_eq!(read(&[("decimal", decimal), ("employee-ranges", "lower")]), Ok(number));
            }
        }
    }

    #[test]
    fn a_number_means_the_same_however_it_is_grouped(number in 0..1_000_000_000_000_i64, separator in "[ '\u{a0}\u{202f}]", mark in 0..2usize) {
        let [other, decimal] = [[",", "."], [".", ","]][mark];
        for separator in [&*separator, other] {
            let digits = number.to_string();
            let mut grouped = String::new();
            for (index, digit) in digits.chars().enumerate() {
                if index > 0 && (digits.len() - index) % 3 == 0 {
                    grouped.push_str(separator);
                }
                grouped.push(digit);
            }
            let options = options(&[("decimal", decimal)]);
            let read = read_cell(FieldType::Employees, Cell::Text(&grouped), &options);
            proptest::prop_assert_eq!(read, Ok(Some(Value::WholeNumber(number))));
        }
    }
}
