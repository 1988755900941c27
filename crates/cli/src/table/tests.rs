//! White-box tests of `crates/cli/src/table.rs`.

use proptest::prelude::*;

use super::*;

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::number("id", 1),
        TableColumn::whole("date", 2),
        TableColumn::text("company", 3, 12, 24),
        TableColumn::text("title", 0, 16, 24),
    ]
}

fn row(cells: [&str; 4]) -> Vec<Cell> {
    cells.iter().map(|cell| Cell::new(cell)).collect()
}

fn header(width: usize) -> String {
    let long = "日本語".repeat(40);
    let id = "9223372036854775807";
    let rows = [row([id, "2026-06-12", "Acme Robotics GmbH & Co.", &long])];
    lines(&columns(), &rows, width)[0]
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn columns_give_way_in_a_fixed_order() {
    assert_eq!(header(132), "id date company title");
    assert_eq!(header(80), "id date company title");
    assert_eq!(header(60), "id date title");
    assert_eq!(header(40), "id title");
}

#[test]
fn numbers_are_aligned_to_the_right_and_null_is_a_dash() {
    let columns = [
        TableColumn::text("value", 0, 4, 9),
        TableColumn::number("count", 1),
    ];
    let rows = [["한국", "7"], ["", "12345"]];
    let rows = rows.map(|row| row.map(Cell::new).to_vec());
    assert_eq!(
        lines(&columns, &rows, 40),
        ["value  count", "한국       7", "-      12345"]
    );
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,60}",
        "[日本語한국か\u{3099}e\u{301}🇩🇪👩\u{200d}💻]{0,60}",
        any::<String>()
    ]
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_terminal(
        width in 40..140usize,
        rows in prop::collection::vec([text(), text(), text(), text()], 0..4),
    ) {
        let cells: Vec<Vec<Cell>> = rows
            .iter()
            .map(|row| row.iter().map(|cell| Cell::new(cell)).collect())
            .collect();
        for line in lines(&columns(), &cells, width) {
            prop_assert!(columns_of(&line) <= width, "{line:?}");
        }
        for values in rows {
            let names = ["title", "latestSignalDate", "company.linkedinUrl", "a-very-long-name-of-a-field"];
            let fields: Vec<(&str, String)> = names.into_iter().zip(values).collect();
            for line in field_lines(&fields, width) {
                prop_assert!(columns_of(&line) <= width, "{line:?}");
            }
        }
    }
}
