//! What the documents promise about the source: paths exist, files say what they own, and
//! `unsafe` stays in its one place.

use std::fs;
use std::path::{Path, PathBuf};

const DOCUMENTS: [&str; 26] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "RELEASING.md",
    "SECURITY.md",
    "SPECIFICATION.md",
    "docs/COMPARE.md",
    "docs/DESIGN.md",
    "docs/api.md",
    "docs/benchmarks.md",
    "docs/changes.md",
    "docs/cluster.md",
    "docs/format.md",
    "docs/hosts.md",
    "docs/keys.md",
    "docs/mcp.md",
    "docs/operators.md",
    "docs/python.md",
    "docs/records.md",
    "docs/replicas.md",
    "docs/saved-searches.md",
    "docs/scaling.md",
    "docs/sql.md",
    "docs/testing.md",
    "docs/webhooks.md",
];

/// All documents: those above, and the pages of decisions.
pub(crate) fn documents() -> Vec<String> {
    let pages = fs::read_dir(root().join("docs/decisions")).expect("a readable folder");
    let names = pages.map(|page| page.expect("a page").file_name());
    let decisions = names.map(|name| format!("docs/decisions/{}", name.to_string_lossy()));
    let listed = DOCUMENTS.iter().map(ToString::to_string);
    listed.chain(decisions).collect()
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The Rust sources below a folder.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    files(folder, "rs")
}

/// The files below a folder whose names have an ending.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a readable folder");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let (folders, found): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    // The fuzz targets are built below tests/.
    let folders = folders.iter().filter(|folder| !folder.ends_with("target"));
    let nested = folders.flat_map(|folder| files(folder, ending));
    let files = found
        .iter()
        .filter(|file| file.extension().is_some_and(|found| found == ending));
    files.cloned().chain(nested).collect()
}

#[test]
fn every_path_of_the_documents_exists() {
    for document in documents() {
        let text = fs::read_to_string(root().join(&document)).expect("a readable document");
        let quoted = text.split('`').skip(1).step_by(2);
        let is_path = |text: &&str| {
            let folders = [
                "src/",
                "crates/",
                "tests/",
                "benches/",
                "bindings/",
                "data/",
                "docs/",
            ];
            folders.iter().any(|folder| text.starts_with(folder))
        };
        for path in quoted.filter(is_path) {
            let path = path.split_whitespace().next().unwrap_or_default();
            assert!(root().join(path).exists(), "{document} names {path}");
        }
    }
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    for document in documents() {
        let path = root().join(&document);
        let text = fs::read_to_string(&path).expect("a readable document");
        let folder = path.parent().expect("a folder");
        let links = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let file = link.split('#').next().unwrap_or_default();
            assert!(folder.join(file).exists(), "{document} links to {link}");
        }
    }
}

/// The pages of decisions have the same four headings, and are short enough to be read.
#[test]
fn every_decision_says_why_what_else_and_what_follows() {
    let folder = root().join("docs/decisions");
    let pages = fs::read_dir(&folder).expect("a readable folder");
    let pages: Vec<PathBuf> = pages.map(|page| page.expect("a page").path()).collect();
    assert!(pages.len() > 5, "{} pages", pages.len());
    for page in pages {
        let text = fs::read_to_string(&page).expect("a readable document");
        let headings: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        let expected = ["## Why", "## Alternatives", "## Figures", "## Consequences"];
        assert_eq!(headings, expected, "{}", page.display());
        let words = text.split_whitespace().count();
        assert!(words <= 400, "{} has {words} words", page.display());
        let architecture = fs::read_to_string(root().join("ARCHITECTURE.md"));
        let name = page.file_name().expect("a name").to_string_lossy();
        let link = format!("](docs/decisions/{name})");
        assert!(
            architecture.expect("a readable document").contains(&link),
            "ARCHITECTURE.md does not link to {name}"
        );
    }
}

/// The end of a link to a heading, as renderers of Markdown derive it from the heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .trim_start_matches('#')
        .trim()
        .chars()
        .filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
    kept.map(|char| if char == ' ' { '-' } else { char })
        .collect::<String>()
        .to_lowercase()
}

#[test]
fn every_link_to_a_heading_leads_to_one() {
    for document in documents() {
        let path = root().join(&document);
        let text = fs::read_to_string(&path).expect("a readable document");
        let links = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let Some((file, heading)) = link.split_once('#') else {
                continue;
            };
            let target = if file.is_empty() {
                path.clone()
            } else {
                path.with_file_name(file)
            };
            let target = fs::read_to_string(target).expect("a readable document");
            let mut headings = target.lines().filter(|line| line.starts_with('#'));
            assert!(
                headings.any(|line| anchor(line) == heading),
                "{document} links to {link}"
            );
        }
    }
}

/// The first paragraph of a document that is text, on one line.
fn first_paragraph(text: &str) -> String {
    let mut paragraphs = text.split("\n\n").map(str::trim);
    let paragraph = paragraphs.find(|paragraph| {
        paragraph.starts_with(|first: char| first.is_alphabetic() || first == '`')
    });
    let paragraph = paragraph.expect("a paragraph");
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sections that the index lists as well: document, heading, content.
const SECTIONS: [(&str, &str, &str); 1] = [(
    "docs/api.md",
    "How words match",
    "What text parameters and company names find, with examples over the sample corpus",
)];

/// The index of the documents for language models (llmstxt.org), from their first lines.
fn index_for_models() -> String {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a readable document");
    let mut text = format!("# signaldex\n\n> {}\n", first_paragraph(&read("README.md")));
    let (guides, project): (Vec<&str>, Vec<&str>) =
        DOCUMENTS.iter().partition(|path| path.starts_with("docs/"));
    for (heading, paths) in [("Guides", guides), ("Project", project)] {
        text.push_str(&format!("\n## {heading}\n\n"));
        for path in paths {
            let document = read(path);
            let title = document.lines().next().expect("a title");
            let title = title.trim_start_matches("# ");
            let summary = first_paragraph(&document);
            let summary = summary
                .split_once(". ")
                .map_or(summary.as_str(), |(first, _)| first);
            let summary = summary.trim_end_matches(['.', ':']);
            text.push_str(&format!("- [{title}]({path}): {summary}.\n"));
            for (_, heading, what) in SECTIONS.iter().filter(|(of, ..)| *of == path) {
                let anchor = anchor(heading);
                text.push_str(&format!("- [{heading}]({path}#{anchor}): {what}.\n"));
            }
        }
    }
    text
}

#[test]
fn llms_txt_lists_the_documents_as_they_begin() {
    let path = root().join("llms.txt");
    let expected = index_for_models();
    if std::env::var_os("SIGNALDEX_BLESS").is_some() {
        fs::write(&path, &expected).expect("a writable file");
    }
    let text = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == expected,
        "set SIGNALDEX_BLESS=1 to write llms.txt anew"
    );
}

/// Documents that newcomers read from end to end, with the number of words that they may have.
const WORDS_MAX: [(&str, usize); 4] = [
    ("README.md", 950),
    ("ARCHITECTURE.md", 1300),
    ("docs/benchmarks.md", 900),
    ("docs/DESIGN.md", 4000),
];

#[test]
fn documents_for_newcomers_are_short() {
    for (document, words_max) in WORDS_MAX {
        let text = fs::read_to_string(root().join(document)).expect("a readable document");
        let words = text.split_whitespace().count();
        assert!(words <= words_max, "{document} has {words} words");
    }
}

/// The specification names the tests of its rules as `file::test`, some with the beginning of their name alone.
#[test]
fn the_specification_names_tests_that_exist() {
    let folders = [
        "crates/server/src",
        "crates/server/tests/service",
        "crates/cli/tests",
        "tests/engine",
    ];
    let files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| sources(&root().join(folder)))
        .collect();
    let text = fs::read_to_string(root().join("SPECIFICATION.md")).expect("a readable document");
    let words = text.split(|char: char| char.is_whitespace() || "(),;`".contains(char));
    let mut count = 0;
    for word in words.filter(|word| !word.starts_with("file::")) {
        let Some((module, test)) = word.rsplit_once("::") else {
            continue;
        };
        count += 1;
        let module = module.replace("::", "/");
        let function = format!("fn {}", test.trim_end_matches(['.', '*']));
        let has_test = |path: &PathBuf| {
            let is_file = path.with_extension("").ends_with(&module);
            let is_below = path
                .parent()
                .is_some_and(|folder| folder.ends_with(&module));
            let text = fs::read_to_string(path).expect("a readable file");
            (is_file || is_below) && text.contains(&function)
        };
        assert!(files.iter().any(has_test), "there is no test {word}");
    }
    assert!(count > 70, "only {count} tests were found");
}

#[test]
fn every_file_says_what_it_owns() {
    for folder in ["src", "crates", "tests", "benches", "examples", "bindings"] {
        for file in sources(&root().join(folder)) {
            let text = fs::read_to_string(&file).expect("a readable file");
            assert!(text.starts_with("//! "), "{}", file.display());
        }
    }
}

#[test]
fn unsafe_code_stays_in_its_one_place() {
    let allowed = root().join("src/encoding/bytes.rs");
    let folders = ["src", "crates"].map(|folder| root().join(folder));
    for file in folders.iter().flat_map(|folder| sources(folder)) {
        let text = fs::read_to_string(&file).expect("a readable file");
        let has_unsafe = text.contains("unsafe {") || text.contains("allow(unsafe_code)");
        assert_eq!(has_unsafe, file == allowed, "{}", file.display());
    }
}

/// An arm that cannot happen must not answer "no rows": that would hide a fault behind a wrong answer.
#[test]
fn no_arm_of_the_execution_answers_with_an_empty_set() {
    for folder in ["src/exec", "src/plan"] {
        for path in sources(&root().join(folder)) {
            let text = fs::read_to_string(&path).expect("a readable file");
            for (number, line) in (1..).zip(text.lines()) {
                let answers_nothing = line.contains("=> ") && line.contains("List(&[])");
                assert!(!answers_nothing, "{}:{number}: {line}", path.display());
            }
        }
    }
}
