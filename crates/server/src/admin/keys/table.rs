//! The table of keys, sorted and filtered by the query string.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use time::UtcDateTime;

use crate::admin::figures;
use crate::admin::form::{FormData, SelectOption};
use crate::admin::overview::name_of;
use crate::keys::{KeyRecord, KeyStatus};
use crate::metering::{Counter, Counts};
use crate::state::{KeyPage, KeysWanted, State, StateError};

/// Rows of a page.
const PAGE_ROWS: u64 = 100;

/// A page of the filtered rows, sorted.
pub(super) struct KeyTable {
    pub(super) headings: Vec<Heading>,
    pub(super) rows: Vec<KeyRow>,
    pub(super) statuses: Vec<SelectOption>,
    pub(super) find: String,
    pub(super) sort: &'static str,
    pub(super) order: &'static str,
    /// Which of how many rows the page has, in words.
    pub(super) shown: String,
    /// The URLs of the pages around this one.
    pub(super) previous: Option<String>,
    pub(super) next: Option<String>,
    /// Whether there is no key at all.
    pub(super) is_empty: bool,
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

/// A row of the table.
pub(super) struct KeyRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) hint: String,
    pub(super) status: KeyStatus,
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

impl KeyTable {
    /// The table for a query string with `status`, `find`, `sort`, `order` and `page`.
    pub(super) fn read(
        state: &State,
        wanted: &FormData,
        now: UtcDateTime,
    ) -> Result<KeyTable, StateError> {
        let mut statuses = KeyStatus::ALL.into_iter();
        let status = statuses.find(|status| status.as_str() == wanted.value("status"));
        let sort = sort_of(wanted.value("sort"));
        let is_descending = wanted.value("order") == "desc";
        let order = if is_descending { "desc" } else { "asc" };
        let found = state.key_page(&KeysWanted {
            status,
            find: wanted.value("find"),
            sort,
            is_descending,
            page: wanted.value("page").parse().unwrap_or(1),
            rows: PAGE_ROWS,
            now,
        })?;
        let link = |page: u64| format!("{}&page={page}#keys", sorted_link(wanted, sort, order));
        Ok(KeyTable {
            headings: headings(wanted, sort, is_descending),
            rows: found.keys.iter().map(|key| KeyRow::new(key, now)).collect(),
            statuses: KeyStatus::ALL
                .map(|known| SelectOption {
                    value: known.as_str().to_owned(),
                    label: known.as_str().to_owned(),
                    is_chosen: Some(known) == status,
                })
                .into(),
            find: wanted.value("find").to_owned(),
            sort,
            order,
            shown: shown(&found),
            previous: (found.page > 1).then(|| link(found.page - 1)),
            next: (found.page * PAGE_ROWS < found.wanted).then(|| link(found.page + 1)),
            is_empty: found.all == 0,
        })
    }
}

/// 2 of 3 keys, or 101 to 200 of 250 keys.
fn shown(found: &KeyPage) -> String {
    let rows = found.keys.len() as u64;
    let (shown, of) = if rows == found.wanted {
        (figures::grouped(rows), found.all)
    } else {
        let before = (found.page - 1) * PAGE_ROWS;
        let [first, last] = [before + 1, before + rows].map(figures::grouped);
        (format!("{first} to {last}"), found.wanted)
    };
    let keys = if of == 1 { "key" } else { "keys" };
    format!("{shown} of {} {keys}", figures::grouped(of))
}

/// The column of a name, or none: then active keys come first, newest first.
fn sort_of(name: &str) -> &'static str {
    let columns = COLUMNS.iter().map(|(column, _)| *column);
    let counters = Counter::ALL.into_iter().map(Counter::as_str);
    let mut known = columns.chain(counters);
    known.find(|known| *known == name).unwrap_or_default()
}

/// The URL of the first page of what is wanted, in an order.
fn sorted_link(wanted: &FormData, sort: &str, order: &str) -> String {
    let encoded = |name| utf8_percent_encode(wanted.value(name), NON_ALPHANUMERIC);
    let (status, find) = (encoded("status"), encoded("find"));
    format!("/keys?status={status}&find={find}&sort={sort}&order={order}")
}

fn headings(wanted: &FormData, sort: &str, is_descending: bool) -> Vec<Heading> {
    let heading = |(column, label): (&'static str, &'static str), is_number| {
        let is_sorted = column == sort;
        // The first click on a numeric column sorts descending.
        let order = match (is_sorted, is_descending, is_number) {
            (true, true, _) | (false, _, false) => "asc",
            (true, false, _) | (false, _, true) => "desc",
        };
        Heading {
            label,
            link: format!("{}#keys", sorted_link(wanted, column, order)),
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

impl KeyRow {
    fn new((key, counts): &(KeyRecord, Counts), now: UtcDateTime) -> KeyRow {
        let settings = &key.settings;
        let used = |counter: Counter| Used::new(counts[counter.index()], key.quota(counter));
        KeyRow {
            id: key.id.clone(),
            name: figures::key_name(&key.id, &settings.name),
            hint: key.hint.clone().unwrap_or_default(),
            status: KeyStatus::of(key, now),
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
        Used {
            count: figures::grouped(count),
            quota: quota.map(figures::grouped),
            share: quota.map_or(0, |quota| figures::percent(count, quota)),
        }
    }
}
