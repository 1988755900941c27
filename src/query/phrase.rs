//! What is looked for in a text: words next to each other, or the beginning of a word.

use smallvec::SmallVec;
use smol_str::SmolStr;

/// One or more analysed terms that must occur next to each other, in this order; or a prefix word, such as `robot*`,
/// which means each term that begins so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Phrase(Form);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Form {
    /// At least one.
    Terms(SmallVec<[SmolStr; 1]>),
    Prefix(SmolStr),
}

/// What a phrase looks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'p> {
    /// One term.
    Word(&'p SmolStr),
    /// The beginning of a term.
    Prefix(&'p SmolStr),
    /// Several terms next to each other.
    Sequence(&'p [SmolStr]),
}

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
        (!terms.is_empty()).then_some(Phrase(Form::Terms(terms)))
    }

    /// The prefix word of an analysed beginning.
    pub(super) fn prefix(beginning: &str) -> Phrase {
        Phrase(Form::Prefix(beginning.into()))
    }

    /// The terms, at least one; of a prefix word, its beginning without the star.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        let terms = match &self.0 {
            Form::Terms(terms) => terms.as_slice(),
            Form::Prefix(beginning) => std::slice::from_ref(beginning),
        };
        terms.iter().map(SmolStr::as_str)
    }

    /// What is looked for.
    #[inline(always)]
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        match &self.0 {
            Form::Prefix(beginning) => Wanted::Prefix(beginning),
            Form::Terms(terms) => match terms.as_slice() {
                [word] => Wanted::Word(word),
                terms => Wanted::Sequence(terms),
            },
        }
    }

    /// The phrase of the terms for which `keep` holds; `None` if none is left.
    pub(super) fn retained(&self, keep: impl Fn(&str) -> bool) -> Option<Phrase> {
        let terms = self.terms().filter(|term| keep(term)).map(SmolStr::from);
        let terms: SmallVec<_> = terms.collect();
        (!terms.is_empty()).then_some(Phrase(Form::Terms(terms)))
    }

    /// Whether it is a prefix word.
    pub(crate) fn is_prefix(&self) -> bool {
        matches!(self.0, Form::Prefix(_))
    }

    /// The terms with a separator between them; a prefix word with its star.
    pub(crate) fn joined(&self, separator: &str) -> String {
        match &self.0 {
            Form::Terms(terms) => terms.join(separator),
            Form::Prefix(beginning) => format!("{beginning}*"),
        }
    }

    /// Whether a word of a text is one of the terms, or begins as the prefix word.
    pub(super) fn has_word(&self, word: &str) -> bool {
        match &self.0 {
            Form::Terms(terms) => terms.iter().any(|term| term == word),
            Form::Prefix(beginning) => word.starts_with(beginning.as_str()),
        }
    }

    /// Whether the phrase occurs in a text with these words: a term alone as any form of a word, several as primary
    /// forms next to each other. Cost: the product of the numbers of terms and forms.
    ///
    /// ```
    /// use signaldex::query::Phrase;
    /// use signaldex::text::words;
    ///
    /// let phrase = Phrase::new("series a").expect("it has words");
    /// assert!(phrase.occurs_in(&words("Acme: Series A")));
    /// assert!(!phrase.occurs_in(&words("A series of talks")));
    /// ```
    pub fn occurs_in(&self, words: &[Vec<String>]) -> bool {
        let mut forms = words.iter().flatten();
        match self.wanted() {
            Wanted::Prefix(beginning) => forms.any(|form| form.starts_with(beginning.as_str())),
            Wanted::Word(term) => forms.any(|form| form == term),
            Wanted::Sequence(terms) => words.windows(terms.len()).any(|window| {
                window
                    .iter()
                    .zip(terms)
                    .all(|(word, term)| word.first().is_some_and(|primary| primary == term))
            }),
        }
    }
}
