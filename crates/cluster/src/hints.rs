//! Hints over all shards: an item is unknown where no shard has it.

use super::coordinator::Coordinator;
use super::question::ShardRequest;
use signaldex::{Filter, HintFacts, Query};
use signaldex_server::corpus::{CorpusView, Unanswered};

impl Coordinator {
    /// The hints for the result of a query; only those at what was typed where the shards cannot be asked, such as by nodes
    /// of an older release.
    pub(super) async fn find_hints(
        &self,
        at: &CorpusView,
        query: &Query,
        is_empty: bool,
    ) -> Vec<String> {
        if !HintFacts::are_needed(query.filter(), is_empty) {
            return query.typed_hints(is_empty);
        }
        match self.hint_facts(at, query.filter(), is_empty).await {
            Ok(facts) => facts.hints(query, is_empty),
            Err(_) => query.typed_hints(is_empty),
        }
    }

    /// What the shards have of the items of a filter. Those without signals are asked, too: they may have companies.
    async fn hint_facts(
        &self,
        at: &CorpusView,
        filter: &Filter,
        is_empty: bool,
    ) -> Result<HintFacts, Unanswered> {
        let shards: Vec<u32> = (0..self.members().shard_count(at.generation)).collect();
        let filter = Box::new(filter.clone());
        let wanted = ShardRequest::Hints { filter, is_empty };
        let answer = self.admitted(self.ask(at, &shards, wanted)).await?;
        answer.hints().map_err(Unanswered::Failed)
    }
}
