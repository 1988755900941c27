//! First uses of filters of keys: they are expensive queries.

use std::time::Duration;

use signaldex::query::KeyFilter;
use signaldex_server::{Limits, NewKey};

use crate::client;
use crate::dashboard::Dashboard;

#[test]
fn the_first_use_of_an_expensive_filter_waits_for_its_turn() {
    let limits = Limits {
        cheap_query_cost: 100,
        ..Limits::default()
    };
    let dashboard = Dashboard::with(Duration::from_secs(60), limits);
    let filter = KeyFilter::parse(["country=Germany"], []).expect("a filter");
    let new = NewKey {
        filter: Some(filter.into()),
        ..NewKey::named("DACH")
    };
    let (_, key) = dashboard.state().create_key(&new).expect("a key");
    let expensive = || {
        let metrics = client::request(dashboard.address, "GET", "/metrics", &[]);
        let metrics = String::from_utf8(metrics.body).expect("text");
        let mut lines = metrics.lines();
        let value = lines.find_map(|line| line.strip_prefix("signaldex_expensive_queries_total "));
        value.expect("the metric").parse::<u64>().expect("a number")
    };
    // A detail is a look-up, so only the filter is expensive.
    for turn in [1, 1, 1] {
        let answer = dashboard.ask("/api/v1/signals/1", key.as_str());
        assert_eq!(answer.status, 404);
        assert_eq!(expensive(), turn, "it is evaluated once");
    }
}
