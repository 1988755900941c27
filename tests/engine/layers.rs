//! The layers of the library: a file imports only what the table allows, and ARCHITECTURE.md shows
//! the same table.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::house::{root, sources};

/// Each layer and the layers that it may import, lowest first. A layer is a file or folder of
/// `src/`.
const LAYERS: &str = "
text_form:
text:
error: text
digest:
signal:
query: signal text
kernels:
encoding: error kernels
segment: digest encoding error kernels query signal text
aggregate: error query signal
plan: encoding error kernels query segment signal
exec: encoding error kernels plan query segment signal
index: aggregate digest encoding error exec plan query segment signal
saved: error index query signal text
tables: error query signal text
json: aggregate error index query signal tables text
sample: error index json
replicate: digest error index text
";

/// The rows of the table: a layer, and the layers that it may import.
fn layers() -> Vec<(&'static str, BTreeSet<&'static str>)> {
    let rows = LAYERS.trim().lines().map(|line| line.split_once(':'));
    let rows = rows.map(|row| row.expect("a layer and a colon"));
    rows.map(|(layer, allowed)| (layer, allowed.split_whitespace().collect()))
        .collect()
}

/// Tests of a module, and what they share, may import anything.
pub(crate) fn is_test(file: &Path) -> bool {
    let path = file.strip_prefix(root()).unwrap_or(file).with_extension("");
    path.iter()
        .any(|part| part == "tests" || part == "fixtures")
}

/// The layer of a file: its folder below `src/`, or its own name.
fn layer_of(file: &Path) -> String {
    let path = file.strip_prefix(root().join("src")).expect("a source");
    let first = path.components().next().expect("a name");
    let name = first.as_os_str().to_string_lossy();
    name.trim_end_matches(".rs").to_owned()
}

/// The code of a file without comments.
fn code_of(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a readable file");
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    code.collect::<Vec<&str>>().join("\n")
}

/// The names that stand directly behind `crate::`, in imports and in paths written in full.
fn names_behind_crate(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(group) => names.extend(heads_of_group(group)),
            None => names.extend([identifier(rest)]),
        }
    }
    names
}

/// The first names of the items of `a::b, c, d::{e, f}}…`, up to the closing brace.
fn heads_of_group(group: &str) -> Vec<String> {
    let (mut depth, mut is_start, mut heads) = (0, true, Vec::new());
    for (position, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => is_start = true,
            _ if letter.is_whitespace() => {}
            _ if is_start => {
                heads.push(identifier(&group[position..]));
                is_start = false;
            }
            _ => {}
        }
    }
    heads
}

fn identifier(text: &str) -> String {
    let is_part = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    text.chars().take_while(is_part).collect()
}

/// By name: the module that `lib.rs` takes it from.
fn reexported() -> BTreeMap<String, String> {
    let library = code_of(&root().join("src/lib.rs"));
    let mut modules = BTreeMap::new();
    for import in library.split("pub use ").skip(1) {
        let (module, names) = import.split_once("::").expect("a path");
        let names = names.split(';').next().unwrap_or_default();
        let names = match names.strip_prefix('{') {
            Some(group) => heads_of_group(group),
            None => vec![identifier(names)],
        };
        modules.extend(names.into_iter().map(|name| (name, module.to_owned())));
    }
    modules
}

#[test]
fn every_import_leads_to_a_layer_below() {
    let reexported = reexported();
    let table: BTreeMap<&str, BTreeSet<&str>> = layers().into_iter().collect();
    let mut forbidden = Vec::new();
    let mut used = BTreeSet::new();
    for file in sources(&root().join("src"))
        .into_iter()
        .filter(|file| !is_test(file))
    {
        let layer = layer_of(&file);
        if layer == "lib" {
            continue;
        }
        let Some(allowed) = table.get(layer.as_str()) else {
            panic!(
                "{}: {layer} is in no row of the table of layers",
                file.display()
            );
        };
        for name in names_behind_crate(&code_of(&file)) {
            let target = reexported.get(&name).cloned().unwrap_or(name);
            if target != layer && !allowed.contains(target.as_str()) {
                forbidden.push(format!(
                    "{}: {layer} may not import {target}",
                    file.display()
                ));
            }
            used.insert((layer.clone(), target));
        }
    }
    assert!(forbidden.is_empty(), "{}", forbidden.join("\n"));
    for (layer, allowed) in layers() {
        for target in allowed {
            let import = (layer.to_owned(), target.to_owned());
            assert!(
                used.contains(&import),
                "{layer} no longer imports {target}: take it off the table"
            );
        }
    }
}

/// Each package and the packages of the workspace that it may depend on.
const PACKAGES: &str = "
.:
crates/synthetic: signaldex
crates/server: signaldex
crates/cluster: signaldex signaldex-server
crates/sql: signaldex
crates/cli: signaldex signaldex-cluster signaldex-server signaldex-sql signaldex-synthetic
bindings/python: signaldex signaldex-sql signaldex-synthetic
";

/// The packages of the workspace that a manifest depends on, tests left out.
fn dependencies(manifest: &str) -> BTreeSet<&str> {
    let section = manifest.split("\n[dependencies]\n").nth(1);
    let section = section.expect("dependencies").split("\n[").next();
    let lines = section.unwrap_or_default().lines();
    let names = lines.filter_map(|line| line.split([' ', '.']).next());
    names.filter(|name| name.starts_with("signaldex")).collect()
}

#[test]
fn packages_depend_on_those_below() {
    let folders = fs::read_dir(root().join("crates")).expect("the packages");
    let listed = |name: &str| PACKAGES.contains(&format!("\ncrates/{name}:"));
    for folder in folders {
        let name = folder.expect("a package").file_name();
        assert!(listed(&name.to_string_lossy()), "{name:?} is in no row");
    }
    for row in PACKAGES.trim().lines() {
        let (folder, allowed) = row.split_once(':').expect("a folder and a colon");
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml"));
        let manifest = manifest.expect("a manifest");
        let allowed: BTreeSet<&str> = allowed.split_whitespace().collect();
        assert_eq!(dependencies(&manifest), allowed, "{folder}");
    }
}

/// The library knows nothing of what stands on it.
#[test]
fn the_library_asks_for_no_product() {
    for file in sources(&root().join("src")) {
        let code = code_of(&file);
        for features in code.split("feature = \"").skip(1) {
            let feature = features.split('"').next().unwrap_or_default();
            let of_the_library = [
                "__strategies",
                "encodings",
                "json",
                "parquet",
                "replicate",
                "serde",
                "xlsx",
                "zstd",
            ];
            assert!(
                of_the_library.contains(&feature),
                "{} asks for {feature}",
                file.display()
            );
        }
    }
}

#[test]
fn the_table_allows_no_circle() {
    let mut below: BTreeSet<&str> = BTreeSet::new();
    for (layer, allowed) in layers() {
        for target in allowed {
            assert!(
                below.contains(target),
                "{layer} imports {target}, which is not below it"
            );
        }
        below.insert(layer);
    }
}

/// Layers without a public module, and the layer above that passes on what is public of them.
const PASSED_ON: [(&str, &str); 1] = [("json", "tables")];

#[test]
fn no_module_passes_another_layer_on() {
    for file in sources(&root().join("src"))
        .into_iter()
        .filter(|file| !is_test(file))
    {
        let layer = layer_of(&file);
        if layer == "lib" {
            continue;
        }
        for import in code_of(&file)
            .split("use crate::")
            .collect::<Vec<_>>()
            .windows(2)
        {
            let is_public = import[0].trim_end().ends_with("pub(crate)")
                || import[0].trim_end().ends_with("pub");
            let target = identifier(import[1]);
            let is_own = target == layer || PASSED_ON.contains(&(&*layer, &*target));
            assert!(
                !is_public || is_own,
                "{} passes on crate::{}",
                file.display(),
                target
            );
        }
    }
}

/// The rows of the table in ARCHITECTURE.md: a layer, what it owns, what it imports.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a readable document");
    let section = text
        .split("## Which layer may import which?")
        .nth(1)
        .expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells[0]
            .trim_matches('`')
            .trim_end_matches('/')
            .trim_end_matches(".rs");
        let imports = cells[2]
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        (name.to_owned(), imports.map(str::to_owned).collect())
    })
    .collect()
}

#[test]
fn the_architecture_shows_the_same_table() {
    let documented = documented();
    for (layer, allowed) in layers() {
        let allowed = allowed.into_iter().map(str::to_owned).collect();
        assert_eq!(
            documented.get(layer),
            Some(&allowed),
            "{layer} in ARCHITECTURE.md"
        );
    }
    assert_eq!(documented.len(), layers().len());
}

/// Loops for particular processors stay where each has a plain twin.
#[test]
fn vector_instructions_stay_in_the_kernels() {
    let kernels = root().join("src/kernels");
    for file in sources(&root().join("src")) {
        let code = code_of(&file);
        let is_special = ["std::arch", "multiversion"]
            .iter()
            .any(|name| code.contains(name));
        assert!(
            !is_special || file.starts_with(&kernels),
            "{}",
            file.display()
        );
    }
}
