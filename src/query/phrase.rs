//! Phrases: terms next to each other.

use smallvec::SmallVec;
use smol_str::SmolStr;

/// One or more analysed terms that must occur next to each other, in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Phrase(SmallVec<[SmolStr; 1]>);

impl Phrase {
    /// Analyses a text into a phrase; `None` if it has no searchable word.
    ///
    /// ```
    /// use signaldex::query::Phrase;
    ///
    /// let phrase = Phrase::new("Series A").expect("it has words");
    /// assert!(phrase.terms().eq(["series", "a"]));
    /// assert_eq!(Phrase::new("!?"), None);
    /// ```
    pub fn new(text: &str) -> Option<Phrase> {
        let mut terms = SmallVec::new();
        crate::text::analyze(text, |term| terms.push(term.into()));
        (!terms.is_empty()).then_some(Phrase(terms))
    }

    /// The terms, at least one.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.0.iter().map(SmolStr::as_str)
    }

    /// The terms, as they are stored.
    pub(crate) fn as_slice(&self) -> &[SmolStr] {
        &self.0
    }

    /// The terms with a separator between them.
    pub(crate) fn joined(&self, separator: &str) -> String {
        self.0.join(separator)
    }

    /// Whether the phrase occurs in a text with these terms. Cost: the product of the numbers of terms.
    ///
    /// ```
    /// use signaldex::query::Phrase;
    /// use signaldex::text::terms;
    ///
    /// let phrase = Phrase::new("series a").expect("it has words");
    /// assert!(phrase.occurs_in(&terms("Acme: Series A")));
    /// assert!(!phrase.occurs_in(&terms("A series of talks")));
    /// ```
    pub fn occurs_in<T: AsRef<str>>(&self, text: &[T]) -> bool {
        text.windows(self.0.len()).any(|window| {
            window
                .iter()
                .zip(self.terms())
                .all(|(word, term)| word.as_ref() == term)
        })
    }
}
