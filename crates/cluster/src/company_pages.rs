//! Pages of companies: what the coordinator asks for them, and how it joins the answers.

use time::Date;

use super::answer::ShardAnswer;
use super::asking::RowShare;
use super::companies::{CompaniesKind, CompaniesQuestion, CompanyRow};
use super::coordinator::Coordinator;
use super::pages::first_missing;
use super::placement::shard_of;
use super::question::ShardRequest;
use signaldex::json::CompaniesAnswer;
use signaldex::query::{CompanyFilter, CompanyKey, CompanyQuery, CompanyStart};
use signaldex_server::corpus::{CorpusView, RenderedCompanies, Unanswered};

impl Coordinator {
    /// The shards that can hold companies: one, where the filter names a company. Those without signals are among them.
    pub(super) fn shards_of_companies(&self, at: &CorpusView, filter: &CompanyFilter) -> Vec<u32> {
        let count = self.members().shard_count(at.generation);
        match filter.company_slug() {
            Some(slug) => vec![shard_of(slug, count)],
            None => (0..count).collect(),
        }
    }

    /// The merged answer to a question about all companies that fulfil a query's filter.
    pub(super) async fn ask_all_companies(
        &self,
        at: &CorpusView,
        kind: CompaniesKind,
        query: &CompanyQuery,
        today: Date,
    ) -> Result<ShardAnswer, Unanswered> {
        let query = query.clone();
        let wanted = CompaniesQuestion { kind, query, today };
        self.admitted(self.ask_companies(at, wanted, RowShare::All))
            .await
    }

    /// The merged answer to a question for companies.
    async fn ask_companies(
        &self,
        at: &CorpusView,
        wanted: CompaniesQuestion,
        share: RowShare,
    ) -> Result<ShardAnswer, Unanswered> {
        let shards = self.shards_of_companies(at, wanted.query.filter());
        let wanted = CompaniesQuestion {
            query: wanted.query.without_key(),
            ..wanted
        };
        let wanted = ShardRequest::Companies(Box::new(wanted));
        self.ask_shards(at, &shards, wanted, share).await
    }

    /// The requested page.
    pub(super) async fn find_companies(
        &self,
        at: &CorpusView,
        query: &CompanyQuery,
        today: Date,
    ) -> Result<RenderedCompanies, Unanswered> {
        let start = match query.start() {
            CompanyStart::Page(number) => {
                match self.company_start(at, query, *number, today).await? {
                    Some(start) => start,
                    None => return Ok(companies_page(query, today, Vec::new())),
                }
            }
            start => start.clone(),
        };
        // One more than the page, to know whether there is a next page.
        let part = query.part(start, query.limit() + 1);
        let rows = self.rendered_companies(at, &part, today).await?;
        Ok(companies_page(query, today, rows))
    }

    /// The companies of a page and one more, as [`rendered_rows`](Self::rendered_rows) finds signals.
    async fn rendered_companies(
        &self,
        at: &CorpusView,
        part: &CompanyQuery,
        today: Date,
    ) -> Result<Vec<CompanyRow>, Unanswered> {
        let rendered = |query: CompanyQuery| CompaniesQuestion {
            kind: CompaniesKind::Items,
            query,
            today,
        };
        let wanted = rendered(part.clone());
        let mut rows = self.companies(at, wanted, RowShare::Expected).await?;
        // Of the one more, the key is enough.
        let bytes = rows.iter().map(|row| &row.bytes);
        let Some(missing) = first_missing(bytes, part.limit() - 1) else {
            return Ok(rows);
        };
        rows.truncate(missing);
        let start = match rows.last() {
            Some(last) => CompanyStart::After(part.cursor_after_key(last.key.clone(), today)),
            None => part.start().clone(),
        };
        let wanted = rendered(part.part(start, part.limit() - missing));
        rows.extend(self.companies(at, wanted, RowShare::All).await?);
        Ok(rows)
    }

    /// The start of a numbered page: after the last company of the previous pages, of which only keys are queried. `None`
    /// if there are no more companies.
    async fn company_start(
        &self,
        at: &CorpusView,
        query: &CompanyQuery,
        number: u16,
        today: Date,
    ) -> Result<Option<CompanyStart>, Unanswered> {
        let skipped = (usize::from(number) - 1) * query.limit();
        if skipped == 0 {
            return Ok(Some(CompanyStart::First));
        }
        let keys = CompaniesQuestion {
            kind: CompaniesKind::Keys,
            query: query.part(CompanyStart::First, skipped),
            today,
        };
        let rows = self.companies(at, keys, RowShare::All).await?;
        let last = rows.into_iter().nth(skipped - 1);
        let after = last.map(|last| query.cursor_after_key(last.key, today));
        Ok(after.map(CompanyStart::After))
    }

    async fn companies(
        &self,
        at: &CorpusView,
        wanted: CompaniesQuestion,
        share: RowShare,
    ) -> Result<Vec<CompanyRow>, Unanswered> {
        let answer = self.ask_companies(at, wanted, share).await?;
        answer.companies().map_err(Unanswered::Failed)
    }
}

/// Creates a page from its companies and possibly one more. The first one that is empty or has no room ends it.
pub(super) fn companies_page(
    query: &CompanyQuery,
    today: Date,
    mut rows: Vec<CompanyRow>,
) -> RenderedCompanies {
    let has_more = rows.len() > query.limit();
    rows.truncate(query.limit());
    let mut answer = CompaniesAnswer::with_capacity(rows.len());
    for CompanyRow { bytes, .. } in &rows {
        if bytes.is_empty() || !answer.push_written(bytes) {
            break;
        }
    }
    let keys: Vec<CompanyKey> = rows.into_iter().map(|row| row.key).collect();
    let last = keys.last().filter(|_| has_more);
    let page = RenderedCompanies {
        next_cursor: last.map(|last| query.cursor_after_key(last.clone(), today)),
        answer,
        keys,
        ends_early: false,
    };
    page.ended(query, today)
}
