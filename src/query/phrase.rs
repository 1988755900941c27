//! Words that stand next to each other.

use smallvec::SmallVec;

/// One or more analysed terms that stand next to each other, in this order; a single term is the
/// phrase of one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Phrase(Box<[Box<str>]>);

impl Phrase {
    /// The phrase that `text` analyses to, or `None` where it holds no searchable word.
    pub fn new(text: &str) -> Option<Phrase> {
        let mut terms: SmallVec<[Box<str>; 4]> = SmallVec::new();
        crate::text::analyze(text, |term| terms.push(term.into()));
        (!terms.is_empty()).then(|| Phrase(terms.into_boxed_slice()))
    }

    /// Its terms, at least one.
    pub fn terms(&self) -> &[Box<str>] {
        &self.0
    }

    /// Whether the phrase occurs in a text of these terms. Cost: terms of text times terms of phrase.
    pub fn occurs_in<T: AsRef<str>>(&self, text: &[T]) -> bool {
        text.windows(self.0.len()).any(|window| {
            window
                .iter()
                .zip(&self.0)
                .all(|(word, term)| word.as_ref() == &**term)
        })
    }
}
