//! The files of docs/deploy: what they set and run is what the program takes.

use std::path::Path;

use crate::client;
use crate::program::{launch, launch_with_admin, program};

const UNIT: &str = include_str!("../../../../docs/deploy/signaldex.service");
const CONTAINER: &str = include_str!("../../../../docs/deploy/Containerfile");
const ALERTS: &str = include_str!("../../../../docs/deploy/alerts.yml");
const GRAFANA: &str = include_str!("../../../../docs/deploy/grafana.json");
/// A family without a sample is not in what the service prints, so the names are looked up here.
const METRICS: [&str; 4] = [
    include_str!("../../../server/src/metrics.rs"),
    include_str!("../../../server/src/metrics/cluster.rs"),
    include_str!("../../../server/src/metrics/following.rs"),
    include_str!("../../../server/src/metrics/webhooks.rs"),
];

/// Starts the program with variables and arguments as a deployment gives them, but for addresses, which
/// are free ones, and files, which are in a directory of the test.
fn serves(variables: &[(&str, String)], arguments: &str, directory: &Path) {
    let mut command = program();
    command
        .args(arguments.split_whitespace())
        .env("SIGNALDEX_LOG", "off");
    for (name, value) in variables {
        let value = match *name {
            "SIGNALDEX_ADDR" | "SIGNALDEX_ADMIN_ADDR" => "127.0.0.1:0".to_owned(),
            _ => value.replace("/var/lib/signaldex", &directory.display().to_string()),
        };
        let value = value.replace("/data", &directory.display().to_string());
        command.env(name, value);
    }
    let (mut service, address, _errors) = launch(command);
    let answer = client::request(address, "GET", "/readyz", &[]);
    service.kill().expect("killed");
    service.wait().expect("gone");
    assert_eq!(answer.status, 200);
    assert!(directory.join("state.db").is_file());
}

/// Variables that the program does not know would be ignored silently.
fn assert_known(variables: &[(&str, String)]) {
    let help = program().args(["serve", "--help"]).output().expect("help");
    let help = String::from_utf8(help.stdout).expect("text");
    for (name, _) in variables {
        assert!(help.contains(&format!("{name}=")), "{name}");
    }
}

#[test]
fn the_unit_starts_the_service() {
    let directory = tempfile::tempdir().expect("a directory");
    let index = directory.path().join("index");
    signaldex::IndexBuilder::in_directory(&index)
        .and_then(signaldex::IndexBuilder::finish)
        .expect("an index");
    let variables: Vec<(&str, String)> = UNIT
        .lines()
        .filter_map(|line| line.strip_prefix("Environment=")?.split_once('='))
        .map(|(name, value)| (name, value.to_owned()))
        .collect();
    assert_eq!(variables.len(), 4);
    assert_known(&variables);
    let started = UNIT
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let arguments = started.and_then(|line| line.strip_prefix("/usr/local/bin/signaldex "));
    serves(
        &variables,
        arguments.expect("the command"),
        directory.path(),
    );
}

#[test]
fn the_container_starts_the_service() {
    let directory = tempfile::tempdir().expect("a directory");
    let (_, variables) = CONTAINER.split_once("\nENV ").expect("variables");
    let (variables, _) = variables.split_once("\nEXPOSE").expect("their end");
    let variables: Vec<(&str, String)> = variables
        .split_whitespace()
        .filter(|word| *word != "\\")
        .map(|word| word.split_once('=').expect("a variable"))
        .map(|(name, value)| (name, value.to_owned()))
        .collect();
    assert_known(&variables);
    assert!(CONTAINER.contains("ENTRYPOINT [\"signaldex\"]\nCMD [\"serve\"]"));
    serves(&variables, "serve", directory.path());
}

/// The metrics that an expression names, without what Prometheus adds to the names of a kind.
fn metrics_of(line: &str) -> Vec<&str> {
    let is_name = |char: char| char.is_ascii_lowercase() || char == '_';
    let words = line.split(|char| !is_name(char));
    let ours = words.filter(|word| word.starts_with("signaldex_"));
    ours.map(|word| {
        let endings = ["_total", "_bucket", "_count", "_sum"];
        let ending = endings.iter().find(|ending| word.ends_with(**ending));
        ending.map_or(word, |ending| word.trim_end_matches(ending))
    })
    .collect()
}

#[test]
fn every_metric_of_the_alert_rules_exists() {
    let lines = ALERTS.lines().map(str::trim);
    let expressions: Vec<&str> = lines
        .filter_map(|line| line.strip_prefix("expr: "))
        .collect();
    assert_eq!(expressions.len(), ALERTS.matches("- alert: ").count());
    assert!(expressions.len() >= 10);
    for name in expressions.iter().flat_map(|line| metrics_of(line)) {
        let registered = name
            .strip_prefix("signaldex_")
            .map(|name| format!("\"{name}\","));
        let registered = registered.expect("a name of ours");
        let mut sources = METRICS.iter();
        assert!(sources.any(|source| source.contains(&registered)), "{name}");
    }
}

/// All names of metrics in an expression.
fn names_of(expression: &str) -> impl Iterator<Item = &str> {
    let is_name = |char: char| char.is_ascii_lowercase() || char == '_';
    let words = expression.split(move |char| !is_name(char));
    words.filter(|word| word.starts_with("signaldex_") || word.starts_with("process_"))
}

#[test]
#[cfg(target_os = "linux")]
fn every_metric_of_the_grafana_dashboard_is_at_metrics() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = program();
    command.args([
        "serve",
        "--addr",
        "127.0.0.1:0",
        "--admin-addr",
        "127.0.0.1:0",
        "--state",
    ]);
    command.arg(directory.path().join("state.db"));
    let (mut service, [address, admin], _errors) = launch_with_admin(command);
    // Families of requests have samples once there was one.
    assert_eq!(client::request(address, "GET", "/healthz", &[]).status, 200);
    let metrics = client::request(admin, "GET", "/metrics", &[]).body;
    service.kill().expect("killed");
    service.wait().expect("gone");
    let metrics = String::from_utf8(metrics).expect("text");
    let dashboard: serde_json::Value = serde_json::from_str(GRAFANA).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let mut expressions: Vec<&str> = targets
        .filter_map(|target| target["expr"].as_str())
        .collect();
    let variables = dashboard["templating"]["list"]
        .as_array()
        .expect("variables");
    expressions.extend(
        variables
            .iter()
            .filter_map(|variable| variable["query"].as_str()),
    );
    let names: Vec<&str> = expressions.iter().flat_map(|line| names_of(line)).collect();
    assert!(names.len() >= 20, "{names:?}");
    for name in names {
        let is_shown = metrics.lines().any(|line| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
        });
        assert!(is_shown, "{name} is not at /metrics");
    }
}

#[test]
fn the_container_and_the_unit_ask_for_the_health() {
    assert!(CONTAINER.contains("CMD [\"signaldex\", \"health\"]"));
    assert!(UNIT.contains("until /usr/local/bin/signaldex health; do"));
}
