//! Days and instants as people and programs write them.

use time::format_description::well_known::Rfc3339;
use time::{
    Date, Duration, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcDateTime, UtcOffset,
};

use super::number::{self, DecimalMark};
use crate::query::dates::calendar_date;

/// What a text or a typed cell says of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Day(Date),
    /// Without an offset from UTC.
    Local(PrimitiveDateTime),
    Instant(OffsetDateTime),
}

/// Why a text is not a day or an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MomentFault {
    /// Two formats read it differently.
    Ambiguous,
    /// A day was expected.
    HasTime,
    /// An instant was expected.
    NoOffset,
    NoMoment,
}

/// The system of days that a spreadsheet counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExcelDates {
    /// Day 1 is 1 January 1900, and there is a 29 February 1900.
    From1900,
    /// Day 0 is 1 January 1904.
    From1904,
}

/// How days and instants are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MomentOptions {
    pub(super) date_formats: Vec<DateFormat>,
    pub(super) excel_dates: Option<ExcelDates>,
    /// The offset of instants without one.
    pub(super) utc_offset: Option<UtcOffset>,
    /// The decimal mark of a spreadsheet's days.
    pub(super) decimal: Option<DecimalMark>,
}

/// A day: of a format, as `YYYY-MM-DD`, as an instant at midnight, or as a number of a spreadsheet.
pub(super) fn day(text: &str, options: &MomentOptions) -> Result<Date, MomentFault> {
    let by_formats = options
        .date_formats
        .iter()
        .filter_map(|format| format.read(text));
    let day_of = |moment| match moment {
        Moment::Day(day) => day,
        Moment::Local(local) => local.date(),
        Moment::Instant(instant) => instant.date(),
    };
    match only_one(by_formats.map(day_of))? {
        Some(day) => Ok(day),
        None => day_at(plain(text, options).ok_or(MomentFault::NoMoment)?),
    }
}

/// The day of a moment without a time.
pub(super) fn day_at(moment: Moment) -> Result<Date, MomentFault> {
    let at_midnight = |day: Date, time: Time| {
        (time == Time::MIDNIGHT)
            .then_some(day)
            .ok_or(MomentFault::HasTime)
    };
    match moment {
        Moment::Day(day) => Ok(day),
        Moment::Local(local) => at_midnight(local.date(), local.time()),
        Moment::Instant(instant) if instant.offset().is_utc() => {
            at_midnight(instant.date(), instant.time())
        }
        Moment::Instant(_) => Err(MomentFault::HasTime),
    }
}

/// An instant, or the first one of a day.
pub(super) fn instant(text: &str, options: &MomentOptions) -> Result<UtcDateTime, MomentFault> {
    let by_formats = options
        .date_formats
        .iter()
        .filter_map(|format| format.read(text));
    let moment = match only_one(by_formats)? {
        Some(moment) => moment,
        None => plain(text, options).ok_or(MomentFault::NoMoment)?,
    };
    instant_at(moment, options)
}

/// The instant of a moment, within the years that can be written with four digits.
pub(super) fn instant_at(
    moment: Moment,
    options: &MomentOptions,
) -> Result<UtcDateTime, MomentFault> {
    let instant = match moment {
        Moment::Day(day) => Some(day.midnight().as_utc()),
        Moment::Instant(instant) => instant.checked_to_utc(),
        Moment::Local(local) => {
            let offset = options.utc_offset.ok_or(MomentFault::NoOffset)?;
            local.assume_offset(offset).checked_to_utc()
        }
    };
    let is_writable = |instant: &UtcDateTime| (0..=9999).contains(&instant.year());
    instant.filter(is_writable).ok_or(MomentFault::NoMoment)
}

/// The one reading; `None` if there is none.
fn only_one<T: PartialEq>(mut readings: impl Iterator<Item = T>) -> Result<Option<T>, MomentFault> {
    let Some(first) = readings.next() else {
        return Ok(None);
    };
    if readings.any(|other| other != first) {
        return Err(MomentFault::Ambiguous);
    }
    Ok(Some(first))
}

/// What a text says without a format.
fn plain(text: &str, options: &MomentOptions) -> Option<Moment> {
    if let Some(day) = calendar_date(text) {
        return Some(Moment::Day(day));
    }
    let system = options.excel_dates;
    rfc_3339(text).or_else(|| {
        let number = number::decimal(text, options.decimal).ok()?.parse().ok()?;
        serial(number, system?)
    })
}

/// RFC 3339, in which the seconds and the offset may be missing, and a space may stand for the `T`.
fn rfc_3339(text: &str) -> Option<Moment> {
    const MINUTES_END: usize = "2026-06-30T12:00".len();
    let (minutes, rest) = text.split_at_checked(MINUTES_END)?;
    if !matches!(minutes.as_bytes()[10], b'T' | b't' | b' ') {
        return None;
    }
    let seconds = rest.find(|letter: char| !matches!(letter, '0'..='9' | ':' | '.'));
    let (seconds, offset) = rest.split_at(seconds.unwrap_or(rest.len()));
    let whole_seconds = if seconds.is_empty() { ":00" } else { seconds };
    let written_offset = if offset.is_empty() { "Z" } else { offset };
    let whole = format!("{minutes}{whole_seconds}{written_offset}");
    let instant = OffsetDateTime::parse(&whole, &Rfc3339).ok()?;
    Some(if offset.is_empty() {
        Moment::Local(PrimitiveDateTime::new(instant.date(), instant.time()))
    } else {
        Moment::Instant(instant)
    })
}

/// The moment that a spreadsheet's number of days is, to the second.
pub(super) fn serial(days: f64, system: ExcelDates) -> Option<Moment> {
    const DAYS_MAX: f64 = 2_958_466.0;
    const SECONDS_PER_DAY: f64 = 86_400.0;
    let (first, min) = match system {
        // The day before 1 January 1900 for numbers up to the 29 February that never was, and one day less after it.
        ExcelDates::From1900 if days < 60.0 => {
            (Date::from_calendar_date(1899, Month::December, 31), 1.0)
        }
        ExcelDates::From1900 => (Date::from_calendar_date(1899, Month::December, 30), 61.0),
        ExcelDates::From1904 => (Date::from_calendar_date(1904, Month::January, 1), 0.0),
    };
    if !(min..DAYS_MAX).contains(&days) {
        return None;
    }
    let seconds = (days * SECONDS_PER_DAY).round();
    let local = first
        .ok()?
        .midnight()
        .checked_add(Duration::seconds(seconds as i64))?;
    Some(if days.fract() == 0.0 {
        Moment::Day(local.date())
    } else {
        Moment::Local(local)
    })
}

/// A format of dates, such as `%d.%m.%Y`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DateFormat {
    written: String,
    items: Vec<FormatItem>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormatItem {
    Year,
    YearOfCentury,
    Month,
    Day,
    ShortName,
    LongName,
    Hour,
    Minute,
    Second,
    Literal(char),
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl DateFormat {
    /// Parses a format; `None` if it has another `%` than these, or no year, month or day.
    pub(super) fn parse(written: &str) -> Option<DateFormat> {
        let mut letters = written.chars();
        let mut items = Vec::new();
        while let Some(letter) = letters.next() {
            items.push(if letter == '%' {
                FormatItem::of(letters.next()?)?
            } else {
                FormatItem::Literal(letter)
            });
        }
        let has =
            |wanted: &[FormatItem]| items.iter().filter(|item| wanted.contains(item)).count() == 1;
        let is_whole = has(&[FormatItem::Year, FormatItem::YearOfCentury])
            && has(&[
                FormatItem::Month,
                FormatItem::ShortName,
                FormatItem::LongName,
            ])
            && has(&[FormatItem::Day]);
        is_whole.then(|| DateFormat {
            written: written.to_owned(),
            items,
        })
    }

    /// The moment that the whole text is in this format.
    fn read(&self, text: &str) -> Option<Moment> {
        let mut rest = text;
        let (mut year, mut month, mut day) = (0, 0, 0);
        let mut time = [None; 3];
        for item in &self.items {
            match item {
                FormatItem::Year => year = digits(&mut rest, 4, 4)?,
                FormatItem::YearOfCentury => {
                    let short = digits(&mut rest, 2, 2)?;
                    year = short + if short < 69 { 2000 } else { 1900 };
                }
                FormatItem::Month => month = digits(&mut rest, 1, 2)?,
                FormatItem::Day => day = digits(&mut rest, 1, 2)?,
                FormatItem::ShortName => month = name(&mut rest, 3)?,
                FormatItem::LongName => month = name(&mut rest, usize::MAX)?,
                FormatItem::Hour => time[0] = Some(digits(&mut rest, 1, 2)?),
                FormatItem::Minute => time[1] = Some(digits(&mut rest, 1, 2)?),
                FormatItem::Second => time[2] = Some(digits(&mut rest, 1, 2)?),
                FormatItem::Literal(letter) => rest = rest.strip_prefix(*letter)?,
            }
        }
        if !rest.is_empty() {
            return None;
        }
        let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
        let day = Date::from_calendar_date(i32::from(year), month, u8::try_from(day).ok()?).ok()?;
        if time == [None; 3] {
            return Some(Moment::Day(day));
        }
        let [hour, minute, second] =
            time.map(|part| u8::try_from(part.unwrap_or(0)).unwrap_or(u8::MAX));
        let time = Time::from_hms(hour, minute, second).ok()?;
        Some(Moment::Local(PrimitiveDateTime::new(day, time)))
    }
}

impl std::fmt::Display for DateFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.written)
    }
}

impl FormatItem {
    fn of(letter: char) -> Option<FormatItem> {
        Some(match letter {
            'Y' => FormatItem::Year,
            'y' => FormatItem::YearOfCentury,
            'm' => FormatItem::Month,
            'd' => FormatItem::Day,
            'b' => FormatItem::ShortName,
            'B' => FormatItem::LongName,
            'H' => FormatItem::Hour,
            'M' => FormatItem::Minute,
            'S' => FormatItem::Second,
            _ => return None,
        })
    }
}

/// Takes as many digits as there are, up to `max`.
fn digits(rest: &mut &str, min: usize, max: usize) -> Option<u16> {
    let count = rest
        .bytes()
        .take(max)
        .take_while(u8::is_ascii_digit)
        .count();
    if count < min {
        return None;
    }
    let (number, after) = rest.split_at(count);
    *rest = after;
    number.parse().ok()
}

/// Takes the English name of a month, or its first letters, in any case.
fn name(rest: &mut &str, letters: usize) -> Option<u16> {
    let names = MONTHS.iter().zip(1..);
    let mut names = names.map(|(name, number)| (&name[..letters.min(name.len())], number));
    names.find_map(|(name, number)| {
        let (written, after) = rest.split_at_checked(name.len())?;
        written.eq_ignore_ascii_case(name).then(|| {
            *rest = after;
            number
        })
    })
}

/// An offset from UTC: `Z`, `+02:00`.
pub(super) fn utc_offset(text: &str) -> Option<UtcOffset> {
    if matches!(text, "Z" | "z") {
        return Some(UtcOffset::UTC);
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text[1..].split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let mut parts = [hours, minutes]
        .map(|part| digits(&mut &*part, 2, 2))
        .into_iter()
        .flatten();
    let (hours, minutes) = (parts.next()?, parts.next()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let of = |part: u16| sign * i8::try_from(part).unwrap_or_default();
    UtcOffset::from_hms(of(hours), of(minutes), 0).ok()
}
