//! What a node holds: the shards of a few generations, and the answers that they give.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::generation::ClusterGeneration;
use super::question::{Answer, Question, Row, Wanted};
use crate::corpus::{company_answer, signal_answer};
use crate::json::search_item;
use crate::query::Facet;
use crate::{Error, Query, Result, Snapshot, catch_damage};

/// The shards that a node holds. Clones share everything; readers take no lock.
#[derive(Clone, Default)]
pub(super) struct LoadedShards(Arc<ArcSwap<BTreeMap<u64, Arc<LoadedGeneration>>>>);

/// A generation, of which a node holds some shards.
pub(super) struct LoadedGeneration {
    pub(super) manifest: ClusterGeneration,
    pub(super) shards: BTreeMap<u32, Arc<Snapshot>>,
}

impl LoadedShards {
    /// All that is held, by generation.
    pub(super) fn all(&self) -> Arc<BTreeMap<u64, Arc<LoadedGeneration>>> {
        self.0.load_full()
    }

    /// Takes a generation in place of what was held of it. Only the loader does.
    pub(super) fn install(&self, generation: LoadedGeneration) {
        let mut held = BTreeMap::clone(&self.all());
        held.insert(generation.manifest.generation, Arc::new(generation));
        self.0.store(Arc::new(held));
    }

    /// Lets go of the generations below one.
    pub(super) fn retire_below(&self, generation: u64) {
        let mut held = BTreeMap::clone(&self.all());
        held.retain(|&held, _| held >= generation);
        self.0.store(Arc::new(held));
    }

    /// What a shard answers.
    pub(super) fn answer(&self, question: &Question, shard: u32) -> Result<Answer> {
        if question.wanted == Wanted::LoadedShards {
            return Ok(Answer::Rows(self.report()));
        }
        let held = self.0.load();
        let snapshot = held
            .get(&question.generation)
            .and_then(|held| held.shards.get(&shard));
        let snapshot = snapshot.ok_or_else(|| {
            let generation = question.generation;
            Error::missing(format!(
                "shard {shard} of generation {generation} is not here"
            ))
        })?;
        answer_of(snapshot, &question.wanted)
    }

    /// A row for each generation: the numbers of its shards, as many bytes each as a u32 has.
    fn report(&self) -> Vec<Row> {
        let held = self.0.load();
        let row = |(&id, held): (&u64, &Arc<LoadedGeneration>)| Row {
            id,
            bytes: held
                .shards
                .keys()
                .flat_map(|shard| shard.to_le_bytes())
                .collect(),
        };
        held.iter().map(row).collect()
    }
}

/// The shards that a row of a report names.
pub(super) fn shards_of_report(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let numbers = bytes.chunks_exact(size_of::<u32>());
    numbers.filter_map(|bytes| bytes.try_into().ok().map(u32::from_le_bytes))
}

/// What an index answers.
pub(super) fn answer_of(snapshot: &Snapshot, wanted: &Wanted) -> Result<Answer> {
    catch_damage(|| ask(snapshot, wanted))?
}

fn ask(snapshot: &Snapshot, wanted: &Wanted) -> Result<Answer> {
    match wanted {
        Wanted::Rows {
            query,
            today,
            with_items,
        } => rows(snapshot, query, *today, *with_items),
        Wanted::Count { filter, today } => Ok(Answer::Count(snapshot.count(filter, *today))),
        Wanted::Facets { filter, today } => facets(snapshot, filter, *today),
        Wanted::Signal(id) => {
            let answer = signal_answer(snapshot, *id)?;
            Ok(Answer::Rows(
                answer
                    .map(|bytes| lone_row(id.get(), bytes))
                    .into_iter()
                    .collect(),
            ))
        }
        Wanted::Company(slug) => {
            let answer = company_answer(snapshot, slug)?;
            Ok(Answer::Rows(
                answer.map(|bytes| lone_row(0, bytes)).into_iter().collect(),
            ))
        }
        Wanted::LoadedShards => Ok(Answer::Rows(Vec::new())),
    }
}

fn lone_row(id: u64, bytes: Vec<u8>) -> Row {
    Row { id, bytes }
}

fn rows(snapshot: &Snapshot, query: &Query, today: time::Date, with_items: bool) -> Result<Answer> {
    let page = snapshot.search(query, today);
    if !with_items {
        let ids = page.ids().map(|id| lone_row(id.get(), Vec::new()));
        return Ok(Answer::Rows(ids.collect()));
    }
    let mut rows = Vec::with_capacity(page.len());
    snapshot.visit_records(&page, |signal, company_name| {
        rows.push(lone_row(signal.id.get(), search_item(signal, company_name)));
        ControlFlow::Continue(())
    })?;
    Ok(Answer::Rows(rows))
}

fn facets(snapshot: &Snapshot, filter: &crate::Filter, today: time::Date) -> Result<Answer> {
    let facets = snapshot.facets(filter, today);
    let values = Facet::ALL.into_iter().flat_map(|facet| {
        let values = facets.values(facet).iter();
        values.map(move |value| (facet as u8, value.label.clone(), value.count))
    });
    Ok(Answer::Facets(values.collect()))
}
