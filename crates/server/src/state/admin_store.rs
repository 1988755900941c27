//! The admin token in the state file, stored as a hash.

use rusqlite::{Connection, OptionalExtension, params};

use super::{State, StateError};
use crate::admin::{AdminToken, TokenHash};

impl State {
    /// Creates the admin token if there is none yet, and returns it. Returns `None` if there is one.
    ///
    /// # Errors
    /// The state cannot be written, or the system gives no random bytes.
    pub fn first_admin_token(&self) -> Result<Option<AdminToken>, StateError> {
        let token = AdminToken::generate()?;
        self.with(|connection| {
            let change = self.begin(connection)?;
            if read(&change)?.is_some() {
                return Ok(None);
            }
            write(&change, token.hash())?;
            change.commit()?;
            Ok(Some(token))
        })
    }

    /// Replaces the admin token. The old one and all its sessions are refused from now on.
    ///
    /// # Errors
    /// The state cannot be written, or the system gives no random bytes.
    pub fn new_admin_token(&self) -> Result<AdminToken, StateError> {
        let token = AdminToken::generate()?;
        self.with(|connection| Ok(write(connection, token.hash())?))?;
        Ok(token)
    }

    /// The hash of the token, if there is one.
    pub(crate) fn admin_token(&self) -> Result<Option<TokenHash>, StateError> {
        self.with(|connection| Ok(read(connection)?))
    }
}

fn read(connection: &Connection) -> rusqlite::Result<Option<TokenHash>> {
    connection
        .query_row("SELECT hash FROM admin_token", [], |row| row.get(0))
        .optional()
        .map(|hash| hash.map(TokenHash))
}

fn write(connection: &Connection, hash: TokenHash) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO admin_token VALUES (1, ?1) ON CONFLICT DO UPDATE SET hash = excluded.hash";
    connection.execute(sql, params![hash.0]).map(|_| ())
}
