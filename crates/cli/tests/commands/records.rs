//! Loading one's own data with the program: CSV, misspelt and renamed fields, rejected companies.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

const GUIDE: &str = include_str!("../../../../docs/records.md");

/// A folder of files, and what `build` says of them.
struct Folder(TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        let folder = TempDir::new().expect("a temporary directory");
        for (name, content) in files {
            fs::write(folder.path().join(name), content).expect("a writable file");
        }
        Folder(folder)
    }

    /// The exit status and standard error of a command in the folder.
    fn run(&self, command: &str) -> (i32, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_signaldex"))
            .args(command.split_whitespace())
            .current_dir(self.0.path())
            .output()
            .expect("the program can be started");
        let stderr = String::from_utf8(output.stderr).expect("text");
        (output.status.code().expect("an exit"), stderr)
    }
}

/// The template of a file in the guide.
fn template(name: &str) -> &'static str {
    let (_, rest) = GUIDE
        .split_once(&format!("{name}:\n\n```csv\n"))
        .expect("a template");
    rest.split("```").next().expect("its end")
}

#[test]
fn the_template_of_the_guide_loads_and_has_every_field() {
    let files = ["companies.csv", "signals.csv"].map(|name| (name, template(name)));
    let folder = Folder::new(&files);
    let mut commands = GUIDE.split("```sh\nsignaldex ").skip(1);
    let command = commands.find(|rest| rest.starts_with("build --companies companies.csv"));
    let command = command.expect("a command").split("```").next();
    let command = command.expect("its end").trim();
    let (status, message) = folder.run(command);
    assert_eq!(status, 0, "{message}");
    assert!(
        message.starts_with(
            "loaded 1 company (0 replaced) and 2 signals (0 replaced), 0 rejected; \
             2 signals of 1 company in index, "
        ),
        "{message}"
    );
    let kinds = [
        signaldex::json::RecordKind::Company,
        signaldex::json::RecordKind::Signal,
    ];
    for (kind, (_, text)) in kinds.iter().zip(files) {
        let header: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
        for field in kind.fields() {
            assert!(header.contains(&field), "the template has no {field}");
            assert!(
                GUIDE.contains(&format!("| `{field}` |")),
                "no row for {field}"
            );
        }
        assert_eq!(header.len(), kind.fields().len());
    }
}

#[test]
fn misspelt_columns_are_named_with_the_nearest_field() {
    let folder = Folder::new(&[
        ("c.csv", "slug;name;contry\nacme;Acme;Germany\n"),
        (
            "s.csv",
            "id;slug;headline;company_slug;title;notes\n1;s;x;acme;t;\n",
        ),
    ]);
    let build = "build --companies c.csv --signals s.csv --out index";
    let (status, message) = folder.run(build);
    assert_eq!(status, 0, "{message}");
    let warnings: Vec<&str> = message
        .lines()
        .filter(|line| line.starts_with("warning"))
        .collect();
    assert_eq!(
        warnings,
        [
            "warning: 1 company has an unknown field \"contry\"; did you mean country? \
             --map companies:contry=country reads it so",
            "warning: 1 signal has an unknown field \"headline\"; did you mean title? \
             --map signals:headline=title reads it so",
        ]
    );
    let (status, message) = folder.run("build --companies c.csv --signals s.csv --out b --strict");
    assert_eq!(status, 1);
    assert_eq!(
        message,
        "signaldex: c.csv:2: \"contry\" is not a field of a company; did you mean country?\n"
    );
    let (status, message) = folder.run(&format!("{build} --map headline"));
    assert!(
        status == 2 && message.contains("is not THEIRS=OURS"),
        "{message}"
    );
}

#[test]
fn a_rejected_company_says_what_became_of_its_signals() {
    let folder = Folder::new(&[
        (
            "c.jsonl",
            "{\"slug\":\"a\",\"name\":\"A\",\"employees\":-1}\n{\"slug\":\"b\",\"name\":\"B\"}\n",
        ),
        (
            "s.csv",
            "id,slug,title,companySlug\n1,s,t,a\n2,s,t,a\n3,s,t,b\n",
        ),
    ]);
    let (status, message) =
        folder.run("build --companies c.jsonl --signals s.csv --out index --skip-invalid");
    assert_eq!(status, 0);
    assert!(
        message.contains(
            "\nloaded 1 company (0 replaced) and 1 signal (0 replaced), 3 rejected, \
             2 signals of them because their company was not loaded (1 company rejected)"
        ) && message
            .contains("1 company rejected, and with them 2 signals; --invalid-as-null keeps both"),
        "{message}"
    );
}

#[test]
fn an_update_without_files_is_refused() {
    let (status, message) = Folder::new(&[]).run("update index");
    assert!(
        status == 1 && message.contains("nothing to update"),
        "{message}"
    );
}
