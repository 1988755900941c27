//! Records as they are loaded, written: for generated corpora, exports and tests.

use serde::Serialize;

use super::output::{Amount, Instant, Text};
use crate::signal::{Company, Currency, Funding, Hiring, Signal, SignalId};

/// Ids up to here are written as numbers, greater ones as strings: what JavaScript numbers hold.
const EXACT_ID_MAX: u64 = 1 << 53;

/// Appends a signal as one line of JSON, in the form in which it is loaded.
pub fn write_signal(output: &mut Vec<u8>, signal: &Signal<'_>) {
    write_line(output, &SignalRecord {
        id: match signal.id.get() {
            id @ ..=EXACT_ID_MAX => IdValue::Number(id),
            _ => IdValue::Text(Text(signal.id)),
        },
        slug: &signal.slug,
        title: &signal.title,
        evidence: signal.evidence.as_deref(),
        category: signal.category.as_deref(),
        date: signal.date.map(Text),
        published_at: signal.published_at.map(Instant).map(Text),
        updated_at: signal.updated_at.map(Instant).map(Text),
        company_slug: &signal.company_slug,
        activity_url: signal.activity_url.as_deref(),
        author_name: signal.author_name.as_deref(),
        author_title: signal.author_title.as_deref(),
        author_url: signal.author_url.as_deref(),
        funding: signal.funding.as_ref().map(FundingRecord::new),
        hiring: signal.hiring.as_ref().map(HiringRecord::new),
    });
}

/// Appends a company as one line of JSON, in the form in which it is loaded.
pub fn write_company(output: &mut Vec<u8>, company: &Company<'_>) {
    write_line(output, &CompanyRecord {
        slug: &company.slug,
        name: &company.name,
        about: company.about.as_deref(),
        tagline: company.tagline.as_deref(),
        logo_url: company.logo_url.as_deref(),
        country: company.country.as_deref(),
        city: company.city.as_deref(),
        employees: company.employees,
        industry: company.industry.as_deref(),
        founded_year: company.founded_year,
        linkedin_url: company.linkedin_url.as_deref(),
        updated_at: company.updated_at.map(Instant).map(Text),
    });
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SignalRecord<'a> {
    id: IdValue,
    slug: &'a str,
    title: &'a str,
    evidence: Option<&'a str>,
    category: Option<&'a str>,
    date: Option<Text<time::Date>>,
    published_at: Option<Text<Instant>>,
    updated_at: Option<Text<Instant>>,
    company_slug: &'a str,
    activity_url: Option<&'a str>,
    author_name: Option<&'a str>,
    author_title: Option<&'a str>,
    author_url: Option<&'a str>,
    funding: Option<FundingRecord<'a>>,
    hiring: Option<HiringRecord<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum IdValue {
    Number(u64),
    Text(Text<SignalId>),
}

#[derive(Serialize)]
struct FundingRecord<'a> {
    stage: Option<&'a str>,
    amount: Option<Amount>,
    currency: Option<Text<Currency>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HiringRecord<'a> {
    hiring_type: Option<&'a str>,
    job_function: Option<&'a str>,
    seniority: Option<&'a str>,
    employment_type: Option<&'a str>,
    work_arrangement: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CompanyRecord<'a> {
    slug: &'a str,
    name: &'a str,
    about: Option<&'a str>,
    tagline: Option<&'a str>,
    logo_url: Option<&'a str>,
    country: Option<&'a str>,
    city: Option<&'a str>,
    employees: Option<i64>,
    industry: Option<&'a str>,
    founded_year: Option<i64>,
    linkedin_url: Option<&'a str>,
    updated_at: Option<Text<Instant>>,
}

impl<'a> FundingRecord<'a> {
    fn new(funding: &'a Funding<'_>) -> FundingRecord<'a> {
        FundingRecord {
            stage: funding.stage.as_deref(),
            amount: funding.amount.map(Amount),
            currency: funding.currency.map(Text),
        }
    }
}

impl<'a> HiringRecord<'a> {
    fn new(hiring: &'a Hiring<'_>) -> HiringRecord<'a> {
        HiringRecord {
            hiring_type: hiring.hiring_type.as_deref(),
            job_function: hiring.job_function.as_deref(),
            seniority: hiring.seniority.as_deref(),
            employment_type: hiring.employment_type.as_deref(),
            work_arrangement: hiring.work_arrangement.as_deref(),
        }
    }
}

fn write_line(output: &mut Vec<u8>, record: &impl Serialize) {
    serde_json::to_writer(&mut *output, record).expect("memory can be written to");
    output.push(b'\n');
}
