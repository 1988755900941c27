//! The admin token in the state file: its hash, and nothing else.

use rusqlite::{Connection, OptionalExtension, params};

use super::{State, StateError};
use crate::http::admin::{AdminToken, TokenHash};

impl State {
    /// Makes the admin token where there is none yet, which is at the first start, and answers it.
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

    /// Makes a new admin token. The old one and all sessions that it began are refused from now on.
    ///
    /// # Errors
    /// The state cannot be written, or the system gives no random bytes.
    pub fn new_admin_token(&self) -> Result<AdminToken, StateError> {
        let token = AdminToken::generate()?;
        self.with(|connection| Ok(write(connection, token.hash())?))?;
        Ok(token)
    }

    /// The hash of the token; `None` before there is one.
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
