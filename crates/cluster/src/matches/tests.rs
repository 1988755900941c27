//! Copies that follow the matches of saved searches, over random histories of generations with moves, asked at nodes that are
//! behind: each equals a scan, no match comes twice, and what is new is what the corpus did not have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use signaldex::json::Rendering;
use signaldex::query::KeyFilter;
use signaldex::replicate::Store;
use signaldex::{Change, Filter, Position, PositionError, SignalId};
use signaldex_server::corpus::{
    Corpus as _, CorpusView, FeedPosition, MatchesRequest, RenderedMatches,
};

use crate::fixtures::{Corpus, Generation, Random, SIGNALS, TODAY, TestNode, setting};

/// A saved search: its query, the filter of its key, and whether only new signals match.
const SEARCHES: [(&str, Option<&str>, bool); 5] = [
    ("", None, false),
    ("q=hires", None, false),
    ("companySlug=company-3", None, false),
    ("q=acme", Some("q=hires"), false),
    ("", None, true),
];

/// A reader of a search's matches.
struct MatchReader {
    search: usize,
    filter: Filter,
    key: Option<Arc<KeyFilter>>,
    only_new: bool,
    /// Of the whole corpus.
    position: FeedPosition,
    items: BTreeMap<u64, Value>,
    /// The ids of all matches since it began.
    received: BTreeSet<String>,
    /// Signals that were new since it last had everything.
    new: BTreeSet<u64>,
}

#[derive(Debug, Default)]
struct Seen {
    complete: u64,
    ahead: u64,
    half_way: u64,
    new: u64,
    moved: u64,
}

impl MatchReader {
    fn new(search: usize) -> MatchReader {
        let (query, key, only_new) = SEARCHES[search];
        let key = key.map(|key| Arc::new(KeyFilter::parse([key], []).expect("a filter")));
        MatchReader {
            search,
            filter: Filter::from_query_string(query).expect("a filter"),
            key,
            only_new,
            position: "start".parse().expect("a position"),
            items: BTreeMap::new(),
            received: BTreeSet::new(),
            new: BTreeSet::new(),
        }
    }

    fn view(&self, node: &TestNode) -> Arc<CorpusView> {
        let (corpus, whole) = (node.corpus(), node.members.view());
        match &self.key {
            Some(key) => corpus.narrowed(&whole, key, TODAY).expect("a view"),
            None => whole,
        }
    }

    /// Asks a node once.
    async fn pull(
        &self,
        node: &TestNode,
        random: &mut Random,
    ) -> Result<RenderedMatches, PositionError> {
        let (corpus, view) = (node.corpus(), self.view(node));
        let request = MatchesRequest {
            search: format!("srch_{}", self.search),
            filter: self.filter.clone(),
            since: corpus.position_at(&view, &self.position),
            limit: 1 + random.below(2 * SIGNALS) as usize,
            matches_max: 1 + random.below(SIGNALS) as usize,
            bytes_max: if random.chance(25) { 600 } else { usize::MAX },
            only_new: self.only_new,
            removals: true,
            rendering: Rendering::Whole,
        };
        let found = corpus.matches(view, request.clone(), TODAY).await;
        let found = found.expect("an answer")?;
        assert!(found.matches.len() + found.removed.len() <= request.limit);
        assert!(found.matches.len() <= request.matches_max);
        Ok(found)
    }

    /// The generation by which is judged what is new.
    fn complete(&self) -> u64 {
        match &self.position {
            FeedPosition::Cluster(position) => position.complete,
            FeedPosition::Index(_) => 0,
        }
    }

    /// Takes an answer.
    fn take(&mut self, found: &RenderedMatches, node: &TestNode, corpus: &Corpus, seen: &mut Seen) {
        let known = corpus.generations.get(&self.complete());
        for id in &found.removed {
            self.items.remove(&id.get());
        }
        for found in &found.matches {
            assert!(
                self.received.insert(found.id.clone()),
                "{} comes twice",
                found.id
            );
            let json: Value = serde_json::from_slice(&found.json).expect("JSON");
            assert_eq!(json["id"], found.id);
            let is_new = json["isNew"] == true;
            self.check_new(found.signal, is_new, known, corpus);
            seen.new += u64::from(is_new);
            seen.moved += u64::from(!is_new && known.is_some());
            if is_new {
                self.new.insert(found.signal.get());
            }
            self.items
                .insert(found.signal.get(), json["signal"].clone());
        }
        self.position = node.corpus().whole_position(found.next.clone());
    }

    fn check_new(
        &self,
        signal: SignalId,
        is_new: bool,
        known: Option<&Generation>,
        corpus: &Corpus,
    ) {
        let had = known.is_some_and(|known| known.contains(signal));
        // One that was deleted before may count as one that the corpus had.
        let is_first = corpus.first[&signal.get()] > self.complete();
        assert!(
            !(had && is_new),
            "signal {signal} is not new: search {}",
            self.search
        );
        assert!(
            is_new || !is_first,
            "signal {signal} is new: search {}",
            self.search
        );
        assert!(is_new || !self.only_new);
    }

    /// Checks what it has once it has everything of a generation, after it last had everything of another.
    fn check(&mut self, former: u64, generation: &Generation, corpus: &Corpus) {
        let mut expected = generation.matches(&self.filter);
        if let Some(key) = &self.key {
            let visible = &key.filters()[0];
            let visible = generation.matches(visible);
            expected.retain(|id, _| visible.contains_key(id));
        }
        if self.only_new {
            let lost = |id: &&u64| corpus.first[*id] > former && !self.new.contains(*id);
            assert_eq!(expected.keys().find(lost), None, "a new signal is told");
        } else {
            let expected: BTreeMap<u64, Value> = expected
                .into_iter()
                .map(|(id, item)| (id, serde_json::from_slice(&item).expect("JSON")))
                .collect();
            assert_eq!(self.items, expected, "search {}", self.search);
        }
        self.new.clear();
        let FeedPosition::Cluster(position) = &self.position else {
            panic!("a position of the cluster")
        };
        let generation = generation.number();
        assert_eq!(
            (position.held, position.target, position.complete),
            (generation, generation, generation)
        );
    }
}

/// A cluster whose nodes are at different generations.
struct History {
    corpus: Corpus,
    nodes: Vec<TestNode>,
    readers: Vec<MatchReader>,
    random: Random,
    seen: Seen,
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
            readers: (0..SEARCHES.len()).map(MatchReader::new).collect(),
            corpus,
            random,
            seen: Seen::default(),
        }
    }

    async fn run(&mut self) {
        for _ in 0..8 {
            self.corpus.change(&mut self.random);
            for _ in 0..self.random.below(3) {
                self.corpus.write_new(&mut self.random);
            }
            self.corpus.publish().await;
            for node in &mut self.nodes {
                if self.random.chance(60) {
                    node.load(self.corpus.newest());
                }
            }
            for _ in 0..self.random.below(16) {
                let reader = self.random.below(self.readers.len() as u64) as usize;
                self.pull(reader).await;
            }
        }
        let newest = self.corpus.newest();
        self.nodes.iter().for_each(|node| node.load(newest));
        for reader in 0..self.readers.len() {
            self.follow_to_the_end(reader).await;
        }
    }

    /// Returns whether the reader has everything.
    async fn pull(&mut self, reader: usize) -> bool {
        let node = self.random.below(self.nodes.len() as u64) as usize;
        let (node, reader) = (&self.nodes[node], &mut self.readers[reader]);
        let served = node.members.view();
        let former = reader.complete();
        match reader.pull(node, &mut self.random).await {
            Ok(found) => {
                reader.take(&found, node, &self.corpus, &mut self.seen);
                if found.more {
                    self.seen.half_way += 1;
                    return false;
                }
                let generation = &self.corpus.generations[&served.generation];
                reader.check(former, generation, &self.corpus);
                assert_eq!(
                    node.corpus().position(&served),
                    Some(reader.position.clone())
                );
                self.seen.complete += 1;
                true
            }
            Err(PositionError::Ahead) => {
                self.seen.ahead += 1;
                false
            }
            Err(error) => panic!("{error}"),
        }
    }

    async fn follow_to_the_end(&mut self, reader: usize) {
        for _ in 0..10_000 {
            if self.pull(reader).await {
                return;
            }
        }
        panic!("a reader never has everything");
    }
}

#[tokio::test]
async fn a_copy_that_follows_matches_is_what_a_scan_finds() {
    let histories = setting("SIGNALDEX_HISTORIES", 40);
    let mut all = Seen::default();
    for seed in 0..histories {
        println!("history {seed}");
        let mut history = History::new(seed).await;
        history.run().await;
        let seen = &history.seen;
        all.complete += seen.complete;
        all.ahead += seen.ahead;
        all.half_way += seen.half_way;
        all.new += seen.new;
        all.moved += seen.moved;
    }
    println!("{all:?}");
    assert!(all.complete > histories && all.ahead > 0 && all.half_way > 0);
    assert!(all.new > histories && all.moved > histories);
}

/// A reader of everything, a page of at most some matches at a time: of a cluster with one shard, and of its index.
struct TwinReader {
    cluster: FeedPosition,
    index: Position,
}

impl TwinReader {
    /// A reader that has everything of a generation.
    fn new(node: &TestNode, generation: &Generation) -> TwinReader {
        let position = node.corpus().position(&node.members.view());
        TwinReader {
            cluster: position.expect("a position"),
            index: generation.snapshots[0].position(),
        }
    }

    /// The ids of the next matches, each with whether it is new, which both say.
    async fn read(
        &mut self,
        node: &TestNode,
        generation: &Generation,
        limit: usize,
    ) -> Vec<(u64, bool)> {
        let (filter, mut read) = (Filter::default(), Vec::new());
        let mut found = all_matches(node, &filter, &self.cluster, limit).await;
        self.cluster = found.next.clone();
        for found in found.matches.drain(..) {
            let json: Value = serde_json::from_slice(&found.json).expect("JSON");
            read.push((found.signal.get(), json["isNew"] == true));
        }
        let snapshot = &generation.snapshots[0];
        let changes = snapshot.changes(&filter, TODAY, &self.index);
        let mut changes = changes.expect("a position");
        let mut of_index = Vec::new();
        while of_index.len() < limit
            && let Some(change) = changes.next()
        {
            let Change::Upsert { item, .. } = change.expect("a change") else {
                panic!("nothing is removed");
            };
            of_index.push((item.signal.id.get(), changes.is_unseen()));
        }
        self.index = changes.position();
        assert_eq!(read, of_index);
        read
    }
}

/// Shards keep the first and the last commit of a signal, so a position between these does not tell whether its reader
/// received the signal before it changed again. It is new until the reader has everything: then no new one is missed.
#[tokio::test]
async fn a_signal_that_changes_again_is_new_until_a_reader_has_everything() {
    // Signals in the order of commits, and those that the first page has of them.
    let received = ([2, 3, 4].as_slice(), [(2, true), (3, true)].as_slice());
    let passed = ([2, 3, 2, 4].as_slice(), [(3, true)].as_slice());
    for (written, page) in [received, passed] {
        let mut random = Random::new(4);
        let mut corpus = Corpus::new(1, Store::in_memory());
        corpus.write_signal(1, &mut random);
        corpus.publish().await;
        let node = TestNode::new(&corpus.store, corpus.newest());
        let mut reader = TwinReader::new(&node, corpus.newest());
        let stages = [
            (written, page.len(), page),
            (&[2], 50, &[(4, true), (2, true)]),
            (&[2], 50, &[(2, false)]),
        ];
        for (written, limit, expected) in stages {
            for &id in written {
                corpus.write_signal(id, &mut random);
            }
            corpus.publish().await;
            node.load(corpus.newest());
            let read = reader.read(&node, corpus.newest(), limit).await;
            assert_eq!(read, expected, "after {written:?}");
        }
    }
}

/// What concerns searches is what their matches say.
#[tokio::test]
async fn searches_are_concerned_by_what_they_match() {
    let queries = [
        "",
        "q=hires",
        "q=raises",
        "companySlug=company-3",
        "q=nothing",
        "exclude=hires",
    ];
    let filters = queries.map(|query| Filter::from_query_string(query).expect("a filter"));
    let (mut concerned, mut removals) = (0, [0; 2]);
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let mut corpus = Corpus::new(5, Store::in_memory());
        corpus.change(&mut random);
        corpus.publish().await;
        let node = TestNode::new(&corpus.store, corpus.newest());
        for _ in 0..6 {
            let at = node.members.view();
            let since = node.corpus().position(&at).expect("a position");
            match random.below(3) {
                0 => corpus.write_new(&mut random),
                _ => corpus.change(&mut random),
            }
            corpus.publish().await;
            node.load(corpus.newest());
            let (view, searches) = (node.members.view(), filters.to_vec());
            let found = node
                .corpus()
                .concerned(view, since.clone(), searches, TODAY);
            let found = found.await.expect("an answer").expect("a position");
            let mut expected = Vec::new();
            for (index, filter) in filters.iter().enumerate() {
                let matches = all_matches(&node, filter, &since, 1_000).await;
                expected.extend((!matches.matches.is_empty()).then_some(index));
                // Nothing is removed where nothing was there.
                assert!(found.removals || matches.removed.is_empty());
            }
            assert_eq!(found.matched, expected, "seed {seed}");
            concerned += found.matched.len();
            removals[usize::from(found.removals)] += 1;
        }
    }
    assert!(
        concerned > 100 && removals.iter().all(|count| *count > 10),
        "{removals:?}"
    );
}

async fn all_matches(
    node: &TestNode,
    filter: &Filter,
    since: &FeedPosition,
    limit: usize,
) -> RenderedMatches {
    let request = MatchesRequest {
        search: "srch_all".to_owned(),
        filter: filter.clone(),
        since: since.clone(),
        limit,
        matches_max: usize::MAX,
        bytes_max: usize::MAX,
        only_new: false,
        removals: true,
        rendering: Rendering::Short,
    };
    let found = node.corpus().matches(node.members.view(), request, TODAY);
    found.await.expect("an answer").expect("a position")
}
