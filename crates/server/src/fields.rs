//! The fields of answers, described once: OpenAPI document, API reference, tools and docs/records.md read this table.

mod aggregates;
mod records;
mod table;

use serde_json::{Map, Value, json};

pub(super) use table::OBJECTS;

/// The object of an answer.
pub(super) struct ObjectDescription {
    /// The name of its schema.
    pub(super) name: &'static str,
    /// Its fields, in the order of answers; objects share groups of them.
    pub(super) groups: &'static [&'static [Field]],
}

/// A field of an object.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) values: FieldValues,
    /// The meaning, with names in backticks.
    pub(super) meaning: &'static str,
    /// When it is `null`; empty if it never is.
    pub(super) null: &'static str,
    /// When the object has it; empty if always.
    pub(super) only: &'static str,
    /// A value, as JSON.
    pub(super) example: &'static str,
}

/// The values of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldValues {
    Text,
    /// This text and no other.
    Constant(&'static str),
    /// `true` and nothing else.
    True,
    Flag,
    Id,
    /// A text of at most this many characters.
    TextUpTo(usize),
    /// A whole number.
    Whole,
    /// A whole number from this one on.
    WholeFrom(u64),
    Amount,
    Currency,
    Day,
    Instant,
    Link,
    /// One of a closed set with a schema of its own.
    Named(&'static str),
    /// An object of the table, by its name.
    Object(&'static str),
    /// A list of objects, with the maximum number if there is one.
    List(&'static str, Option<usize>),
}

use FieldValues::{
    Amount, Constant, Currency, Day, Flag, Id, Instant, Link, List, Named, Object, Text, TextUpTo,
    True, Whole, WholeFrom,
};

/// A field that always has a value.
const fn field(
    name: &'static str,
    values: FieldValues,
    meaning: &'static str,
    example: &'static str,
) -> Field {
    Field {
        name,
        values,
        meaning,
        null: "",
        only: "",
        example,
    }
}

impl Field {
    const fn null(self, null: &'static str) -> Field {
        Field { null, ..self }
    }

    const fn only(self, only: &'static str) -> Field {
        Field { only, ..self }
    }

    /// The meaning, and when the field is missing or `null`.
    pub(super) fn description(&self) -> String {
        let mut text = self.meaning.to_owned();
        if !self.only.is_empty() {
            text.push_str(&format!(" Only {}.", self.only));
        }
        if !self.null.is_empty() {
            text.push_str(&format!(" `null` {}.", self.null));
        }
        text
    }

    /// The form of its values in words.
    pub(super) fn form(&self) -> String {
        match self.values {
            Text | Named(_) => "text".to_owned(),
            Constant(value) => format!("\"{value}\""),
            True => "true".to_owned(),
            Flag => "true or false".to_owned(),
            Id => "text of 1 to 19 digits".to_owned(),
            TextUpTo(chars) => format!("text of at most {chars} characters"),
            Whole => "whole number".to_owned(),
            WholeFrom(min) => format!("whole number from {min}"),
            Amount => "number, at least 0".to_owned(),
            Currency => "three upper-case letters (ISO 4217)".to_owned(),
            Day => "date, YYYY-MM-DD".to_owned(),
            Instant => "instant in UTC (RFC 3339)".to_owned(),
            Link => "URL".to_owned(),
            Object(_) => "object".to_owned(),
            List(_, None) => "list".to_owned(),
            List(_, Some(items)) => format!("list of at most {items}"),
        }
    }

    /// The example as a JSON value; of objects and lists, `None`: their own fields have examples.
    pub(super) fn example_value(&self) -> Option<Value> {
        serde_json::from_str(self.example).ok()
    }

    /// The JSON schema, in which other schemas are named by `reference`.
    pub(super) fn schema(&self, reference: impl Fn(&str) -> Value) -> Value {
        let mut schema = match self.values {
            Text | Link => json!({"type": "string"}),
            Constant(value) => json!({"type": "string", "const": value}),
            True => json!({"type": "boolean", "const": true}),
            Flag => json!({"type": "boolean"}),
            Id => reference("SignalId"),
            TextUpTo(chars) => json!({"type": "string", "maxLength": chars}),
            Whole => json!({"type": "integer"}),
            WholeFrom(min) => json!({"type": "integer", "minimum": min}),
            Amount => json!({"type": "number", "minimum": 0}),
            Currency => json!({"type": "string", "pattern": "^[A-Z]{3}$"}),
            Day => json!({"type": "string", "format": "date"}),
            Instant => json!({"type": "string", "format": "date-time"}),
            Named(name) | Object(name) => reference(name),
            List(name, items) => {
                let mut list = json!({"type": "array", "items": reference(name)});
                if let Some(items) = items {
                    list["maxItems"] = json!(items);
                }
                list
            }
        };
        if !self.null.is_empty() {
            schema = or_null(schema);
        }
        schema["description"] = json!(self.description());
        if let Some(example) = self.example_value() {
            schema["examples"] = json!([example]);
        }
        schema
    }
}

fn or_null(mut schema: Value) -> Value {
    if schema["type"].is_null() {
        return json!({"oneOf": [schema, {"type": "null"}]});
    }
    schema["type"] = json!([schema["type"], "null"]);
    schema
}

impl ObjectDescription {
    /// The object with a name, if it is in the table.
    pub(super) fn of_name(name: &str) -> Option<&'static ObjectDescription> {
        OBJECTS.iter().find(|known| known.name == name)
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = &'static Field> {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// The JSON schema. Answers may gain fields, so it is open.
    pub(super) fn schema(&self, reference: impl Fn(&str) -> Value) -> Value {
        let properties = self
            .fields()
            .map(|field| (field.name.to_owned(), field.schema(&reference)));
        let properties: Map<String, Value> = properties.collect();
        let always = self.fields().filter(|field| field.only.is_empty());
        let required: Vec<&str> = always.map(|field| field.name).collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }
}

/// The fields of an answer with those of the objects in it, each with its path, such as `data.items[].id`.
pub(super) fn paths_of(schema: &str) -> Vec<(String, &'static Field)> {
    fn add(schema: &str, start: &str, paths: &mut Vec<(String, &'static Field)>) {
        let objects = alternatives(schema);
        let fields = objects.iter().flat_map(|object| object.fields());
        for field in fields {
            let path = format!("{start}{}", field.name);
            paths.push((path.clone(), field));
            match field.values {
                Object(name) => add(name, &format!("{path}."), paths),
                List(name, _) => add(name, &format!("{path}[]."), paths),
                _ => {}
            }
        }
    }
    let mut paths = Vec::new();
    add(schema, "", &mut paths);
    paths
}

/// The objects that a schema allows.
fn alternatives(schema: &str) -> Vec<&'static ObjectDescription> {
    let names: &[&str] = if schema == "Change" {
        &CHANGES
    } else {
        &[schema]
    };
    let objects = names
        .iter()
        .filter_map(|name| ObjectDescription::of_name(name));
    objects.collect()
}

/// The objects that a change may be.
pub(super) const CHANGES: [&str; 2] = ["Upsert", "Remove"];

#[cfg(test)]
mod tests;
