//! Who changes the state and from where, for the audit.

use std::net::IpAddr;
use std::sync::LazyLock;

use axum::http::HeaderMap;

/// Characters of a user's or a machine's name in an entry. Neither is longer on Linux.
const NAME_CHARACTERS_MAX: usize = 64;

/// The user and the machine of this process.
static PROCESS: LazyLock<Actor> = LazyLock::new(|| Actor {
    name: format!("cli:{}", user()),
    from: std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .map(|name| shown(name.trim())),
});

/// Who makes a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Actor {
    /// `person:NAME` or `cli:USER`.
    pub(crate) name: String,
    /// The address of a browser, or the name of the machine that ran a command.
    pub(crate) from: Option<String>,
}

/// The address of a connection to the admin listener.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerAddress(pub(crate) IpAddr);

impl Actor {
    /// The user of the operating system who runs this process: on the command line, and in a host.
    pub(crate) fn of_process() -> &'static Actor {
        &PROCESS
    }

    /// A person at the dashboard.
    pub(crate) fn of_person(name: &str, from: Option<String>) -> Actor {
        let name = format!("person:{name}");
        Actor { name, from }
    }
}

/// Where a request to the dashboard comes from: the connection's address, after the one that the nearest proxy names,
/// if there is one. A client that connects directly may invent that name, so both are shown.
pub(crate) fn origin(peer: Option<PeerAddress>, headers: &HeaderMap) -> Option<String> {
    let forwarded = headers.get_all("x-forwarded-for").iter().next_back();
    let forwarded = forwarded.and_then(|addresses| addresses.to_str().ok()?.rsplit(',').next());
    let forwarded: Option<IpAddr> = forwarded.and_then(|address| address.trim().parse().ok());
    let peer = peer.map(|PeerAddress(address)| address.to_string());
    match (forwarded, peer) {
        (Some(forwarded), Some(peer)) => Some(format!("{forwarded} via {peer}")),
        (Some(forwarded), None) => Some(forwarded.to_string()),
        (None, peer) => peer,
    }
}

/// The name of the user of this process, or its number where no name is known.
fn user() -> String {
    let number = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| user_of_line(line, &number));
    name.map_or(number, shown)
}

/// The name in a line of `/etc/passwd` if the line is that of a number.
fn user_of_line<'l>(line: &'l str, number: &str) -> Option<&'l str> {
    let mut fields = line.split(':');
    let name = fields.next()?;
    (fields.nth(1) == Some(number)).then_some(name)
}

/// A name without control characters, cut to a bound.
fn shown(name: &str) -> String {
    let visible = name.chars().filter(|letter| !letter.is_control());
    visible.take(NAME_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests;
