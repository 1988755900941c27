//! White-box tests of `json/item_csv.rs`.

use super::*;
use crate::json::parse_signal;
use crate::signal::Item;
use crate::signal::{Signal, SignalId};

#[test]
fn a_row_has_every_column_and_no_formula() {
    let line = r#"{"id":"7","slug":"s","title":"=1+1, \"x\"","companySlug":"-c","date":"2026-06-12",
        "publishedAt":"2026-06-12","funding":{"stage":"Seed","amount":1500000.5,"currency":"EUR"}}"#;
    let item = Item {
        signal: parse_signal(line.as_bytes()).expect("a signal"),
        company_name: "A\nB".into(),
    };
    let mut row = Vec::new();
    write_csv_item(&mut row, &item.signal, &item.company_name);
    assert_eq!(
        String::from_utf8(row).expect("text"),
        "7,s,\"'=1+1, \"\"x\"\"\",,,2026-06-12,2026-06-12T00:00:00Z,,\"'-c\",\"A\nB\",,,,,Seed,1500000.5,EUR\r\n"
    );
    let mut header = Vec::new();
    write_csv_header(&mut header);
    let commas = header.iter().filter(|&&byte| byte == b',').count();
    assert_eq!(commas + 1, CSV_COLUMNS.len());
}

#[test]
fn a_text_that_a_spreadsheet_would_run_gets_an_apostrophe() {
    for start in [
        "=", "+", "-", "@", "'", "\t", "\r", "\0", "＝", "＋", "－", "＠",
    ] {
        let mut cell = Vec::new();
        write_csv_cell(&mut cell, &format!("{start}1+1"));
        let expected = format!("\"'{start}1+1\"");
        assert_eq!(String::from_utf8(cell), Ok(expected), "{start:?}");
    }
    for plain in ["1=1", "a＝1", "＃1", "a\0", "a'=1"] {
        let mut cell = Vec::new();
        write_csv_cell(&mut cell, plain);
        assert_eq!(String::from_utf8(cell).as_deref(), Ok(plain));
    }
}

#[test]
fn the_columns_are_the_members_of_an_item() {
    let signal = Signal::new(SignalId::MIN, "acme", "Hiring");
    let mut names = Vec::new();
    let Ok(()) = visit_members(&SignalView::of(&signal, "Acme"), |name, member| {
        match member {
            ItemMember::Funding(_) => {
                let funding = FundingView {
                    stage: None,
                    amount: None,
                    currency: None,
                };
                let Ok(()) = visit_funding(funding, |of_funding, _| {
                    names.push(format!("{}.{}", name.name(), of_funding.name()));
                    Ok::<(), Infallible>(())
                });
            }
            _ => names.push(name.name().to_owned()),
        }
        Ok::<(), Infallible>(())
    });
    assert_eq!(names, CSV_COLUMNS);
}
