//! A query string made from the form: empty fields are omitted, check boxes of one name become a list.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::admin::form::FormData;
use signaldex::query::{Parameter, ParameterKind};

/// The path of the search page.
pub(in crate::admin) const PATH: &str = "/search";

/// Characters escaped as `%XX`, so that the text is valid in a query string, in shell quotes and in a Rust
/// string. Everything else stays readable.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'\'')
    .add(b'+')
    .add(b'<')
    .add(b'>')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The pairs of a query string; `Display` writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::admin) struct QueryText(Vec<(String, String)>);

impl QueryText {
    /// The query string of a form.
    pub(in crate::admin) fn of(form: &FormData) -> QueryText {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (name, value) in form.fields() {
            let value = value.trim();
            if value.is_empty() {
                continue;
            }
            match pairs
                .iter_mut()
                .find(|(known, _)| known == name && is_list(name))
            {
                Some((_, items)) => {
                    items.push(',');
                    items.push_str(value);
                }
                None => pairs.push((name.clone(), value.to_owned())),
            }
        }
        QueryText(pairs)
    }

    /// A query string of pairs without empty values.
    pub(super) fn of_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> QueryText {
        QueryText(pairs.into_iter().collect())
    }

    pub(super) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    pub(in crate::admin) fn into_pairs(self) -> Vec<(String, String)> {
        self.0
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// The value of a parameter.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let pair = self.0.iter().find(|(known, _)| known == name);
        pair.map(|(_, value)| value.as_str())
    }

    /// Only the pairs that pass a test.
    pub(in crate::admin) fn only(&self, test: impl Fn(&str) -> bool) -> QueryText {
        let pairs = self.0.iter().filter(|(name, _)| test(name));
        QueryText(pairs.cloned().collect())
    }

    /// Removes a parameter.
    pub(super) fn without(&self, name: &str) -> QueryText {
        self.only(|known| known != name)
    }

    /// Sets a parameter.
    pub(super) fn with(&self, name: &str, value: &str) -> QueryText {
        let mut text = self.without(name);
        text.0.push((name.to_owned(), value.to_owned()));
        text
    }

    /// The URL of the search page for this query string.
    pub(super) fn link(&self) -> String {
        self.link_to(PATH)
    }

    /// The URL of another page for this query string.
    pub(in crate::admin) fn link_to(&self, path: &str) -> String {
        format!("{path}?{self}")
    }
}

/// Whether a parameter is a list.
pub(super) fn is_list(name: &str) -> bool {
    let kind = Parameter::of_name(name).map(|parameter| parameter.description().kind);
    matches!(
        kind,
        Some(
            ParameterKind::List { .. }
                | ParameterKind::AttributeList(_)
                | ParameterKind::IdList(_)
                | ParameterKind::ChoiceList { .. }
        )
    )
}

impl fmt::Display for QueryText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            let before = if index == 0 { "" } else { "&" };
            write!(f, "{before}{}={}", escaped(name), escaped(value))?;
        }
        Ok(())
    }
}

fn escaped(text: &str) -> String {
    let text = utf8_percent_encode(text, ESCAPED).to_string();
    // Two `+` could be read as plus signs, so only the first of several spaces is one.
    let text = text.replace('=', "%3D").replace("  ", " %20");
    text.replace(' ', "+")
}

#[cfg(test)]
mod tests;
