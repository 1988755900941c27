//! The guide for API clients: every command in it is run, and prints what the guide says. Other
//! guides are read by the same rules.

use std::process::Command;

use crate::fixture::Fixture;

const GUIDE: &str = include_str!("../../docs/api.md");

/// A command of the guide and what it is said to print; `…` stands for anything.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) command: String,
    pub(crate) output: String,
}

/// The examples of each block of a guide.
pub(crate) fn blocks(guide: &str) -> Vec<Vec<Example>> {
    let blocks = guide.split("```console\n").skip(1);
    blocks
        .map(|block| examples(block.split("```").next().unwrap_or_default()))
        .collect()
}

fn examples(block: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), examples.last_mut()) {
            (Some(command), _) => examples.push(Example {
                command: command.to_owned(),
                output: String::new(),
            }),
            (None, Some(example)) => example.output.push_str(&format!("{line}\n")),
            (None, None) => panic!("a block begins with a command: {line}"),
        }
    }
    examples
}

/// Whether a text is as a pattern says, in which `…` stands for anything.
pub(crate) fn is_like(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(place) => rest = &rest[place + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

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
