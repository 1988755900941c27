//! `signaldex keys`: creates, lists and revokes API keys, also while a service runs.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use signaldex::Filter;
use signaldex::query::KeyFilter;
use signaldex_server::{KeyRecord, NewKey, Quotas, Scopes, State};
use time::format_description::well_known::Rfc3339;
use time::{Date, Duration, OffsetDateTime, UtcDateTime};

use crate::shown_as::ShownAs;
use crate::table::TableColumn;
use crate::{Failure, source, table};

/// Create, list, edit, rotate and revoke API keys
#[derive(Debug, clap::Subcommand)]
pub(crate) enum KeysCommand {
    Create(Create),
    List(List),
    Edit(Edit),
    Rotate(Rotate),
    Revoke(Revoke),
    Copy(CopyKeys),
}

/// Create a key and print it once, as {"id","key"}
#[derive(Debug, clap::Args)]
pub(crate) struct Create {
    #[command(flatten)]
    state: StateFile,
    /// A name for people, of 1 to 180 characters
    #[arg(long, default_value = "unnamed")]
    name: String,
    /// The scopes of the key: signals:read, companies:read
    #[arg(long, default_value = "signals:read,companies:read", value_parser = parse_scopes)]
    scopes: Scopes,
    /// The first day (UTC) on which the key is no longer valid
    #[arg(long, value_name = "DATE", value_parser = parse_coming_day)]
    expires: Option<Date>,
    /// Sustained requests per second
    #[arg(long, value_name = "N", default_value_t = NewKey::DEFAULT_RATE, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Requests at once
    #[arg(long, value_name = "N", default_value_t = NewKey::DEFAULT_BURST, value_parser = clap::value_parser!(u32).range(1..))]
    burst: u32,
    /// Signals a calendar month that searches may return
    #[arg(long, value_name = "N")]
    quota_signals: Option<u64>,
    /// Signal details a calendar month
    #[arg(long, value_name = "N")]
    quota_activities: Option<u64>,
    /// Companies a calendar month
    #[arg(long, value_name = "N")]
    quota_companies: Option<u64>,
    /// Counts, filter options and aggregates a calendar month, which are not billed
    #[arg(long, value_name = "N")]
    quota_free_answers: Option<u64>,
    #[command(flatten)]
    visible: VisibleSignals,
}

/// List the keys as JSON, without secrets
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    state: StateFile,
    /// Only keys created before that day (UTC) which no request has used since
    #[arg(long, value_name = "DATE", value_parser = source::parse_date)]
    unused_since: Option<Date>,
    #[command(flatten)]
    shown_as: ShownAs,
}

/// Change the settings of a key; settings that are not given stay
#[derive(Debug, clap::Args)]
pub(crate) struct Edit {
    #[command(flatten)]
    state: StateFile,
    /// The id that `create` printed
    id: String,
    /// A name for people, of 1 to 180 characters
    #[arg(long)]
    name: Option<String>,
    /// The scopes of the key: signals:read, companies:read
    #[arg(long, value_parser = parse_scopes)]
    scopes: Option<Scopes>,
    /// The first day (UTC) on which the key is no longer valid, or never
    #[arg(long, value_name = "DATE", value_parser = parse_expiry)]
    expires: Option<Setting<Date>>,
    /// Sustained requests per second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Requests at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    burst: Option<u32>,
    /// Signals a calendar month that searches may return, or none for no quota
    #[arg(long, value_name = "N", value_parser = parse_quota)]
    quota_signals: Option<Setting<u64>>,
    /// Signal details a calendar month, or none
    #[arg(long, value_name = "N", value_parser = parse_quota)]
    quota_activities: Option<Setting<u64>>,
    /// Companies a calendar month, or none
    #[arg(long, value_name = "N", value_parser = parse_quota)]
    quota_companies: Option<Setting<u64>>,
    /// Counts, filter options and aggregates a calendar month, or none
    #[arg(long, value_name = "N", value_parser = parse_quota)]
    quota_free_answers: Option<Setting<u64>>,
    #[command(flatten)]
    visible: VisibleSignals,
}

/// Which signals a key sees.
#[derive(Debug, clap::Args)]
struct VisibleSignals {
    /// A query string that selects signals the key sees, such as country=Germany; repeated, any of them selects. By default it
    /// sees all. none removes all filters
    #[arg(long = "filter", value_name = "QUERY")]
    filters: Option<Vec<String>>,
    /// A query string that selects signals the key does not see; may be repeated. none removes all exceptions
    #[arg(long = "except", value_name = "QUERY")]
    exceptions: Option<Vec<String>>,
}

/// An optional setting that can be removed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<T>(Option<T>);

/// Replace the secret of a key and print the new one once; the old one is refused after the overlap
#[derive(Debug, clap::Args)]
pub(crate) struct Rotate {
    #[command(flatten)]
    state: StateFile,
    /// The id that `create` printed
    id: String,
    /// How long the old secret is still accepted: a number of s, m, h or d, at most 30d
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_overlap)]
    overlap: Duration,
}

/// Revoke a key by its id
#[derive(Debug, clap::Args)]
pub(crate) struct Revoke {
    #[command(flatten)]
    state: StateFile,
    /// The id that `create` printed
    id: String,
}

/// Copy all keys, with settings and revocations but without usage, from one state file to another
#[derive(Debug, clap::Args)]
pub(crate) struct CopyKeys {
    /// The file to copy from, such as a backup of another machine's
    #[arg(value_name = "FROM")]
    from: PathBuf,
    #[command(flatten)]
    state: StateFile,
}

/// The state file.
#[derive(Debug, clap::Args)]
pub(crate) struct StateFile {
    /// The file of keys and usage
    #[arg(
        long = "state",
        value_name = "FILE",
        default_value = "signaldex.db",
        env = "SIGNALDEX_STATE"
    )]
    path: PathBuf,
}

impl StateFile {
    /// Opens the file, or creates it if it does not exist.
    pub(crate) fn open(&self) -> Result<State, Failure> {
        Ok(State::open(&self.path)?)
    }

    /// Opens the file, which must exist.
    pub(crate) fn open_existing(&self) -> Result<State, Failure> {
        Ok(State::open_existing(&self.path)?)
    }
}

impl std::fmt::Display for StateFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.display().fmt(f)
    }
}

impl KeysCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            KeysCommand::Create(create) => create.run(),
            KeysCommand::List(list) => list.run(),
            KeysCommand::Edit(edit) => edit.run(),
            KeysCommand::Rotate(rotate) => rotate.run(),
            KeysCommand::Revoke(revoke) => revoke.run(),
            KeysCommand::Copy(copy) => copy.run(),
        }
    }
}

impl Create {
    fn run(self) -> Result<(), Failure> {
        let new = NewKey {
            name: self.name,
            scopes: self.scopes,
            expires_at: self.expires.map(|day| day.midnight().as_utc()),
            rate: self.rate,
            burst: self.burst,
            quotas: Quotas {
                signals: self.quota_signals,
                activities: self.quota_activities,
                companies: self.quota_companies,
                free_answers: self.quota_free_answers,
            },
            filter: self.visible.edit(None)?,
        };
        let (record, key) = self.state.open()?.create_key(&new)?;
        let created = json!({"id": record.id, "key": key.as_str()});
        Ok(writeln!(std::io::stdout(), "{created}")?)
    }
}

impl List {
    fn run(self) -> Result<(), Failure> {
        let mut keys = self.state.open_existing()?.keys()?;
        if let Some(day) = self.unused_since {
            keys.retain(|key| is_unused_since(key, day));
        }
        let lines: Vec<Value> = keys.iter().map(line).collect();
        if self.shown_as.is_table() {
            let columns = [
                TableColumn::whole("id", 0),
                TableColumn::text("hint", 2, 12, 24),
                TableColumn::text("name", 1, 8, 24),
                TableColumn::text("scopes", 5, 12, 32),
                TableColumn::whole("createdAt", 6),
                TableColumn::whole("expiresAt", 4),
                TableColumn::whole("revokedAt", 3),
                TableColumn::whole("lastUsedAt", 7),
            ];
            return table::print_objects(&columns, &lines);
        }
        source::print_json(&lines)
    }
}

impl Edit {
    fn run(self) -> Result<(), Failure> {
        let state = self.state.open_existing()?;
        let id = self.id.clone();
        let mut fault = None;
        let edited = state.edit_key(&id, |settings| {
            fault = self.apply(settings).err();
        })?;
        if let Some(fault) = fault {
            return Err(fault);
        }
        match edited {
            Some(record) => source::print_json(&line(&record)),
            None => Err(no_key(&id)),
        }
    }

    /// Applies what was given, or nothing if a part of it is refused.
    fn apply(self, settings: &mut NewKey) -> Result<(), Failure> {
        settings.filter = self.visible.edit(settings.filter.as_deref())?;
        if let Some(name) = self.name {
            settings.name = name;
        }
        if let Some(scopes) = self.scopes {
            settings.scopes = scopes;
        }
        if let Some(Setting(day)) = self.expires {
            settings.expires_at = day.map(|day| day.midnight().as_utc());
        }
        settings.rate = self.rate.unwrap_or(settings.rate);
        settings.burst = self.burst.unwrap_or(settings.burst);
        let quotas = &mut settings.quotas;
        for (quota, given) in [
            (&mut quotas.signals, self.quota_signals),
            (&mut quotas.activities, self.quota_activities),
            (&mut quotas.companies, self.quota_companies),
            (&mut quotas.free_answers, self.quota_free_answers),
        ] {
            if let Some(Setting(number)) = given {
                *quota = number;
            }
        }
        Ok(())
    }
}

impl VisibleSignals {
    /// What becomes of a key's filter.
    fn edit(&self, former: Option<&KeyFilter>) -> Result<Option<Arc<KeyFilter>>, Failure> {
        let [filters, exceptions] = [&self.filters, &self.exceptions].map(|texts| {
            let texts = texts.as_ref()?.iter().map(String::as_str);
            let texts: Vec<&str> = texts.collect();
            Some(if texts == ["none"] { Vec::new() } else { texts })
        });
        let edited = KeyFilter::edited(former, filters.as_deref(), exceptions.as_deref());
        let edited = edited.map_err(|invalid| Failure::from(invalid.to_string()))?;
        Ok(edited.map(Arc::new))
    }
}

impl Rotate {
    fn run(self) -> Result<(), Failure> {
        let key = self
            .state
            .open_existing()?
            .rotate_key(&self.id, self.overlap)?;
        let key = key.ok_or_else(|| no_key(&self.id))?;
        let rotated = json!({"id": self.id, "key": key.as_str()});
        Ok(writeln!(std::io::stdout(), "{rotated}")?)
    }
}

impl CopyKeys {
    fn run(self) -> Result<(), Failure> {
        let from = State::open_existing(&self.from)?;
        let copied = self.state.open()?.copy_keys(&from)?;
        Ok(writeln!(
            std::io::stdout(),
            "{}",
            json!({"copied": copied})
        )?)
    }
}

fn no_key(id: &str) -> Failure {
    format!("there is no key {id:?}, or it is revoked; `signaldex keys list` shows all").into()
}

/// Whether a key existed before a day and has not been used from then on.
fn is_unused_since(key: &KeyRecord, day: Date) -> bool {
    let start = day.midnight().as_utc();
    key.created_at < start && key.used_at.is_none_or(|used| used < start)
}

/// Reads a time such as `90s`, `24h` or `30d`, within the bounds of an overlap.
pub(super) fn parse_overlap(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let seconds = match &text[digits.len()..] {
        "s" => Some(1),
        "m" => Some(60),
        "h" => Some(60 * 60),
        "d" => Some(24 * 60 * 60),
        "" => (digits == "0").then_some(0),
        _ => None,
    };
    let number = digits.parse::<u32>().ok().map(i64::from);
    let time = number
        .zip(seconds)
        .map(|(number, unit)| Duration::seconds(number * unit));
    time.filter(|time| *time <= Duration::days(30))
        .ok_or_else(|| "a time of 0 to 30 days is needed, such as 90m, 24h or 7d".to_owned())
}

fn parse_quota(text: &str) -> Result<Setting<u64>, String> {
    if text == "none" {
        return Ok(Setting(None));
    }
    let number = text.parse().map(|number| Setting(Some(number)));
    number.map_err(|_| "a whole number or none is needed".to_owned())
}

/// For a new key, which would be of no use if it had ended.
fn parse_coming_day(text: &str) -> Result<Date, String> {
    let day = source::parse_date(text)?;
    if day <= UtcDateTime::now().date() {
        return Err("the key would never be valid; give a day after today (UTC)".to_owned());
    }
    Ok(day)
}

fn parse_expiry(text: &str) -> Result<Setting<Date>, String> {
    if text == "never" {
        return Ok(Setting(None));
    }
    source::parse_date(text).map(|day| Setting(Some(day)))
}

impl Revoke {
    fn run(self) -> Result<(), Failure> {
        if !self.state.open_existing()?.revoke_key(&self.id)? {
            return Err(no_key(&self.id));
        }
        Ok(())
    }
}

fn line(key: &KeyRecord) -> Value {
    let settings = &key.settings;
    json!({
        "id": key.id,
        "hint": key.hint,
        "hints": key.hints(UtcDateTime::now()),
        "lastUsedAt": instant(key.used_at),
        "name": settings.name,
        "scopes": settings.scopes.to_string(),
        "createdAt": instant(Some(key.created_at)),
        "expiresAt": instant(settings.expires_at),
        "revokedAt": instant(key.revoked_at),
        "rate": settings.rate,
        "burst": settings.burst,
        "quotaSignals": settings.quotas.signals,
        "quotaActivities": settings.quotas.activities,
        "quotaCompanies": settings.quotas.companies,
        "quotaFreeAnswers": settings.quotas.free_answers,
        "filters": texts(settings.filter.as_ref().map(|filter| filter.filters())),
        "exceptions": texts(settings.filter.as_ref().map(|filter| filter.exceptions())),
    })
}

/// Filters as canonical query strings.
fn texts(filters: Option<&[Filter]>) -> Vec<String> {
    let filters = filters.unwrap_or_default().iter();
    filters.map(ToString::to_string).collect()
}

pub(super) fn instant(instant: Option<UtcDateTime>) -> Option<String> {
    OffsetDateTime::from(instant?).format(&Rfc3339).ok()
}

fn parse_scopes(text: &str) -> Result<Scopes, String> {
    Scopes::parse(text)
        .ok_or_else(|| "scopes are signals:read and companies:read, comma-separated".to_owned())
}
