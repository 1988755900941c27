//! The table of keys, sorted and filtered by the query string.

use std::cmp::Ordering;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use time::UtcDateTime;

use crate::http::admin::figures;
use crate::http::admin::form::{Choice, Form};
use crate::http::admin::overview::name_of;
use crate::http::keys::KeyRecord;
use crate::http::metering::{Counter, Counts};
use crate::http::state::UsageLine;

/// The filtered rows, sorted.
pub(super) struct Table {
    pub(super) headings: Vec<Heading>,
    pub(super) rows: Vec<Row>,
    pub(super) statuses: Vec<Choice>,
    pub(super) find: String,
    pub(super) sort: &'static str,
    pub(super) order: &'static str,
    /// Number of all keys, regardless of filters.
    pub(super) all: usize,
}

/// The heading of a sortable column.
pub(super) struct Heading {
    pub(super) label: &'static str,
    /// The URL of the table sorted by it.
    pub(super) link: String,
    /// The value of `aria-sort`; empty if the table is sorted by another column.
    pub(super) sorted: &'static str,
    pub(super) is_number: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    Active,
    Expired,
    Revoked,
}

/// A row of the table.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) hint: String,
    pub(super) status: Status,
    pub(super) scopes: String,
    pub(super) rate: String,
    pub(super) created: String,
    pub(super) end: String,
    pub(super) used: Vec<Used>,
}

/// What a key has used this month.
pub(super) struct Used {
    pub(super) count: String,
    pub(super) quota: Option<String>,
    /// Percentage of the quota.
    pub(super) share: u64,
}

/// The sortable columns with their headings.
const COLUMNS: [(&str, &str); 6] = [
    ("name", "Name"),
    ("status", "Status"),
    ("scopes", "Scopes"),
    ("rate", "Rate"),
    ("created", "Created"),
    ("end", "Ends"),
];

/// A key with its usage, which rows can be sorted by.
struct Entry<'a> {
    key: &'a KeyRecord,
    status: Status,
    counts: Counts,
}

impl Table {
    /// The table for a query string with `status`, `find`, `sort` and `order`.
    pub(super) fn of(
        keys: &[KeyRecord],
        usage: &[UsageLine],
        wanted: &Form,
        now: UtcDateTime,
    ) -> Table {
        let counts_of = |id: &str| {
            let line = usage.iter().find(|line| line.key_id == id);
            line.map_or(Counts::default(), |line| line.counts)
        };
        let status = wanted.value("status");
        let find = wanted.value("find").to_lowercase();
        let entry = |key| Entry {
            key,
            status: Status::of(key, now),
            counts: counts_of(&key.id),
        };
        let mut entries: Vec<Entry<'_>> = keys
            .iter()
            .map(entry)
            .filter(|entry| status.is_empty() || entry.status.as_str() == status)
            .filter(|entry| entry.has(&find))
            .collect();
        let sort = sort_of(wanted.value("sort"));
        let is_descending = wanted.value("order") == "desc";
        entries.sort_by(|one, other| {
            let order = one.compare(other, sort);
            if is_descending {
                order.reverse()
            } else {
                order
            }
        });
        Table {
            headings: headings(wanted, sort, is_descending),
            rows: entries.iter().map(Row::new).collect(),
            statuses: [Status::Active, Status::Expired, Status::Revoked]
                .map(|known| Choice {
                    value: known.as_str().to_owned(),
                    label: known.as_str().to_owned(),
                    is_chosen: known.as_str() == status,
                })
                .into(),
            find: wanted.value("find").to_owned(),
            sort,
            order: if is_descending { "desc" } else { "asc" },
            all: keys.len(),
        }
    }
}

/// The column of a name, or none: then active keys come first, newest first.
fn sort_of(name: &str) -> &'static str {
    let columns = COLUMNS.iter().map(|(column, _)| *column);
    let counters = Counter::ALL.into_iter().map(Counter::as_str);
    let mut known = columns.chain(counters);
    known.find(|known| *known == name).unwrap_or_default()
}

fn headings(wanted: &Form, sort: &str, is_descending: bool) -> Vec<Heading> {
    let heading = |(column, label): (&'static str, &'static str), is_number| {
        let is_sorted = column == sort;
        // The first click on a numeric column sorts descending.
        let order = match (is_sorted, is_descending, is_number) {
            (true, true, _) | (false, _, false) => "asc",
            (true, false, _) | (false, _, true) => "desc",
        };
        let encoded = |name| utf8_percent_encode(wanted.value(name), NON_ALPHANUMERIC);
        let (status, find) = (encoded("status"), encoded("find"));
        Heading {
            label,
            link: format!("/keys?status={status}&find={find}&sort={column}&order={order}#keys"),
            sorted: match (is_sorted, is_descending) {
                (false, _) => "",
                (true, false) => "ascending",
                (true, true) => "descending",
            },
            is_number,
        }
    };
    let columns = COLUMNS.into_iter().map(|column| heading(column, false));
    let counters = Counter::ALL.into_iter();
    let counters = counters.map(|counter| heading((counter.as_str(), name_of(counter)), true));
    columns.chain(counters).collect()
}

impl Entry<'_> {
    /// Whether name, id or hint contain a lower-case text.
    fn has(&self, text: &str) -> bool {
        let hint = self.key.hint.as_deref().unwrap_or_default();
        let texts = [&self.key.settings.name, &self.key.id, hint];
        texts
            .iter()
            .any(|known| known.to_lowercase().contains(text))
    }

    fn compare(&self, other: &Entry<'_>, column: &str) -> Ordering {
        let (one, two) = (&self.key.settings, &other.key.settings);
        // Keys without expiry come last.
        let end = |entry: &Entry<'_>| {
            let end = entry.key.revoked_at.or(entry.key.settings.expires_at);
            (end.is_none(), end)
        };
        let newest_first = || other.key.number.cmp(&self.key.number);
        let order = match column {
            "name" => one.name.to_lowercase().cmp(&two.name.to_lowercase()),
            "scopes" => one.scopes.to_string().cmp(&two.scopes.to_string()),
            "rate" => one.rate.cmp(&two.rate),
            "created" => self.key.created_at.cmp(&other.key.created_at),
            "end" => end(self).cmp(&end(other)),
            "" | "status" => self.status.cmp(&other.status),
            _ => {
                let mut counters = Counter::ALL.into_iter();
                let counter = counters.find(|counter| counter.as_str() == column);
                let count = |counts: &Counts| counter.map(|counter| counts[counter.index()]);
                count(&self.counts).cmp(&count(&other.counts))
            }
        };
        order.then_with(newest_first)
    }
}

impl Status {
    pub(super) fn of(key: &KeyRecord, now: UtcDateTime) -> Status {
        if key.revoked_at.is_some() {
            Status::Revoked
        } else if key.is_valid_at(now) {
            Status::Active
        } else {
            Status::Expired
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Expired => "expired",
            Status::Revoked => "revoked",
        }
    }
}

impl Row {
    fn new(entry: &Entry<'_>) -> Row {
        let Entry { key, counts, .. } = *entry;
        let settings = &key.settings;
        let used = |counter: Counter| Used::new(counts[counter.index()], key.quota(counter));
        Row {
            id: key.id.clone(),
            name: figures::key_name(&key.id, &settings.name),
            hint: key.hint.clone().unwrap_or_default(),
            status: entry.status,
            scopes: settings.scopes.to_string().replace(',', ", "),
            rate: format!("{}/s, burst {}", settings.rate, settings.burst),
            created: key.created_at.date().to_string(),
            end: match (key.revoked_at, settings.expires_at) {
                (Some(at), _) | (None, Some(at)) => at.date().to_string(),
                (None, None) => "never".to_owned(),
            },
            used: Counter::ALL.map(used).into(),
        }
    }
}

impl Used {
    fn new(count: u64, quota: Option<u64>) -> Used {
        let share = quota.map_or(0, |quota| count.saturating_mul(100) / quota.max(1));
        Used {
            count: figures::grouped(count),
            quota: quota.map(figures::grouped),
            share: share.min(100),
        }
    }
}
