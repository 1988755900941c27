//! The layers of the library: a file imports only what the table allows, and ARCHITECTURE.md shows
//! the same table.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::house::{root, sources};

/// Each layer and the layers that it may import, lowest first. A layer is a file or folder of
/// `src/`; the program in `src/bin/` stands above them all.
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
plan: encoding error kernels query segment signal
exec: encoding error kernels plan query segment signal
index: digest encoding error exec plan query segment signal
saved: error index query signal text
json: error index query segment signal text
synthetic: error signal
sample: error index json
replicate: digest error index text
corpus: error index json plan query signal
http: corpus error index json plan query signal text
cluster: corpus digest error http index json query replicate segment signal text
";

/// The rows of the table: a layer, and the layers that it may import.
fn layers() -> Vec<(&'static str, BTreeSet<&'static str>)> {
    let rows = LAYERS.trim().lines().map(|line| line.split_once(':'));
    let rows = rows.map(|row| row.expect("a layer and a colon"));
    rows.map(|(layer, allowed)| (layer, allowed.split_whitespace().collect()))
        .collect()
}

/// Tests of a module, and what they share, may import anything.
fn is_test(file: &Path) -> bool {
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
        if matches!(layer.as_str(), "lib" | "bin") {
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

/// The layers that stand on the library and make do with what any host can use.
const PRODUCTS: [&str; 3] = ["corpus", "http", "cluster"];

/// The paths behind `crate::`, in imports and in full, with groups written out.
fn paths_behind_crate(code: &str) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let is_part = |letter: char| letter.is_alphanumeric() || "_:".contains(letter);
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let path = &rest[..end];
        match rest[end..].strip_prefix('{') {
            Some(group) if path.is_empty() || path.ends_with("::") => {
                let heads = heads_of_group(group);
                paths.extend(heads.into_iter().map(|head| format!("{path}{head}")));
            }
            _ => paths.extend([path.to_owned()]),
        }
    }
    paths
}

/// Whether a file makes a name public: by its definition or by passing it on.
fn is_public(code: &str, name: &str) -> bool {
    let kinds = [
        "mod", "fn", "async fn", "struct", "enum", "trait", "const", "type",
    ];
    let is_defined = kinds.iter().any(|kind| {
        let definition = format!("pub {kind} {name}");
        let mut found = code.match_indices(&definition);
        found.any(|(at, _)| {
            let next = code[at + definition.len()..].chars().next();
            next.is_some_and(|next| !next.is_alphanumeric() && next != '_')
        })
    });
    is_defined
        || code.split("pub use ").skip(1).any(|import| {
            let import = import.split(';').next().unwrap_or_default();
            let (_, names) = import.rsplit_once("::").unwrap_or_default();
            let mut names = names.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            names.any(|passed_on| passed_on == name)
        })
}

/// Whether a path from the root of the crate leads through public modules to a public name. What follows a type or a
/// function, such as a variant, is as public as the compiler says.
fn is_reachable(path: &str) -> bool {
    let (mut file, mut folder) = (root().join("src/lib.rs"), root().join("src"));
    for name in path.split("::").filter(|name| !name.is_empty()) {
        let code = code_of(&file);
        if !is_public(&code, name) {
            return false;
        }
        if !code.contains(&format!("pub mod {name};")) {
            return true;
        }
        folder.push(name);
        file = [folder.join("mod.rs"), folder.with_extension("rs")]
            .into_iter()
            .find(|file| file.exists())
            .expect("a module has a file");
    }
    true
}

/// The service and the cluster use nothing of the library that a host of its own cannot use, and the library does not
/// know of them.
#[test]
fn products_use_only_what_is_public() {
    let mut faults = Vec::new();
    for file in sources(&root().join("src")) {
        let layer = layer_of(&file);
        let is_product = PRODUCTS.contains(&layer.as_str());
        if is_test(&file) || matches!(layer.as_str(), "lib" | "bin") {
            continue;
        }
        let code = code_of(&file);
        if !is_product {
            let products = ["http", "cluster", "local", "cli"];
            let known = products.map(|product| format!("feature = \"{product}\""));
            let known = known.iter().filter(|known| code.contains(known.as_str()));
            faults.extend(known.map(|known| format!("{} asks for {known}", file.display())));
            continue;
        }
        for path in paths_behind_crate(&code) {
            let is_own = PRODUCTS.contains(&identifier(&path).as_str());
            if !is_own && !is_reachable(&path) {
                faults.push(format!("{} uses the private crate::{path}", file.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
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

#[test]
fn no_module_passes_another_layer_on() {
    for file in sources(&root().join("src"))
        .into_iter()
        .filter(|file| !is_test(file))
    {
        let layer = layer_of(&file);
        if layer == "lib" || layer == "bin" {
            continue;
        }
        for import in code_of(&file)
            .split("use crate::")
            .collect::<Vec<_>>()
            .windows(2)
        {
            let is_public = import[0].trim_end().ends_with("pub(crate)")
                || import[0].trim_end().ends_with("pub");
            let is_own = identifier(import[1]) == layer;
            assert!(
                !is_public || is_own,
                "{} passes on crate::{}",
                file.display(),
                identifier(import[1])
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
