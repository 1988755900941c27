//! The people of the dashboard in the state file, with the hashes of their tokens.

use rusqlite::{Connection, OptionalExtension, Row, params};
use time::UtcDateTime;

use super::audit_store::AuditedRow;
use super::number::number;
use super::{State, StateError};
use crate::actor::Actor;
use crate::admin::{AdminToken, TokenHash};
use crate::keys;
use crate::people::{PersonRecord, Role};

/// The most people of a state, so that one page shows them all.
const PEOPLE_MAX: u64 = 200;
/// The person whose token the first start prints.
const ADMIN: &str = "admin";

impl State {
    /// Creates the person `admin` if there are no people yet, and returns the token. Returns `None` if there are some.
    ///
    /// # Errors
    /// The state cannot be written, or the system gives no random bytes.
    pub fn first_admin_token(&self) -> Result<Option<AdminToken>, StateError> {
        let token = AdminToken::generate()?;
        self.with(|connection| {
            let change = self.begin(connection)?;
            if count(&change)? > 0 {
                return Ok(None);
            }
            let by = (Actor::of_process(), "people.add");
            self.audited(&change, by, AuditedRow::Person(ADMIN), || {
                self.set_token(&change, ADMIN, Role::Admin, &token)
            })?;
            change.commit()?;
            Ok(Some(token))
        })
    }

    /// Gives the person `admin` a new token and the role of an admin, and adds that person where there is none. The old
    /// token and all its sessions are refused from now on.
    ///
    /// # Errors
    /// The state cannot be written, or the system gives no random bytes.
    pub fn new_admin_token(&self) -> Result<AdminToken, StateError> {
        let token = AdminToken::generate()?;
        self.with(|connection| {
            let change = self.begin(connection)?;
            let by = (Actor::of_process(), "people.token");
            self.audited(&change, by, AuditedRow::Person(ADMIN), || {
                self.set_token(&change, ADMIN, Role::Admin, &token)
            })?;
            Ok(change.commit()?)
        })?;
        Ok(token)
    }

    /// Adds a person to the dashboard. The token is returned here and stored nowhere.
    ///
    /// ```
    /// use signaldex_server::{Role, State};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("signaldex.db");
    /// let state = State::open(path)?;
    /// let token = state.add_person("ada", Role::Viewer)?;
    /// assert!(token.as_str().starts_with("sdxadmin_"));
    /// assert_eq!(state.people()?[0].name, "ada");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// An invalid name or one that a person has, 200 people, or a state that cannot be written.
    pub fn add_person(&self, name: &str, role: Role) -> Result<AdminToken, StateError> {
        self.add_person_by(Actor::of_process(), name, role)
    }

    pub(crate) fn add_person_by(
        &self,
        by: &Actor,
        name: &str,
        role: Role,
    ) -> Result<AdminToken, StateError> {
        keys::check_name(name)
            .map_err(|error| StateError::invalid(format!("the name of the person {error}")))?;
        let token = AdminToken::generate()?;
        self.with(|connection| {
            let change = self.begin(connection)?;
            if find(&change, name)?.is_some() {
                return Err(StateError::invalid(
                    "there is a person of that name; choose another name, or revoke that person first",
                ));
            }
            if count(&change)? >= PEOPLE_MAX {
                return Err(StateError::invalid(format!(
                    "there are {PEOPLE_MAX} people, which is the most; revoke one first"
                )));
            }
            self.audited(&change, (by, "people.add"), AuditedRow::Person(name), || {
                self.set_token(&change, name, role, &token)
            })?;
            Ok(change.commit()?)
        })?;
        Ok(token)
    }

    /// Changes the role of a person, from the next request on. Returns whether there is such a person.
    ///
    /// ```
    /// use signaldex_server::{Role, State};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("signaldex.db");
    /// let state = State::open(path)?;
    /// state.add_person("ada", Role::Viewer)?;
    /// assert!(state.set_role("ada", Role::Admin)?);
    /// assert!(!state.set_role("bob", Role::Admin)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn set_role(&self, name: &str, role: Role) -> Result<bool, StateError> {
        self.set_role_by(Actor::of_process(), name, role)
    }

    pub(crate) fn set_role_by(
        &self,
        by: &Actor,
        name: &str,
        role: Role,
    ) -> Result<bool, StateError> {
        let sql = "UPDATE people SET role = ?2 WHERE name = ?1";
        self.change_person((by, "people.role"), name, |connection| {
            connection.execute(sql, params![name, role.as_str()])
        })
    }

    /// Removes a person. The token and all its sessions are refused from now on. Returns whether there was such a
    /// person.
    ///
    /// ```
    /// use signaldex_server::{Role, State};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("signaldex.db");
    /// let state = State::open(path)?;
    /// state.add_person("ada", Role::Viewer)?;
    /// assert!(state.revoke_person("ada")?);
    /// assert!(state.people()?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn revoke_person(&self, name: &str) -> Result<bool, StateError> {
        self.revoke_person_by(Actor::of_process(), name)
    }

    pub(crate) fn revoke_person_by(&self, by: &Actor, name: &str) -> Result<bool, StateError> {
        self.change_person((by, "people.revoke"), name, |connection| {
            connection.execute("DELETE FROM people WHERE name = ?1", [name])
        })
    }

    /// Every person, by name.
    ///
    /// ```
    /// use signaldex_server::State;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("signaldex.db");
    /// let state = State::open(path)?;
    /// state.new_admin_token()?;
    /// assert_eq!(state.people()?[0].name, "admin");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The state cannot be read.
    pub fn people(&self) -> Result<Vec<PersonRecord>, StateError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached("SELECT * FROM people ORDER BY name")?;
            let people = statement.query_map([], read)?;
            Ok(people.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The person of a token.
    pub(crate) fn person_of(&self, token: TokenHash) -> Result<Option<PersonRecord>, StateError> {
        self.with(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT * FROM people WHERE hash = ?1")?;
            Ok(statement.query_row([token.0], read).optional()?)
        })
    }

    /// The person of a name.
    pub(crate) fn person(&self, name: &str) -> Result<Option<PersonRecord>, StateError> {
        self.with(|connection| Ok(find(connection, name)?))
    }

    /// Notes that the person of a token has signed in.
    pub(crate) fn note_sign_in(&self, token: TokenHash) -> Result<(), StateError> {
        let now = self.now().unix_timestamp();
        self.with(|connection| {
            let change = self.begin(connection)?;
            let sql = "UPDATE people SET signed_in_at = ?2 WHERE hash = ?1";
            change.execute(sql, params![token.0, now])?;
            Ok(change.commit()?)
        })
    }

    /// Changes the row of a person. Returns whether there was one.
    fn change_person(
        &self,
        by: (&Actor, &str),
        name: &str,
        change: impl FnOnce(&Connection) -> rusqlite::Result<usize>,
    ) -> Result<bool, StateError> {
        self.with(|connection| {
            let transaction = self.begin(connection)?;
            let row = AuditedRow::Person(name);
            let changed = self.audited(&transaction, by, row, || Ok(change(&transaction)?))?;
            transaction.commit()?;
            Ok(changed == 1)
        })
    }

    /// Sets the role and the token of a person, who is added where there is none.
    fn set_token(
        &self,
        connection: &Connection,
        name: &str,
        role: Role,
        token: &AdminToken,
    ) -> Result<(), StateError> {
        let now = self.now().unix_timestamp();
        connection.execute(
            "INSERT INTO people (name, role, hash, hint, created_at) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT DO UPDATE SET role = excluded.role, hash = excluded.hash, hint = excluded.hint",
            params![name, role.as_str(), token.hash().0, token.hint(), now],
        )?;
        Ok(())
    }
}

fn count(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("SELECT count(*) FROM people", [], |row| number(row, 0))
}

fn find(connection: &Connection, name: &str) -> rusqlite::Result<Option<PersonRecord>> {
    let sql = "SELECT * FROM people WHERE name = ?1";
    connection.query_row(sql, [name], read).optional()
}

/// Reads a person. A role that is not known may do the least.
fn read(row: &Row<'_>) -> rusqlite::Result<PersonRecord> {
    let instant = |seconds: i64| UtcDateTime::from_unix_timestamp(seconds).ok();
    let role: String = row.get("role")?;
    Ok(PersonRecord {
        name: row.get("name")?,
        role: Role::parse(&role).unwrap_or(Role::Viewer),
        hint: row.get("hint")?,
        created_at: instant(row.get("created_at")?).unwrap_or(UtcDateTime::UNIX_EPOCH),
        signed_in_at: row.get::<_, Option<i64>>("signed_in_at")?.and_then(instant),
    })
}

#[cfg(test)]
mod tests;
