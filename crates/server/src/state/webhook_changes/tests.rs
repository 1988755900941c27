//! What is read after changes of searches: these searches, and no other.

use std::collections::BTreeMap;

use signaldex::Filter;

use super::{CHANGED, KEPT, PAGE_ROWS, WATCHED};
use crate::webhooks::{WebhookRules, WebhookUrl};
use crate::{NewKey, NewSearch, SearchSettings, State};

struct Fixture {
    _directory: tempfile::TempDir,
    state: State,
    key: String,
}

impl Fixture {
    fn new() -> Fixture {
        let directory = tempfile::tempdir().expect("a directory");
        let state = State::open(directory.path().join("state.db")).expect("a state");
        let key = state.create_key(&NewKey::named("Acme")).expect("a key").0;
        Fixture {
            _directory: directory,
            state,
            key: key.id,
        }
    }

    fn save(&self, name: &str) -> String {
        let settings = SearchSettings::new(name, Filter::default());
        let new = NewSearch::with_webhook(settings, url());
        let search = self.state.create_search(&self.key, &new.expect("a secret"));
        search.expect("a search").id
    }

    /// Adds rows to the log, as if a search changed as often.
    fn change(&self, search: i64, times: i64) {
        let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) \
                   INSERT INTO webhook_changes (search) SELECT ?1 FROM n";
        let added = self
            .state
            .with(|connection| Ok(connection.execute(sql, [search, times])?));
        added.expect("rows");
    }

    fn kept(&self) -> i64 {
        let sql = "SELECT count(*) FROM webhook_changes";
        let count = |connection: &mut rusqlite::Connection| {
            Ok(connection.query_row(sql, [], |row| row.get(0))?)
        };
        self.state.with(count).expect("the state")
    }
}

fn url() -> WebhookUrl {
    WebhookUrl::parse("https://hooks.example/in", &WebhookRules::default()).expect("a URL")
}

/// The searches as one that follows the changes has them.
#[derive(Default)]
struct FollowedSearches {
    change: i64,
    searches: BTreeMap<i64, (Filter, bool)>,
}

impl FollowedSearches {
    /// Follows, and returns how many rows that has read.
    fn follow(&mut self, state: &State) -> usize {
        let changed = state.changed_searches(self.change).expect("the state");
        let (change, changed) = changed.expect("all changes");
        self.change = change;
        let rows = changed.len();
        for (number, search) in changed {
            match search {
                Some(search) => self
                    .searches
                    .insert(number, (search.filter, search.removals)),
                None => self.searches.remove(&number),
            };
        }
        rows
    }
}

#[test]
fn a_change_of_one_search_is_read_without_the_others() {
    let fixture = Fixture::new();
    let state = &fixture.state;
    let mut followed = FollowedSearches::default();
    assert_eq!(followed.follow(state), 0);
    let ids: Vec<String> = (0..100)
        .map(|number| fixture.save(&number.to_string()))
        .collect();
    assert_eq!(followed.follow(state), 100);
    let filter = || Filter::from_query_string("q=hires").expect("a filter");
    let edit = |id: &str, edit: &dyn Fn(&mut SearchSettings)| {
        let edited = state.edit_search(id, |settings| edit(settings));
        assert!(edited.expect("the state").is_some());
    };
    edit(&ids[7], &|settings| settings.filter = filter());
    assert_eq!(followed.follow(state), 1);
    edit(&ids[8], &|settings| settings.removals = true);
    edit(&ids[9], &|settings| settings.webhook = None);
    state.delete_search(&ids[10]).expect("the state");
    // One row each, or two where settings are written with the webhook that is taken away.
    assert!(followed.follow(state) <= 4);
    edit(&ids[9], &|settings| settings.webhook = Some(url()));
    fixture.save("another");
    assert!(followed.follow(state) <= 3);
    state.pause_search(&ids[11]).expect("the state");
    assert_eq!(followed.follow(state), 0);
    let all = state.watched_searches(0).expect("the state").into_iter();
    let all = all.map(|(number, search)| {
        let search = search.expect("a webhook");
        (number, (search.filter, search.removals))
    });
    assert_eq!(followed.searches, all.collect());
    assert_eq!(followed.searches.len(), 100);
    assert_eq!(followed.change, state.webhook_changes().expect("the state"));
}

#[test]
fn changes_are_read_in_pages_and_forgotten_after_ten_thousand() {
    let fixture = Fixture::new();
    let state = &fixture.state;
    fixture.save("first");
    let first = state.webhook_changes().expect("the state");
    fixture.change(1, PAGE_ROWS + 1);
    let mut followed = FollowedSearches {
        change: first,
        ..FollowedSearches::default()
    };
    assert_eq!(followed.follow(state), PAGE_ROWS as usize);
    assert_eq!((followed.follow(state), followed.follow(state)), (1, 0));
    fixture.change(1, KEPT);
    assert_eq!(fixture.kept(), KEPT);
    assert!(
        state
            .changed_searches(followed.change)
            .expect("the state")
            .is_some()
    );
    fixture.change(1, 1);
    assert_eq!(fixture.kept(), KEPT);
    assert!(
        state
            .changed_searches(followed.change)
            .expect("the state")
            .is_none()
    );
}

#[test]
fn no_statement_goes_through_all_rows() {
    let fixture = Fixture::new();
    for sql in [CHANGED, WATCHED] {
        let plan = fixture.state.with(|connection| {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
            let steps = statement.query_map([0, 0], |row| row.get::<_, String>(3))?;
            Ok(steps.collect::<rusqlite::Result<Vec<String>>>()?)
        });
        let plan = plan.expect("a plan");
        assert!(
            plan.iter().all(|step| step.starts_with("SEARCH")),
            "{plan:?}"
        );
    }
}
