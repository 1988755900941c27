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

/// Columns that a line takes: two for wide characters, none for combining ones and escapes.
fn columns_of(line: &str) -> usize {
    let columns = |letter: char| match letter {
        '\u{300}'..='\u{36f}' | '\u{3099}' | '\u{309a}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{ff01}'..='\u{ff60}' => 2,
        _ => 1,
    };
    without_bold(line)
        .trim_end_matches('\r')
        .chars()
        .map(columns)
        .sum()
}

/// An index with texts of wide and combining characters.
fn wide_index(folder: &std::path::Path) -> String {
    let path = |name: &str| folder.join(name).display().to_string();
    let companies = [
        ("acme", "株式会社ロボティクス・ホールディングス"),
        ("hanguk", "주식회사 한국로보틱스"),
        ("cafe", "Cafe\u{301} Zu\u{308}rich AG"),
    ];
    let companies = companies.map(|(slug, name)| {
        let about = format!("{name} {}", name.repeat(12));
        serde_json::json!({"slug": slug, "name": name, "about": about, "country": "日本", "employees": 120}).to_string() + "\n"
    });
    let titles = [
        "Acme raises シリーズAで資金調達を実施し、ロボット事業を全国に拡大すると発表しました",
        "raises 시리즈 A 투자 유치 로봇 사업 확장 발표 서울 부산 대구",
        "Cafe\u{301} raises Se\u{301}rie A pour de\u{301}velopper ses cafe\u{301}s a\u{300} Zu\u{308}rich et a\u{300} Gene\u{300}ve, et ailleurs",
    ];
    let signals: String = (1..=9).map(|number| {
        let slug = ["acme", "hanguk", "cafe"][number % 3];
        serde_json::json!({"id": format!("92233720368547758{number:02}"), "slug": "s", "title": titles[number % 3], "companySlug": slug,
            "date": "2026-06-12", "category": "資金調達", "evidence": titles[0].repeat(9),
            "activityUrl": format!("https://acme.example/{}", "news".repeat(40))}).to_string() + "\n"
    }).collect();
    std::fs::write(path("companies"), companies.concat()).expect("a writable file");
    std::fs::write(path("signals"), signals).expect("a writable file");
    let build = [
        "build",
        "--companies",
        &path("companies"),
        "--signals",
        &path("signals"),
        "--out",
        &path("index"),
    ];
    assert!(
        program(&build)
            .stderr(Stdio::null())
            .status()
            .expect("it starts")
            .success()
    );
    path("index")
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let folder = tempfile::tempdir().expect("a directory");
    let index = wide_index(folder.path());
    let commands: Vec<Vec<&str>> = vec![
        vec!["search", &index, "q=raises"],
        vec![
            "search",
            &index,
            "--columns",
            "title,company.country,companyName,funding.amount,id,evidence",
        ],
        vec!["search", "@sample", "limit=20"],
        vec!["signal", &index, "9223372036854775801"],
        vec!["company", &index, "acme"],
        vec!["options", &index],
        vec!["options", "@sample"],
        vec!["stats", &index, "--sections"],
    ];
    for columns in [40, 60, 80, 132] {
        for command in &commands {
            let text = shown(columns, &mut program(command));
            assert!(!text.starts_with('{'), "a terminal gets a table: {text}");
            // A command to type is an exception.
            let lines = text.lines().filter(|line| !line.starts_with("next page: "));
            for line in lines {
                let width = columns_of(line);
                assert!(
                    width <= usize::from(columns),
                    "{width} of {columns} in {command:?}: {line}"
                );
            }
        }
    }
    let narrow = shown(40, &mut program(&commands[0]));
    let header: Vec<&str> = narrow
        .lines()
        .next()
        .expect("a header")
        .split_whitespace()
        .collect();
    assert_eq!(header, ["id", "title"]);
    let wide = shown(132, &mut program(&commands[0]));
    assert!(
        wide.contains("株式会社ロボティクス") && wide.contains("\x1b[1mraises\x1b[0m"),
        "{wide}"
    );
}

#[cfg(feature = "serve")]
#[test]
fn keys_and_usage_are_no_wider_than_the_terminal() {
    let folder = tempfile::tempdir().expect("a directory");
    let state = folder.path().join("state").display().to_string();
    for name in [
        "株式会社ロボティクス・ホールディングスの検索",
        "Cafe\u{301} Zu\u{308}rich",
        "k",
    ] {
        let created = program(&["keys", "create", "--state", &state, "--name", name]).output();
        assert!(created.expect("a program").status.success());
    }
    for columns in [40, 60, 80, 132] {
        for command in [
            &["keys", "list", "--state", &state][..],
            &["usage", "--state", &state],
        ] {
            let text = shown(columns, &mut program(command));
            for line in text.lines() {
                let width = columns_of(line);
                assert!(
                    width <= usize::from(columns),
                    "{width} of {columns}: {line}"
                );
            }
            assert!(!text.is_empty() && !text.starts_with(['{', '[']), "{text}");
        }
    }
}

/// What a command writes to a terminal as its standard error, and the longest time without a byte.
fn errors_of(command: &mut Command) -> (String, std::time::Duration) {
    let (mut reader, writer) = terminal(60);
    command.stderr(writer).stdout(Stdio::null());
    let mut running = command.spawn().expect("the program can be started");
    command.stderr(Stdio::null());
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    let (mut last, mut longest) = (std::time::Instant::now(), std::time::Duration::ZERO);
    while let Ok(length @ 1..) = reader.read(&mut piece) {
        longest = longest.max(last.elapsed());
        last = std::time::Instant::now();
        bytes.extend_from_slice(&piece[..length]);
    }
    let longest = longest.max(last.elapsed());
    assert!(running.wait().expect("an exit").success());
    (String::from_utf8(bytes).expect("text"), longest)
}

#[test]
fn a_command_shows_its_phases_until_the_last_is_done_and_is_never_silent() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let generated = program(&["generate", "--signals", "60000", "--out", &path("corpus")])
        .stderr(Stdio::null())
        .status();
    assert!(generated.expect("it starts").success());
    let (companies, signals) = (path("corpus/companies.jsonl"), path("corpus/signals.jsonl"));
    let (index, dump, export) = (path("index"), path("dump"), path("export.csv"));
    let build = [
        "build",
        "--companies",
        &companies,
        "--signals",
        &signals,
        "--out",
        &index,
    ];
    let mut shown = String::new();
    for command in [
        &build[..],
        &["verify", &index],
        &["update", &index, "--signals", &signals],
        &["compact", &index],
        &["dump", &index, "--out", &dump],
        &["export", &index, "--format", "csv", "--out", &export],
    ] {
        let (text, longest) = errors_of(&mut program(command));
        assert!(
            longest.as_millis() < 1500,
            "{command:?} is silent for {longest:?}"
        );
        // Each line of progress clears the one before, and none wraps.
        for line in text.split(['\r', '\n']) {
            let line = line.trim_start_matches("\x1b[K");
            let is_progress = line.contains("records, ");
            assert!(
                !is_progress || columns_of(line) < 60 || !line.contains("records/s"),
                "{line}"
            );
        }
        shown.push_str(&text);
    }
    for phase in ["signals: ", "sorting and writing: ", "verifying: ", "% "] {
        let phase = phase.trim_end_matches(' ');
        assert!(shown.contains(phase), "{phase} is not shown: {shown}");
    }
    // The last phase of a build moves: how often it is shown depends on the machine.
    let lines = shown.split(['\r', '\n']);
    let lines =
        lines.filter_map(|line| line.split_once("sorting and writing: ")?.1.split_once('%'));
    let shares: Vec<u32> = lines.filter_map(|(share, _)| share.parse().ok()).collect();
    let mut moved = shares.clone();
    moved.dedup();
    assert!(shares.is_sorted() && moved.len() > 1, "{shares:?}");
    // Elsewhere there are no control characters.
    let piped = program(&["verify", &index])
        .output()
        .expect("the program can be started");
    assert!(!piped.stderr.contains(&0x1b) && !piped.stderr.contains(&b'\r'));
}

#[test]
fn json_and_no_escapes_are_for_pipes() {
    for command in [
        ["search", "@sample"],
        ["options", "@sample"],
        ["stats", "@sample"],
    ] {
        let piped = program(&command)
            .output()
            .expect("the program can be started");
        let json: serde_json::Value =
            serde_json::from_slice(&piped.stdout).expect("JSON in a pipe");
        assert!(json.is_object() && !piped.stdout.contains(&0x1b));
        let on_terminal = shown(80, program(&command).args(["--format", "json"]));
        let on_terminal: serde_json::Value =
            serde_json::from_str(&on_terminal).expect("JSON as asked for");
        // The index of the sample is made anew, under another identity.
        let without_identity = |mut json: serde_json::Value| {
            json.as_object_mut().expect("an object").remove("index");
            json
        };
        assert_eq!(without_identity(on_terminal), without_identity(json));
    }
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
