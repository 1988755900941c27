//! Running out of memory: a command ends with an error or is aborted. It never hangs.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::program;

/// How long a command may take, on a machine that is busy.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Steps of the bound on the address space, in KiB: less than the stack of a thread, so that each one fails in turn.
const STEP: u64 = 500;

/// Runs in a row that have to succeed before memory is taken to be enough.
const DONE_IN_A_ROW: usize = 4;

/// The most runs of a command: two hundred megabytes more than its version needs.
const RUNS_MAX: usize = 400;

/// A command within a bound of its address space. It prints backtraces, if it can.
fn bounded(kibibytes: u64, arguments: &[&str]) -> Command {
    let program = program().get_program().to_owned();
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {kibibytes} && ulimit -c 0 && exec \"$0\" \"$@\"");
    command.args(["-c", &script]).arg(program).args(arguments);
    command.env("RUST_BACKTRACE", "1");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Done,
    Failed,
}

/// Waits until a command has ended, or does what it is for.
fn end_of(child: &mut Child, is_done: impl Fn() -> bool) -> Option<End> {
    let started = Instant::now();
    while started.elapsed() < TIME_MAX {
        if let Some(status) = child.try_wait().expect("a child") {
            let end = if status.success() {
                End::Done
            } else {
                End::Failed
            };
            return Some(end);
        }
        if is_done() {
            return Some(End::Done);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

fn run(kibibytes: u64, arguments: &[&str], is_done: impl Fn() -> bool) -> End {
    let mut child = bounded(kibibytes, arguments).spawn().expect("a shell");
    let end = end_of(&mut child, is_done);
    let _ = child.kill();
    child.wait().expect("a child");
    end.unwrap_or_else(|| panic!("{arguments:?} hangs with {kibibytes} KiB"))
}

/// The least bound, rounded up, with which the program prints its version.
fn least() -> u64 {
    let mut bounds = (0..1_000).map(|number| number * STEP);
    let runs = |&bound: &u64| run(bound, &["--version"], || false) == End::Done;
    bounds.find(runs).expect("half a gigabyte is enough")
}

/// How runs of a command end within ever larger bounds, until memory is enough.
fn sweep(least: u64, mut run: impl FnMut(u64) -> End) -> Vec<End> {
    let mut ends = Vec::new();
    while !ends.ends_with(&[End::Done; DONE_IN_A_ROW]) {
        assert!(ends.len() < RUNS_MAX, "{ends:?}");
        ends.push(run(least + STEP * ends.len() as u64));
    }
    ends
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

#[test]
fn no_command_hangs_when_memory_runs_out() {
    let folder = tempfile::tempdir().expect("a directory");
    let [data, index, state] = ["data", "index", "state.db"].map(|name| folder.path().join(name));
    let generate = ["generate", "--signals", "200", "--out", text(&data)];
    assert!(
        program()
            .args(generate)
            .output()
            .expect("a run")
            .status
            .success()
    );
    let files = ["companies.jsonl", "signals.jsonl"].map(|name| data.join(name));
    let build = |to: &Path, kibibytes| {
        let [companies, signals] = files.each_ref().map(|path| text(path));
        let arguments = [
            "build",
            "--companies",
            companies,
            "--signals",
            signals,
            "--out",
            text(to),
        ];
        run(kibibytes, &arguments, || false)
    };
    let least = least();
    let unbounded = 4_000_000;
    assert_eq!(build(&index, unbounded), End::Done);
    let built = sweep(least, |kibibytes| {
        let to = folder.path().join(format!("index-{kibibytes}"));
        build(&to, kibibytes)
    });
    let search = ["search", text(&index), "q=series"];
    sweep(least, |kibibytes| run(kibibytes, &search, || false));
    let served = sweep(least, |kibibytes| {
        let address = format!("127.0.0.1:{}", free_port());
        let listen = ["--addr", &address, "--admin-addr", "127.0.0.1:0"];
        let serve = ["serve", text(&index), "--state", text(&state)];
        run(kibibytes, &[serve, listen].concat(), || is_alive(&address))
    });
    // Their threads need more than the version does.
    assert!(built.contains(&End::Failed) && served.contains(&End::Failed));
}

/// Whether a service answers at an address.
fn is_alive(address: &str) -> bool {
    use std::io::{Read, Write};
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// A port that nothing listens on.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
