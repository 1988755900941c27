//! Canonical forms of filters and queries.
//!
//! The canonical form of a filter lists its parts in the order of the parameters:
//! `all=series a&country=germany`. Spaces separate the terms of a phrase, a star ends a prefix word, commas separate items, and
//! separators within values are percent-encoded. It is part of the API: fingerprints in stored cursors
//! and idempotency records depend on it, so a change needs another seed of
//! [fingerprints](super::fingerprint). The text form that can be parsed again is in
//! [`written`](super::written).

use std::fmt::{self, Write};

use smallvec::SmallVec;

use super::{Filter, FilterPart, Fingerprint, Order, Parameter, Phrase, Start};

/// The length of most canonical forms at most. They need no allocation where only their hash is wanted.
const FORM_BYTES: usize = 128;

/// The canonical form of a filter; empty for none.
pub(super) fn of_filter(filter: &Filter) -> String {
    let form = form_of_filter(filter).0;
    String::from_utf8(form.into_vec()).expect("only text was added")
}

/// The fingerprint of a filter.
pub(super) fn fingerprint_of_filter(filter: &Filter) -> Fingerprint {
    Fingerprint::of(&form_of_filter(filter).0)
}

/// The fingerprint of a query, from that of its filter and its other parameters.
pub(super) fn fingerprint_of_query(
    filter: Fingerprint,
    order: Order,
    limit: usize,
    start: &Start,
    count_only: bool,
) -> Fingerprint {
    let mut form = CanonicalForm::default();
    form.display(filter);
    form.value("order", order);
    form.value("limit", limit);
    match start {
        Start::First => {}
        Start::After(cursor) => form.value("start", cursor),
        Start::Page(number) => form.value("start", number),
    }
    if count_only {
        form.value("countOnly", "true");
    }
    Fingerprint::of(&form.0)
}

fn form_of_filter(filter: &Filter) -> CanonicalForm {
    let mut form = CanonicalForm::default();
    for (parameter, part) in filter.parts() {
        form.part(parameter, part);
    }
    form
}

/// A canonical form under construction.
#[derive(Default)]
struct CanonicalForm(SmallVec<[u8; FORM_BYTES]>);

impl Write for CanonicalForm {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl CanonicalForm {
    fn part(&mut self, parameter: Parameter, part: FilterPart<'_>) {
        // Excluded phrases keep the name from before the parameter was renamed.
        let is_exclude = parameter == Parameter::Exclude;
        self.name(if is_exclude { "none" } else { parameter.name() });
        match part {
            FilterPart::Phrases(phrases) | FilterPart::Words(phrases) => {
                self.list(phrases, CanonicalForm::phrase)
            }
            FilterPart::Text(text) => self.escaped(text),
            FilterPart::Texts(texts) => self.list(texts, |form, text| form.escaped(text)),
            FilterPart::Companies(companies) => {
                self.list(companies, |form, company| form.escaped(&company.slug));
            }
            FilterPart::Days(days) => self.display(days.count()),
            FilterPart::DateRanges(ranges) => self.list(ranges, |form, range| form.display(range)),
            FilterPart::Date(date) => self.display(date),
            FilterPart::Amount(amount) => self.display(amount),
            FilterPart::Ids(ids) => self.list(ids, |form, id| form.display(id)),
        }
    }

    fn value(&mut self, name: &str, value: impl fmt::Display) {
        self.name(name);
        self.display(value);
    }

    fn display(&mut self, value: impl fmt::Display) {
        write!(self, "{value}").expect("a form can be written to");
    }

    fn list<T>(&mut self, values: &[T], append: impl Fn(&mut CanonicalForm, &T)) {
        for (position, value) in values.iter().enumerate() {
            if position > 0 {
                self.0.push(b',');
            }
            append(self, value);
        }
    }

    fn name(&mut self, name: &str) {
        if !self.0.is_empty() {
            self.0.push(b'&');
        }
        self.text(name);
        self.0.push(b'=');
    }

    fn phrase(&mut self, phrase: &Phrase) {
        for (position, term) in phrase.terms().enumerate() {
            if position > 0 {
                self.0.push(b' ');
            }
            self.escaped_with(term, b"%&,= ");
        }
        // No term has a star.
        if phrase.is_prefix() {
            self.0.push(b'*');
        }
    }

    /// Appends a value with its separators percent-encoded.
    fn escaped(&mut self, value: &str) {
        self.escaped_with(value, b"%&,=");
    }

    /// Separators are ASCII, so they are not part of other characters.
    fn escaped_with(&mut self, value: &str, separators: &[u8]) {
        let is_separator = |byte: &u8| separators.contains(byte);
        let bytes = value.as_bytes();
        if !bytes.iter().any(is_separator) {
            return self.text(value);
        }
        for byte in bytes {
            if is_separator(byte) {
                self.display(format_args!("%{byte:02X}"));
            } else {
                self.0.push(*byte);
            }
        }
    }

    fn text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }
}
