//! Files that import each other in a circle are read and changed together: circles stay small.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::Imports;
use crate::source_code::{PACKAGES, SourceFile, SourceText, packages};

/// The most files that may import each other, directly or through others.
const FILES_OF_A_CYCLE: usize = 4;

/// The files that can be reached from a file along its imports.
fn reachable<'a>(
    edges: &'a BTreeMap<String, BTreeSet<String>>,
    file: &'a String,
) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![file];
    while let Some(file) = pending.pop() {
        // Each file is entered once, so this ends.
        let next = edges.get(file).into_iter().flatten();
        pending.extend(next.filter(|next| reached.insert(*next)));
    }
    reached
}

/// The sets of files that reach each other.
fn cycles(edges: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<Vec<&String>> {
    let reached = edges.keys().map(|file| (file, reachable(edges, file)));
    let reached: BTreeMap<&String, BTreeSet<&String>> = reached.collect();
    let on_cycles = reached
        .iter()
        .filter(|(file, reached)| reached.contains(*file));
    on_cycles
        .map(|(file, others)| {
            let others = others.iter().copied();
            others
                .filter(|other| reached[other].contains(file))
                .collect()
        })
        .collect()
}

/// The files of the largest circle of a package; 0 without one.
pub(crate) fn largest_cycle() -> usize {
    let files = packages();
    let largest = PACKAGES.map(|package| {
        let own = files.iter().filter(|file| file.package == package);
        let edges = Imports::of_package(own).edges;
        cycles(&edges).iter().map(Vec::len).max().unwrap_or(0)
    });
    largest.into_iter().max().unwrap_or(0)
}

/// The circles that have too many files, with the imports among their files.
fn violations(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let large = cycles(edges).into_iter();
    large
        .filter(|files| files.len() > FILES_OF_A_CYCLE)
        .map(|files| {
            let imports = files.iter().map(|file| {
                let within = edges[*file].iter().filter(|target| files.contains(target));
                let within: Vec<&str> = within.map(String::as_str).collect();
                format!("\n  {file} imports {}", within.join(" "))
            });
            let imports: String = imports.collect();
            format!(
                "{} files, at most {FILES_OF_A_CYCLE}:{imports}",
                files.len()
            )
        })
        .collect()
}

#[test]
fn few_files_import_each_other() {
    let files = packages();
    let mut large = Vec::new();
    for package in PACKAGES {
        let own = files.iter().filter(|file| file.package == package);
        let Imports { edges, unresolved } = Imports::of_package(own);
        assert!(unresolved.is_empty(), "{}", unresolved.join("\n"));
        large.extend(violations(&edges));
    }
    assert!(large.is_empty(), "{}", large.join("\n"));
}

/// Made-up files, by path: what they import.
fn imports(files: &[(&str, &str)]) -> Imports {
    let files = files.iter().map(|(path, text)| SourceFile {
        package: PACKAGES[0],
        path: (*path).to_owned(),
        text: SourceText::new(text),
    });
    let files: Vec<SourceFile> = files.collect();
    Imports::of_package(files.iter())
}

#[test]
fn paths_lead_to_the_files_that_define_their_items() {
    let Imports { edges, unresolved } = imports(&[
        (
            "lib.rs",
            "mod a;\nmod b;\npub use a::One;\npub use b::deep::Two;",
        ),
        (
            "a.rs",
            "pub struct One;\nfn f() { use crate::Two as Other; }",
        ),
        (
            "b/mod.rs",
            "pub mod deep;\nuse deep::Two;\npub use deep::{Two, three};",
        ),
        (
            "b/deep.rs",
            "pub struct Two;\npub const fn three() { super::super::One; }",
        ),
        (
            "c.rs",
            "use crate::b::{self, Two};\nmod inner { use super::*; }\nfn g() { b::three() }",
        ),
        (
            "d.rs",
            "#[cfg(test)]\nuse crate::a::One;\n// crate::a::One\nuse std::fmt;",
        ),
        (
            "e.rs",
            "use crate::b;\nmod inner {\n    use super::own;\n}\nfn own() {}",
        ),
        (
            "f.rs",
            "use crate::missing::Three;\nuse super::b::Four;\nuse crate::a::*;",
        ),
    ]);
    let of = |file: &str| {
        let targets = edges[&format!("src/{file}")].iter();
        targets
            .map(|target| target.replace("src/", ""))
            .collect::<Vec<_>>()
    };
    // The library only passes names on.
    assert!(of("lib.rs").is_empty());
    assert_eq!(of("a.rs"), ["b/deep.rs"]);
    assert_eq!(of("b/mod.rs"), ["b/deep.rs"]);
    assert_eq!(of("b/deep.rs"), ["a.rs"]);
    assert_eq!(of("c.rs"), ["b/deep.rs"]);
    assert!(of("d.rs").is_empty() && of("e.rs").is_empty());
    let expected = ["crate::missing::Three", "super::b::Four", "crate::a::*"];
    assert_eq!(unresolved, expected.map(|path| format!("src/f.rs: {path}")));
}

#[test]
fn circles_of_too_many_files_are_found() {
    let circle = |n: usize| {
        let files = (0..n).map(|n| (format!("m{n}.rs"), n));
        let files = files.map(|(path, at)| {
            let next = (at + 1) % n;
            (
                path,
                format!("use super::m{next}::T{next};\npub struct T{at};"),
            )
        });
        let mut files: Vec<(String, String)> = files.collect();
        // The library and one that only imports are on no circle.
        files.push(("lib.rs".to_owned(), "pub use m0::T0;".to_owned()));
        files.push(("outside.rs".to_owned(), "use crate::T0;".to_owned()));
        let files = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()));
        violations(&imports(&files.collect::<Vec<_>>()).edges)
    };
    assert!(circle(FILES_OF_A_CYCLE).is_empty());
    let found = circle(FILES_OF_A_CYCLE + 1);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("5 files, at most 4:\n  src/m0.rs imports src/m1.rs\n"));
    assert!(!found[0].contains("outside"));
}
