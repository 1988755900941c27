//! A program under test: `signaldex serve` with an index, a key and a state of its own.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use signaldex::sample;

/// A running program, which ends when this is dropped.
pub(crate) struct Program {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) key: String,
}

impl Program {
    /// Builds an index of the corpus in a new folder, in the program's own format, and serves it.
    pub(crate) fn start(
        path: &str,
        corpus: &Path,
        folder: &Path,
    ) -> Result<Program, Box<dyn Error>> {
        std::fs::create_dir(folder)?;
        let (index, state) = (folder.join("index"), folder.join("state.db"));
        let built = Command::new(path)
            .arg("build")
            .arg("--companies")
            .arg(corpus.join("companies.jsonl.zst"))
            .arg("--signals")
            .arg(corpus.join("signals.jsonl.zst"))
            .arg("--out")
            .arg(&index)
            .stdout(Stdio::null())
            .status()?;
        if !built.success() {
            return Err(format!("{path} builds no index: {built}").into());
        }
        let rate = u32::MAX.to_string();
        let created = Command::new(path)
            .args(["keys", "create", "--name", "load", "--rate", &rate])
            .args(["--burst", &rate, "--state"])
            .arg(&state)
            .output()?;
        let created: serde_json::Value = serde_json::from_slice(&created.stdout)?;
        let key = created["key"]
            .as_str()
            .ok_or("the program creates no key")?;
        let mut serve = Command::new(path);
        serve
            .arg("serve")
            .arg(&index)
            .args(["--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0"])
            .args(["--log", "off", "--as-of", &sample::AS_OF.to_string()])
            .arg("--state")
            .arg(&state);
        Program::listening(serve, key.to_owned())
    }

    /// Serves a constant body of some bytes, by this very program.
    pub(crate) fn constant(bytes: usize) -> Result<Program, Box<dyn Error>> {
        let mut serve = Command::new(std::env::current_exe()?);
        serve.args(["--constant", &bytes.to_string()]);
        Program::listening(serve, "none".to_owned())
    }

    /// Starts a command, and waits until it says where it listens.
    fn listening(mut command: Command, key: String) -> Result<Program, Box<dyn Error>> {
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let mut line = String::new();
        let errors = child.stderr.as_mut().ok_or("no standard error")?;
        BufReader::new(errors).read_line(&mut line)?;
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split(',').next());
        Ok(Program {
            address: address.ok_or("the program does not listen")?.parse()?,
            key,
            child,
        })
    }

    /// The processor time that the program has used, of all its threads.
    pub(crate) fn cpu_time(&self) -> Result<Duration, Box<dyn Error>> {
        // Linux counts in hundredths of a second, whatever the kernel's own ticks are.
        const TICK: Duration = Duration::from_millis(10);
        const USER: usize = 11;
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name of the program, in parentheses, may have spaces.
        let (_, fields) = text.rsplit_once(") ").ok_or("an unknown format")?;
        let ticks = fields.split(' ').skip(USER).take(2);
        let ticks: u32 = ticks.map(str::parse::<u32>).sum::<Result<u32, _>>()?;
        Ok(TICK * ticks)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has nothing that is needed any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
