//! Amounts with their currencies: `€1,200,000.00`, `1.2M USD`.

use super::number::{self, NumberFault};
use super::options::CellOptions;
use crate::signal::Currency;

/// Signs that mean one currency wherever they are written. Longer ones first: `US$` ends with `$`.
const SIGNS: [(&str, &str); 14] = [
    ("US$", "USD"),
    ("HK$", "HKD"),
    ("NZ$", "NZD"),
    ("C$", "CAD"),
    ("A$", "AUD"),
    ("R$", "BRL"),
    ("€", "EUR"),
    ("£", "GBP"),
    ("₹", "INR"),
    ("₩", "KRW"),
    ("₪", "ILS"),
    ("₺", "TRY"),
    ("₽", "RUB"),
    ("₴", "UAH"),
];

/// Signs that several currencies have: an option says which.
pub(super) const SHARED_SIGNS: [(&str, &str); 3] = [("$", "USD"), ("¥", "JPY"), ("kr", "SEK")];

/// Letters behind an amount, and how many zeros they stand for. Longer ones first.
const SUFFIXES: [(&str, usize); 4] = [("bn", 9), ("k", 3), ("M", 6), ("B", 9)];

/// Why a text is not an amount or a currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoneyFault {
    Ambiguous,
    /// A sign that several currencies have.
    SharedSign,
    NoAmount,
}

impl From<NumberFault> for MoneyFault {
    fn from(fault: NumberFault) -> MoneyFault {
        match fault {
            NumberFault::Ambiguous => MoneyFault::Ambiguous,
            NumberFault::NoNumber => MoneyFault::NoAmount,
        }
    }
}

/// A currency: three letters in any case, or a sign.
pub(super) fn currency(text: &str, options: &CellOptions) -> Result<Currency, MoneyFault> {
    let letters = Currency::new(&text.to_ascii_uppercase());
    let sign = || currency_of_sign(text, options);
    letters.or_else(sign).ok_or_else(|| {
        if SHARED_SIGNS.iter().any(|(sign, _)| *sign == text) {
            MoneyFault::SharedSign
        } else {
            MoneyFault::NoAmount
        }
    })
}

fn currency_of_sign(text: &str, options: &CellOptions) -> Option<Currency> {
    let given = options.currencies.iter().find(|(sign, _)| sign == text);
    let known = || SIGNS.iter().find(|(sign, _)| *sign == text);
    match given {
        Some((_, currency)) => Some(*currency),
        None => Currency::new(known()?.1),
    }
}

/// An amount, with the currency before or after it.
pub(super) fn amount(
    text: &str,
    options: &CellOptions,
) -> Result<(f64, Option<Currency>), MoneyFault> {
    let (digits, currency) = without_currency(text, options)?;
    let suffix = SUFFIXES
        .iter()
        .filter(|_| options.amount_suffixes)
        .find_map(|&(suffix, zeros)| Some((digits.strip_suffix(suffix)?.trim_end(), zeros)));
    let (digits, zeros) = suffix.unwrap_or((digits, 0));
    let mut decimal = number::decimal(digits, options.moments.decimal)?;
    if zeros > 0 && !decimal.starts_with('-') {
        decimal = number::shifted(&decimal, zeros);
    }
    let amount = number::exact_amount(&decimal).ok_or(MoneyFault::NoAmount)?;
    Ok((amount, currency))
}

/// Splits the currency off an amount: what is left begins or ends with the digits.
fn without_currency<'t>(
    text: &'t str,
    options: &CellOptions,
) -> Result<(&'t str, Option<Currency>), MoneyFault> {
    let is_part = |letter: char| letter.is_ascii_digit() || letter == '-';
    let start = text.find(is_part).ok_or(MoneyFault::NoAmount)?;
    if start > 0 {
        let currency = currency(text[..start].trim_end(), options)?;
        return Ok((&text[start..], Some(currency)));
    }
    let end = text.rfind(|letter: char| letter.is_ascii_digit());
    let end = end.map_or(0, |last| last + 1);
    let behind = text[end..].trim_start();
    if behind.is_empty() {
        return Ok((text, None));
    }
    // The amount's suffix may stand between its digits and the currency.
    let suffixes = SUFFIXES.iter().map(|(suffix, _)| *suffix);
    let mut suffixes = suffixes.filter(|_| options.amount_suffixes);
    if suffixes.any(|suffix| suffix == behind) {
        return Ok((text, None));
    }
    let with_suffix = SUFFIXES.iter().filter(|_| options.amount_suffixes);
    let mut with_suffix = with_suffix.filter_map(|(suffix, _)| behind.strip_prefix(suffix));
    let of = |written: &str| currency(written.trim_start(), options);
    let (written, found) = match (
        of(behind),
        with_suffix.find_map(|rest| Some((rest, of(rest).ok()?))),
    ) {
        (Ok(currency), _) => (behind, currency),
        (Err(_), Some((rest, currency))) => (rest, currency),
        (Err(fault), None) => return Err(fault),
    };
    Ok((text[..text.len() - written.len()].trim_end(), Some(found)))
}
