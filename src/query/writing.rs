//! Writes filters as percent-encoded query strings of normalised values; [`written`](super::written) reads them.

use std::fmt::{self, Write};

use super::{Filter, FilterPart, Phrase, list};

/// Groups terms of a company's name that cannot be written as one word.
pub(super) const WORD_QUOTE: char = '\u{FF02}';

/// Writes what `Display` of a filter does, without the indirection of a formatter: fingerprints are made of it.
pub(super) fn write_filter(f: &mut impl Write, filter: &Filter) -> fmt::Result {
    let mut separator = "";
    for (parameter, part) in filter.parts() {
        f.write_str(separator)?;
        f.write_str(parameter.name())?;
        f.write_char('=')?;
        write_part(&mut PercentEncoder::new(f), part)?;
        separator = "&";
    }
    Ok(())
}

/// Writes a part, as typed by a user.
fn write_part(out: &mut PercentEncoder<'_, impl Write>, part: FilterPart<'_>) -> fmt::Result {
    match part {
        FilterPart::Phrases(phrases) => separated(out, " ", phrases, write_phrase),
        FilterPart::Words(words) => separated(out, " ", words, |out, word| {
            out.write_str(&text_of_word(word))
        }),
        FilterPart::Text(text) => out.write_str(text),
        FilterPart::Texts(texts) => list::write(out, texts),
        FilterPart::Companies(companies) => {
            list::write(out, companies.iter().map(|company| &company.slug))
        }
        FilterPart::Days(days) => write!(out, "{}", days.count()),
        FilterPart::DateRanges(ranges) => {
            separated(out, ",", ranges, |out, range| write!(out, "{range}"))
        }
        FilterPart::Date(date) => write!(out, "{date}"),
        FilterPart::Amount(amount) => write!(out, "{amount}"),
        FilterPart::Ids(ids) => separated(out, ",", ids, |out, id| write!(out, "{id}")),
    }
}

fn separated<W: Write, T>(
    out: &mut W,
    separator: &str,
    items: impl IntoIterator<Item = T>,
    write: impl Fn(&mut W, T) -> fmt::Result,
) -> fmt::Result {
    for (position, item) in items.into_iter().enumerate() {
        if position > 0 {
            out.write_str(separator)?;
        }
        write(out, item)?;
    }
    Ok(())
}

/// Writes a text that analyses to the same terms, in quotes if there are several.
///
/// A quote within a term, as in Hebrew words, is written full-width, so that it does not end the phrase;
/// analysis restores it.
fn write_phrase<W: Write>(out: &mut W, phrase: &Phrase) -> fmt::Result {
    let quote = if phrase.terms().len() > 1 { "\"" } else { "" };
    out.write_str(quote)?;
    separated(out, " ", phrase.terms(), |out, term| {
        separated(out, "\u{FF02}", term.split('"'), W::write_str)
    })?;
    if phrase.is_prefix() {
        out.write_char('*')?;
    }
    out.write_str(quote)
}

/// A word that analyses to the terms of a phrase, such as `r-d`. If there is none, because a term starts
/// with a combining mark, the terms are grouped by [`WORD_QUOTE`]s.
fn text_of_word(phrase: &Phrase) -> String {
    let word = phrase.joined("-");
    if Phrase::new(&word).as_ref() == Some(phrase) {
        return word;
    }
    format!("{WORD_QUOTE}{}{WORD_QUOTE}", phrase.joined(" "))
}

/// Whether a byte is written as it is.
const IS_PLAIN: [bool; 256] = {
    let mut is_plain = [false; 256];
    let mut byte = 0;
    // Invariant: the bytes below `byte` are set.
    while byte < is_plain.len() {
        is_plain[byte] = matches!(byte as u8, b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' | b',');
        byte += 1;
    }
    is_plain
};

/// Percent-encodes what is written, with `+` for single spaces: `++` could be read as two plus signs.
pub(super) struct PercentEncoder<'o, W> {
    out: &'o mut W,
    /// The byte that was written last.
    before: u8,
}

impl<'o, W: Write> PercentEncoder<'o, W> {
    /// An encoder of a value.
    pub(super) fn new(out: &'o mut W) -> PercentEncoder<'o, W> {
        PercentEncoder { out, before: b' ' }
    }
}

impl<W: Write> Write for PercentEncoder<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let is_plain = |byte: &u8| IS_PLAIN[usize::from(*byte)];
        let mut rest = text;
        // Each turn writes a run of plain bytes, which are whole characters, or encodes one character.
        while let Some(next) = rest.chars().next() {
            let plain = rest.bytes().position(|byte| !is_plain(&byte));
            let length = match plain.unwrap_or(rest.len()) {
                0 => next.len_utf8(),
                plain => plain,
            };
            let (run, after) = rest.split_at(length);
            match run.as_bytes() {
                b" " if self.before != b' ' => self.out.write_char('+')?,
                bytes if is_plain(&bytes[0]) => self.out.write_str(run)?,
                bytes => bytes
                    .iter()
                    .try_for_each(|byte| write!(self.out, "%{byte:02X}"))?,
            }
            self.before = *run.as_bytes().last().unwrap_or(&b' ');
            rest = after;
        }
        Ok(())
    }
}
