//! The pages of people: the table, adding a person, changing a role, revoking. Tokens are shown once.

use askama::Template;
use axum::http::StatusCode;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::dashboard::Admin;
use super::failed::PageResult;
use super::figures;
use super::form::{FormData, SelectOption};
use super::layout::{self, PageLayout};
use super::session::NewSecret;
use super::visit::Visit;
use crate::keys::check_name;
use crate::people::{PersonRecord, Role};

#[derive(Template)]
#[template(path = "people.html", config = "src/admin/askama.toml")]
struct PeoplePage<'a> {
    layout: PageLayout<'a>,
    people: Vec<PersonRow>,
    new: NewPerson,
    /// The name and the token of a new person, to show once.
    token: Option<(String, String)>,
}

/// A row of the table.
struct PersonRow {
    name: String,
    role: Role,
    hint: String,
    created: String,
    signed_in: String,
    /// The URL of the person's page.
    link: String,
}

/// The form for a new person, as it was submitted.
struct NewPerson {
    name: String,
    name_error: String,
    role_error: &'static str,
    roles: Vec<SelectOption>,
}

#[derive(Template)]
#[template(path = "person.html", config = "src/admin/askama.toml")]
struct PersonPage<'a> {
    layout: PageLayout<'a>,
    person: PersonRow,
    roles: Vec<SelectOption>,
    /// The URL of the person's entries in the audit.
    audit: String,
    /// Whether the visitor looks at the own page.
    is_self: bool,
}

/// The table of people.
pub(super) fn list(admin: &Admin, visit: &Visit) -> PageResult {
    show(admin, visit, StatusCode::OK, NewPerson::empty())
}

/// Adds a person and redirects to the table, which shows the token.
pub(super) fn add(admin: &Admin, visit: &Visit) -> PageResult {
    let state = &admin.0.service.0.state;
    let (name, role) = (visit.form.value("name"), visit.form.value("role"));
    let mut new = NewPerson::typed(name, role);
    if state.person(name)?.is_some() {
        new.name_error = "There is a person of that name; choose another.".to_owned();
    }
    let Some(role) = Role::parse(role).filter(|_| new.name_error.is_empty()) else {
        return show(admin, visit, StatusCode::BAD_REQUEST, new);
    };
    let token = state.add_person_by(&visit.actor(), name, role)?;
    tracing::info!(person = name, %role, "a person was added in the dashboard");
    let name = name.to_owned();
    visit.session.keep_secret(NewSecret::Person { name, token });
    layout::see("/people#created")
}

/// The page of a person.
pub(super) fn edit(admin: &Admin, visit: &Visit) -> PageResult {
    let form = FormData::parse(visit.query.as_bytes());
    let Some(person) = admin.0.service.0.state.person(form.value("name"))? else {
        return not_found(visit);
    };
    let page = PersonPage {
        layout: PageLayout::under(visit, "Person", "/people"),
        roles: roles(person.role.as_str()),
        audit: link("/audit?find", &format!("person:{}", person.name)),
        is_self: person.name == visit.person.name,
        person: PersonRow::new(person),
    };
    layout::render(StatusCode::OK, &page)
}

/// Changes the role of a person.
pub(super) fn set_role(admin: &Admin, visit: &Visit) -> PageResult {
    let name = visit.form.value("name");
    let Some(role) = Role::parse(visit.form.value("role")) else {
        let text = "A role is admin or viewer; go back and choose one.";
        return layout::message_of(visit, StatusCode::BAD_REQUEST, "No such role", text);
    };
    if !admin
        .0
        .service
        .0
        .state
        .set_role_by(&visit.actor(), name, role)?
    {
        return not_found(visit);
    }
    tracing::info!(person = name, %role, "a role was changed in the dashboard");
    layout::see(&link("/people/edit?name", name))
}

/// Revokes a person.
pub(super) fn revoke(admin: &Admin, visit: &Visit) -> PageResult {
    let name = visit.form.value("name");
    if admin
        .0
        .service
        .0
        .state
        .revoke_person_by(&visit.actor(), name)?
    {
        tracing::info!(person = name, "a person was revoked in the dashboard");
    }
    layout::see("/people")
}

fn show(admin: &Admin, visit: &Visit, status: StatusCode, new: NewPerson) -> PageResult {
    let people = admin.0.service.0.state.people()?;
    let token = visit.take_token();
    let page = PeoplePage {
        layout: PageLayout::of(visit, "People"),
        people: people.into_iter().map(PersonRow::new).collect(),
        new,
        token: token.map(|(name, token)| (name, token.as_str().to_owned())),
    };
    layout::render(status, &page)
}

fn not_found(visit: &Visit) -> PageResult {
    let text = "There is no such person, or the person was revoked.";
    layout::message_of(visit, StatusCode::NOT_FOUND, "Person not found", text)
}

fn roles(chosen: &str) -> Vec<SelectOption> {
    let choice = |role: Role| SelectOption {
        value: role.as_str().to_owned(),
        label: match role {
            Role::Admin => "admin: changes keys and people",
            Role::Viewer => "viewer: sees all pages",
        }
        .to_owned(),
        is_chosen: role.as_str() == chosen,
    };
    Role::ALL.map(choice).into()
}

/// A URL with one value.
fn link(start: &str, value: &str) -> String {
    let value = utf8_percent_encode(value, NON_ALPHANUMERIC);
    format!("{start}={value}")
}

impl PersonRow {
    fn new(person: PersonRecord) -> PersonRow {
        let never = || "never".to_owned();
        PersonRow {
            role: person.role,
            hint: person.hint,
            created: figures::instant(person.created_at),
            signed_in: person.signed_in_at.map_or_else(never, figures::instant),
            link: link("/people/edit?name", &person.name),
            name: person.name,
        }
    }
}

impl NewPerson {
    fn empty() -> NewPerson {
        NewPerson {
            name: String::new(),
            name_error: String::new(),
            role_error: "",
            roles: roles(Role::Viewer.as_str()),
        }
    }

    /// What was submitted, with its errors.
    fn typed(name: &str, role: &str) -> NewPerson {
        let error = check_name(name).err();
        NewPerson {
            name: name.to_owned(),
            name_error: error.map_or_else(String::new, |error| format!("The name {error}.")),
            role_error: match Role::parse(role) {
                Some(_) => "",
                None => "Choose admin or viewer.",
            },
            roles: roles(role),
        }
    }
}
