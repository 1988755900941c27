//! Explains queries: the question to each node, and how the answers are merged.

use std::fmt::Write as _;

use time::Date;

use super::companies::{CompaniesKind, CompaniesQuestion};
use super::coordinator::Coordinator;
use super::question::{RowFormat, ShardRequest};
use signaldex::json::Rendering;
use signaldex::query::{CompanyQuery, CompanyStart, Facet, Start};
use signaldex::{AggregateQuery, Error, FacetQuery, Filter, Query, Result};
use signaldex_server::corpus::CorpusView;

impl Coordinator {
    /// Explains a query.
    pub(super) fn explain(&self, query: &Query, today: Date) -> Result<String> {
        let view = self.members().view();
        let shards = self.shards(&view, query.filter());
        let wanted = if query.count_only() {
            ShardRequest::Count {
                filter: Box::new(query.filter().clone()),
                today,
            }
        } else {
            ShardRequest::Rows {
                query: Box::new(query.part(Start::First, query.limit() + 1)),
                today,
                rendering: Some(RowFormat::Item(Rendering::Whole)),
            }
        };
        self.explain_wanted(&view, &shards, &wanted)
    }

    /// Explains counting all facets.
    pub(super) fn explain_facets(&self, filter: &Filter, today: Date) -> Result<String> {
        let view = self.members().view();
        let shards = self.shards(&view, filter);
        let wanted = ShardRequest::Facets {
            query: Box::new(FacetQuery::new(filter.clone(), Facet::ALL)),
            today,
        };
        self.explain_wanted(&view, &shards, &wanted)
    }

    /// Explains figures in groups.
    pub(super) fn explain_aggregate(&self, query: &AggregateQuery, today: Date) -> Result<String> {
        let view = self.members().view();
        let shards = self.shards(&view, query.filter());
        let wanted = ShardRequest::Aggregates {
            query: Box::new(query.clone()),
            today,
        };
        self.explain_wanted(&view, &shards, &wanted)
    }

    /// Explains a query for companies.
    pub(super) fn explain_companies(&self, query: &CompanyQuery, today: Date) -> Result<String> {
        let view = self.members().view();
        let shards = self.shards_of_companies(&view, query.filter());
        let kind = match (query.count_only(), query.facets()) {
            (false, _) => CompaniesKind::Items,
            (true, []) => CompaniesKind::Count,
            (true, _) => CompaniesKind::Facets,
        };
        let query = match kind {
            CompaniesKind::Items => query.part(CompanyStart::First, query.limit() + 1),
            _ => query.clone(),
        };
        let wanted = CompaniesQuestion { kind, query, today };
        let wanted = ShardRequest::Companies(Box::new(wanted));
        self.explain_wanted(&view, &shards, &wanted)
    }

    fn explain_wanted(
        &self,
        at: &CorpusView,
        shards: &[u32],
        wanted: &ShardRequest,
    ) -> Result<String> {
        let count = self.members().shard_count(at.generation);
        let tasks = self.members().assign(at.generation, count, shards, &[]);
        let tasks = tasks.map_err(|missing| Error::missing(missing.detail()))?;
        let mut plan = format!("{} (generation {})\n", wanted.merging(), at.generation);
        for task in tasks {
            let (name, shards) = (self.members().name(task.node), task.shards);
            let here = if task.node == self.members().own() {
                " (this node)"
            } else {
                ""
            };
            // Writing to a string cannot fail.
            let _ = writeln!(plan, "  {name}{here}: shards {shards:?}: {wanted}");
        }
        Ok(plan)
    }
}
