//! `signaldex people`: adds, lists and revokes the people of the dashboard, also while a service runs.

use std::io::Write;

use serde_json::{Value, json};
use signaldex_server::{PersonRecord, Role};

use super::keys::{StateFile, instant};
use crate::shown_as::ShownAs;
use crate::table::TableColumn;
use crate::{Failure, source, table};

/// Add, list and revoke the people who may use the dashboard, and change their roles
#[derive(Debug, clap::Subcommand)]
pub(crate) enum PeopleCommand {
    Add(AddPerson),
    List(ListPeople),
    Role(ChangeRole),
    Revoke(RevokePerson),
}

/// Add a person and print the token for the dashboard once
#[derive(Debug, clap::Args)]
pub(crate) struct AddPerson {
    #[command(flatten)]
    state: StateFile,
    /// A name of 1 to 180 characters that no other person has
    name: String,
    /// admin changes keys and people; viewer sees all pages and changes nothing
    #[arg(long, value_name = "admin|viewer", value_parser = parse_role)]
    role: Role,
}

/// List the people as JSON, without tokens
#[derive(Debug, clap::Args)]
pub(crate) struct ListPeople {
    #[command(flatten)]
    state: StateFile,
    #[command(flatten)]
    shown_as: ShownAs,
}

/// Change the role of a person; it applies from the next request on
#[derive(Debug, clap::Args)]
pub(crate) struct ChangeRole {
    #[command(flatten)]
    state: StateFile,
    /// The name of the person
    name: String,
    /// admin changes keys and people; viewer sees all pages and changes nothing
    #[arg(long, value_name = "admin|viewer", value_parser = parse_role)]
    role: Role,
}

/// Revoke a person: the token and its sessions are refused from then on
#[derive(Debug, clap::Args)]
pub(crate) struct RevokePerson {
    #[command(flatten)]
    state: StateFile,
    /// The name of the person
    name: String,
}

impl PeopleCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            PeopleCommand::Add(add) => add.run(),
            PeopleCommand::List(list) => list.run(),
            PeopleCommand::Role(role) => role.run(),
            PeopleCommand::Revoke(revoke) => revoke.run(),
        }
    }
}

impl AddPerson {
    fn run(self) -> Result<(), Failure> {
        let token = self.state.open()?.add_person(&self.name, self.role)?;
        Ok(writeln!(std::io::stdout(), "{}", token.as_str())?)
    }
}

impl ListPeople {
    fn run(self) -> Result<(), Failure> {
        let people = self.state.open_existing()?.people()?;
        let lines: Vec<Value> = people.iter().map(line).collect();
        if self.shown_as.is_table() {
            let columns = [
                TableColumn::text("name", 0, 8, 32),
                TableColumn::whole("role", 1),
                TableColumn::text("hint", 3, 12, 24),
                TableColumn::whole("createdAt", 4),
                TableColumn::whole("lastSignInAt", 2),
            ];
            return table::print_objects(&columns, &lines);
        }
        source::print_json(&lines)
    }
}

impl ChangeRole {
    fn run(self) -> Result<(), Failure> {
        let state = self.state.open_existing()?;
        if !state.set_role(&self.name, self.role)? {
            return Err(no_person(&self.name));
        }
        Ok(())
    }
}

impl RevokePerson {
    fn run(self) -> Result<(), Failure> {
        if !self.state.open_existing()?.revoke_person(&self.name)? {
            return Err(no_person(&self.name));
        }
        Ok(())
    }
}

fn no_person(name: &str) -> Failure {
    let name = signaldex::text::quoted(name);
    format!("there is no person {name}; `signaldex people list` shows all").into()
}

fn parse_role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| "a role is admin or viewer".to_owned())
}

fn line(person: &PersonRecord) -> Value {
    json!({
        "name": person.name,
        "role": person.role.as_str(),
        "hint": person.hint,
        "createdAt": instant(Some(person.created_at)),
        "lastSignInAt": instant(person.signed_in_at),
    })
}
