//! Saved searches at the nodes of a cluster: what keys pull and what a webhook receives equals one index that takes the same
//! updates, and each match is paid once.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use signaldex::Filter;
use signaldex::query::KeyFilter;
use signaldex_server::webhooks::{WebhookRules, WebhookUrl};
use signaldex_server::{NewSearch, SearchSettings, State};

use crate::feed::{Both, exported};
use crate::fixture::{Fixture, Served, number};
use crate::random::Random;

/// What is searched for, as a query and as more parameters of one.
const SEARCHES: [(&str, &str); 3] = [
    ("", ""),
    ("q=raises", "&q=raises"),
    ("country=Germany", "&country=Germany"),
];

/// A copy of the signals that match a search.
struct MatchedCopy {
    id: String,
    parameters: &'static str,
    since: Option<String>,
    signals: BTreeMap<String, Value>,
    /// The ids of matches, each of which comes once.
    matches: BTreeSet<String>,
}

impl MatchedCopy {
    fn new(id: String, parameters: &'static str) -> MatchedCopy {
        MatchedCopy {
            id,
            parameters,
            since: None,
            signals: BTreeMap::new(),
            matches: BTreeSet::new(),
        }
    }

    /// Takes the matches and removed signals of an answer or an event.
    fn take(&mut self, data: &Value) -> u64 {
        for id in data["removed"].as_array().expect("removed") {
            self.signals.remove(id.as_str().expect("an id"));
        }
        let matches = data["matches"].as_array().expect("matches");
        for found in matches {
            let id = found["id"].as_str().expect("an id").to_owned();
            assert!(self.matches.insert(id), "{found} comes twice");
            let signal = found["signal"].clone();
            let id = signal["id"].as_str().expect("an id").to_owned();
            self.signals.insert(id, signal);
        }
        matches.len() as u64
    }

    /// Pulls from a node once. Returns whether the copy has all that the node serves.
    fn pull(&mut self, node: &Served, limit: u64) -> bool {
        let since = self.since.as_ref();
        let since = since.map_or_else(String::new, |since| format!("&since={since}"));
        let target = format!(
            "/api/v1/saved-searches/{}/matches?limit={limit}{since}",
            self.id
        );
        let Some(answer) = node.get_unless_behind(&target) else {
            return false;
        };
        let data = &answer.json()["data"];
        assert_eq!(answer.charged(), self.take(data));
        let again = node.get(&target);
        assert_eq!((again.charged(), &again.body), (0, &answer.body));
        self.since = Some(data["next"].as_str().expect("a position").to_owned());
        data["more"] == false
    }
}

/// Saves the searches, with removals, from the start.
fn save(state: &State, webhook: Option<&str>) -> Vec<String> {
    let key = state.keys().expect("keys")[0].id.clone();
    let mut rules = WebhookRules::default();
    rules.http = true;
    rules.allowed = vec!["127.0.0.0/8".parse().expect("a range")];
    let save = |(query, _): (&str, &str)| {
        let filter = Filter::from_query_string(query).expect("a query");
        let name = format!("{} {query}", webhook.map_or("pulled", |_| "pushed"));
        let mut settings = SearchSettings::new(name, filter);
        settings.removals = true;
        let mut new = match webhook {
            None => NewSearch::of(settings),
            Some(url) => {
                let url = WebhookUrl::parse(url, &rules).expect("a URL");
                NewSearch::with_webhook(settings, url).expect("a secret")
            }
        };
        new.since = Some("start".parse().expect("a position"));
        state.create_search(&key, &new).expect("a search").id
    };
    SEARCHES.into_iter().map(save).collect()
}

/// Accepts events, and sends the data of each.
fn receiver() -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let url = format!("http://{}/in", listener.local_addr().expect("an address"));
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            if let Some(event) = accept(connection)
                && sender.send(event).is_err()
            {
                return;
            }
        }
    });
    (url, received)
}

fn accept(connection: TcpStream) -> Option<Value> {
    let mut connection = BufReader::new(connection);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let read = connection.read_line(&mut head).ok()?;
        (read > 0).then_some(())?;
    }
    let lengths = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; lengths?.parse().ok()?];
    connection.read_exact(&mut body).ok()?;
    let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
    connection.get_mut().write_all(answer).ok()?;
    let event: Value = serde_json::from_slice(&body).expect("JSON");
    Some(event["data"].clone())
}

#[test]
fn pulled_and_pushed_matches_equal_one_index() {
    let key = KeyFilter::parse(
        ["country=Germany", "country=France", "q=raises"],
        ["size=1-49"],
    );
    let fixture = Fixture::with_filter(Some(key.expect("a filter")));
    let state = State::open(fixture.path("state.db")).expect("a state");
    let pulled = save(&state, None);
    drop(state);
    // One node has webhooks as well: each has a state of its own.
    let (url, received) = receiver();
    let state = State::open(fixture.copied_state("cluster-one")).expect("a state");
    let pushed = save(&state, Some(&url));
    drop(state);
    let mut both = Both::of(fixture);
    let copies = |ids: Vec<String>| -> Vec<MatchedCopy> {
        let searches = SEARCHES.into_iter().zip(ids);
        searches
            .map(|((_, parameters), id)| MatchedCopy::new(id, parameters))
            .collect()
    };
    let (mut pulled, mut pushed) = (copies(pulled), copies(pushed));
    let mut random = Random::new(number("SIGNALDEX_SEED", 5));
    for round in 0..number("SIGNALDEX_GENERATIONS", 4) {
        both.publish();
        for copy in &mut pulled {
            for _ in 0..random.below(4) {
                copy.pull(random.pick(&both.cluster.nodes), 1 + random.below(50));
            }
        }
        if round % 2 == 1 {
            both.await_generation();
            complete(&both, &mut pulled, &mut random);
            await_events(&both, &mut pushed, &received);
        }
    }
    let listed = both.cluster.nodes[1].get("/api/v1/saved-searches");
    let listed = listed.json()["data"]["searches"].as_array().map(Vec::len);
    assert_eq!(listed, Some(SEARCHES.len()));
}

/// Pulls at random nodes until copies have everything, and compares them with one index.
fn complete(both: &Both, copies: &mut [MatchedCopy], random: &mut Random) {
    let deadline = Instant::now() + Duration::from_secs(60);
    for copy in copies {
        while !copy.pull(random.pick(&both.cluster.nodes), 1 + random.below(50)) {
            assert!(Instant::now() < deadline, "never complete");
        }
        let expected = exported(&both.whole, copy.parameters);
        assert!(copy.signals == expected, "{:?}", copy.parameters);
    }
}

/// Takes events until copies are what one index has.
fn await_events(both: &Both, copies: &mut [MatchedCopy], received: &Receiver<Value>) {
    let is_complete = |copy: &MatchedCopy| copy.signals == exported(&both.whole, copy.parameters);
    while !copies.iter().all(is_complete) {
        let data = received.recv_timeout(Duration::from_secs(60));
        let data = data.unwrap_or_else(|_| panic!("no event: {}", both.cluster.nodes[0].log()));
        let search = data["search"]["id"].as_str().expect("an id");
        let copy = copies.iter_mut().find(|copy| copy.id == search);
        copy.expect("a search").take(&data);
    }
}
