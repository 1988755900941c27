//! The endpoints, described once: router, OpenAPI document, API reference, tools and metrics read this table.

mod table;

use super::keys::Scope;
use super::metering::Counter;
use super::parameters::{self, EndpointParameter, OwnParameter};
use super::problem::ProblemCode;
use signaldex::query::{PARAMETERS, ParameterSet};

pub(super) use table::ENDPOINTS;

/// An endpoint. [`ENDPOINTS`] has the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Signals,
    Signal,
    Company,
    Companies,
    FilterOptions,
    Changes,
    Export,
    Aggregates,
    SavedSearches,
    Matches,
    Health,
    Ready,
    OpenApi,
    Docs,
    /// A page of the API reference.
    DocsPage,
    /// Redirects to the API reference.
    Root,
    /// The tools for agents.
    Mcp,
}

/// The description of an endpoint.
pub(super) struct EndpointDescription {
    pub(super) endpoint: Endpoint,
    /// The path, with its variable segment in braces.
    pub(super) path: &'static str,
    /// The name in metrics, the log and the dashboard.
    pub(super) name: &'static str,
    /// The scope that a key needs; `None` if the endpoint needs no key.
    pub(super) scope: Option<Scope>,
    /// The counter that answers are charged to; of a free endpoint, that of the endpoint asked next.
    pub(super) counter: Counter,
    /// The function in generated clients, and the page of the API reference; empty if it is not documented.
    pub(super) operation: &'static str,
    pub(super) summary: &'static str,
    /// What it returns; `{base}` stands for the path under which the service is mounted.
    pub(super) description: &'static str,
    pub(super) cost: &'static str,
    pub(super) limits: &'static [&'static str],
    /// The search parameters that it accepts.
    pub(super) search: ParameterSet,
    /// The other parameters and headers.
    pub(super) own: &'static [OwnParameter],
    /// The component of the OpenAPI document that describes the answer.
    pub(super) schema: &'static str,
    /// The media type of the answer, then others for the same content.
    pub(super) media_types: &'static [&'static str],
    pub(super) examples: &'static [Example],
    /// Beyond [`KEYED_ERRORS`] if it needs a key.
    pub(super) errors: &'static [ProblemCode],
}

/// A request to the sample corpus, and its answer.
pub(super) struct Example {
    pub(super) name: &'static str,
    pub(super) request: &'static str,
    pub(super) answer: &'static str,
}

/// Errors of every endpoint that needs a key.
const KEYED_ERRORS: [ProblemCode; 5] = [
    ProblemCode::Unauthorized,
    ProblemCode::Forbidden,
    ProblemCode::RateLimited,
    ProblemCode::Internal,
    ProblemCode::Overloaded,
];

impl Endpoint {
    /// The endpoint of a path, with the variable segment of the path.
    pub(super) fn of(path: &str) -> Option<(&'static EndpointDescription, &str)> {
        ENDPOINTS
            .iter()
            .find_map(|known| Some((known, known.segment_of(path)?)))
    }

    pub(super) fn description(self) -> &'static EndpointDescription {
        &ENDPOINTS[self as usize]
    }
}

impl EndpointDescription {
    /// The path up to the variable segment.
    pub(super) fn path_start(&self) -> &'static str {
        self.path.split('{').next().unwrap_or_default()
    }

    /// The path after the variable segment.
    fn path_end(&self) -> &'static str {
        self.path.split('}').nth(1).unwrap_or_default()
    }

    /// The variable segment of a path of this endpoint; empty if it has none.
    fn segment_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix(self.path_start())?;
        let rest = rest.strip_suffix(self.path_end())?;
        let is_right = if self.path.contains('{') {
            !rest.is_empty() && !rest.contains('/')
        } else {
            rest.is_empty()
        };
        is_right.then_some(rest)
    }

    /// The errors of the endpoint, in the order of [`ProblemCode::ALL`].
    pub(super) fn all_errors(&self) -> impl Iterator<Item = ProblemCode> {
        let keyed = self.scope.map_or(&[][..], |_| &KEYED_ERRORS);
        let is_known = |code: &ProblemCode| self.errors.contains(code) || keyed.contains(code);
        ProblemCode::ALL.into_iter().filter(is_known)
    }

    /// The parameters of the endpoint: those of the search, then its own.
    pub(super) fn parameters(&self) -> impl Iterator<Item = EndpointParameter> {
        let known = PARAMETERS.iter();
        let known = known.filter(|known| self.search.contains(known.parameter));
        let own = self.own.iter().map(EndpointParameter::Own);
        known.map(EndpointParameter::Search).chain(own)
    }

    /// Whether an answer has an `ETag`, and headers with its charge.
    pub(super) fn is_revalidated(&self) -> bool {
        let mut own = self.own.iter();
        own.any(|own| own.name == parameters::IF_NONE_MATCH.name)
    }
}

#[cfg(test)]
mod tests;
