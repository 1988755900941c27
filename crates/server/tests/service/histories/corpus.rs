//! The records of an index and their history, in maps: what matches, and what a feed has to tell.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::ops::Bound::{Excluded, Unbounded};

/// A signal, by its choices of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Record {
    pub(super) title: usize,
    pub(super) category: usize,
    pub(super) company: usize,
    /// Whether it has so much evidence that a slice of an export ends after it.
    pub(super) is_large: bool,
}

/// A signal as clients see it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) id: u64,
    pub(super) title: String,
    pub(super) category: String,
    pub(super) company: String,
    pub(super) has_evidence: bool,
}

pub(super) const TITLES: [&str; 4] = ["alpha", "beta", "alpha beta", "gamma"];
pub(super) const CATEGORIES: [&str; 2] = ["funding", "hiring"];
pub(super) const COMPANIES: [&str; 2] = ["acme", "bolt"];
pub(super) const NAMES: [&str; 2] = ["North Works", "South Works"];

/// The filters of requests and copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Filter {
    All,
    Alpha,
    NotBeta,
    Funding,
    /// A word in the name of the company, which a change of the company may bring or take away.
    North,
}

/// What a commit writes: the new state of each signal and company that it changes.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Writes {
    pub(super) signals: BTreeMap<u64, Option<Record>>,
    pub(super) companies: BTreeMap<usize, usize>,
}

/// A commit, from 1, and an id: where a change stands in the feed.
type Place = (usize, u64);

#[derive(Clone, Debug)]
struct Row {
    record: Option<Record>,
    /// The first commit that had the id.
    first: usize,
    changed: usize,
}

/// The records of an index and its history.
#[derive(Clone, Debug, Default)]
pub(super) struct Corpus {
    rows: BTreeMap<u64, Row>,
    /// The deletions, also of signals that came back.
    deletions: BTreeSet<Place>,
    /// The name of each company.
    companies: [usize; COMPANIES.len()],
    chain: Vec<Link>,
}

/// A commit of an index.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// Its number among all commits of all branches.
    serial: usize,
    /// A digest of what it and all before it wrote.
    digest: u64,
}

/// A position of the feed, with what the snapshot that gave it had last committed.
#[derive(Clone, Debug)]
pub(super) struct Position {
    pub(super) text: String,
    place: Place,
    seen: (usize, Link),
}

/// How a position stands to an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Known,
    Ahead,
    /// Of a history that the index does not have.
    Lost,
    /// Of another branch that wrote the same, so that either answer is right.
    Twin,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    Upsert(Item),
    Remove(u64),
}

impl Filter {
    fn matches(self, record: &Record, company: &str) -> bool {
        let title = TITLES[record.title];
        match self {
            Filter::All => true,
            Filter::Alpha => title.contains("alpha"),
            Filter::NotBeta => !title.contains("beta"),
            Filter::Funding => CATEGORIES[record.category] == "funding",
            Filter::North => company.contains("North"),
        }
    }
}

impl PartialEq for Position {
    /// Clients and services know only the text.
    fn eq(&self, other: &Position) -> bool {
        self.text == other.text
    }
}

impl Position {
    /// Before all changes of any index.
    pub(super) fn start() -> Position {
        Position {
            text: "start".to_owned(),
            place: (0, 0),
            seen: (0, Link::default()),
        }
    }
}

impl Corpus {
    pub(super) fn has(&self, id: u64) -> bool {
        self.rows.get(&id).is_some_and(|row| row.record.is_some())
    }

    /// A signal under a filter.
    fn item(&self, filter: Filter, id: u64) -> Option<Item> {
        let record = self.rows.get(&id)?.record.as_ref()?;
        let company = NAMES[self.companies[record.company]];
        filter.matches(record, company).then(|| Item {
            id,
            title: TITLES[record.title].to_owned(),
            category: CATEGORIES[record.category].to_owned(),
            company: company.to_owned(),
            has_evidence: record.is_large,
        })
    }

    /// Every match, newest first.
    pub(super) fn scan(&self, filter: Filter) -> Vec<Item> {
        let newest_first = self.rows.keys().rev();
        newest_first
            .filter_map(|&id| self.item(filter, id))
            .collect()
    }

    /// Commits, as that many commits of all branches have before.
    pub(super) fn commit(&mut self, serial: usize, writes: &Writes) {
        let number = self.chain.len() + 1;
        for (&id, &record) in &writes.signals {
            let row = self.rows.entry(id).or_insert(Row {
                record,
                first: number,
                changed: number,
            });
            (row.record, row.changed) = (record, number);
            if record.is_none() {
                self.deletions.insert((number, id));
            }
        }
        for (&company, &name) in &writes.companies {
            self.companies[company] = name;
            let of_company = |row: &&mut Row| row.record.is_some_and(|r| r.company == company);
            let rows = self.rows.values_mut().filter(of_company);
            rows.for_each(|row| row.changed = number);
        }
        let mut digest = DefaultHasher::new();
        let before = self.chain.last().map(|link| link.digest);
        (before, &writes.signals, &writes.companies).hash(&mut digest);
        let digest = digest.finish();
        self.chain.push(Link { serial, digest });
    }

    /// The position after all changes.
    pub(super) fn end(&self) -> Position {
        let number = self.chain.len();
        Position {
            text: String::new(),
            place: (number, u64::MAX),
            seen: (number, self.chain.last().copied().unwrap_or_default()),
        }
    }

    /// The position that an answer gives as its `next`.
    pub(super) fn position_after(
        &self,
        next: &str,
        since: &Position,
        (changes, more): (&[Change], bool),
    ) -> Position {
        let end = self.end();
        let place = changes
            .iter()
            .try_fold(since.place, |before, change| self.place(before, change));
        Position {
            text: next.to_owned(),
            place: place.filter(|_| more).unwrap_or(end.place),
            ..end
        }
    }

    /// The first place behind another at which a change can stand: an upsert at the last change of its signal, a
    /// removal at a deletion, too.
    fn place(&self, before: Place, change: &Change) -> Option<Place> {
        let (Change::Upsert(Item { id, .. }) | Change::Remove(id)) = change;
        let changed = self.rows.get(id).map(|row| (row.changed, *id));
        let changed = changed.filter(|&changed| changed > before);
        let deleted = || {
            let mut later = self.deletions.range((Excluded(before), Unbounded));
            later.find(|(_, deleted)| deleted == id).copied()
        };
        match change {
            Change::Upsert(_) => changed,
            Change::Remove(_) => deleted().or(changed),
        }
    }

    /// The signals that a copy at a position has to be given, in the order of the feed.
    pub(super) fn due(&self, filter: Filter, since: &Position) -> Vec<Item> {
        let rows = self.rows.iter();
        let mut changed: Vec<Place> = rows.map(|(&id, row)| (row.changed, id)).collect();
        changed.retain(|place| *place > since.place);
        changed.sort_unstable();
        let items = changed.iter();
        items.filter_map(|&(_, id)| self.item(filter, id)).collect()
    }

    /// Checks changes after a position: in order, each signal that is due, and removals only of what does not
    /// match and was there at the position. Returns the number of upserts.
    pub(super) fn check_changes(
        &self,
        filter: Filter,
        since: &Position,
        (changes, more): (&[Change], bool),
    ) -> Result<usize, String> {
        let (mut before, mut upserts) = (since.place, Vec::new());
        for change in changes {
            let place = self.place(before, change);
            before = place.ok_or_else(|| format!("{change:?} is not after {before:?}"))?;
            match change {
                Change::Upsert(item) => upserts.push(item.clone()),
                // A signal that came back is removed at its deletion, and comes again.
                Change::Remove(id)
                    if self.item(filter, *id).is_some() && !self.deletions.contains(&before) =>
                {
                    return Err(format!("{id} is removed and matches"));
                }
                Change::Remove(id) => {
                    let first = self.rows.get(id).map_or(usize::MAX, |row| row.first);
                    if (first, *id) > since.place {
                        return Err(format!("{id} is removed and came after the position"));
                    }
                }
            }
        }
        let mut due = self.due(filter, since);
        if more {
            due.truncate(upserts.len());
        }
        if upserts != due {
            return Err(format!("upserts: {upserts:?}, and not {due:?}"));
        }
        Ok(upserts.len())
    }

    pub(super) fn standing(&self, position: &Position) -> Standing {
        let (number, seen) = position.seen;
        if number == 0 {
            return Standing::Known;
        }
        match self.chain.get(number - 1) {
            None => Standing::Ahead,
            Some(own) if own.serial == seen.serial => Standing::Known,
            Some(own) if own.digest == seen.digest => Standing::Twin,
            Some(_) => Standing::Lost,
        }
    }
}
