//! Parts of documents that are made from tables of this package, for tests.

use std::path::Path;

/// Compares what stands in a document between `<!--NAME-->` and `<!--/NAME-->`. `SIGNALDEX_BLESS=1` writes it anew.
pub(crate) fn assert_part(document: &str, name: &str, text: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(document);
    let content = std::fs::read_to_string(&path).expect("a readable document");
    let (start, end) = (format!("<!--{name}-->\n"), format!("<!--/{name}-->"));
    let (before, rest) = content.split_once(&start).expect("the start of the part");
    let (part, after) = rest.split_once(&end).expect("the end of the part");
    let expected = format!("\n{}\n\n", text.trim_end());
    if std::env::var_os("SIGNALDEX_BLESS").is_some() {
        let written = format!("{before}{start}{expected}{end}{after}");
        std::fs::write(&path, written).expect("a writable document");
        return;
    }
    assert!(
        part == expected,
        "{document} differs in {name}; set SIGNALDEX_BLESS=1 to write it anew"
    );
}

/// Characters of a line of a document.
const LINE_CHARS_MAX: usize = 120;

/// A text in lines, the first of which has a start of its own.
pub(crate) fn wrapped(text: &str, first: &str, other: &str) -> String {
    let mut lines = first.to_owned();
    let mut chars = first.chars().count();
    let mut is_start = true;
    for word in text.split(' ') {
        let length = word.chars().count();
        if !is_start && chars + 1 + length > LINE_CHARS_MAX {
            lines.push_str(&format!("\n{other}"));
            (chars, is_start) = (other.chars().count(), true);
        }
        if !is_start {
            lines.push(' ');
            chars += 1;
        }
        lines.push_str(word);
        (chars, is_start) = (chars + length, false);
    }
    lines
}
