//! Which files of a package import items that other files define: the paths in the code, followed
//! through re-exports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::source_code::SourceFile;

/// Of each file, the files of its package that define what it imports.
pub(crate) struct Imports {
    pub(crate) edges: BTreeMap<String, BTreeSet<String>>,
    /// Paths from `crate`, `self` or `super` that lead to no file.
    pub(crate) unresolved: Vec<String>,
}

/// A path in the code.
struct CodePath {
    segments: Vec<String>,
    /// The name that an import gives it.
    alias: Option<String>,
    /// It only passes a name on, unless the file itself uses the name too.
    is_public: bool,
}

/// A file, by the path of its module.
struct Module {
    file: String,
    items: BTreeSet<String>,
    paths: Vec<CodePath>,
    /// The names that the code uses outside of imports.
    used: BTreeSet<String>,
}

type ModulePath = Vec<String>;

/// What a path leads to: the module of a file, or the module that defines an item.
enum Target {
    Module(ModulePath),
    Item(ModulePath),
}

/// The modules of a package.
struct Package(BTreeMap<ModulePath, Module>);

impl Imports {
    pub(crate) fn of_package<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Imports {
        let modules = files.map(|file| (module_path(&file.path), Module::new(file)));
        let package = Package(modules.collect());
        let (mut edges, mut unresolved) = (BTreeMap::new(), Vec::new());
        for (path, module) in &package.0 {
            let mut targets = BTreeSet::new();
            let imported = module.paths.iter().filter(|path| {
                let passes_on = path.alias.as_ref().filter(|_| path.is_public);
                passes_on.is_none_or(|name| module.used.contains(name))
            });
            for imported in imported {
                match package.resolve(path, &imported.segments, &mut Vec::new()) {
                    Some(Target::Item(target)) if target != *path => {
                        targets.insert(package.0[&target].file.clone());
                    }
                    None if imported.must_resolve() => {
                        let written = imported.segments.join("::");
                        unresolved.push(format!("{}: {written}", module.file));
                    }
                    _ => {}
                }
            }
            edges.insert(module.file.clone(), targets);
        }
        Imports { edges, unresolved }
    }
}

impl Package {
    /// What a path in a module leads to. `seen` has the paths that are being resolved: a name may
    /// be imported by itself.
    fn resolve<'a>(
        &'a self,
        module: &'a [String],
        segments: &'a [String],
        seen: &mut Vec<(&'a [String], &'a [String])>,
    ) -> Option<Target> {
        if seen.contains(&(module, segments)) {
            return None;
        }
        seen.push((module, segments));
        let found = self.follow(module, segments, seen);
        seen.pop();
        found
    }

    fn follow<'a>(
        &'a self,
        module: &'a [String],
        segments: &'a [String],
        seen: &mut Vec<(&'a [String], &'a [String])>,
    ) -> Option<Target> {
        let Some((name, rest)) = segments.split_first() else {
            return Some(Target::Module(module.to_vec()));
        };
        match name.as_str() {
            "crate" => return self.resolve(&[], rest, seen),
            "self" => return self.resolve(module, rest, seen),
            "super" => return self.resolve(module.split_last()?.1, rest, seen),
            _ => {}
        }
        let (own, contents) = self.0.get_key_value(module)?;
        let mut child = own.clone();
        child.push(name.clone());
        let child = self.0.get_key_value(&child).map(|(path, _)| path);
        // A module and a function may share a name: at the end of a path the function is meant.
        if let Some(child) = child.filter(|_| !rest.is_empty()) {
            return self.resolve(child, rest, seen);
        }
        if contents.items.contains(name) {
            return Some(Target::Item(own.clone()));
        }
        let imports = contents.paths.iter();
        for import in imports.filter(|import| import.alias.as_ref() == Some(name)) {
            match self.resolve(own, &import.segments, seen) {
                Some(Target::Module(target)) => {
                    let (target, _) = self.0.get_key_value(&target)?;
                    return self.resolve(target, rest, seen);
                }
                Some(item) => return Some(item),
                None => {}
            }
        }
        // What no line defines but the code names is written by a macro.
        let is_named = contents.used.contains(name);
        let found = child.map(|child| Target::Module(child.clone()));
        found.or_else(|| is_named.then(|| Target::Item(own.clone())))
    }
}

impl Module {
    fn new(file: &SourceFile) -> Module {
        let code = &file.text.code;
        let mut module = Module {
            file: file.full_path(),
            items: code.lines().filter_map(item_name).collect(),
            paths: Vec::new(),
            used: BTreeSet::new(),
        };
        module.read_paths(&tokens(code));
        module
    }

    /// Reads the paths in the code and the names it uses.
    fn read_paths(&mut self, tokens: &[&str]) {
        let mut at = 0;
        let mut depth = 0_usize;
        // The depths of the modules that are written within the file and open at `at`.
        let mut inner: Vec<usize> = Vec::new();
        while at < tokens.len() {
            let before = at.checked_sub(1).map_or("", |before| tokens[before]);
            let follows = tokens.get(at + 1).copied().unwrap_or_default();
            let start = self.paths.len();
            match tokens[at] {
                "{" => {
                    let is_module = at >= 2 && tokens[at - 2] == "mod";
                    inner.extend(is_module.then_some(depth));
                    depth += 1;
                }
                "}" => {
                    depth = depth.saturating_sub(1);
                    inner.pop_if(|opened| *opened == depth);
                }
                "use" if follows != "<" => {
                    let is_public = matches!(before, "pub" | ")");
                    at = self.read_use(tokens, at + 1, &[], is_public);
                }
                name if is_name(name) => {
                    self.used.insert(name.to_owned());
                    if follows == "::" && before != "::" {
                        at = self.read_path(tokens, at);
                    }
                }
                _ => {}
            }
            let paths = &mut self.paths[start..];
            paths.iter_mut().for_each(|path| path.leave(inner.len()));
            at += 1;
        }
    }

    /// Reads the path that begins at a token; returns its last token.
    fn read_path(&mut self, tokens: &[&str], start: usize) -> usize {
        let mut segments = vec![tokens[start].to_owned()];
        let mut at = start;
        while let [_, "::", name, ..] = tokens[at..]
            && is_name(name)
        {
            segments.push(name.to_owned());
            at += 2;
        }
        self.paths.push(CodePath {
            segments,
            alias: None,
            is_public: false,
        });
        at
    }

    /// Reads a tree of imports; returns the token after it.
    fn read_use(
        &mut self,
        tokens: &[&str],
        start: usize,
        prefix: &[&str],
        is_public: bool,
    ) -> usize {
        let mut segments = prefix.to_vec();
        let mut alias = None;
        let mut at = start;
        loop {
            match tokens[at] {
                "::" => {}
                "{" => {
                    // Each turn reads one branch and stands at the comma or brace after it.
                    while tokens[at] != "}" {
                        at = self.read_use(tokens, at + 1, &segments, is_public);
                    }
                    return at + 1;
                }
                "as" => {
                    at += 1;
                    alias = Some(tokens[at]);
                }
                "self" if !segments.is_empty() => alias = segments.last().copied(),
                "," | "}" | ";" => break,
                name => {
                    segments.push(name);
                    alias = Some(name);
                }
            }
            at += 1;
        }
        if let Some(alias) = alias {
            self.paths.push(CodePath {
                segments: segments.into_iter().map(str::to_owned).collect(),
                alias: Some(alias.to_owned()),
                is_public,
            });
        }
        at
    }
}

impl CodePath {
    /// Whether it stays in the package. A module that is written within a file may import all of
    /// that file.
    fn must_resolve(&self) -> bool {
        let is_local = matches!(self.segments[0].as_str(), "crate" | "self" | "super");
        is_local && self.segments != ["self", "*"]
    }

    /// The path as it would be outside of the modules that are written within the file.
    fn leave(&mut self, modules: usize) {
        for _ in 0..modules {
            if self.segments[0] == "super" {
                self.segments.remove(0);
                if self.segments[0] != "super" {
                    self.segments.insert(0, "self".to_owned());
                    break;
                }
            }
        }
    }
}

/// The module of a file.
fn module_path(file: &str) -> ModulePath {
    let path = Path::new(file).with_extension("");
    let names = path.iter().map(|name| name.to_string_lossy().into_owned());
    names
        .filter(|name| !matches!(name.as_str(), "mod" | "lib" | "main"))
        .collect()
}

/// The name of the item that a line defines at the top of its file.
fn item_name(line: &str) -> Option<String> {
    if line.starts_with(' ') {
        return None;
    }
    let words = tokens(line);
    let keywords = [
        "fn",
        "struct",
        "enum",
        "trait",
        "type",
        "union",
        "const",
        "static",
        "mod",
        "macro_rules",
    ];
    // `mod name;` belongs to the file of that name.
    let is_file = words.contains(&"mod") && words.last() == Some(&";");
    let at = words.iter().position(|word| keywords.contains(word));
    let names = words[at.filter(|_| !is_file)? + 1..].iter().copied();
    let mut names = names.filter(|word| is_name(word) && *word != "mut");
    // The name of a `const fn` follows two of them.
    names
        .find(|word| !keywords.contains(word))
        .map(str::to_owned)
}

fn is_name(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

/// Names, numbers, `::` and single signs.
fn tokens(code: &str) -> Vec<&str> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            _ if rest.starts_with("::") => 2,
            _ if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        tokens.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    tokens
}
