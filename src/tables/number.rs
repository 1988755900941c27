//! Numbers as people write them: with a decimal mark of either kind and groups of three digits.

/// What stands between the whole and the fraction of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecimalMark {
    /// `.`, as in `1,200.5`.
    Point,
    /// `,`, as in `1.200,5`.
    Comma,
}

const MARKS: [DecimalMark; 2] = [DecimalMark::Point, DecimalMark::Comma];

/// What may stand between groups of three digits, beside the other mark.
const GROUP_SEPARATORS: [char; 5] = [' ', '\u{A0}', '\u{202F}', '\'', '\u{2019}'];

/// Why a text is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberFault {
    /// It means two numbers, such as `1,200`.
    Ambiguous,
    NoNumber,
}

impl DecimalMark {
    fn char(self) -> char {
        match self {
            DecimalMark::Point => '.',
            DecimalMark::Comma => ',',
        }
    }

    fn other(self) -> char {
        match self {
            DecimalMark::Point => ',',
            DecimalMark::Comma => '.',
        }
    }
}

/// The number as JSON would write it, without exponent.
pub(super) fn decimal(text: &str, mark: Option<DecimalMark>) -> Result<String, NumberFault> {
    let read = |mark| read_with(text, mark);
    if let Some(mark) = mark {
        return read(mark).ok_or(NumberFault::NoNumber);
    }
    match MARKS.map(read) {
        [Some(one), Some(other)] if one != other => Err(NumberFault::Ambiguous),
        [Some(number), _] | [None, Some(number)] => Ok(number),
        [None, None] => Err(NumberFault::NoNumber),
    }
}

/// The number, if `mark` is its decimal mark.
fn read_with(text: &str, mark: DecimalMark) -> Option<String> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = match unsigned.split_once(mark.char()) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (unsigned, None),
    };
    let whole = ungrouped(whole, mark.other())?;
    let sign = &text[..text.len() - unsigned.len()];
    match fraction {
        Some(fraction) if are_digits(fraction) => Some(format!("{sign}{whole}.{fraction}")),
        Some(_) => None,
        None => Some(format!("{sign}{whole}")),
    }
}

/// Digits without a leading zero, or groups of three of them, as digits alone.
fn ungrouped(text: &str, other_mark: char) -> Option<String> {
    let is_separator = |letter: &char| *letter == other_mark || GROUP_SEPARATORS.contains(letter);
    let separator = text.chars().find(is_separator);
    let begins_well = text == "0" || !text.starts_with('0');
    let Some(separator) = separator else {
        return (begins_well && are_digits(text)).then(|| text.to_owned());
    };
    let mut groups = text.split(separator);
    let first = groups.next().unwrap_or_default();
    let is_first = are_digits(first) && first.len() <= 3 && !first.starts_with('0');
    let are_groups = groups.all(|group| are_digits(group) && group.len() == 3);
    (is_first && are_groups).then(|| text.replace(separator, ""))
}

fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The whole number that a decimal is; a fraction of zeros is allowed.
pub(super) fn whole(decimal: &str) -> Option<i64> {
    let (digits, fraction) = decimal.split_once('.').unwrap_or((decimal, "0"));
    fraction
        .bytes()
        .all(|digit| digit == b'0')
        .then(|| digits.parse().ok())?
}

/// The float of a decimal that is not negative and that the float represents without loss.
pub(super) fn exact_amount(decimal: &str) -> Option<f64> {
    let number: f64 = decimal.parse().ok()?;
    let is_amount = !decimal.starts_with('-') && number.is_finite();
    (is_amount && is_exact(decimal, number)).then_some(number)
}

/// Whether a float represents a decimal without loss, so that its digits can be restored.
fn is_exact(text: &str, number: f64) -> bool {
    const DIGITS_ALWAYS_KEPT: usize = f64::DIGITS as usize;
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let fraction_digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    // The first condition suffices for nearly all, and saves formatting.
    digits <= DIGITS_ALWAYS_KEPT || format!("{number:.fraction_digits$}") == text
}

/// A decimal times a power of ten, digit by digit, so that nothing is lost.
pub(super) fn shifted(decimal: &str, zeros: usize) -> String {
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    let moved = format!("{fraction:0<zeros$}");
    let (digits, rest) = moved.split_at(zeros);
    let digits = format!("{whole}{digits}");
    let digits = digits.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    if rest.is_empty() {
        digits.to_owned()
    } else {
        format!("{digits}.{rest}")
    }
}
