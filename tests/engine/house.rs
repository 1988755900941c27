//! What the documents promise about the source: paths exist, files say what they own, and
//! `unsafe` stays in its one place.

use std::fs;
use std::path::{Path, PathBuf};

const DOCUMENTS: [&str; 17] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SPECIFICATION.md",
    "docs/COMPARE.md",
    "docs/api.md",
    "docs/benchmarks.md",
    "docs/cluster.md",
    "docs/format.md",
    "docs/hosts.md",
    "docs/newcomer.md",
    "docs/operators.md",
    "docs/records.md",
    "docs/replicas.md",
    "docs/scaling.md",
    "docs/testing.md",
];

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a readable folder");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    // The fuzz targets are built below tests/.
    let folders = folders.iter().filter(|folder| !folder.ends_with("target"));
    let nested = folders.flat_map(|folder| sources(folder));
    let files = files
        .iter()
        .filter(|file| file.extension().is_some_and(|ending| ending == "rs"));
    files.cloned().chain(nested).collect()
}

#[test]
fn every_path_of_the_documents_exists() {
    for document in DOCUMENTS {
        let text = fs::read_to_string(root().join(document)).expect("a readable document");
        let quoted = text.split('`').skip(1).step_by(2);
        let is_path = |text: &&str| {
            ["src/", "tests/", "benches/", "data/", "docs/"]
                .iter()
                .any(|folder| text.starts_with(folder))
        };
        for path in quoted.filter(is_path) {
            let path = path.split_whitespace().next().unwrap_or_default();
            assert!(root().join(path).exists(), "{document} names {path}");
        }
    }
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    for document in DOCUMENTS {
        let path = root().join(document);
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

/// Two screens: newcomers decide within minutes and should be able to read all of it.
#[test]
fn the_readme_has_at_most_900_words() {
    let text = fs::read_to_string(root().join("README.md")).expect("a readable document");
    let words = text.split_whitespace().count();
    assert!(words <= 900, "{words} words");
}

#[test]
fn the_architecture_has_at_most_1200_words() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a readable document");
    let words = text.split_whitespace().count();
    assert!(words <= 1200, "{words} words");
}

#[test]
fn every_file_says_what_it_owns() {
    for folder in ["src", "tests"] {
        for file in sources(&root().join(folder)) {
            let text = fs::read_to_string(&file).expect("a readable file");
            assert!(text.starts_with("//! "), "{}", file.display());
        }
    }
}

#[test]
fn unsafe_code_stays_in_its_one_place() {
    let allowed = root().join("src/encoding/bytes.rs");
    for file in sources(&root().join("src")) {
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

#[test]
fn the_names_of_the_clusters_engine_stay_in_its_one_module() {
    let home = root().join("src/cluster/engine");
    for file in sources(&root().join("src")) {
        let text = fs::read_to_string(&file).expect("a readable file");
        let names = ["datafusion", "arrow::", "tonic", "prost"];
        let has_names = names.iter().any(|name| text.contains(name));
        assert!(!has_names || file.starts_with(&home), "{}", file.display());
    }
}
