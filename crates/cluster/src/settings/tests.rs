//! White-box tests of `settings.rs`.

use super::super::error::ClusterErrorKind;
use super::*;
use signaldex::ErrorKind;

fn text(replicas: usize, names: &[&str]) -> String {
    let nodes = names
        .iter()
        .map(|name| format!("{{\"name\": \"{name}\", \"address\": \"127.0.0.1:7400\"}}"));
    let nodes: Vec<String> = nodes.collect();
    let nodes = nodes.join(", ");
    format!("{{\"store\": \"/store\", \"replicas\": {replicas}, \"nodes\": [{nodes}]}}")
}

fn with_seeds(cluster: &str, seed: &str) -> String {
    format!(
        "{{\"cluster\": \"{cluster}\", \"store\": \"/store\", \"replicas\": 2, \"seeds\": [\"{seed}\"]}}"
    )
}

#[test]
fn what_breaks_a_rule_is_refused_with_what_is_allowed() {
    assert!(ClusterSettings::parse(&text(2, &["one", "two"])).is_ok());
    for (text, reason) in [
        (text(1, &[]), "nodes: there are 0"),
        (text(0, &["one"]), "replicas: 0 is not allowed; use 1 to 1"),
        (text(2, &["one"]), "replicas: 2"),
        (text(1, &["one", "one"]), "\"one\" occurs twice"),
        (text(1, &["a/b"]), "nodes: the name \"a/b\""),
        ("{}".to_owned(), "missing field `store`"),
        (
            with_seeds("a/b", "10.0.0.1:7400"),
            "cluster: the name \"a/b\"",
        ),
        (
            with_seeds("signals", "10.0.0.1"),
            "seeds: the address \"10.0.0.1\"",
        ),
        (
            r#"{"store": "/store", "replicas": 1, "cluster": "signals", "seeds": []}"#.to_owned(),
            "seeds: there are 0",
        ),
        (
            r#"{"store": "/store", "replicas": 1, "cluster": "signals"}"#.to_owned(),
            "either nodes",
        ),
        (
            text(1, &["one"]).replace(
                "\"nodes\"",
                "\"cluster\": \"signals\", \"seeds\": [\"h:1\"], \"nodes\"",
            ),
            "not both",
        ),
    ] {
        let error = ClusterSettings::parse(&text).expect_err("refused");
        assert!(
            error.kind() == ClusterErrorKind::Index(ErrorKind::Invalid)
                && error.to_string().contains(reason),
            "{error}"
        );
    }
}

#[test]
fn a_node_that_is_none_is_refused_with_those_that_are() {
    let settings = ClusterSettings::parse(&text(1, &["one", "two"])).expect("a cluster");
    assert_eq!(
        settings.address_of("two").ok(),
        Some(Some("127.0.0.1:7400"))
    );
    let error = settings.address_of("six").expect_err("refused");
    assert!(
        error.to_string().contains("allowed are one, two"),
        "{error}"
    );
    let settings = ClusterSettings::parse(&with_seeds("signals", "h:1")).expect("a cluster");
    assert_eq!(settings.address_of("six").ok(), Some(None));
    assert!(settings.address_of("six six").is_err());
}
