//! Guides whose blocks of `console` show commands behind a `$` and what they print.

/// A command of a guide and what it is said to print; `…` stands for anything.
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
