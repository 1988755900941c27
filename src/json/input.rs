//! Records as they are loaded: one JSON object each.
//!
//! Text without escapes is borrowed from the line. Fields that a record does not have here
//! (`companyName`, `signalCount`, `latestSignalDate`, and any other) are passed over.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use time::format_description::well_known::Rfc3339;
use time::{Date, OffsetDateTime, UtcDateTime, UtcOffset};

use crate::error::quoted;
use crate::query::calendar_date;
use crate::signal::{Company, Currency, Funding, Hiring, Signal, SignalId};

/// The longest text of a field, in bytes: far above any title, far below what would hurt.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// Why a record is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFault {
    /// The field, such as `funding.amount`; none where the line is not a JSON object at all.
    pub field: Option<&'static str>,
    /// What is wrong, and what is allowed. Repeats at most 64 characters of input.
    pub reason: String,
}

impl fmt::Display for RecordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            Some(field) => write!(f, "{field}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for RecordFault {}

/// Reads a signal.
///
/// # Errors
/// The first rule that the line breaks, naming the field.
///
/// Cost: one pass, an allocation only for text with escapes.
pub fn parse_signal(line: &[u8]) -> Result<Signal<'_>, RecordFault> {
    let fields: SignalFields<'_> = parse(line)?;
    Ok(Signal {
        id: required(fields.id, "id")?,
        slug: required(fields.slug, "slug")?,
        title: required(fields.title, "title")?,
        evidence: fields.evidence,
        category: fields.category,
        date: fields.date,
        published_at: fields.published_at,
        updated_at: fields.updated_at,
        company_slug: not_empty(required(fields.company_slug, "companySlug")?, "companySlug")?,
        activity_url: fields.activity_url,
        author_name: fields.author_name,
        author_title: fields.author_title,
        author_url: fields.author_url,
        funding: fields.funding,
        hiring: fields.hiring,
    })
}

/// Reads a company.
///
/// # Errors
/// The first rule that the line breaks, naming the field.
///
/// Cost: one pass, an allocation only for text with escapes.
pub fn parse_company(line: &[u8]) -> Result<Company<'_>, RecordFault> {
    let fields: CompanyFields<'_> = parse(line)?;
    Ok(Company {
        slug: not_empty(required(fields.slug, "slug")?, "slug")?,
        name: required(fields.name, "name")?,
        about: fields.about,
        tagline: fields.tagline,
        logo_url: fields.logo_url,
        country: fields.country,
        city: fields.city,
        employees: fields.employees,
        industry: fields.industry,
        founded_year: fields.founded_year,
        linkedin_url: fields.linkedin_url,
        updated_at: fields.updated_at,
    })
}

thread_local! {
    /// The field that is being read: errors of the JSON parser do not say.
    static FIELD: Cell<Option<&'static str>> = const { Cell::new(None) };
}

fn parse<'de, T: Deserialize<'de>>(line: &'de [u8]) -> Result<T, RecordFault> {
    FIELD.set(None);
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let parsed = T::deserialize(&mut deserializer);
    let parsed = parsed.and_then(|value| {
        FIELD.set(None);
        deserializer.end().map(|()| value)
    });
    parsed.map_err(|error| {
        let text = error.to_string();
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
        let reason = match error.is_data() {
            true => reason.to_owned(),
            false => format!("malformed JSON at column {}: {reason}", error.column()),
        };
        RecordFault { field: FIELD.get(), reason }
    })
}

fn required<T>(value: Option<T>, field: &'static str) -> Result<T, RecordFault> {
    let missing = || RecordFault { field: Some(field), reason: "is missing; it is required".into() };
    value.ok_or_else(missing)
}

fn not_empty<'a>(text: Cow<'a, str>, field: &'static str) -> Result<Cow<'a, str>, RecordFault> {
    match text.is_empty() {
        false => Ok(text),
        true => Err(RecordFault {
            field: Some(field),
            reason: "is empty; at least one character is required".into(),
        }),
    }
}

/// Declares the fields of a JSON object: each may be absent or null, none may stand twice, others
/// are passed over. A path in front names the fields of an inner object in errors.
macro_rules! object {
    ($name:ident, $what:literal { $($field:ident: $type:ty = $key:literal as $path:literal via $reader:ident,)* }) => {
        #[derive(Default)]
        struct $name<'de> {
            $($field: Option<$type>,)*
            borrowed: PhantomData<&'de str>,
        }

        impl<'de> Deserialize<'de> for $name<'de> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;

                impl<'de> Visitor<'de> for Fields {
                    type Value = $name<'de>;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("a JSON object (", $what, ")"))
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$name<'de>, A::Error> {
                        let mut fields = $name::default();
                        let mut seen = Seen::default();
                        while let Some(Key(key)) = map.next_key()? {
                            match &*key {
                                $($key => {
                                    FIELD.set(Some($path));
                                    seen.note($path)?;
                                    fields.$field = map.next_value::<$reader<'de>>()?.into();
                                })*
                                _ => {
                                    FIELD.set(None);
                                    map.next_value::<IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(fields)
                    }
                }

                deserializer.deserialize_map(Fields)
            }
        }
    };
}

object!(SignalFields, "a signal" {
    id: SignalId = "id" as "id" via Id,
    slug: Cow<'de, str> = "slug" as "slug" via Text,
    title: Cow<'de, str> = "title" as "title" via Text,
    evidence: Cow<'de, str> = "evidence" as "evidence" via Text,
    category: Cow<'de, str> = "category" as "category" via Text,
    date: Date = "date" as "date" via Day,
    published_at: UtcDateTime = "publishedAt" as "publishedAt" via Instant,
    updated_at: UtcDateTime = "updatedAt" as "updatedAt" via Instant,
    company_slug: Cow<'de, str> = "companySlug" as "companySlug" via Text,
    activity_url: Cow<'de, str> = "activityUrl" as "activityUrl" via Text,
    author_name: Cow<'de, str> = "authorName" as "authorName" via Text,
    author_title: Cow<'de, str> = "authorTitle" as "authorTitle" via Text,
    author_url: Cow<'de, str> = "authorUrl" as "authorUrl" via Text,
    funding: Funding<'de> = "funding" as "funding" via FundingObject,
    hiring: Hiring<'de> = "hiring" as "hiring" via HiringObject,
});

object!(FundingFields, "funding details" {
    stage: Cow<'de, str> = "stage" as "funding.stage" via Text,
    amount: f64 = "amount" as "funding.amount" via Amount,
    currency: Currency = "currency" as "funding.currency" via CurrencyCode,
});

object!(HiringFields, "hiring attributes" {
    hiring_type: Cow<'de, str> = "hiringType" as "hiring.hiringType" via Text,
    job_function: Cow<'de, str> = "jobFunction" as "hiring.jobFunction" via Text,
    seniority: Cow<'de, str> = "seniority" as "hiring.seniority" via Text,
    employment_type: Cow<'de, str> = "employmentType" as "hiring.employmentType" via Text,
    work_arrangement: Cow<'de, str> = "workArrangement" as "hiring.workArrangement" via Text,
});

object!(CompanyFields, "a company" {
    slug: Cow<'de, str> = "slug" as "slug" via Text,
    name: Cow<'de, str> = "name" as "name" via Text,
    about: Cow<'de, str> = "about" as "about" via Text,
    tagline: Cow<'de, str> = "tagline" as "tagline" via Text,
    logo_url: Cow<'de, str> = "logoUrl" as "logoUrl" via Text,
    country: Cow<'de, str> = "country" as "country" via Text,
    city: Cow<'de, str> = "city" as "city" via Text,
    employees: i64 = "employees" as "employees" via WholeNumber,
    industry: Cow<'de, str> = "industry" as "industry" via Text,
    founded_year: i64 = "foundedYear" as "foundedYear" via WholeNumber,
    linkedin_url: Cow<'de, str> = "linkedinUrl" as "linkedinUrl" via Text,
    updated_at: UtcDateTime = "updatedAt" as "updatedAt" via Instant,
});

/// The fields that an object had so far.
#[derive(Default)]
struct Seen(smallvec::SmallVec<[&'static str; 16]>);

impl Seen {
    fn note<E: de::Error>(&mut self, field: &'static str) -> Result<(), E> {
        if self.0.contains(&field) {
            return Err(E::custom("is given twice; give it once"));
        }
        self.0.push(field);
        Ok(())
    }
}

/// The name of a field.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A fault within a name is the line's, not that of the field before it.
        FIELD.set(None);
        let text = deserializer.deserialize_str(Scalar("a field name"))?;
        match text {
            Value::Text(text) => Ok(Key(text)),
            _ => Err(de::Error::custom("a field name is a string")),
        }
    }
}

/// A JSON value that is no array and no object.
enum Value<'de> {
    Null,
    Text(Cow<'de, str>),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

/// Reads a value that is no array and no object; the text says what is allowed.
struct Scalar(&'static str);

impl<'de> Visitor<'de> for Scalar {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value<'de>, E> {
        Ok(Value::Unsigned(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value<'de>, E> {
        Ok(Value::Signed(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value<'de>, E> {
        Ok(Value::Float(number))
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Text(text) => f.write_str(&quoted(text)),
            Value::Unsigned(number) => number.fmt(f),
            Value::Signed(number) => number.fmt(f),
            Value::Float(number) => number.fmt(f),
        }
    }
}

/// Declares a reader of nullable values: how a value that is not null is converted, and what is
/// allowed.
macro_rules! reader {
    ($name:ident, $type:ty, $allowed:literal, $convert:expr) => {
        struct $name<'de>(Option<$type>, PhantomData<&'de str>);

        impl<'de> Deserialize<'de> for $name<'de> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let convert: fn(&mut Value<'de>) -> Option<$type> = $convert;
                let mut value = deserializer.deserialize_any(Scalar($allowed))?;
                if let Value::Null = value {
                    return Ok($name(None, PhantomData));
                }
                match convert(&mut value) {
                    Some(converted) => Ok($name(Some(converted), PhantomData)),
                    None => Err(de::Error::custom(format_args!(
                        concat!("is {}; allowed is ", $allowed), value
                    ))),
                }
            }
        }

        impl<'de> From<$name<'de>> for Option<$type> {
            fn from(read: $name<'de>) -> Option<$type> {
                read.0
            }
        }
    };
}

reader!(Text, Cow<'de, str>, "a string of at most 1 MiB, or null", |value| match value {
    Value::Text(text) if text.len() <= TEXT_BYTES_MAX => Some(std::mem::take(text)),
    _ => None,
});

reader!(
    Id,
    SignalId,
    "a whole number of 1 to 19 digits without a leading zero, as a number or a string",
    |value| match value {
        Value::Text(text) => text.parse().ok(),
        Value::Unsigned(number) => SignalId::new(*number),
        _ => None,
    }
);

reader!(Day, Date, "a calendar date as YYYY-MM-DD, or null", |value| match value {
    Value::Text(text) => calendar_date(text),
    _ => None,
});

reader!(Instant, UtcDateTime, "an instant as RFC 3339 writes it, or null", |value| match value {
    Value::Text(text) => instant(text),
    _ => None,
});

reader!(Amount, f64, "a finite number from 0 on, or null", |value| {
    let amount = match value {
        Value::Unsigned(number) => *number as f64,
        Value::Float(number) => *number,
        _ => return None,
    };
    // Adding zero turns the negative zero into the plain one.
    (amount.is_finite() && amount >= 0.0).then_some(amount + 0.0)
});

reader!(CurrencyCode, Currency, "a code of three upper-case letters, or null", |value| match value {
    Value::Text(text) => Currency::new(text),
    _ => None,
});

reader!(WholeNumber, i64, "a whole number of 64 bits, or null", |value| match value {
    Value::Unsigned(number) => i64::try_from(*number).ok(),
    Value::Signed(number) => Some(*number),
    _ => None,
});

fn instant(text: &str) -> Option<UtcDateTime> {
    let instant = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    let utc = instant.checked_to_offset(UtcOffset::UTC)?;
    (0..=9999).contains(&utc.year()).then(|| UtcDateTime::new(utc.date(), utc.time()))
}

/// Funding details or null.
struct FundingObject<'de>(Option<FundingFields<'de>>);

impl<'de> Deserialize<'de> for FundingObject<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(FundingObject)
    }
}

impl<'de> From<FundingObject<'de>> for Option<Funding<'de>> {
    fn from(object: FundingObject<'de>) -> Self {
        let fields = object.0?;
        Some(Funding { stage: fields.stage, amount: fields.amount, currency: fields.currency })
    }
}

/// Hiring attributes or null.
struct HiringObject<'de>(Option<HiringFields<'de>>);

impl<'de> Deserialize<'de> for HiringObject<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(HiringObject)
    }
}

impl<'de> From<HiringObject<'de>> for Option<Hiring<'de>> {
    fn from(object: HiringObject<'de>) -> Self {
        let fields = object.0?;
        Some(Hiring {
            hiring_type: fields.hiring_type,
            job_function: fields.job_function,
            seniority: fields.seniority,
            employment_type: fields.employment_type,
            work_arrangement: fields.work_arrangement,
        })
    }
}
