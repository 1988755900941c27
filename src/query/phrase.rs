//! Phrases: terms next to each other.

use smallvec::SmallVec;

/// One or more analysed terms that must occur next to each other, in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Phrase(Box<[Box<str>]>);

impl Phrase {
    /// Analyses a text into a phrase; `None` if it has no searchable word.
    pub fn new(text: &str) -> Option<Phrase> {
        let mut terms: SmallVec<[Box<str>; 4]> = SmallVec::new();
        crate::text::analyze(text, |term| terms.push(term.into()));
        (!terms.is_empty()).then(|| Phrase(terms.into_boxed_slice()))
    }

    /// The terms, at least one.
    pub fn terms(&self) -> &[Box<str>] {
        &self.0
    }

    /// Whether the phrase occurs in a text with these terms. Cost: the product of the numbers of terms.
    pub fn occurs_in<T: AsRef<str>>(&self, text: &[T]) -> bool {
        text.windows(self.0.len()).any(|window| {
            window
                .iter()
                .zip(&self.0)
                .all(|(word, term)| word.as_ref() == &**term)
        })
    }
}
