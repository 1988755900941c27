//! Names of types say what they are: few are defined more than once.

use std::collections::BTreeMap;

use crate::source_code::{PACKAGES, packages};

/// Names that a package may define more than once.
const TWICE_WITHIN_A_PACKAGE: usize = 5;

/// Names that all packages together may define more than once.
const TWICE_IN_ALL: usize = 25;

/// A type: the package and the file that define it, and its name.
struct Definition {
    package: &'static str,
    file: String,
    name: String,
}

/// The name of the type that a line defines. Associated types belong to their trait.
fn type_name(line: &str) -> Option<&str> {
    let item = line.trim_start();
    let visible = item.strip_prefix("pub").map(|rest| {
        let restricted = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        restricted.map_or(rest, |(_, rest)| rest).trim_start()
    });
    let visible = visible.unwrap_or(item);
    let safe = visible.strip_prefix("unsafe ").unwrap_or(visible);
    let (keyword, rest) = safe.split_once(' ')?;
    let is_type = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => item.len() == line.len(),
        _ => false,
    };
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let name = &rest[..end.unwrap_or(rest.len())];
    (is_type && name.starts_with(char::is_uppercase)).then_some(name)
}

/// All types of the packages.
fn definitions() -> Vec<Definition> {
    let mut definitions = Vec::new();
    for file in packages() {
        let names = file.text.code.lines().filter_map(type_name);
        definitions.extend(names.map(|name| Definition {
            package: file.package,
            file: file.full_path(),
            name: name.to_owned(),
        }));
    }
    definitions
}

/// By name: the files of those that are defined more than once.
fn repeated<'a>(
    definitions: impl Iterator<Item = &'a Definition>,
) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for definition in definitions {
        let files = files.entry(&definition.name).or_default();
        files.push(&definition.file);
    }
    files.retain(|_, files| files.len() > 1);
    files
}

/// The number of names that all packages together define more than once.
pub(crate) fn repeated_names() -> usize {
    repeated(definitions().iter()).len()
}

/// What is wrong with the names: one text for each package, and one for all of them.
fn violations(definitions: &[Definition]) -> Vec<String> {
    let within = PACKAGES.map(|package| {
        let own = definitions
            .iter()
            .filter(|definition| definition.package == package);
        (package, repeated(own), TWICE_WITHIN_A_PACKAGE)
    });
    let in_all = ("all packages", repeated(definitions.iter()), TWICE_IN_ALL);
    let checked = within.into_iter().chain([in_all]);
    let exceeding = checked.filter(|(_, repeated, most)| repeated.len() > *most);
    exceeding
        .map(|(place, repeated, most)| {
            let names = repeated.iter();
            let names: String = names
                .map(|(name, files)| format!("\n  {name}: {}", files.join(" ")))
                .collect();
            let count = repeated.len();
            format!("{place}: {count} names are defined more than once, at most {most}:{names}")
        })
        .collect()
}

#[test]
fn few_type_names_are_defined_more_than_once() {
    let definitions = definitions();
    assert!(definitions.len() > 500, "{} types", definitions.len());
    let violations = violations(&definitions);
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn definitions_are_told_from_other_lines() {
    let names = |text: &'static str| text.lines().filter_map(type_name).collect::<Vec<_>>();
    let text = "pub(super) struct A<T> {\nenum B {\n    pub unsafe trait C: D {\npub type E = F;";
    assert_eq!(names(text), ["A", "B", "C", "E"]);
    let text = "    type Item = A;\nimpl B for C {\nstruct $name;\nlet union = 1;\nconst D: E = F;";
    assert!(names(text).is_empty());
}

#[test]
fn repeated_names_are_found_within_packages_and_over_all() {
    let defined = |package: &'static str, name: String| Definition {
        package,
        file: format!("{package}/a.rs"),
        name,
    };
    let twice = |n: usize, packages: [&'static str; 2]| {
        let names = (0..n).flat_map(|n| packages.map(|package| defined(package, format!("T{n}"))));
        violations(&names.collect::<Vec<_>>())
    };
    let (library, server) = (PACKAGES[0], PACKAGES[1]);
    assert!(twice(TWICE_WITHIN_A_PACKAGE, [library; 2]).is_empty());
    let found = twice(TWICE_WITHIN_A_PACKAGE + 1, [library; 2]);
    assert!(found[0].contains("\n  T5: src/a.rs src/a.rs"), "{found:?}");
    assert!(twice(TWICE_IN_ALL, [library, server]).is_empty());
    let found = twice(TWICE_IN_ALL + 1, [library, server]);
    assert!(found[0].starts_with("all packages: 26 names"), "{found:?}");
}
