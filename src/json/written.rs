//! Serialises values, for input records and responses.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use time::{Date, UtcDateTime};

use super::item::{FundingMember, ItemMember, visit_funding};
use super::text_encoding;
use crate::signal::{FundingView, SignalId};

/// An id as a string, which every JSON parser keeps exact.
pub(super) struct IdText(pub(super) SignalId);

impl Serialize for IdText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text_encoding::id(self.0).as_str())
    }
}

/// A day as `YYYY-MM-DD`.
pub(super) struct DayText(pub(super) Date);

impl Serialize for DayText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text_encoding::day(self.0).as_str())
    }
}

/// An instant as RFC 3339 in UTC, with as many fractional digits as it needs.
pub(super) struct InstantText(pub(super) UtcDateTime);

impl Serialize for InstantText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text_encoding::instant(self.0).as_str())
    }
}

/// An amount: without a decimal point if it is an exact integer, else with the fewest digits that parse to
/// the same number.
pub(super) struct AmountNumber(pub(super) f64);

impl Serialize for AmountNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match text_encoding::whole(self.0) {
            Some(whole) => serializer.serialize_u64(whole),
            None => serializer.serialize_f64(self.0),
        }
    }
}

/// A member of an item.
pub(super) struct WrittenMember<'s>(pub(super) ItemMember<'s>);

impl Serialize for WrittenMember<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            ItemMember::Id(id) => IdText(id).serialize(serializer),
            ItemMember::Text(text) => text.serialize(serializer),
            ItemMember::Day(day) => day.map(DayText).serialize(serializer),
            ItemMember::Instant(instant) => instant.map(InstantText).serialize(serializer),
            ItemMember::CompanySlug(text) | ItemMember::CompanyName(text) => {
                serializer.serialize_str(text)
            }
            ItemMember::Funding(funding) => funding.map(FundingObject).serialize(serializer),
        }
    }
}

/// The object `{stage, amount, currency}`.
struct FundingObject<'a>(FundingView<'a>);

impl Serialize for FundingObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Funding", 3)?;
        visit_funding(self.0, |name, member| match member {
            FundingMember::Text(text) => object.serialize_field(name.name(), &text),
            FundingMember::Amount(amount) => {
                object.serialize_field(name.name(), &amount.map(AmountNumber))
            }
        })?;
        object.end()
    }
}
