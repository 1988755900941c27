//! Commands in the documents: the program's run here, beside files as their reader has them. Of the others
//! this checks that files, features, profiles and tests exist, and who runs them.
//!
//! Blocks of `console` in docs/api.md and docs/operators.md are run by `guide` and `operators`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::client;
use crate::program::{launch, program};

/// Commands that something else runs, by how they begin, and what does.
const ELSEWHERE: [(&str, &str); 24] = [
    ("cargo ", ".ci/run"),
    ("git clone ", "tests/first_hour.sh"),
    (".ci/run", ".ci/run"),
    (".ci/release", ".ci/release"),
    ("tests/", ".ci/run"),
    ("benches/", "docs/benchmarks.md"),
    ("crates/", ".ci/run"),
    ("examples/", ".ci/run"),
    ("pip install ", "bindings/python/test.sh"),
    ("SIGNALDEX_", "docs/testing.md"),
    ("export ", "crates/server/tests/service/guide.rs"),
    ("signaldex build --companies excel-", TABLES),
    ("signaldex build --companies hubspot/", TABLES),
    ("signaldex build --companies no-keys/", TABLES),
    ("signaldex build --companies pandas/", TABLES),
    ("signaldex build --companies sql/", TABLES),
    ("signaldex sql ", "crates/cli/tests/sql/main.rs"),
    (
        "signaldex serve index --sql-addr ",
        "crates/sql/tests/over_adbc.py",
    ),
    ("signaldex shard ", "crates/cli/tests/cluster/fixture.rs"),
    (
        "signaldex update --shards ",
        "crates/cli/tests/cluster/updates.rs",
    ),
    (
        "signaldex verify --shards ",
        "crates/cli/tests/cluster/updates.rs",
    ),
    (
        "signaldex compact --shards ",
        "crates/cli/tests/cluster/updates.rs",
    ),
    (
        "signaldex publish-shards ",
        "crates/cli/tests/cluster/fixture.rs",
    ),
    (
        "signaldex serve --cluster ",
        "crates/cli/tests/cluster/fixture.rs",
    ),
];

/// Builds from the folders of tests/tables.
const TABLES: &str = "crates/cli/tests/commands/tables.rs";

/// Records for the commands that read JSON lines.
const COMPANY: &str =
    r#"{"slug": "acme", "name": "Acme GmbH", "country": "Germany", "employees": 120}"#;
const SIGNAL: &str = r#"{"id": "7", "slug": "acme-series-a", "title": "Acme raises Series A", "companySlug": "acme", "date": "2026-06-12"}"#;

/// The document whose commands are those of other engines.
const OTHER_ENGINES: &str = "docs/COMPARE.md";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The documents, by their paths.
fn documents() -> Vec<String> {
    let mut paths = Vec::new();
    for folder in ["", "docs/"] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let name = entry.expect("an entry").file_name();
            let name = name.to_str().expect("text");
            if name.ends_with(".md") {
                paths.push(format!("{folder}{name}"));
            }
        }
    }
    paths.sort();
    paths
}

/// The blocks of a document in a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("```{language}\n");
    let blocks = text.split(opening.as_str()).skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap_or_default())
        .collect()
}

/// The commands of a document that stand in blocks of `sh`, each on one line.
fn commands(text: &str) -> Vec<String> {
    let joined = blocks(text, "sh").concat().replace("\\\n", " ");
    let lines = joined.lines().map(|line| {
        let command = line.split("  #").next().unwrap_or_default();
        command.trim().to_owned()
    });
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

/// A command as the installed program takes it, where it is one of the program's.
fn of_the_program(command: &str) -> Option<String> {
    let is_elsewhere = |(start, _): &(&str, &str)| *start != "cargo " && command.starts_with(start);
    if ELSEWHERE.iter().any(is_elsewhere) {
        return None;
    }
    let built = command.strip_prefix("cargo run --release ");
    if let Some((_, arguments)) = built.and_then(|rest| rest.split_once("-- ")) {
        return Some(format!("signaldex {arguments}"));
    }
    command
        .starts_with("signaldex ")
        .then(|| command.to_owned())
}

/// A directory with the files that the documents' commands read.
struct Desk(tempfile::TempDir);

impl Desk {
    fn set_up(document: &str, text: &str) -> Desk {
        let desk = Desk(tempfile::tempdir().expect("a directory"));
        desk.write("companies.jsonl", COMPANY);
        desk.write("signals.jsonl", SIGNAL);
        let robots = SIGNAL
            .replace("\"7\"", "\"8\"")
            .replace("Acme", "Acme robotics");
        desk.write("more.jsonl", &robots);
        desk.write("gone.txt", "7\n");
        let records = read("docs/records.md");
        let files = blocks(&records, "csv");
        desk.write("companies.csv", files[0]);
        desk.write("signals.csv", files[1]);
        let searches = read("docs/saved-searches.md");
        desk.write("searches.jsonl", blocks(&searches, "json")[0]);
        let builds = commands(text)
            .iter()
            .any(|command| command.contains(" build "));
        if !builds {
            let build =
                "signaldex build --companies companies.jsonl --signals signals.jsonl --out index";
            assert!(desk.run(build).status.success(), "{document}");
        }
        desk
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.0.path().join(name), content).expect("a writable file");
    }

    /// The command with a directory for an object store, and a shell to run it.
    fn shell(&self, command: &str) -> Command {
        let command = command
            .replace("s3://bucket/signals", "store")
            .replace("/var/cache/signaldex", "cache")
            .replace("POSITION", "start");
        let program = program();
        let folder = Path::new(program.get_program()).parent().expect("a folder");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(PathBuf::from(folder)).chain(std::env::split_paths(&path));
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("exec {command}")])
            .current_dir(self.0.path())
            .env("PATH", std::env::join_paths(folders).expect("a path"))
            .env("SIGNALDEX_ADDR", "127.0.0.1:0")
            .env("SIGNALDEX_ADMIN_ADDR", "127.0.0.1:0")
            .env("SIGNALDEX_LOG", "off");
        shell
    }

    fn run(&self, command: &str) -> Output {
        self.shell(command).output().expect("a shell")
    }

    /// Starts a service, asks whether it is ready, and stops it as a supervisor does.
    fn serve(&self, command: &str) {
        let (mut service, address, _errors) = launch(self.shell(command));
        let answer = client::request(address, "GET", "/readyz", &[]);
        let id = service.id().to_string();
        let stop = Command::new("kill").args(["-TERM", &id]).status();
        assert!(stop.expect("kill").success());
        let status = service.wait().expect("an exit status");
        assert_eq!((answer.status, status.code()), (200, Some(0)), "{command}");
    }
}

#[test]
fn every_command_of_the_program_in_the_documents_works() {
    let mut count = 0;
    for document in documents() {
        let text = read(&document);
        let commands: Vec<String> = commands(&text)
            .iter()
            .filter_map(|command| of_the_program(command))
            .filter(|_| document != OTHER_ENGINES)
            .collect();
        if commands.is_empty() {
            continue;
        }
        let desk = Desk::set_up(&document, &text);
        for command in commands {
            count += 1;
            if command.starts_with("signaldex serve") {
                desk.serve(&command);
                continue;
            }
            let output = desk.run(&command);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{document}: {command}\n{errors}");
        }
    }
    assert!(count >= 12, "only {count} commands were found");
}

#[test]
fn every_other_command_in_the_documents_is_run_elsewhere() {
    for document in documents().iter().filter(|path| *path != OTHER_ENGINES) {
        let text = read(document);
        let is_guide = ["docs/api.md", "docs/operators.md"].contains(&document.as_str());
        assert!(is_guide || !text.contains("```console"), "{document}");
        for command in commands(&text) {
            if of_the_program(&command).is_some() || command.starts_with("openssl ") {
                continue;
            }
            let elsewhere = ELSEWHERE
                .iter()
                .find(|(start, _)| command.starts_with(start));
            let (_, place) =
                elsewhere.unwrap_or_else(|| panic!("{document}: what runs {command}?"));
            assert!(root().join(place).exists(), "{place} for {command}");
            assert_words_exist(document, &command);
        }
    }
}

/// Features, profiles, tests and scripts that a command names exist.
fn assert_words_exist(document: &str, command: &str) {
    let packages = ["", "crates/cli/", "crates/server/", "bindings/python/"];
    let manifests = packages.map(|package| read(&format!("{package}Cargo.toml")));
    let has = |text: String| manifests.iter().any(|manifest| manifest.contains(&text));
    let words: Vec<&str> = command.split_whitespace().collect();
    for pair in words.windows(2) {
        let exists = match pair[0] {
            "--features" => pair[1]
                .split(',')
                .map(|name| name.rsplit('/').next().unwrap_or(name))
                .all(|name| has(format!("\n{name} = ["))),
            "--profile" => has(format!("\n[profile.{}]", pair[1])),
            "--test" => packages.iter().any(|package| {
                let tests = root().join(package).join("tests");
                let name = pair[1];
                tests.join(name).join("main.rs").exists()
                    || tests.join(format!("{name}.rs")).exists()
            }),
            _ => true,
        };
        assert!(exists, "{document}: {} {} in {command}", pair[0], pair[1]);
    }
    let scripts = ["crates/", "tests/", "benches/", "examples/", ".ci/"];
    for word in words
        .iter()
        .filter(|word| scripts.iter().any(|start| word.starts_with(start)))
    {
        assert!(
            root().join(word).exists(),
            "{document}: {word} in {command}"
        );
    }
}

/// The commands that the README begins with are those that the checks of every change run.
#[test]
fn the_first_commands_of_the_readme_are_run_by_the_checks() {
    // A packed crate comes without them.
    let Ok(checks) = fs::read_to_string(root().join(".ci/run")) else {
        return;
    };
    for command in commands(&read("README.md")).iter().take(2) {
        assert!(checks.contains(&format!("\n{command}\n")), "{command}");
    }
}

#[test]
#[ignore = "needs bash and openssl"]
fn the_certificates_of_the_guide_to_clusters_are_valid() {
    let guide = read("docs/cluster.md");
    let script = blocks(&guide, "sh")
        .into_iter()
        .find(|block| block.contains("openssl req"));
    let script = format!(
        "set -e\n{}\nopenssl verify -CAfile nodes-ca.pem -verify_ip 10.0.0.1 one.pem",
        script.expect("commands")
    );
    let directory = tempfile::tempdir().expect("a directory");
    let run = Command::new("bash")
        .args(["-c", &script])
        .current_dir(directory.path())
        .output();
    let run = run.expect("bash");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
}
