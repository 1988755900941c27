//! The end of version 1 of the API, once it has a date: `Deprecation` (RFC 9745) and `Sunset` (RFC 8594).

use std::fmt;

use axum::http::HeaderMap;
use axum::http::header::{HeaderName, HeaderValue, LINK};
use time::macros::format_description;
use time::{Date, Month};

use super::service::Service;

/// The paths that have a version.
const VERSIONED: &str = "/api/v1/";

/// The end of the version, for [`Service::set_deprecation`].
///
/// ```
/// use signaldex_server::Deprecation;
/// use time::macros::date;
///
/// assert!(Deprecation::new(date!(2027 - 01 - 31), date!(2028 - 01 - 31)).is_ok());
/// let refused = Deprecation::new(date!(2027 - 01 - 31), date!(2027 - 03 - 31)).unwrap_err();
/// assert_eq!(refused.earliest, date!(2028 - 01 - 31));
/// ```
#[derive(Clone, Debug)]
pub struct Deprecation {
    since: HeaderValue,
    sunset: HeaderValue,
}

/// The dates do not leave clients the time that they were promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShortNotice {
    /// The first day on which the version may end.
    pub earliest: Date,
}

impl Service {
    /// Announces the end of the version in each answer below `/api/v1`. Only the first call has an effect.
    pub fn set_deprecation(&self, deprecation: Deprecation) {
        let _ = self.0.deprecation.set(deprecation);
    }
}

impl Deprecation {
    /// A version that is deprecated since one day and ends on another, both in UTC.
    ///
    /// # Errors
    /// Less than a year lies between the days.
    pub fn new(since: Date, sunset: Date) -> Result<Deprecation, TooShortNotice> {
        let earliest = a_year_after(since);
        if sunset < earliest {
            return Err(TooShortNotice { earliest });
        }
        let instant = since.midnight().assume_utc().unix_timestamp();
        let day = sunset.format(format_description!(
            "[weekday repr:short], [day] [month repr:short] [year] 00:00:00 GMT"
        ));
        let header = |text: &str| HeaderValue::from_str(text);
        let invalid = |_| TooShortNotice { earliest };
        Ok(Deprecation {
            since: header(&format!("@{instant}")).map_err(invalid)?,
            sunset: header(&day.unwrap_or_default()).map_err(invalid)?,
        })
    }

    /// Adds the headers to an answer of a path, of a service mounted at `base`.
    pub(super) fn mark(&self, base: &str, path: &str, headers: &mut HeaderMap) {
        if !path.starts_with(VERSIONED) {
            return;
        }
        headers.insert(HeaderName::from_static("deprecation"), self.since.clone());
        headers.insert(HeaderName::from_static("sunset"), self.sunset.clone());
        let link =
            format!("<{base}/docs#versions>; rel=\"deprecation sunset\"; type=\"text/html\"");
        if let Ok(link) = HeaderValue::from_str(&link) {
            headers.append(LINK, link);
        }
    }
}

/// The same day of the next year, or 1 March for 29 February.
fn a_year_after(day: Date) -> Date {
    let year = day.year() + 1;
    let same = day.replace_year(year);
    same.or_else(|_| Date::from_calendar_date(year, Month::March, 1))
        .unwrap_or(Date::MAX)
}

impl fmt::Display for TooShortNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let earliest = self.earliest;
        write!(
            f,
            "a version lives for a year after it is deprecated; the earliest end is {earliest}"
        )
    }
}

impl std::error::Error for TooShortNotice {}

#[cfg(test)]
mod tests;
