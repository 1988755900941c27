//! Reads objects member by member and attributes errors to fields.
//!
//! serde's errors have a position but not the name of the field or its allowed values. The [`Context`]
//! records both with the first error, beside serde's own error.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::mem;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::unknown::UnknownNames;
use crate::tables::RecordError;
use crate::text::{quoted, shortened};

/// A member that may not have been met yet, and may have been null when it was.
pub(super) type Slot<T> = Option<Option<T>>;

/// The members of an object, filled as they are met.
pub(super) trait Members<'de>: Default {
    /// Stores the value of the member `name`, or ignores it if the member is unknown.
    ///
    /// # Errors
    /// The value is not allowed for the member.
    fn take<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: MemberValue<'_, A>,
    ) -> Result<(), A::Error>;
}

/// A type of member values.
pub(super) trait Member<'de>: Sized {
    /// Completes "must be …".
    const EXPECTED: &'static str;

    /// Reads the value; `None` is null.
    ///
    /// # Errors
    /// The value is not as expected.
    fn read<A: MapAccess<'de>>(
        map: &mut A,
        context: &mut Context,
    ) -> Result<Option<Self>, A::Error>;
}

/// Reads a line with one object.
pub(super) fn read_line<'de, M: Members<'de>>(
    line: &'de [u8],
    unknown: &mut UnknownNames,
) -> Result<M, RecordError> {
    let text = simdutf8::compat::from_utf8(line).map_err(|error| {
        RecordError::of_line(format!("column {}: not UTF-8", error.valid_up_to() + 1))
    })?;
    let mut context = Context {
        field: None,
        expected: "a JSON object",
        error: None,
        unknown: mem::take(unknown),
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = ObjectSeed::new(&mut context)
        .deserialize(&mut deserializer)
        .and_then(|members| deserializer.end().map(|()| members));
    *unknown = mem::take(&mut context.unknown);
    match read {
        Ok(Some(members)) => Ok(members),
        Ok(None) => Err(RecordError::of_line("the line must be a JSON object")),
        Err(error) => Err(context.into_error(&error)),
    }
}

/// The current field, and the first error.
#[derive(Debug)]
pub(super) struct Context {
    field: Option<&'static str>,
    expected: &'static str,
    error: Option<RecordError>,
    unknown: UnknownNames,
}

impl Context {
    /// Records that a value, given as written, is not as expected.
    pub(super) fn refuse<E: serde::de::Error>(&mut self, shown: &str) -> E {
        let error = self.of_field(format!("is not {}", self.expected));
        self.error = Some(error.with_value(shortened(shown)));
        E::custom("the error is in the context")
    }

    /// Records an error of the current field.
    pub(super) fn fail<E: serde::de::Error>(&mut self, reason: String) -> E {
        self.error = Some(self.of_field(reason));
        E::custom("the error is in the context")
    }

    fn of_field(&self, reason: String) -> RecordError {
        match self.field {
            Some(field) => RecordError::of_field(field, reason),
            None => RecordError::of_line(reason),
        }
    }

    fn into_error(mut self, error: &serde_json::Error) -> RecordError {
        if let Some(error) = self.error.take() {
            return error;
        }
        if error.is_data() {
            let subject = if self.field.is_some() {
                ""
            } else {
                "the line "
            };
            return self.of_field(format!("{subject}must be {}", self.expected));
        }
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        let hint = if error.is_eof() {
            "; a record is one line, which jq -c . makes of several"
        } else {
            ""
        };
        self.of_field(format!(
            "column {}: malformed JSON: {message}{hint}",
            error.column()
        ))
    }
}

/// The unread value of a member.
pub(super) struct MemberValue<'a, A> {
    map: &'a mut A,
    context: &'a mut Context,
}

impl<'de, A: MapAccess<'de>> MemberValue<'_, A> {
    /// Reads the value into the slot of its field; repeated members are an error.
    pub(super) fn store<T: Member<'de>>(
        self,
        field: &'static str,
        slot: &mut Slot<T>,
    ) -> Result<(), A::Error> {
        let outer_field = self.context.field.replace(field);
        let outer_expected = mem::replace(&mut self.context.expected, T::EXPECTED);
        if slot.is_some() {
            return Err(self
                .context
                .fail("is given twice; a field is given once".to_owned()));
        }
        *slot = Some(T::read(self.map, self.context)?);
        self.context.field = outer_field;
        self.context.expected = outer_expected;
        Ok(())
    }

    /// Skips the value of an unknown field and records its name.
    pub(super) fn unknown(self, outer: Option<&str>, name: &str) -> Result<(), A::Error> {
        if self.context.unknown.note(outer, name) {
            return self.ignore();
        }
        self.context.field = None;
        Err(self
            .context
            .fail(format!("{} is another spelling of a field", quoted(name))))
    }

    /// Skips the value, at any nesting depth.
    pub(super) fn ignore(self) -> Result<(), A::Error> {
        self.map.next_value::<IgnoredAny>().map(|_| ())
    }
}

/// Reads an object of known members, or null.
pub(super) struct ObjectSeed<'c, M> {
    context: &'c mut Context,
    members: PhantomData<M>,
}

impl<'c, M> ObjectSeed<'c, M> {
    pub(super) fn new(context: &'c mut Context) -> ObjectSeed<'c, M> {
        ObjectSeed {
            context,
            members: PhantomData,
        }
    }
}

impl<'de, M: Members<'de>> DeserializeSeed<'de> for ObjectSeed<'_, M> {
    type Value = Option<M>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<M>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, M: Members<'de>> Visitor<'de> for ObjectSeed<'_, M> {
    type Value = Option<M>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.context.expected)
    }

    fn visit_unit<E>(self) -> Result<Option<M>, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<M>, A::Error> {
        let mut members = M::default();
        while let Some(name) = map.next_key_seed(TextSeed)? {
            let Some(name) = name else {
                return Err(A::Error::custom("a name cannot be null"));
            };
            members.take(
                &name,
                MemberValue {
                    map: &mut map,
                    context: self.context,
                },
            )?;
        }
        Ok(Some(members))
    }
}

/// Reads a string or null, borrowing strings without escapes.
pub(super) struct TextSeed;

impl<'de> DeserializeSeed<'de> for TextSeed {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextSeed {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}
