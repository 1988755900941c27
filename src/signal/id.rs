//! The identifier of a signal.

use std::fmt;
use std::str::FromStr;

/// The identifier of a signal: a whole number from 1 to 9,999,999,999,999,999,999.
///
/// Nineteen digits exceed both `i64` and what a JavaScript number holds, so JSON carries an id as
/// a string.
///
/// ```
/// use signaldex::SignalId;
///
/// let id: SignalId = "9999999999999999999".parse()?;
/// assert_eq!(id.get(), SignalId::MAX.get());
/// assert!("0".parse::<SignalId>().is_err());
/// assert!("007".parse::<SignalId>().is_err());
/// # Ok::<(), signaldex::ParseIdError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignalId(u64);

impl SignalId {
    /// The smallest id, 1.
    pub const MIN: SignalId = SignalId(1);
    /// The largest id, nineteen nines.
    pub const MAX: SignalId = SignalId(9_999_999_999_999_999_999);

    /// The id of that number, or `None` outside [`MIN`](Self::MIN) to [`MAX`](Self::MAX).
    ///
    /// ```
    /// use signaldex::SignalId;
    ///
    /// assert_eq!(SignalId::new(1), Some(SignalId::MIN));
    /// assert_eq!(SignalId::new(0), None);
    /// ```
    pub const fn new(number: u64) -> Option<SignalId> {
        if number >= Self::MIN.0 && number <= Self::MAX.0 {
            Some(SignalId(number))
        } else {
            None
        }
    }

    /// The id of a number that was checked before: that of a segment's rows when it was opened.
    pub(crate) const fn of_checked(number: u64) -> SignalId {
        SignalId(number)
    }

    /// The number.
    ///
    /// ```
    /// let id: signaldex::SignalId = "7".parse()?;
    /// assert_eq!(id.get(), 7);
    /// # Ok::<(), signaldex::ParseIdError>(())
    /// ```
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SignalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl TryFrom<u64> for SignalId {
    type Error = ParseIdError;

    /// As [`new`](Self::new), for code that converts with `?`.
    ///
    /// ```
    /// use signaldex::SignalId;
    ///
    /// assert_eq!(SignalId::try_from(7)?, "7".parse()?);
    /// assert!(SignalId::try_from(0).is_err());
    /// # Ok::<(), signaldex::ParseIdError>(())
    /// ```
    fn try_from(number: u64) -> Result<SignalId, ParseIdError> {
        SignalId::new(number).ok_or(ParseIdError)
    }
}

impl FromStr for SignalId {
    type Err = ParseIdError;

    /// Reads `^[1-9][0-9]{0,18}$`: ASCII digits, no sign, no leading zero.
    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let bytes = text.as_bytes();
        let well_formed = (1..=19).contains(&bytes.len())
            && bytes[0] != b'0'
            && bytes.iter().all(u8::is_ascii_digit);
        if !well_formed {
            return Err(ParseIdError);
        }
        text.parse().map(SignalId).map_err(|_| ParseIdError)
    }
}

parse_error!(
    ParseIdError,
    "A text is not a signal id.",
    "a signal id is a whole number of 1 to 19 digits without a leading zero"
);

#[cfg(feature = "serde")]
serde_as_text!(SignalId);
