//! What the program prints on a terminal: as wide as it is, with matched words in bold, and logs as text.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A terminal `columns` wide: the side to read, and the side that a program writes to.
fn terminal(columns: u16) -> (File, File) {
    let reader: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&reader)
        .and_then(|()| unlockpt(&reader))
        .expect("access to it");
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&reader, size).expect("a size");
    let name = ptsname(&reader, Vec::new()).expect("its name");
    let name = name.into_string().expect("text");
    let writer = File::options()
        .read(true)
        .write(true)
        .open(name)
        .expect("its other side");
    (File::from(reader), writer)
}

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signaldex"));
    command
        .args(arguments)
        .env_remove("COLUMNS")
        .env_remove("NO_COLOR");
    command
}

/// What a command shows on a terminal `columns` wide.
fn shown(columns: u16, command: &mut Command) -> String {
    let (mut reader, writer) = terminal(columns);
    command.stdout(writer);
    let mut running = command.spawn().expect("the program can be started");
    // The program has the only side left to write to, so that its end is the end of what can be read.
    command.stdout(Stdio::null());
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    // Linux says so by an error.
    while let Ok(length @ 1..) = reader.read(&mut piece) {
        bytes.extend_from_slice(&piece[..length]);
    }
    assert!(running.wait().expect("an exit").success());
    String::from_utf8(bytes).expect("text")
}

const SEARCH: [&str; 5] = ["search", "@sample", "q=raises", "limit=20", "--table"];

fn without_bold(line: &str) -> String {
    line.replace("\x1b[1m", "").replace("\x1b[0m", "")
}

#[test]
fn a_table_is_as_wide_as_the_terminal() {
    let widths = [90, 110, 240].map(|columns| {
        let text = shown(columns, &mut program(&SEARCH));
        let lines = text.lines().map(without_bold);
        let rows = lines.filter(|line| {
            line.trim_start()
                .starts_with(|first: char| first.is_ascii_digit())
        });
        let width = rows.map(|line| line.trim_end().chars().count()).max();
        let width = width.expect("rows");
        assert!(width <= usize::from(columns), "{width} of {columns}");
        width
    });
    assert_eq!(
        widths[..2],
        [90, 110],
        "long titles are cut to what there is room for"
    );
    assert!(widths[2] > 110);
}

#[test]
fn matched_words_are_bold_on_a_terminal_only() {
    let text = shown(120, &mut program(&SEARCH));
    assert!(text.contains("\x1b[1mraises\x1b[0m"), "{text:?}");
    let plain = shown(120, program(&SEARCH).env("NO_COLOR", "1"));
    assert!(!plain.contains('\x1b'), "{plain:?}");
    let piped = program(&SEARCH)
        .output()
        .expect("the program can be started");
    assert!(!piped.stdout.contains(&0x1b));
}

#[cfg(feature = "serve")]
mod logs {
    use super::*;

    /// The first line that a service logs about a request, with standard error a terminal or a pipe.
    fn line_of_a_request(format: &[&str], on_terminal: bool) -> String {
        use std::io::{BufRead, BufReader};

        let directory = tempfile::tempdir().expect("a directory");
        let mut command = program(&[
            "serve",
            "--addr",
            "127.0.0.1:0",
            "--admin-addr",
            "127.0.0.1:0",
        ]);
        command
            .args(format)
            .env_remove("SIGNALDEX_LOG_FORMAT")
            .current_dir(directory.path());
        command.stdout(Stdio::null());
        let (mut service, errors): (_, Box<dyn Read>) = if on_terminal {
            let (reader, writer) = terminal(200);
            (command.stderr(writer).spawn(), Box::new(reader))
        } else {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            (command.stderr(writer).spawn(), Box::new(reader))
        };
        drop(command);
        let mut errors = BufReader::new(errors).lines().map_while(Result::ok);
        let first = errors.next().expect("a line");
        let address = first
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split(',').next());
        let mut client =
            std::net::TcpStream::connect(address.expect("an address")).expect("a connection");
        let request = b"GET /api/v1/signals HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        std::io::Write::write_all(&mut client, request).expect("sent");
        let line = errors.find(|line| line.contains("answered"));
        let running = service.as_mut().expect("the service starts");
        running.kill().expect("killed");
        running.wait().expect("gone");
        line.expect("a line about the request")
    }

    #[test]
    fn logs_are_text_on_a_terminal_and_json_elsewhere_unless_chosen() {
        for (format, on_terminal, is_json) in [
            ([].as_slice(), true, false),
            (&[], false, true),
            (&["--log-format", "json"], true, true),
            (&["--log-format", "text"], false, false),
        ] {
            let line = line_of_a_request(format, on_terminal);
            let read = serde_json::from_str::<serde_json::Value>(&line).is_ok();
            assert_eq!(read, is_json, "{format:?} {on_terminal}: {line}");
        }
    }
}
