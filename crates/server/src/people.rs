//! The people who use the dashboard: their names and roles.

use std::fmt;

use time::UtcDateTime;

/// What a person may do in the dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Sees all pages and changes keys and people.
    Admin,
    /// Sees all pages and changes nothing.
    Viewer,
}

/// A person: everything except the token.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PersonRecord {
    /// The name, which no other person has.
    pub name: String,
    /// What the person may do.
    pub role: Role,
    /// The ends of the token, such as `sdxadmin_07Yl…dvBw`.
    pub hint: String,
    /// When the person was added.
    pub created_at: UtcDateTime,
    /// When the person last signed in.
    pub signed_in_at: Option<UtcDateTime>,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 2] = [Role::Admin, Role::Viewer];

    /// The name of the role.
    ///
    /// ```
    /// use signaldex_server::Role;
    ///
    /// assert_eq!(Role::Viewer.as_str(), "viewer");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Admin => "admin",
            Role::Viewer => "viewer",
        }
    }

    /// Parses the name of a role; `None` for anything else.
    ///
    /// ```
    /// use signaldex_server::Role;
    ///
    /// assert_eq!(Role::parse("admin"), Some(Role::Admin));
    /// assert_eq!(Role::parse("Admin"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
