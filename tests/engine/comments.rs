//! What readers find beside the code: comments in the engine's layers, examples that run, and no
//! phrase that was rewritten because nobody understood it.

use std::fs;

use crate::house::{documents, files, root};
use crate::source_code::{SourceText, packages};

/// The layers of the engine.
const ENGINE: [&str; 6] = ["kernels", "encoding", "segment", "plan", "exec", "index"];

/// Lines of code in the engine for each comment, at most.
const LINES_OF_A_COMMENT: usize = 40;

/// Examples of the library that run, at least.
const EXAMPLES: usize = 120;

/// Phrases that readers stumbled over, in lower case.
const UNCLEAR: [&str; 14] = [
    "which there is not",
    "that there is not",
    "not to be had",
    "an id that is none",
    "those that there are",
    "texts that cut names",
    "without it there is none",
    "says that there is more",
    "need not match any more",
    "after so many",
    "download that breaks off",
    "may not ask",
    "in whatever process",
    "asked for by number",
];

/// Lines of code, and comments that are not documentation. Comments on consecutive lines are one.
fn code_and_comments(text: &SourceText) -> (usize, usize) {
    let code = text.code.lines().filter(|line| !line.trim().is_empty());
    let mut comments = 0;
    let mut is_continued = false;
    for (line, code) in text.comments.lines().zip(text.code.lines()) {
        let line = line.trim();
        let is_documentation = line.starts_with("///") || line.starts_with("//!");
        let is_comment = line.starts_with("//") && !is_documentation;
        let is_alone = code.trim().is_empty();
        comments += usize::from(is_comment && !(is_continued && is_alone));
        is_continued = is_comment && is_alone;
    }
    (code.count(), comments)
}

/// Whether there are enough comments in the code.
fn is_commented((lines, comments): (usize, usize)) -> bool {
    lines <= comments * LINES_OF_A_COMMENT
}

/// Lines of code and comments of each layer of the engine.
pub(crate) fn engine_layers() -> [(usize, usize); ENGINE.len()] {
    let files = packages();
    ENGINE.map(|layer| {
        let own = files.iter().filter(|file| {
            let folder = file.path.split('/').next();
            file.package == "src" && folder == Some(layer)
        });
        let counts = own.map(|file| code_and_comments(&file.text));
        let counts = counts.reduce(sum);
        counts.expect("files of the layer")
    })
}

/// The sums of lines and of comments.
pub(crate) fn sum(one: (usize, usize), other: (usize, usize)) -> (usize, usize) {
    (one.0 + other.0, one.1 + other.1)
}

#[test]
fn the_engine_has_a_comment_in_at_most_40_lines() {
    let layers = engine_layers();
    let whole = layers.into_iter().fold((0, 0), sum);
    assert!(is_commented(whole), "lines and comments: {layers:?}");
}

#[test]
fn consecutive_comments_count_once_and_documentation_not() {
    let text =
        "/// No.\nfn f() {\n    // One,\n    // continued.\n    g(); // Two.\n    // Three.\n}\n";
    let counts = code_and_comments(&SourceText::new(text));
    assert_eq!(counts, (3, 3));
    assert!(is_commented((40, 1)));
    assert!(!is_commented((41, 1)) && !is_commented((1, 0)));
}

/// The examples in the documentation of a file that are compiled and run: blocks of code that are
/// not said to be of another language, or to be only compiled.
fn examples(text: &SourceText) -> usize {
    let lines = text.comments.lines().map(str::trim);
    let documentation = lines.filter_map(|line| {
        let line = line.strip_prefix("///").or(line.strip_prefix("//!"));
        line.map(str::trim)
    });
    let fences = documentation.filter_map(|line| line.strip_prefix("```"));
    // Every second fence closes a block.
    let opening = fences.step_by(2);
    opening
        .filter(|words| matches!(*words, "" | "rust"))
        .count()
}

/// The examples of the library.
pub(crate) fn library_examples() -> usize {
    let files = packages();
    let library = files.iter().filter(|file| file.package == "src");
    library.map(|file| examples(&file.text)).sum()
}

#[test]
fn the_library_has_at_least_120_examples() {
    let count = library_examples();
    assert!(count >= EXAMPLES, "{count} examples");
}

#[test]
fn only_examples_that_run_are_counted() {
    let text = "//! ```text\n//! a\n//! ```\n/// ```\n/// f();\n/// ```\nfn f() {}\n// ```\n// ```\n/// ```no_run\n/// ```\n";
    assert_eq!(examples(&SourceText::new(text)), 1);
}

/// The unclear phrases of a text, which may go on behind the signs of a comment in the next line.
fn unclear_phrases(text: &str) -> Vec<&'static str> {
    let is_sign = |word: &&str| matches!(*word, "//" | "///" | "//!" | "#" | "\\");
    let words = text.split_whitespace().filter(|word| !is_sign(word));
    let text = words.collect::<Vec<_>>().join(" ").to_lowercase();
    let phrases = UNCLEAR.into_iter();
    phrases.filter(|phrase| text.contains(phrase)).collect()
}

/// The phrases that readers stumbled over, each with its file.
pub(crate) fn unclear() -> Vec<String> {
    let folders = ["src", "crates", "bindings", "benches", "tests", "examples"];
    let files = folders.iter().flat_map(|folder| {
        let endings = ["rs", "py", "pyi", "sh"].into_iter();
        endings.flat_map(move |ending| files(&root().join(folder), ending))
    });
    let documents = documents().into_iter().map(|path| root().join(path));
    let this = root().join(file!());
    let mut found = Vec::new();
    for path in files.chain(documents).filter(|path| *path != this) {
        let text = fs::read_to_string(&path).expect("a readable file");
        let phrases = unclear_phrases(&text);
        found.extend(
            phrases
                .iter()
                .map(|phrase| format!("{}: {phrase}", path.display())),
        );
    }
    found
}

#[test]
fn no_text_has_a_phrase_that_readers_stumbled_over() {
    let found = unclear();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn phrases_are_found_across_lines_and_in_any_case() {
    let found = unclear_phrases("/// A facet That there\n    /// is not.");
    assert_eq!(found, ["that there is not"]);
    let found = unclear_phrases("raise E(\"it is not \\\n    to be had\")");
    assert_eq!(found, ["not to be had"]);
    assert!(unclear_phrases("A facet that does not exist.").is_empty());
}
