//! The replay law over random histories of generations, asked at nodes that are behind, with any number of changes in an
//! answer; and which positions are refused.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use signaldex::json::Rendering;
use signaldex::replicate::{PruneOptions, Store, prune};
use signaldex::{Filter, Index, PositionError};
use signaldex_server::corpus::{ChangesRequest, Corpus as _, FeedPosition};

use crate::fixtures::{Corpus, Generation, Random, SIGNALS, TODAY, TestNode, setting};

/// What copies are of: everything, some of it, and the signals of one company.
const FILTERS: [&str; 3] = ["", "q=hires", "companySlug=company-3"];

/// A longer text would not be a position.
const POSITION_LENGTH_MAX: usize = 120;

/// A copy of the signals that match.
struct CopyOfMatches {
    filter: Filter,
    /// `None` before its first answer.
    position: Option<String>,
    items: BTreeMap<u64, Value>,
    /// Signals that were received, and those that were to be charged.
    upserts: u64,
    charged: u64,
}

/// An answer.
struct Poll {
    removed: Vec<u64>,
    written: Vec<(u64, Value)>,
    more: bool,
    next: String,
}

impl CopyOfMatches {
    /// A copy that is empty, and follows from the start.
    fn new(filter: &str) -> CopyOfMatches {
        CopyOfMatches {
            filter: Filter::from_query_string(filter).expect("a filter"),
            position: Some("start".to_owned()),
            items: BTreeMap::new(),
            upserts: 0,
            charged: 0,
        }
    }

    fn request(&self, limit: usize, upserts_max: usize) -> ChangesRequest {
        let position = self.position.as_ref();
        ChangesRequest {
            filter: self.filter.clone(),
            limit,
            since: position.map(|text| text.parse().expect("a position")),
            upserts_max,
            rendering: Rendering::Whole,
        }
    }

    /// Asks a node once, and takes the answer.
    async fn poll(&mut self, node: &TestNode, random: &mut Random) -> Result<Poll, PositionError> {
        let limit = 1 + random.below(2 * SIGNALS) as usize;
        let quota = if random.chance(25) {
            1 + random.below(5) as usize
        } else {
            usize::MAX
        };
        let request = self.request(limit, quota);
        let view = node.members.view();
        let found = node.corpus().changes(view, request, TODAY).await;
        let found = found.expect("an answer")?;
        let poll = Poll::read(&found.body);
        assert!(poll.removed.len() + poll.written.len() <= limit);
        assert!(poll.written.len() <= quota);
        assert!(poll.next.len() <= POSITION_LENGTH_MAX);
        self.charged += found.upserts;
        self.apply(&poll);
        Ok(poll)
    }

    fn apply(&mut self, poll: &Poll) {
        for id in &poll.removed {
            self.items.remove(id);
        }
        self.upserts += poll.written.len() as u64;
        self.items.extend(poll.written.iter().cloned());
        self.position = Some(poll.next.clone());
    }

    fn check(&self, generation: &Generation) {
        let expected = generation.matches(&self.filter);
        let expected: BTreeMap<u64, Value> = expected
            .into_iter()
            .map(|(id, item)| (id, serde_json::from_slice(&item).expect("JSON")))
            .collect();
        assert_eq!(self.items, expected, "generation {}", generation.number());
        assert_eq!(self.upserts, self.charged);
    }
}

impl Poll {
    fn read(body: &[u8]) -> Poll {
        let answer: Value = serde_json::from_slice(body).expect("JSON");
        let id = |id: &Value| id.as_str().expect("an id").parse::<u64>().expect("an id");
        let mut poll = Poll {
            removed: Vec::new(),
            written: Vec::new(),
            more: answer["data"]["more"] == true,
            next: answer["data"]["next"]
                .as_str()
                .expect("a position")
                .to_owned(),
        };
        for change in answer["data"]["changes"].as_array().expect("changes") {
            if change["op"] == "remove" {
                poll.removed.push(id(&change["id"]));
            } else {
                let signal = &change["signal"];
                poll.written.push((id(&signal["id"]), signal.clone()));
            }
        }
        poll
    }
}

/// A cluster whose nodes are at different generations.
struct History {
    corpus: Corpus,
    nodes: Vec<TestNode>,
    copies: Vec<CopyOfMatches>,
    random: Random,
    /// How often something was seen, so that a run that has seen nothing fails.
    seen: Seen,
}

#[derive(Debug, Default)]
struct Seen {
    complete: u64,
    ahead: u64,
    expired: u64,
    half_way: u64,
}

impl History {
    async fn new(seed: u64) -> History {
        let mut random = Random::new(seed);
        let shards = [1, 3, 7][random.below(3) as usize];
        let mut corpus = Corpus::new(shards, Store::in_memory());
        corpus.change(&mut random);
        corpus.publish().await;
        let node = |_| TestNode::new(&corpus.store, corpus.newest());
        History {
            nodes: (0..3).map(node).collect(),
            copies: FILTERS.into_iter().map(CopyOfMatches::new).collect(),
            corpus,
            random,
            seen: Seen::default(),
        }
    }

    async fn run(&mut self) {
        for _ in 0..8 {
            self.corpus.change(&mut self.random);
            self.corpus.publish().await;
            self.load_at_some_nodes();
            if self.random.chance(17) {
                self.prune().await;
            }
            for _ in 0..self.random.below(12) {
                self.poll_once().await;
            }
        }
        self.nodes
            .iter()
            .for_each(|node| node.load(self.corpus.newest()));
        for copy in 0..self.copies.len() {
            self.follow_to_the_end(copy).await;
        }
    }

    /// Others are behind. Some start anew.
    fn load_at_some_nodes(&mut self) {
        for node in &mut self.nodes {
            match self.random.below(6) {
                0..=1 => {}
                2 => *node = TestNode::new(&self.corpus.store, self.corpus.newest()),
                _ => node.load(self.corpus.newest()),
            }
        }
    }

    async fn prune(&mut self) {
        let options = PruneOptions {
            manifests: 1 + self.random.below(3),
            older_than: Duration::ZERO,
            remove: true,
            ..PruneOptions::keeping(1)
        };
        prune(&self.corpus.store, options).await.expect("pruned");
    }

    async fn poll_once(&mut self) {
        let node = self.random.below(self.nodes.len() as u64) as usize;
        let copy = self.random.below(self.copies.len() as u64) as usize;
        self.poll(node, copy).await;
    }

    /// Returns whether the copy is complete.
    async fn poll(&mut self, node: usize, copy: usize) -> bool {
        let (node, copy) = (&self.nodes[node], &mut self.copies[copy]);
        let served = node.members.view().generation;
        match copy.poll(node, &mut self.random).await {
            Ok(poll) if poll.more => {
                self.seen.half_way += 1;
                false
            }
            Ok(_) => {
                copy.check(&self.corpus.generations[&served]);
                self.seen.complete += 1;
                true
            }
            Err(PositionError::Ahead) => {
                assert!(
                    served < self.corpus.newest().number(),
                    "only nodes that are behind"
                );
                self.seen.ahead += 1;
                false
            }
            Err(PositionError::Expired) => {
                let filter = copy.filter.to_string();
                *copy = CopyOfMatches::new(&filter);
                self.seen.expired += 1;
                false
            }
            Err(error) => panic!("{error}"),
        }
    }

    async fn follow_to_the_end(&mut self, copy: usize) {
        for _ in 0..10_000 {
            let node = self.random.below(self.nodes.len() as u64) as usize;
            if self.poll(node, copy).await {
                return;
            }
        }
        panic!("a copy that follows never has everything");
    }
}

#[tokio::test]
async fn a_copy_that_follows_is_the_corpus() {
    let histories = setting("SIGNALDEX_HISTORIES", 60);
    let mut all = Seen::default();
    for seed in 0..histories {
        println!("history {seed}");
        let mut history = History::new(seed).await;
        history.run().await;
        let seen = &history.seen;
        all.complete += seen.complete;
        all.ahead += seen.ahead;
        all.expired += seen.expired;
        all.half_way += seen.half_way;
    }
    println!("{all:?}");
    assert!(all.complete > histories && all.ahead > 0 && all.expired > 0 && all.half_way > 0);
}

/// A node over the newest generation, and the position of a copy of it.
async fn at_newest(corpus: &Corpus) -> (TestNode, String) {
    let node = TestNode::new(&corpus.store, corpus.newest());
    let mut copy = CopyOfMatches::new("");
    copy.position = None;
    let mut random = Random::new(1);
    let poll = copy.poll(&node, &mut random).await.expect("a position");
    assert!(!poll.more && poll.written.is_empty());
    (node, poll.next)
}

async fn refused(node: &TestNode, position: &str) -> Option<PositionError> {
    let mut copy = CopyOfMatches::new("");
    copy.position = Some(position.to_owned());
    copy.poll(node, &mut Random::new(1)).await.err()
}

async fn corpus(shards: u32, seed: u64) -> Corpus {
    let mut corpus = Corpus::new(shards, Store::in_memory());
    let mut random = Random::new(seed);
    for _ in 0..4 {
        corpus.change(&mut random);
    }
    corpus.publish().await;
    corpus
}

#[tokio::test]
async fn positions_of_something_else_are_refused() {
    let mut rebuilt = corpus(3, 1).await;
    let (node, position) = at_newest(&rebuilt).await;
    assert_eq!(refused(&node, &position).await, None);
    let of_index = rebuilt.shards[0].snapshot().position().to_string();
    let other = Some(PositionError::OtherIndex);
    assert_eq!(refused(&node, &of_index).await, other);
    // The same store, where one shard is built anew.
    rebuilt.shards[1] = Index::in_memory().expect("an index");
    rebuilt.publish().await;
    let (node, _) = at_newest(&rebuilt).await;
    assert_eq!(refused(&node, &position).await, other);
    // Another number of shards.
    let resharded = corpus(4, 1).await;
    let (node, _) = at_newest(&resharded).await;
    assert_ne!(refused(&node, &position).await, None);
    // A store that was emptied, and has other content under the number of a generation.
    let (anew, _) = at_newest(&corpus(3, 2).await).await;
    assert_eq!(
        refused(&anew, &position).await,
        Some(PositionError::Diverged)
    );
}

#[tokio::test]
async fn a_position_stays_short_with_many_shards() {
    let mut many = Corpus::new(4_096, Store::in_memory());
    let mut random = Random::new(3);
    many.change(&mut random);
    many.publish().await;
    let (_, position) = at_newest(&many).await;
    assert!(position.len() <= POSITION_LENGTH_MAX, "{position}");
    assert!(matches!(position.parse(), Ok(FeedPosition::Cluster(_))));
}
