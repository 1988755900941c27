//! Parses input records: lines of JSON with a signal or a company. Errors name the field.
//!
//! Unknown members are ignored, counted or refused, as a load decides. `companyName` of a signal, and
//! `signalCount` and `latestSignalDate` of a company are always ignored, because they are derived.

use std::borrow::Cow;

use serde::de::MapAccess;
use time::{Date, UtcDateTime};

use super::members;
use super::object::{self, Context, Member, MemberValue, Members, ObjectSeed, Slot};
use super::unknown::UnknownNames;
use super::value::WholeNumber;
use crate::signal::{Company, Currency, Funding, Hiring, Signal, SignalId};
use crate::tables::{RecordError, RecordKind, fault_of_key};

/// Parses a signal, borrowing texts without escapes.
///
/// ```
/// let line = br#"{"id": "7", "slug": "7", "title": "Acme hires", "companySlug": "acme"}"#;
/// let signal = signaldex::json::parse_signal(line)?;
/// assert_eq!((signal.id.get(), &*signal.title), (7, "Acme hires"));
/// # Ok::<(), signaldex::json::RecordError>(())
/// ```
///
/// # Errors
/// The line is not UTF-8, not one JSON object, or breaks a rule of a field.
///
/// Cost: one pass, about a microsecond for a line of 1,000 bytes; no allocation without escapes.
pub fn parse_signal(line: &[u8]) -> Result<Signal<'_>, RecordError> {
    let mut unknown = UnknownNames::of(RecordKind::Signal);
    parse_signal_noting(line, &mut unknown).or_else(|error| members::read_signal(line, error))
}

/// The fast path of [`parse_signal`]: declines what is spelt or written in another way than responses have it.
/// Where it has a record, the slow one has the same.
pub(super) fn parse_signal_noting<'de>(
    line: &'de [u8],
    unknown: &mut UnknownNames,
) -> Result<Signal<'de>, RecordError> {
    object::read_line::<SignalMembers<'de>>(line, unknown)?.finish()
}

/// Parses a company, borrowing texts without escapes.
///
/// ```
/// use signaldex::json::parse_company;
///
/// let company = parse_company(br#"{"slug": "acme", "name": "Acme GmbH", "employees": 120}"#)?;
/// assert_eq!(company.employees, Some(120));
/// let error = parse_company(br#"{"slug": "acme"}"#).expect_err("there is no name");
/// assert_eq!(error.field(), Some("name"));
/// # Ok::<(), signaldex::json::RecordError>(())
/// ```
///
/// # Errors
/// The line is not UTF-8, not one JSON object, or breaks a rule of a field.
///
/// Cost: as [`parse_signal`].
pub fn parse_company(line: &[u8]) -> Result<Company<'_>, RecordError> {
    let mut unknown = UnknownNames::of(RecordKind::Company);
    parse_company_noting(line, &mut unknown).or_else(|error| members::read_company(line, error))
}

/// As [`parse_signal_noting`], of a company.
pub(super) fn parse_company_noting<'de>(
    line: &'de [u8],
    unknown: &mut UnknownNames,
) -> Result<Company<'de>, RecordError> {
    object::read_line::<CompanyMembers<'de>>(line, unknown)?.finish()
}

#[derive(Default)]
struct SignalMembers<'de> {
    id: Slot<SignalId>,
    slug: Slot<Cow<'de, str>>,
    title: Slot<Cow<'de, str>>,
    evidence: Slot<Cow<'de, str>>,
    category: Slot<Cow<'de, str>>,
    date: Slot<Date>,
    published_at: Slot<UtcDateTime>,
    updated_at: Slot<UtcDateTime>,
    company_slug: Slot<Cow<'de, str>>,
    activity_url: Slot<Cow<'de, str>>,
    author_name: Slot<Cow<'de, str>>,
    author_title: Slot<Cow<'de, str>>,
    author_url: Slot<Cow<'de, str>>,
    funding: Slot<Funding<'de>>,
    hiring: Slot<Hiring<'de>>,
}

impl<'de> SignalMembers<'de> {
    fn finish(self) -> Result<Signal<'de>, RecordError> {
        Ok(Signal {
            id: required("id", self.id)?,
            slug: required("slug", self.slug)?,
            title: required("title", self.title)?,
            evidence: self.evidence.flatten(),
            category: self.category.flatten(),
            date: self.date.flatten(),
            published_at: self.published_at.flatten(),
            updated_at: self.updated_at.flatten(),
            company_slug: key("companySlug", self.company_slug)?,
            activity_url: self.activity_url.flatten(),
            author_name: self.author_name.flatten(),
            author_title: self.author_title.flatten(),
            author_url: self.author_url.flatten(),
            funding: self.funding.flatten(),
            hiring: self.hiring.flatten(),
        })
    }
}

impl<'de> Members<'de> for SignalMembers<'de> {
    fn take<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: MemberValue<'_, A>,
    ) -> Result<(), A::Error> {
        match name {
            "id" => value.store("id", &mut self.id),
            "slug" => value.store("slug", &mut self.slug),
            "title" => value.store("title", &mut self.title),
            "evidence" => value.store("evidence", &mut self.evidence),
            "category" => value.store("category", &mut self.category),
            "date" => value.store("date", &mut self.date),
            "publishedAt" => value.store("publishedAt", &mut self.published_at),
            "updatedAt" => value.store("updatedAt", &mut self.updated_at),
            "companySlug" => value.store("companySlug", &mut self.company_slug),
            "activityUrl" => value.store("activityUrl", &mut self.activity_url),
            "authorName" => value.store("authorName", &mut self.author_name),
            "authorTitle" => value.store("authorTitle", &mut self.author_title),
            "authorUrl" => value.store("authorUrl", &mut self.author_url),
            "funding" => value.store("funding", &mut self.funding),
            "hiring" => value.store("hiring", &mut self.hiring),
            "companyName" => value.ignore(),
            _ => value.unknown(None, name),
        }
    }
}

#[derive(Default)]
struct FundingMembers<'de> {
    stage: Slot<Cow<'de, str>>,
    amount: Slot<f64>,
    currency: Slot<Currency>,
}

impl<'de> Members<'de> for FundingMembers<'de> {
    fn take<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: MemberValue<'_, A>,
    ) -> Result<(), A::Error> {
        match name {
            "stage" => value.store("funding.stage", &mut self.stage),
            "amount" => value.store("funding.amount", &mut self.amount),
            "currency" => value.store("funding.currency", &mut self.currency),
            _ => value.unknown(Some("funding"), name),
        }
    }
}

impl<'de> Member<'de> for Funding<'de> {
    const EXPECTED: &'static str = "an object";

    fn read<A: MapAccess<'de>>(
        map: &mut A,
        context: &mut Context,
    ) -> Result<Option<Self>, A::Error> {
        let members = map.next_value_seed(ObjectSeed::<FundingMembers<'de>>::new(context))?;
        Ok(members.map(|members| Funding {
            stage: members.stage.flatten(),
            amount: members.amount.flatten(),
            currency: members.currency.flatten(),
        }))
    }
}

#[derive(Default)]
struct HiringMembers<'de> {
    hiring_type: Slot<Cow<'de, str>>,
    job_function: Slot<Cow<'de, str>>,
    seniority: Slot<Cow<'de, str>>,
    employment_type: Slot<Cow<'de, str>>,
    work_arrangement: Slot<Cow<'de, str>>,
}

impl<'de> Members<'de> for HiringMembers<'de> {
    fn take<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: MemberValue<'_, A>,
    ) -> Result<(), A::Error> {
        match name {
            "hiringType" => value.store("hiring.hiringType", &mut self.hiring_type),
            "jobFunction" => value.store("hiring.jobFunction", &mut self.job_function),
            "seniority" => value.store("hiring.seniority", &mut self.seniority),
            "employmentType" => value.store("hiring.employmentType", &mut self.employment_type),
            "workArrangement" => value.store("hiring.workArrangement", &mut self.work_arrangement),
            _ => value.unknown(Some("hiring"), name),
        }
    }
}

impl<'de> Member<'de> for Hiring<'de> {
    const EXPECTED: &'static str = "an object";

    fn read<A: MapAccess<'de>>(
        map: &mut A,
        context: &mut Context,
    ) -> Result<Option<Self>, A::Error> {
        let members = map.next_value_seed(ObjectSeed::<HiringMembers<'de>>::new(context))?;
        Ok(members.map(|members| Hiring {
            hiring_type: members.hiring_type.flatten(),
            job_function: members.job_function.flatten(),
            seniority: members.seniority.flatten(),
            employment_type: members.employment_type.flatten(),
            work_arrangement: members.work_arrangement.flatten(),
        }))
    }
}

#[derive(Default)]
struct CompanyMembers<'de> {
    slug: Slot<Cow<'de, str>>,
    name: Slot<Cow<'de, str>>,
    about: Slot<Cow<'de, str>>,
    tagline: Slot<Cow<'de, str>>,
    logo_url: Slot<Cow<'de, str>>,
    country: Slot<Cow<'de, str>>,
    city: Slot<Cow<'de, str>>,
    employees: Slot<WholeNumber>,
    industry: Slot<Cow<'de, str>>,
    founded_year: Slot<i64>,
    linkedin_url: Slot<Cow<'de, str>>,
    updated_at: Slot<UtcDateTime>,
}

impl<'de> CompanyMembers<'de> {
    fn finish(self) -> Result<Company<'de>, RecordError> {
        Ok(Company {
            slug: key("slug", self.slug)?,
            name: required("name", self.name)?,
            about: self.about.flatten(),
            tagline: self.tagline.flatten(),
            logo_url: self.logo_url.flatten(),
            country: self.country.flatten(),
            city: self.city.flatten(),
            employees: self.employees.flatten().map(|WholeNumber(number)| number),
            industry: self.industry.flatten(),
            founded_year: self.founded_year.flatten(),
            linkedin_url: self.linkedin_url.flatten(),
            updated_at: self.updated_at.flatten(),
        })
    }
}

impl<'de> Members<'de> for CompanyMembers<'de> {
    fn take<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: MemberValue<'_, A>,
    ) -> Result<(), A::Error> {
        match name {
            "slug" => value.store("slug", &mut self.slug),
            "name" => value.store("name", &mut self.name),
            "about" => value.store("about", &mut self.about),
            "tagline" => value.store("tagline", &mut self.tagline),
            "logoUrl" => value.store("logoUrl", &mut self.logo_url),
            "country" => value.store("country", &mut self.country),
            "city" => value.store("city", &mut self.city),
            "employees" => value.store("employees", &mut self.employees),
            "industry" => value.store("industry", &mut self.industry),
            "foundedYear" => value.store("foundedYear", &mut self.founded_year),
            "linkedinUrl" => value.store("linkedinUrl", &mut self.linkedin_url),
            "updatedAt" => value.store("updatedAt", &mut self.updated_at),
            "signalCount" | "latestSignalDate" => value.ignore(),
            _ => value.unknown(None, name),
        }
    }
}

fn required<'de, T: Member<'de>>(field: &'static str, slot: Slot<T>) -> Result<T, RecordError> {
    slot.flatten().ok_or_else(|| {
        RecordError::of_field(
            field,
            format!("is missing, null or empty; it must be {}", T::EXPECTED),
        )
    })
}

/// The slug of a company.
fn key<'de>(field: &'static str, slot: Slot<Cow<'de, str>>) -> Result<Cow<'de, str>, RecordError> {
    let text = required(field, slot)?;
    let fault = fault_of_key(&text);
    fault.map_or(Ok(text), |reason| Err(RecordError::of_field(field, reason)))
}

#[cfg(test)]
mod tests;
