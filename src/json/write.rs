//! Writes input records: the lines that [`parse_signal`](super::parse_signal) and
//! [`parse_company`](super::parse_company) read.

use std::convert::Infallible;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::item::{ItemMember, visit_members};
use super::output::serialize_description;
use super::page::{write_member, write_text, write_value};
use super::written::InstantText;
use crate::signal::{Company, Hiring, Signal, SignalView};

/// Appends a signal as one line, every field present and the end of line included. The id is a string, which every JSON
/// parser keeps exact.
///
/// ```
/// use signaldex::json::{parse_signal, write_signal};
/// use signaldex::{Signal, SignalId};
///
/// let signal = Signal::new(SignalId::MIN, "acme", "Acme hires");
/// let mut line = Vec::new();
/// write_signal(&mut line, &signal);
/// assert_eq!(parse_signal(&line)?, signal);
/// assert!(line.starts_with(br#"{"id":"1","#));
/// # Ok::<(), signaldex::json::RecordError>(())
/// ```
pub fn write_signal(output: &mut Vec<u8>, signal: &Signal<'_>) {
    let first = output.len();
    let Ok(()) = visit_members(&SignalView::of(signal, ""), |name, member| {
        // The company's own record has its name.
        if !matches!(member, ItemMember::CompanyName(_)) {
            name.write_separated(output);
            write_member(output, member);
        }
        Ok::<(), Infallible>(())
    });
    output[first] = b'{';
    output.extend_from_slice(b",\"hiring\":");
    match &signal.hiring {
        Some(hiring) => write_hiring(output, hiring),
        None => output.extend_from_slice(b"null"),
    }
    output.extend_from_slice(b"}\n");
}

/// Appends a company as one line, every field present and the end of line included.
///
/// ```
/// use signaldex::Company;
/// use signaldex::json::{parse_company, write_company};
///
/// let company = Company::new("acme", "Acme GmbH");
/// let mut line = Vec::new();
/// write_company(&mut line, &company);
/// assert_eq!(parse_company(&line)?, company);
/// # Ok::<(), signaldex::json::RecordError>(())
/// ```
pub fn write_company(output: &mut Vec<u8>, company: &Company<'_>) {
    write_value(output, &CompanyLine(company));
    output.push(b'\n');
}

fn write_hiring(output: &mut Vec<u8>, hiring: &Hiring<'_>) {
    let mut separator = b'{';
    for (name, value) in hiring.attributes() {
        output.extend_from_slice(&[separator, b'"']);
        output.extend_from_slice(name.as_bytes());
        output.extend_from_slice(b"\":");
        write_text(output, value.as_deref());
        separator = b',';
    }
    output.push(b'}');
}

struct CompanyLine<'a>(&'a Company<'a>);

impl Serialize for CompanyLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let company = self.0;
        let mut object = serializer.serialize_struct("Company", 12)?;
        object.serialize_field("slug", &company.slug)?;
        object.serialize_field("name", &company.name)?;
        serialize_description(&mut object, company)?;
        object.serialize_field("updatedAt", &company.updated_at.map(InstantText))?;
        object.end()
    }
}

#[cfg(test)]
pub(super) mod tests;
