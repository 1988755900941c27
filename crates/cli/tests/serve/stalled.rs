//! A volume under the state file that stalls: whatever needs no read of the state is answered at once.

use std::fs;
use std::io::BufReader;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command};
use std::time::{Duration, Instant};

use crate::client::{self, Response};
use crate::program::{json, launch_with_admin, program, run};

/// Delays each read of the state file, while the file named in `STALL_SWITCH` exists.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static void stall(int file) {
    const char *state = getenv("STALL_STATE"), *on = getenv("STALL_SWITCH");
    char link[64], path[PATH_MAX];
    if (!state || !on || access(on, F_OK) != 0)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return;
    path[length] = 0;
    while (strncmp(path, state, strlen(state)) == 0 && access(on, F_OK) == 0)
        usleep(10000);
}

ssize_t read(int file, void *bytes, size_t count) {
    static ssize_t (*next)(int, void *, size_t);
    if (!next)
        next = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    stall(file);
    return next(file, bytes, count);
}

#define POSITIONED(name)                                                              \
    ssize_t name(int file, void *bytes, size_t count, off_t offset) {                 \
        static ssize_t (*next)(int, void *, size_t, off_t);                           \
        if (!next)                                                                    \
            next = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, #name);  \
        stall(file);                                                                  \
        return next(file, bytes, count, offset);                                      \
    }
POSITIONED(pread)
POSITIONED(pread64)
"#;

/// `--request-timeout` of the service.
const REQUEST_TIME: Duration = Duration::from_secs(2);

/// A service whose reads of the state can be stalled.
struct Stalling {
    service: Child,
    address: SocketAddr,
    admin: SocketAddr,
    directory: tempfile::TempDir,
    /// The `Authorization` of a key without quotas, and of one with quotas.
    bearers: [String; 2],
    /// Open, so that the service can write its log.
    _errors: BufReader<ChildStderr>,
}

impl Stalling {
    fn start() -> Stalling {
        let directory = tempfile::tempdir().expect("a directory");
        // The library compares resolved paths.
        let folder = directory.path().canonicalize().expect("a path");
        let (state, library) = (folder.join("state.db"), compile(&folder));
        let quotas = ["--quota-signals", "1000", "--quota-free-answers", "1000"];
        let bearers = [&[][..], &quotas[..]].map(|quotas| create_key(&state, quotas));
        let mut command = program();
        command
            .args(["serve", "@sample", "--addr", "127.0.0.1:0", "--state"])
            .arg(&state)
            .args(["--admin-addr", "127.0.0.1:0", "--request-timeout"])
            .arg(REQUEST_TIME.as_secs().to_string())
            .env("LD_PRELOAD", library)
            .env("STALL_STATE", &state)
            .env("STALL_SWITCH", folder.join("stalled"));
        let (service, [address, admin], errors) = launch_with_admin(command);
        Stalling {
            service,
            address,
            admin,
            directory,
            bearers,
            _errors: errors,
        }
    }

    fn state(&self) -> PathBuf {
        self.directory.path().join("state.db")
    }

    fn stall(&self) {
        fs::write(self.directory.path().join("stalled"), "").expect("written");
        // A change by another process, after which no connection has pages left in memory.
        create_key(&self.state(), &[]);
    }

    fn heal(&self) {
        fs::remove_file(self.directory.path().join("stalled")).expect("removed");
    }

    fn get(&self, target: &str, headers: &[(&str, &str)]) -> Response {
        client::request(self.address, "GET", target, headers)
    }

    /// The cookie of a session of the dashboard.
    fn sign_in(&self) -> String {
        let token = run(&self.state(), &["admin-token"]);
        let token = String::from_utf8(token.stdout).expect("a token");
        let form = format!("token={}", token.trim());
        let answer = client::post(self.admin, "/sign-in", &[], form.as_bytes());
        let cookie = answer.header("set-cookie").expect("a session");
        cookie.split(';').next().expect("a cookie").to_owned()
    }

    fn recorded(&self) -> u64 {
        let usage = json(&run(&self.state(), &["usage"]));
        let lines = usage.as_array().expect("a list").iter();
        lines
            .map(|line| line["signals"].as_u64().expect("a number"))
            .sum()
    }
}

impl Drop for Stalling {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

fn compile(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("stall.c"), folder.join("stall.so"));
    fs::write(&source, LIBRARY).expect("written");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .output()
        .expect("a C compiler");
    let errors = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{errors}");
    library
}

fn create_key(state: &Path, quotas: &[&str]) -> String {
    let create = ["keys", "create", "--name", "mine"];
    let made = json(&run(state, &[&create, quotas].concat()));
    format!("Bearer {}", made["key"].as_str().expect("a key"))
}

/// A request that reads the state: an address, a target and headers.
type Read<'a> = (SocketAddr, &'a str, Vec<(&'a str, &'a str)>);

#[test]
fn a_stalled_volume_holds_up_only_what_reads_the_state() {
    let stalling = Stalling::start();
    let [free, limited] = stalling.bearers.each_ref().map(String::as_str);
    let search = "/api/v1/signals?q=raises&limit=3";
    let count = "/api/v1/signals?q=raises&countOnly=true";
    let first = stalling.get(search, &[("authorization", free)]);
    assert_eq!((first.status, first.charged()), (200, 3));
    let session = stalling.sign_in();

    stalling.stall();
    let names = ["stalled-0", "stalled-1", "stalled-2", "stalled-3"];
    let unknown = "Bearer sdx_0000000000000000000000000000000000000000000";
    // Of each kind of read as many as there are threads for reading.
    let kinds = |name| -> [Read<'_>; 5] {
        let export = "/api/v1/export?q=raises";
        let named = vec![("authorization", free), ("idempotency-key", name)];
        [
            (stalling.address, search, vec![("authorization", unknown)]),
            (stalling.address, search, named),
            (stalling.address, count, vec![("authorization", limited)]),
            (stalling.address, export, vec![("authorization", limited)]),
            (stalling.admin, "/keys", vec![("cookie", &session)]),
        ]
    };
    std::thread::scope(|scope| {
        let waiting: Vec<_> = names
            .into_iter()
            .flat_map(kinds)
            .map(|(address, target, headers)| {
                let ask = move || client::request(address, "GET", target, &headers);
                (target, scope.spawn(ask))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(300));
        // Whatever reads the state is refused while it is stalled, so these answers need no read.
        for target in ["/healthz", "/docs", "/openapi.json", "/healthz"] {
            let answer = stalling.get(target, &[]);
            assert_eq!(answer.status, 200, "{target}");
        }
        let answer = stalling.get(count, &[("authorization", free)]);
        assert_eq!(answer.status, 200, "a count without a quota reads nothing");
        assert_eq!(stalling.get("/readyz", &[]).status, 503);
        for (target, thread) in waiting {
            let answer = thread.join().expect("an answer");
            assert_eq!(answer.status, 503, "{target}");
            assert_eq!(answer.charged(), 0, "{target}");
        }
    });
    let metrics = client::request(stalling.admin, "GET", "/metrics", &[]);
    let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
    let refused = metrics
        .lines()
        .find_map(|line| line.strip_prefix("signaldex_state_reads_refused_total "));
    let refused: u64 = refused.expect("a metric").parse().expect("a number");
    assert!(refused >= 20, "{refused}");

    stalling.heal();
    let healed = Instant::now();
    while stalling.get("/readyz", &[]).status != 200 {
        assert!(healed.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    let named = [("authorization", free), ("idempotency-key", names[0])];
    let answer = stalling.get(search, &named);
    assert_eq!((answer.status, answer.charged()), (200, 3));
    assert_eq!(stalling.recorded(), 6, "what was refused is not charged");
}
