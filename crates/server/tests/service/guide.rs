//! The guide for API clients: every command in it is run, and prints what the guide says.

use std::process::Command;

use crate::console::{blocks, is_like};
use crate::fixture::Fixture;

const GUIDE: &str = include_str!("../../../../docs/api.md");

#[test]
#[ignore = "needs curl"]
fn every_example_of_the_guide_does_what_it_says() {
    let fixture = Fixture::start();
    let directory = tempfile::tempdir().expect("a directory");
    let mut count = 0;
    for block in blocks(GUIDE) {
        // The variables are the block's own. Later commands of a block use what earlier ones have set, so each runs behind them.
        let mut script = String::new();
        for example in block {
            let run = Command::new("sh")
                .args(["-c", &format!("{script}{}", example.command)])
                .current_dir(&directory)
                .env("SIGNALDEX_URL", format!("http://{}", fixture.address))
                .env("SIGNALDEX_KEY", fixture.key.as_str())
                .output()
                .expect("a shell");
            let printed = String::from_utf8(run.stdout)
                .expect("text")
                .replace('\r', "");
            assert!(
                is_like(printed.trim_end(), example.output.trim_end()),
                "{}\nprinted\n{printed}\nbut the guide says\n{}",
                example.command,
                example.output
            );
            if example.output.is_empty() {
                script = format!("{script}{}\n", example.command);
            }
            count += 1;
        }
    }
    assert!(count >= 15, "only {count} examples were found");
    fixture.note(fixture.recorded());
}

#[test]
fn dots_stand_for_anything_and_nothing_else_does() {
    assert!(is_like("{\"a\":1,\"b\":2}", "{\"a\":1,…}"));
    assert!(is_like("abc", "abc"));
    assert!(!is_like("abcd", "abc"));
    assert!(!is_like("{\"a\":1}", "{…\"b\"…}"));
}
