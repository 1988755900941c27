//! Writes input records: the lines that [`parse_signal`](super::parse_signal) and
//! [`parse_company`](super::parse_company) read.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::item::{ItemMember, visit_members};
use super::text_encoding::WHOLE_MAX;
use super::written::{IdText, InstantText, WrittenMember};
use crate::signal::{Company, Hiring, Signal, SignalId};

/// Appends a signal as one line, every field present and the end of line included.
///
/// ```
/// use signaldex::json::{parse_signal, write_signal};
/// use signaldex::{Signal, SignalId};
///
/// let signal = Signal::new(SignalId::MIN, "acme", "Acme hires");
/// let mut line = Vec::new();
/// write_signal(&mut line, &signal);
/// assert_eq!(parse_signal(&line)?, signal);
/// # Ok::<(), signaldex::json::RecordError>(())
/// ```
pub fn write_signal(output: &mut Vec<u8>, signal: &Signal<'_>) {
    write_line(output, &SignalLine(signal));
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
    write_line(output, &CompanyLine(company));
}

fn write_line(output: &mut Vec<u8>, record: &impl Serialize) {
    serde_json::to_writer(&mut *output, record)
        .expect("records have no maps, and memory can be written to");
    output.push(b'\n');
}

struct SignalLine<'a>(&'a Signal<'a>);

impl Serialize for SignalLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let signal = self.0;
        let mut object = serializer.serialize_struct("Signal", 15)?;
        visit_members(signal, |name, member| match member {
            ItemMember::Id(id) => object.serialize_field(name.name(), &IdNumber(id)),
            ItemMember::CompanyName => Ok(()),
            _ => object.serialize_field(name.name(), &WrittenMember(member)),
        })?;
        object.serialize_field("hiring", &signal.hiring.as_ref().map(HiringObject))?;
        object.end()
    }
}

/// An id as a number if every JSON parser keeps it exact, else as a string.
struct IdNumber(SignalId);

impl Serialize for IdNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.get() {
            number if number <= WHOLE_MAX => serializer.serialize_u64(number),
            _ => IdText(self.0).serialize(serializer),
        }
    }
}

struct HiringObject<'a>(&'a Hiring<'a>);

impl Serialize for HiringObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let attributes = self.0.attributes();
        let mut object = serializer.serialize_struct("Hiring", attributes.len())?;
        for (name, value) in attributes {
            object.serialize_field(name, value)?;
        }
        object.end()
    }
}

struct CompanyLine<'a>(&'a Company<'a>);

impl Serialize for CompanyLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let company = self.0;
        let mut object = serializer.serialize_struct("Company", 12)?;
        object.serialize_field("slug", &company.slug)?;
        object.serialize_field("name", &company.name)?;
        object.serialize_field("about", &company.about)?;
        object.serialize_field("tagline", &company.tagline)?;
        object.serialize_field("logoUrl", &company.logo_url)?;
        object.serialize_field("country", &company.country)?;
        object.serialize_field("city", &company.city)?;
        object.serialize_field("employees", &company.employees)?;
        object.serialize_field("industry", &company.industry)?;
        object.serialize_field("foundedYear", &company.founded_year)?;
        object.serialize_field("linkedinUrl", &company.linkedin_url)?;
        object.serialize_field("updatedAt", &company.updated_at.map(InstantText))?;
        object.end()
    }
}

#[cfg(test)]
pub(super) mod tests;
