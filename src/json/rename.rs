//! Renames fields of input records.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::fields::RecordKind;
use crate::text::nearest_name;
use crate::text::quoted;
use crate::{Error, Result};

/// Pairs of field names, theirs and ours.
#[derive(Clone, Debug, Default)]
pub(super) struct Renames(Vec<(String, &'static str)>);

impl Renames {
    /// Adds a pair for the kinds of records that have our field.
    ///
    /// # Errors
    /// No record has our field.
    pub(super) fn add(&mut self, theirs: &str, ours: &str) -> Result<()> {
        let kinds = [RecordKind::Signal, RecordKind::Company];
        let Some(ours) = kinds.iter().find_map(|kind| kind.field(ours)) else {
            let fields = kinds.iter().flat_map(|kind| kind.fields()).copied();
            let hint = match nearest_name(ours, fields) {
                Some(nearest) => format!("did you mean {theirs}={nearest}?"),
                None => "docs/records.md lists the fields".to_owned(),
            };
            let reason = format!("{} is not a field of records; {hint}", quoted(ours));
            return Err(Error::invalid(reason));
        };
        self.0.push((theirs.to_owned(), ours));
        Ok(())
    }

    /// The pairs for records of a kind.
    pub(super) fn of(&self, kind: RecordKind) -> Renames {
        let names = self.0.iter();
        let names = names.filter(|(_, ours)| kind.field(ours).is_some());
        Renames(names.cloned().collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Our name for their name.
    pub(super) fn ours(&self, theirs: &str) -> Option<&'static str> {
        let mut names = self.0.iter();
        names
            .find(|(known, _)| known == theirs)
            .map(|&(_, ours)| ours)
    }

    /// Writes the object of a line with our names. Anything but one JSON object is copied, so that the parser
    /// reports the error.
    pub(super) fn rewrite(&self, line: &[u8], output: &mut Vec<u8>) {
        output.clear();
        let Ok(RawMembers(members)) = serde_json::from_slice(line) else {
            output.extend_from_slice(line);
            return;
        };
        let mut renamed: Vec<(Option<String>, String, &RawValue)> = Vec::new();
        for (name, value) in members {
            if let Some(ours) = self.ours(&name) {
                renamed.push(split(ours, value));
                continue;
            }
            let inner = self
                .reaches_into(&name)
                .then(|| serde_json::from_str(value.get()));
            let Some(Ok(RawMembers(inner))) = inner else {
                renamed.push((None, name, value));
                continue;
            };
            for (inner_name, value) in inner {
                renamed.push(match self.ours(&format!("{name}.{inner_name}")) {
                    Some(ours) => split(ours, value),
                    None => (Some(name.clone()), inner_name, value),
                });
            }
        }
        // Groups the members of each object, in their order.
        renamed.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        let mut object = ObjectWriter::new(output);
        for (outer, name, value) in renamed {
            object.member(outer.as_deref(), &name, |output| {
                output.extend_from_slice(value.get().as_bytes());
            });
        }
        object.end();
    }

    /// Whether members are moved out of or into the object of this name.
    fn reaches_into(&self, name: &str) -> bool {
        let begins = |path: &str| {
            path.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        let mut names = self.0.iter();
        names.any(|(theirs, ours)| begins(theirs) || begins(ours))
    }
}

fn split<'v>(path: &str, value: &'v RawValue) -> (Option<String>, String, &'v RawValue) {
    match path.split_once('.') {
        Some((outer, name)) => (Some(outer.to_owned()), name.to_owned(), value),
        None => (None, path.to_owned(), value),
    }
}

/// Writes an object with nested objects, whose members must be written consecutively.
pub(super) struct ObjectWriter<'o> {
    output: &'o mut Vec<u8>,
    outer: Option<String>,
    is_first: bool,
}

impl<'o> ObjectWriter<'o> {
    pub(super) fn new(output: &'o mut Vec<u8>) -> ObjectWriter<'o> {
        output.push(b'{');
        ObjectWriter {
            output,
            outer: None,
            is_first: true,
        }
    }

    /// Writes a member, within the object `outer` if given.
    pub(super) fn member(
        &mut self,
        outer: Option<&str>,
        name: &str,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        if self.outer.as_deref() != outer {
            self.close();
            if let Some(outer) = outer {
                self.name(outer);
                self.output.push(b'{');
                self.is_first = true;
                self.outer = Some(outer.to_owned());
            }
        }
        self.name(name);
        write(self.output);
    }

    pub(super) fn end(mut self) {
        self.close();
        self.output.push(b'}');
    }

    fn close(&mut self) {
        if self.outer.take().is_some() {
            self.output.push(b'}');
            self.is_first = false;
        }
    }

    fn name(&mut self, name: &str) {
        if !self.is_first {
            self.output.push(b',');
        }
        self.is_first = false;
        write_text(self.output, name);
        self.output.push(b':');
    }
}

/// Writes a JSON string.
pub(super) fn write_text(output: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(output, text)
        .expect("a text is valid JSON, and memory can be written to");
}

/// The members of an object in order, including repeated names.
struct RawMembers<'de>(Vec<(String, &'de RawValue)>);

impl<'de> Deserialize<'de> for RawMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawMembers<'de>, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = RawMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawMembers<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(RawMembers(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

#[cfg(test)]
mod tests;
