//! The operators' guide: every command behind a `$` in it is run, in order, beside a service.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::client;
use crate::console::{blocks, is_like};

const GUIDE: &str = include_str!("../../../../docs/operators.md");
const PROGRAM: &str = env!("CARGO_BIN_EXE_signaldex");

/// What a guide's reader has before them: a directory with `index` and `signaldex.db`, a service
/// over both, and a program in the path.
struct Desk {
    directory: tempfile::TempDir,
    service: Child,
    address: String,
    admin_address: String,
}

impl Desk {
    fn set_up() -> Desk {
        let directory = tempfile::tempdir().expect("a directory");
        build_index(directory.path());
        let mut service = Command::new(PROGRAM)
            .args(["serve", "index", "--log", "off"])
            .args(["--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0"])
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the service starts");
        let errors = service.stderr.as_mut().expect("standard error");
        let mut line = String::new();
        BufReader::new(errors).read_line(&mut line).expect("a line");
        let mut addresses = line.split("http://").skip(1).map(|rest| {
            let end = rest.find([',', '/']).expect("the end of an address");
            rest[..end].to_owned()
        });
        Desk {
            address: addresses.next().expect("an address"),
            admin_address: addresses.next().expect("the admin's address"),
            directory,
            service,
        }
    }

    /// What a command prints, on both streams as a terminal shows them.
    fn run(&self, command: &str) -> String {
        let command = command
            .replace("127.0.0.1:8080", &self.address)
            .replace("127.0.0.1:9464", &self.admin_address);
        let folder = Path::new(PROGRAM).parent().expect("a folder");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(PathBuf::from(folder)).chain(std::env::split_paths(&path));
        let run = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(self.directory.path())
            .env("PATH", std::env::join_paths(folders).expect("a path"))
            .output()
            .expect("a shell");
        let printed = String::from_utf8(run.stdout).expect("text");
        assert!(run.status.success(), "{command}\nfailed with\n{printed}");
        printed
    }

    /// Somebody has used the service, so that there is usage to show.
    fn use_service(&self) {
        let made = self.run("signaldex keys create --name visitor");
        let made: serde_json::Value = serde_json::from_str(&made).expect("JSON");
        let bearer = format!("Bearer {}", made["key"].as_str().expect("a key"));
        let address = self.address.parse().expect("an address");
        let headers = [("authorization", bearer.as_str())];
        let answer = client::request(address, "GET", "/api/v1/signals?limit=2", &headers);
        assert_eq!(answer.status, 200);
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

fn build_index(directory: &Path) {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(directory);
        assert!(command.output().expect("the program runs").status.success());
    };
    run(&["generate", "--signals", "2000", "--out", "."]);
    run(&[
        "build",
        "--companies",
        "companies.jsonl",
        "--signals",
        "signals.jsonl",
        "--out",
        "index",
    ]);
}

#[test]
#[ignore = "needs curl and sqlite3"]
fn every_command_of_the_guide_does_what_it_says() {
    let desk = Desk::set_up();
    desk.use_service();
    let mut key_id = String::new();
    let mut count = 0;
    for example in blocks(GUIDE).iter().flatten() {
        let command = example.command.replace("key_…", &key_id);
        let printed = desk.run(&command);
        assert!(
            is_like(printed.trim_end(), example.output.trim_end()),
            "{command}\nprinted\n{printed}\nbut the guide says\n{}",
            example.output
        );
        if let Some(rest) = printed.strip_prefix("{\"id\":\"") {
            key_id = rest.split('"').next().unwrap_or_default().to_owned();
        }
        count += 1;
    }
    assert!(count >= 15, "only {count} commands were found");
}
