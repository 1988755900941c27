//! How single values are written, in input records and responses alike.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use time::{Date, UtcDateTime};

use crate::signal::{Funding, SignalId};
use crate::text_encoding::{self, WHOLE_MAX};

/// An id as a string, which every reader of JSON keeps exact.
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

/// An amount: without a point where it is whole and exact, else in the fewest digits that read
/// back as the same number.
pub(super) struct AmountNumber(pub(super) f64);

impl Serialize for AmountNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = self.0 as u64;
        if whole < WHOLE_MAX && whole as f64 == self.0 {
            return serializer.serialize_u64(whole);
        }
        serializer.serialize_f64(self.0)
    }
}

/// The object `{stage, amount, currency}`.
pub(super) struct FundingObject<'a>(pub(super) &'a Funding<'a>);

impl Serialize for FundingObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Funding", 3)?;
        object.serialize_field("stage", &self.0.stage)?;
        object.serialize_field("amount", &self.0.amount.map(AmountNumber))?;
        object.serialize_field(
            "currency",
            &self.0.currency.as_ref().map(|code| code.as_str()),
        )?;
        object.end()
    }
}
