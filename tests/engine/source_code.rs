//! The sources of all packages as the tests of names, cycles and comments read them: code and
//! comments apart, without the contents of string literals and without tests.

use std::fs;
use std::ops::Range;

use crate::house::{root, sources};
use crate::layers::is_test;

/// The folders of the packages' sources.
pub(crate) const PACKAGES: [&str; 7] = [
    "src",
    "crates/server/src",
    "crates/cluster/src",
    "crates/sql/src",
    "crates/cli/src",
    "crates/synthetic/src",
    "bindings/python/src",
];

/// Attributes of items that only tests compile.
const TEST_ATTRIBUTES: [&str; 4] = [
    "#[cfg(test)]",
    "#[cfg(all(test,",
    "#[cfg(doctest)]",
    "#[cfg(all(doctest,",
];

/// A file of a package that is not a test.
pub(crate) struct SourceFile {
    /// The folder, of [`PACKAGES`].
    pub(crate) package: &'static str,
    /// The path below the folder.
    pub(crate) path: String,
    pub(crate) text: SourceText,
}

/// The parts of a file. Both have its lines and byte offsets; what belongs to the other is blank.
pub(crate) struct SourceText {
    pub(crate) code: String,
    pub(crate) comments: String,
}

/// The files of all packages.
pub(crate) fn packages() -> Vec<SourceFile> {
    let mut files = Vec::new();
    for package in PACKAGES {
        let folder = root().join(package);
        let paths = sources(&folder).into_iter().filter(|path| !is_test(path));
        files.extend(paths.map(|path| {
            let text = fs::read_to_string(&path).expect("a readable file");
            let path = path.strip_prefix(&folder).expect("a path below the folder");
            SourceFile {
                package,
                path: path.to_string_lossy().into_owned(),
                text: SourceText::new(&text),
            }
        }));
    }
    files
}

impl SourceFile {
    /// The path below the root of the repository.
    pub(crate) fn full_path(&self) -> String {
        format!("{}/{}", self.package, self.path)
    }
}

impl SourceText {
    pub(crate) fn new(text: &str) -> SourceText {
        let (mut code, mut comments) = (text.to_owned(), String::new());
        let mut at = 0;
        // Everything before `at` is copied to the part it belongs to.
        while at < text.len() {
            let rest = &text[at..];
            let literal = literal_length(rest, text[..at].chars().next_back());
            let comment = comment_length(rest);
            let length = comment.or(literal);
            let length = length.unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
            let part = &rest[..length];
            if comment.is_some() {
                comments.push_str(part);
            } else {
                comments.push_str(&blank(part));
            }
            if comment.is_some() || literal.is_some() {
                code.replace_range(at..at + length, &blank(part));
            }
            at += length;
        }
        for range in test_items(&code) {
            let blank = blank(&code[range.clone()]);
            code.replace_range(range.clone(), &blank);
            comments.replace_range(range, &blank);
        }
        SourceText { code, comments }
    }
}

/// Spaces in place of a text, which keep its lines and its length in bytes.
fn blank(text: &str) -> String {
    let bytes = text.bytes();
    let blank = bytes.map(|byte| if byte == b'\n' { '\n' } else { ' ' });
    blank.collect()
}

/// The length of a comment at the start of the text.
fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("/*") {
        return Some(text.find("*/").map_or(text.len(), |end| end + 2));
    }
    let is_comment = text.starts_with("//");
    is_comment.then(|| text.find('\n').unwrap_or(text.len()))
}

/// The length of a string or character literal at the start of the text.
fn literal_length(text: &str, before: Option<char>) -> Option<usize> {
    if text.starts_with('"') {
        return Some(closing_quote(text, '"'));
    }
    let is_in_word = before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let raw = text.strip_prefix("br").or_else(|| text.strip_prefix('r'));
    if let Some(raw) = raw.filter(|_| !is_in_word) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let start = text.len() - raw.len() + hashes + 1;
            let end = format!("\"{}", "#".repeat(hashes));
            let length = text[start..].find(&end).expect("a closed literal");
            return Some(start + length + end.len());
        }
    }
    // A quote that is not closed after one character begins a lifetime.
    let mut letters = text.strip_prefix('\'')?.chars();
    let is_escaped = letters.next() == Some('\\');
    let is_closed = is_escaped || letters.next() == Some('\'');
    is_closed.then(|| closing_quote(text, '\''))
}

/// The end of the literal that begins with a quote.
fn closing_quote(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Where the items stand that only tests compile.
fn test_items(code: &str) -> Vec<Range<usize>> {
    let mut items = Vec::new();
    let mut start = 0;
    // Items before `start` are found; the next attribute after it begins another.
    while let Some(offset) = TEST_ATTRIBUTES
        .iter()
        .filter_map(|attribute| code[start..].find(attribute))
        .min()
    {
        let item = start + offset;
        start = item + item_length(&code[item..]);
        items.push(item..start);
    }
    items
}

/// The length of an item, its attributes included: up to its semicolon or closing brace, or for a
/// field to the comma at the end of its line.
fn item_length(code: &str) -> usize {
    let mut lines = code.lines().map(str::trim);
    let first = lines.find(|line| !line.starts_with("#["));
    let is_field = first.is_some_and(|line| line.ends_with(','));
    let mut depth = 0_usize;
    for (at, letter) in code.char_indices() {
        match letter {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            ',' if is_field && depth == 0 => return at + 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
        // The braces of a `use` are followed by a semicolon.
        if letter == '}' && depth == 0 && !code[at + 1..].starts_with(';') {
            return at + 1;
        }
    }
    code.len()
}

#[test]
fn code_is_told_from_comments_literals_and_tests() {
    let text = r##"
fn f<'a>() { // one
    g("// no \" comment", '"', '\'', r#"struct "No""#); /* two */
}
#[cfg(test)]
use a::{b, c};
#[cfg(test)]
#[derive(Debug)]
mod tests { struct No; }
struct S {
    #[cfg(test)]
    field: u64,
    kept: [u8; 4],
}
"##;
    let SourceText { code, comments } = SourceText::new(text);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "fn f<'a>() { g( , , , ); } struct S { kept: [u8; 4], }";
    assert_eq!(words(&code), expected);
    assert_eq!(words(&comments), "// one /* two */");
    assert_eq!((code.len(), comments.len()), (text.len(), text.len()));
}
