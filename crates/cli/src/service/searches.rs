//! `signaldex searches`: saves searches for API keys, also while a service runs.

use std::io::Write;

use serde_json::{Value, json};
use signaldex::Filter;
use signaldex_server::corpus::FeedPosition;
use signaldex_server::{NewSearch, SearchRecord, SearchSettings};
use time::format_description::well_known::Rfc3339;

use super::keys::StateFile;
use super::webhooks::{
    ListDeliveries, PauseSearch, ResumeSearch, RotateSecret, TestWebhook, WebhookRuleOptions,
};
use crate::shown_as::ShownAs;
use crate::table::TableColumn;
use crate::{Failure, source, table};

/// Save, list, edit and delete searches of API keys, whose matches the keys pull or webhooks receive
#[derive(Debug, clap::Subcommand)]
pub(crate) enum SearchesCommand {
    Create(CreateSearch),
    List(ListSearches),
    Show(OneSearch),
    Edit(EditSearch),
    Pause(PauseSearch),
    Resume(ResumeSearch),
    Rotate(RotateSecret),
    Test(TestWebhook),
    Deliveries(ListDeliveries),
    Delete(DeleteSearch),
}

/// Save a search for a key and print it, as {"id","secret"}
#[derive(Debug, clap::Args)]
pub(crate) struct CreateSearch {
    #[command(flatten)]
    state: StateFile,
    /// The id of the key, which `signaldex keys list` shows
    #[arg(long, value_name = "KEYID")]
    key: String,
    /// A name for people, of 1 to 180 characters, which no other search of the key has
    #[arg(long)]
    name: String,
    /// What it searches for: a query string of filters, such as q=robotics&country=Germany
    #[arg(long, value_parser = parse_filter)]
    query: Filter,
    /// Where its matches are sent; without it, the key pulls them
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    #[command(flatten)]
    rules: WebhookRuleOptions,
    /// Leave out signals that have changed but are not new
    #[arg(long)]
    only_new: bool,
    /// Name the signals that have left the search
    #[arg(long)]
    removals: bool,
    /// Where it begins: now, start for everything that matches, or a position
    #[arg(long, default_value = "now", value_name = "now|start|POSITION", value_parser = parse_start)]
    since: SearchStart,
}

/// Where a search begins.
#[derive(Clone, Debug)]
pub(crate) struct SearchStart(Option<FeedPosition>);

/// List the saved searches, oldest first
#[derive(Debug, clap::Args)]
pub(crate) struct ListSearches {
    #[command(flatten)]
    state: StateFile,
    /// Only those of this key
    #[arg(long, value_name = "KEYID")]
    key: Option<String>,
    #[command(flatten)]
    shown_as: ShownAs,
}

/// Print a saved search
#[derive(Debug, clap::Args)]
pub(crate) struct OneSearch {
    #[command(flatten)]
    state: StateFile,
    /// The id that `create` printed
    id: String,
}

/// Change a saved search; settings that are not given stay, and it goes on where it was
#[derive(Debug, clap::Args)]
pub(crate) struct EditSearch {
    #[command(flatten)]
    state: StateFile,
    /// The id that `create` printed
    id: String,
    /// A name for people, of 1 to 180 characters, which no other search of the key has
    #[arg(long)]
    name: Option<String>,
    /// What it searches for: a query string of filters
    #[arg(long, value_parser = parse_filter)]
    query: Option<Filter>,
    /// Where its matches are sent from the next attempt on; a first URL begins anew, with a secret that is printed; with none,
    /// the key pulls on
    #[arg(long, value_name = "URL|none")]
    webhook: Option<String>,
    #[command(flatten)]
    rules: WebhookRuleOptions,
    /// Leave out signals that have changed but are not new; --only-new=false no longer does
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    only_new: Option<bool>,
    /// Name the signals that have left the search; --removals=false no longer does
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    removals: Option<bool>,
}

/// Delete a saved search
#[derive(Debug, clap::Args)]
pub(crate) struct DeleteSearch {
    #[command(flatten)]
    state: StateFile,
    /// The id that `create` printed
    id: String,
}

impl SearchesCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            SearchesCommand::Create(create) => create.run(),
            SearchesCommand::List(list) => list.run(),
            SearchesCommand::Show(show) => show.run(),
            SearchesCommand::Edit(edit) => edit.run(),
            SearchesCommand::Pause(pause) => pause.run(),
            SearchesCommand::Resume(resume) => resume.run(),
            SearchesCommand::Rotate(rotate) => rotate.run(),
            SearchesCommand::Test(test) => test.run(),
            SearchesCommand::Deliveries(list) => list.run(),
            SearchesCommand::Delete(delete) => delete.run(),
        }
    }
}

impl CreateSearch {
    fn run(self) -> Result<(), Failure> {
        let mut settings = SearchSettings::new(self.name, self.query);
        (settings.only_new, settings.removals) = (self.only_new, self.removals);
        let url = self.webhook.map(|text| self.rules.url(&text)).transpose()?;
        let new = url.map(|url| NewSearch::with_webhook(settings.clone(), url));
        let mut new = new.transpose()?.unwrap_or_else(|| NewSearch::of(settings));
        new.since = self.since.0;
        let state = self.state.open_existing()?;
        let search = state.create_search(&self.key, &new)?;
        let secret = new.secret.map(|secret| secret.text());
        let created = json!({"id": search.id, "secret": secret});
        Ok(writeln!(std::io::stdout(), "{created}")?)
    }
}

impl ListSearches {
    fn run(self) -> Result<(), Failure> {
        let searches = self.state.open_existing()?.searches(self.key.as_deref())?;
        let lines: Vec<Value> = searches.iter().map(line).collect();
        if self.shown_as.is_table() {
            let columns = [
                TableColumn::whole("id", 0),
                TableColumn::text("name", 1, 8, 32),
                TableColumn::text("query", 2, 12, 48),
                TableColumn::whole("status", 3),
                TableColumn::whole("keyId", 4),
            ];
            return table::print_objects(&columns, &lines);
        }
        source::print_json(&lines)
    }
}

impl OneSearch {
    fn run(self) -> Result<(), Failure> {
        let search = self.state.open_existing()?.search(&self.id)?;
        let search = search.ok_or_else(|| no_search(&self.id))?;
        source::print_json(&line(&search))
    }
}

impl EditSearch {
    fn run(self) -> Result<(), Failure> {
        let url = self.webhook.map(|text| match text.as_str() {
            "none" => Ok(None),
            text => self.rules.url(text).map(Some),
        });
        let url = url.transpose()?;
        let state = self.state.open_existing()?;
        let edited = state.edit_search(&self.id, |settings| {
            settings.only_new = self.only_new.unwrap_or(settings.only_new);
            settings.removals = self.removals.unwrap_or(settings.removals);
            settings.webhook = url.unwrap_or(settings.webhook.take());
            if let Some(name) = self.name {
                settings.name = name;
            }
            if let Some(filter) = self.query {
                settings.filter = filter;
            }
        })?;
        let (edited, secret) = edited.ok_or_else(|| no_search(&self.id))?;
        let mut line = line(&edited);
        if let Some(secret) = secret {
            line["secret"] = secret.text().into();
        }
        source::print_json(&line)
    }
}

impl DeleteSearch {
    fn run(self) -> Result<(), Failure> {
        if !self.state.open_existing()?.delete_search(&self.id)? {
            return Err(no_search(&self.id));
        }
        Ok(())
    }
}

/// A search as `list` prints it.
fn line(search: &SearchRecord) -> Value {
    let settings = &search.settings;
    let webhook = search.webhook.as_ref();
    let position = webhook.map_or(&search.first_position, |webhook| &webhook.position);
    let delivered = webhook.and_then(|webhook| webhook.delivered_at?.format(&Rfc3339).ok());
    json!({
        "id": search.id,
        "keyId": search.key_id,
        "name": settings.name,
        "query": settings.filter.to_string(),
        "webhook": webhook.map(|webhook| webhook.url.as_str()),
        "onlyNew": settings.only_new,
        "removals": settings.removals,
        "status": search.status.as_str(),
        "position": position.as_ref().map(ToString::to_string),
        "pending": webhook.map_or(0, |webhook| webhook.pending),
        "lastDeliveredAt": delivered,
    })
}

pub(super) fn no_search(id: &str) -> Failure {
    format!("there is no saved search {id:?}; `signaldex searches list` shows all").into()
}

fn parse_filter(text: &str) -> Result<Filter, String> {
    Filter::from_query_string(text).map_err(|error| error.to_string())
}

fn parse_start(text: &str) -> Result<SearchStart, String> {
    if text == "now" {
        return Ok(SearchStart(None));
    }
    let position = text.parse().map(|position| SearchStart(Some(position)));
    position.map_err(|error| format!("the position {error}; give now, start, or a position"))
}
