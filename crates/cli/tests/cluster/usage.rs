//! What is refused: clusters that are none, nodes of others, public addresses, empty stores.

use std::process::Output;

use crate::fixture::{Fixture, free_port, program, run, settings_path, write_settings};

fn serve(fixture: &Fixture, arguments: &[&str]) -> Output {
    let mut command = program();
    command.args([
        "serve",
        "--addr",
        "127.0.0.1:0",
        "--admin-addr",
        "127.0.0.1:0",
    ]);
    command.arg("--state").arg(fixture.path("state.db"));
    command.arg("--shard-cache").arg(fixture.path("cache"));
    command
        .arg("--cluster")
        .arg(settings_path(fixture, "cluster"));
    command.args(arguments).output().expect("the program runs")
}

#[test]
fn what_cannot_be_served_is_refused_with_the_reason() {
    let fixture = Fixture::new();
    let store = fixture.path("store");
    write_settings(
        &settings_path(&fixture, "cluster"),
        &store,
        1,
        &[free_port(), free_port()],
    );
    for (arguments, status, reason) in [
        (&["--node", "six"][..], 1, "allowed are one, two"),
        (&["--node", "one"], 1, "no generation is published"),
        (
            &["--node", "one", "--worker-addr", "0.0.0.0:0"],
            1,
            "--worker-cert",
        ),
        (
            &["--node", "one", "--worker-cert", "cert.pem"],
            2,
            "--worker-key",
        ),
        (&[], 2, "--node"),
    ] {
        let output = serve(&fixture, arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(reason), "{arguments:?}: {text}");
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {text}");
    }
}

#[test]
fn a_generation_is_published_once() {
    let fixture = Fixture::new();
    fixture.generate("first", 100, 1);
    fixture.generate("second", 100, 2);
    fixture.publish("first", 2, "store");
    let publish = |corpus: &str, generation: &str| {
        let parts = fixture.path(&format!("{corpus}-2-parts"));
        let mut command = program();
        command
            .arg("publish-shards")
            .arg(parts)
            .arg(fixture.path("store"));
        command
            .args(["--generation", generation])
            .output()
            .expect("the program runs")
    };
    // The same again is no error.
    let again = publish("first", "1");
    let told = String::from_utf8_lossy(&again.stderr);
    assert!(
        again.status.success() && told.contains("generation 1 is published already"),
        "{told}"
    );
    fixture.publish("second", 2, "aside");
    let refused = publish("second", "1");
    assert_eq!(refused.status.code(), Some(1));
    let reason = String::from_utf8_lossy(&refused.stderr);
    assert!(reason.contains("published with other content"), "{reason}");
    assert!(publish("second", "2").status.success());
    let behind = publish("first", "1");
    let reason = String::from_utf8_lossy(&behind.stderr);
    assert!(reason.contains("is behind generation 2"), "{reason}");
    let mut empty = program();
    empty
        .arg("publish-shards")
        .arg(fixture.path("nothing"))
        .arg(fixture.path("store"));
    let empty = empty.output().expect("the program runs");
    assert!(String::from_utf8_lossy(&empty.stderr).contains("signaldex shard"));
    run(program()
        .args(["stats"])
        .arg(fixture.path("first-2-parts").join("0")));
}
