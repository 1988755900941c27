//! The numbers that `serve` takes: at both bounds it serves, past them it exits with status 2 and says what is allowed.

use std::path::Path;
use std::process::{Command, Output};

use crate::client;
use crate::program::{launch, program};

/// An option with its bounds, and a value past each.
struct Numeric {
    option: &'static str,
    bounds: [&'static str; 2],
    beyond: [&'static str; 2],
}

const fn concurrent(option: &'static str) -> Numeric {
    Numeric {
        option,
        bounds: ["1", "1000000"],
        beyond: ["0", "1000001"],
    }
}

const fn seconds(option: &'static str) -> Numeric {
    Numeric {
        option,
        bounds: ["0.001", "31536000"],
        beyond: ["0.0009", "31536001"],
    }
}

const NUMBERS: [Numeric; 13] = [
    concurrent("--max-connections"),
    concurrent("--max-in-flight"),
    concurrent("--max-exports"),
    concurrent("--max-charge-queue"),
    Numeric {
        option: "--query-threads",
        bounds: ["1", "1024"],
        beyond: ["0", "1025"],
    },
    Numeric {
        option: "--threads-per-query",
        bounds: ["1", "64"],
        beyond: ["0", "65"],
    },
    seconds("--header-timeout"),
    seconds("--request-timeout"),
    seconds("--query-wait"),
    seconds("--admin-session"),
    seconds("--drain-time"),
    seconds("--shutdown-timeout"),
    Numeric {
        option: "--slow-query-time",
        bounds: ["0.000001", "31536000"],
        beyond: ["0.0000009", "31536001"],
    },
];

/// Values that no number option takes.
const NO_NUMBERS: [&str; 8] = [
    "",
    "-1",
    "1e",
    "NaN",
    "inf",
    "many",
    "18446744073709551616",
    "1e300",
];

fn serve(state: &Path) -> Command {
    let mut command = program();
    command.args([
        "serve",
        "--addr",
        "127.0.0.1:0",
        "--admin-addr",
        "127.0.0.1:0",
    ]);
    command.args(["--log", "off"]).arg("--state").arg(state);
    command
}

/// With each option alone at a bound, so that no other one makes up for it.
#[test]
fn serve_answers_at_both_bounds_of_each_number() {
    let folder = tempfile::tempdir().expect("a directory");
    let state = folder.path().join("state.db");
    for Numeric { option, bounds, .. } in &NUMBERS {
        for bound in bounds {
            // Nothing is answered within a millisecond for certain.
            let is_answered = !matches!(
                (*option, *bound),
                ("--header-timeout" | "--request-timeout", "0.001")
            );
            let mut command = serve(&state);
            command.arg(format!("{option}={bound}"));
            let (mut service, address, _errors) = launch(command);
            let mut status = 0;
            for _ in 0..1500 {
                let answer = client::try_request(address, "GET", "/readyz", &[]);
                status = answer.map_or(0, |answer| answer.status);
                if status == 200 || !is_answered {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            assert!(!is_answered || status == 200, "{option}={bound}: {status}");
            assert!(
                service.try_wait().expect("a status").is_none(),
                "{option}={bound}"
            );
            service.kill().expect("a service that runs");
            service.wait().expect("a child");
        }
    }
}

#[test]
fn serve_refuses_a_number_past_its_bounds_with_status_2_and_says_what_is_allowed() {
    let folder = tempfile::tempdir().expect("a directory");
    let state = folder.path().join("state.db");
    for Numeric {
        option,
        bounds,
        beyond,
    } in &NUMBERS
    {
        for value in beyond.iter().chain(&NO_NUMBERS) {
            let mut command = serve(&state);
            let output = command.arg(format!("{option}={value}")).output();
            let Output { status, stderr, .. } = output.expect("the program runs");
            let reason = String::from_utf8_lossy(&stderr);
            assert_eq!(status.code(), Some(2), "{option}={value}: {reason}");
            assert!(reason.contains(option), "{option}={value}: {reason}");
            if beyond.contains(value) {
                for bound in bounds {
                    assert!(reason.contains(bound), "{option}={value}: {reason}");
                }
            }
        }
    }
    assert!(!state.exists(), "refused before anything is made");
}

/// The option without bounds: from 0, with which every query takes its turn, to the largest number.
#[test]
fn any_cost_can_be_the_cheapest() {
    let folder = tempfile::tempdir().expect("a directory");
    let state = folder.path().join("state.db");
    for cost in ["0", "18446744073709551615"] {
        let mut command = serve(&state);
        command.args(["--cheap-query-cost", cost]);
        let (mut service, address, _errors) = launch(command);
        let ready = || client::try_request(address, "GET", "/readyz", &[]);
        while ready().is_none_or(|answer| answer.status != 200) {}
        service.kill().expect("a service that runs");
        service.wait().expect("a child");
    }
}
