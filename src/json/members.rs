//! Reads an object of JSON member by member, as a row of cells: slower than [`input`](super::input), which declines
//! what is spelt in another way, and with every fault instead of the first.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::signal::{Company, Signal};
use crate::tables::{
    Binding, Cell, Draft, FileOptions, RecordError, RecordKind, binding_of, object_named,
};

/// A member that is not an object of several fields.
pub(super) struct FlatMember<'a> {
    /// The name, with those of outer objects: `funding.stage`.
    path: String,
    value: MemberCell<'a>,
}

/// The value of a member.
enum MemberCell<'a> {
    String(Cow<'a, str>),
    /// A number, or anything else, as it is written.
    Written(&'a str),
    /// `funding` or `hiring`, which has its members beside it.
    Object(&'static str),
    /// One of these that is something else.
    NoObject(&'static str, &'a str),
}

/// The members of a line; `None` if it is not one object.
pub(super) fn flat_members<'a>(
    line: &'a [u8],
    kind: RecordKind,
    options: &FileOptions,
) -> Option<Vec<FlatMember<'a>>> {
    let RawMembers(members) = serde_json::from_slice(line).ok()?;
    let mut flat = Vec::with_capacity(members.len());
    for (name, value) in members {
        let written = value.get();
        let object = object_named(kind, &name);
        let reaches_in = |theirs: &str| {
            theirs
                .strip_prefix(&*name)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        let is_mapped = options.maps.iter().any(|(theirs, _)| reaches_in(theirs));
        let is_outer = object.is_some() || is_mapped;
        match serde_json::from_str::<RawMembers<'a>>(written) {
            Ok(RawMembers(inner)) if is_outer => {
                flat.extend(object.map(|object| FlatMember {
                    path: name.clone(),
                    value: MemberCell::Object(object),
                }));
                flat.extend(inner.into_iter().map(|(inner, value)| FlatMember {
                    path: format!("{name}.{inner}"),
                    value: cell_of(value.get()),
                }));
            }
            _ => {
                let value = match object {
                    Some(object) if written != "null" => MemberCell::NoObject(object, written),
                    Some(_) => continue,
                    None => cell_of(written),
                };
                flat.push(FlatMember { path: name, value });
            }
        }
    }
    Some(flat)
}

fn cell_of(written: &str) -> MemberCell<'_> {
    if written.starts_with('"')
        && let Ok(MemberText(text)) = serde_json::from_str(written)
    {
        return MemberCell::String(text);
    }
    MemberCell::Written(written)
}

/// Reads the members into a draft, and returns the names that no field has.
pub(super) fn read_members<'m>(
    members: &'m [FlatMember<'_>],
    kind: RecordKind,
    options: &FileOptions,
    draft: &mut Draft<'m>,
) -> Vec<String> {
    let mut unknown = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for member in members {
        let cell = match &member.value {
            MemberCell::Object(object) => {
                draft.note_object(object);
                continue;
            }
            MemberCell::NoObject(object, written) => {
                let cell = Cell::Other(written);
                draft.refuse_object(object, cell);
                continue;
            }
            MemberCell::String(text) => Cell::JsonString(text),
            MemberCell::Written("null") => Cell::Empty,
            MemberCell::Written(written)
                if written.starts_with(|first: char| first == '-' || first.is_ascii_digit()) =>
            {
                Cell::JsonNumber(written)
            }
            MemberCell::Written(written) => Cell::Other(written),
        };
        match binding_of(kind, &member.path, options, |_| false) {
            Binding::Field(index) => {
                let field = kind.lines()[index].0;
                if seen.contains(&field) {
                    let reason = "is given twice; a field is given once";
                    draft.faults.push(RecordError::of_field(field, reason));
                    continue;
                }
                seen.push(field);
                draft.read(index, cell, &options.cells);
            }
            Binding::CompanyName => {
                if let Cell::JsonString(name) = cell {
                    draft.company_name = Some(Cow::Borrowed(name));
                }
            }
            Binding::LeftOut => {}
            Binding::Unknown => unknown.push(member.path.clone()),
        }
    }
    unknown
}

/// A signal that the fast path declined with this error.
pub(super) fn read_signal(line: &[u8], error: RecordError) -> Result<Signal<'_>, RecordError> {
    read_as(line, RecordKind::Signal, error, |mut draft| {
        draft.signal().map(Signal::into_owned)
    })
}

/// As [`read_signal`], of a company.
pub(super) fn read_company(line: &[u8], error: RecordError) -> Result<Company<'_>, RecordError> {
    read_as(line, RecordKind::Company, error, |mut draft| {
        draft.company().map(Company::into_owned)
    })
}

fn read_as<T>(
    line: &[u8],
    kind: RecordKind,
    error: RecordError,
    finish: impl FnOnce(Draft<'_>) -> Option<T>,
) -> Result<T, RecordError> {
    let options = FileOptions::default();
    let Some(members) = flat_members(line, kind, &options) else {
        return Err(error);
    };
    let mut draft = Draft::new(kind, false);
    read_members(&members, kind, &options, &mut draft);
    draft.check();
    match draft.faults.first() {
        Some(fault) => Err(fault.clone()),
        None => finish(draft).ok_or(error),
    }
}

/// A string, borrowed if it has no escapes.
struct MemberText<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for MemberText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MemberText<'de>, D::Error> {
        use serde::de::DeserializeSeed;
        let text = super::object::TextSeed.deserialize(deserializer)?;
        Ok(MemberText(text.unwrap_or_default()))
    }
}

/// The members of an object in order, including repeated names.
struct RawMembers<'de>(Vec<(String, &'de RawValue)>);

impl<'de> Deserialize<'de> for RawMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawMembers<'de>, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = RawMembers<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
