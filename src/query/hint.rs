//! Hints: sentences for people about what a query probably means otherwise. All of them are in this file.
//!
//! A hint is made from the query and from dictionaries, never by counting. Some are of use whatever a search finds, such
//! as an item of a list that no signal has; the others where it finds nothing.

use std::fmt;

use super::Query;
use super::keywords;
use super::parameter::{Parameter, ParameterKind};
use super::prefix_word::may_have_star;
use crate::text::{KnownNames, quoted, shortened};

/// The maximum number of hints.
const HINTS_MAX: usize = 8;

/// A hint. `Display` writes the sentence, at most 300 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// AND, OR or NOT, typed as a word.
    Operator(Parameter, Operator),
    /// A star at the edge of a word that stands for nothing.
    Star(Parameter, String),
    /// A plus at the end of a value or quote, which is a space.
    Plus(Parameter),
    /// A value that no signal has, and the nearest known one.
    Value(Parameter, String, Option<String>),
    /// A word that no title has, and its prefix word if words of titles begin so.
    TitleWord(String, Option<String>),
    /// A beginning that no word of a title has.
    TitlePrefix(String),
    /// A word that no company's name has.
    NameWord(String),
}

/// A word that other search engines read as an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    And,
    Or,
    Not,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hint::Operator(parameter, operator) => {
                let name = parameter.name();
                match operator {
                    Operator::And => write!(
                        f,
                        "AND in {name} is a word like any other; leave it out, since q and all require every word"
                    ),
                    Operator::Or => write!(
                        f,
                        "OR in {name} is a word like any other; for one of several words use the parameter any"
                    ),
                    Operator::Not => write!(
                        f,
                        "NOT in {name} is a word like any other; to exclude a word write -word in q, or use the parameter exclude"
                    ),
                }
            }
            Hint::Star(parameter, word) => write!(
                f,
                "the * of {} in {} stands for nothing; only directly after the last letter or digit of a word it stands for any ending, as in robot*",
                quoted(word),
                parameter.name(),
            ),
            Hint::Plus(parameter) => {
                write!(
                    f,
                    "a + at an end in {} is a space; for a plus sign write %2B",
                    parameter.name()
                )
            }
            Hint::Value(parameter, value, nearest) => {
                write!(f, "no signal has {} {}", parameter.name(), quoted(value))?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean {}?", shortened(nearest)),
                    None if !takes_list(*parameter) && value.contains(',') => {
                        write!(f, "; {} takes one value, not a list", parameter.name())
                    }
                    None => Ok(()),
                }
            }
            Hint::TitleWord(word, None) => write!(f, "no title has {}", quoted(word)),
            Hint::TitleWord(word, Some(prefix)) => write!(
                f,
                "no title has {}; {} finds the words that begin so",
                quoted(word),
                shortened(prefix)
            ),
            Hint::TitlePrefix(beginning) => {
                write!(f, "no word of a title begins with {}", quoted(beginning))
            }
            Hint::NameWord(word) => write!(f, "no company's name has {}", quoted(word)),
        }
    }
}

/// What was typed that a hint is about, noted while a query is parsed. It has no part in what the query means, so
/// equality ignores it.
#[derive(Clone, Debug, Default)]
pub(super) struct TypedHints(Vec<Hint>);

impl PartialEq for TypedHints {
    fn eq(&self, _: &TypedHints) -> bool {
        true
    }
}

impl TypedHints {
    /// Notes what is to be said of a parameter's text, which replaces an earlier one.
    pub(super) fn note(&mut self, parameter: Parameter, text: &str) {
        self.0.retain(|hint| hint.parameter() != Some(parameter));
        use Parameter as P;
        if matches!(
            parameter,
            P::Q | P::All | P::Any | P::Exclude | P::Exact | P::Company
        ) {
            self.note_words(parameter, text);
        }
    }

    fn note_words(&mut self, parameter: Parameter, text: &str) {
        let has_operators = !matches!(parameter, Parameter::Exact | Parameter::Company);
        // Operators are in capitals. Most texts have neither operators nor stars and need not be split.
        let may_have_operator = has_operators && text.bytes().any(|byte| byte.is_ascii_uppercase());
        if !may_have_operator && !may_have_star(text) {
            return;
        }
        for word in keywords::typed_words(text) {
            let operator = OPERATORS.iter().find(|(name, _)| *name == word);
            if let Some(&(_, operator)) = operator.filter(|_| has_operators) {
                self.add(Hint::Operator(parameter, operator));
            } else if has_idle_star(word) {
                self.add(Hint::Star(parameter, word.to_owned()));
            }
        }
    }

    /// Notes a plus that was decoded to a space, at the end of a value or before its closing quote.
    pub(super) fn note_plus(&mut self, parameter: Parameter, raw: &str) {
        let is_text = !matches!(
            parameter.description().kind,
            ParameterKind::Choice(_) | ParameterKind::Number(_) | ParameterKind::Cursor(_)
        );
        if is_text && ends_with_plus(raw) {
            self.add(Hint::Plus(parameter));
        }
    }

    fn add(&mut self, hint: Hint) {
        if self.0.len() < HINTS_MAX && !self.0.contains(&hint) {
            self.0.push(hint);
        }
    }
}

const OPERATORS: [(&str, Operator); 3] = [
    ("AND", Operator::And),
    ("OR", Operator::Or),
    ("NOT", Operator::Not),
];

/// Whether a word begins with a star, or ends with one that does not follow a letter or digit.
fn has_idle_star(word: &str) -> bool {
    let is_star = |letter: char| matches!(letter, '*' | '\u{FF0A}');
    let before_star = word.trim_end_matches(is_star).chars().next_back();
    let ends_idly = word.ends_with(is_star) && !before_star.is_some_and(char::is_alphanumeric);
    word.starts_with(is_star) || ends_idly
}

/// Whether a raw value has a single plus at its end, or before a closing quote.
fn ends_with_plus(raw: &str) -> bool {
    // Most stand for the spaces between words.
    let may_end = |rest: &[u8]| matches!(rest, [] | [b'"' | b'%', ..]);
    let mut tails = (1..).zip(raw.bytes());
    if !tails.any(|(after, byte)| byte == b'+' && may_end(&raw.as_bytes()[after..])) {
        return false;
    }
    let is_single = |text: &str| text.ends_with('+') && !text.ends_with("++");
    let raw = raw.replace("%22", "\"");
    let quoted = raw.split('"').skip(1).step_by(2);
    is_single(&raw) || quoted.into_iter().any(is_single)
}

impl Hint {
    /// The parameter whose text the hint is about.
    fn parameter(&self) -> Option<Parameter> {
        match self {
            Hint::Operator(parameter, _) | Hint::Star(parameter, _) | Hint::Plus(parameter) => {
                Some(*parameter)
            }
            Hint::Value(..) | Hint::TitleWord(..) | Hint::TitlePrefix(_) | Hint::NameWord(_) => {
                None
            }
        }
    }

    /// Whether the hint is of use even where something is found.
    fn is_always_of_use(&self) -> bool {
        match self {
            Hint::Operator(..) | Hint::Star(..) => true,
            Hint::Value(parameter, ..) => takes_list(*parameter),
            Hint::Plus(_) | Hint::TitleWord(..) | Hint::TitlePrefix(_) | Hint::NameWord(_) => false,
        }
    }
}

fn takes_list(parameter: Parameter) -> bool {
    matches!(
        parameter.description().kind,
        ParameterKind::List { .. }
            | ParameterKind::AttributeList(_)
            | ParameterKind::IdList(_)
            | ParameterKind::ChoiceList { .. }
    )
}

impl Query {
    /// The hints that need no index, only what was typed. [`Snapshot::hints`](crate::Snapshot::hints) has these and those
    /// from its dictionaries.
    ///
    /// ```
    /// let query = signaldex::Query::from_query_string("q=robots AND drones")?;
    /// let hints = query.typed_hints(false);
    /// assert!(hints[0].starts_with("AND in q is a word like any other"));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn typed_hints(&self, is_empty: bool) -> Vec<String> {
        HintList::of_typed(self, is_empty).sentences
    }
}

/// The sentences for the result of a query.
#[derive(Debug)]
pub(crate) struct HintList {
    /// Whether nothing was found.
    pub(crate) is_empty: bool,
    pub(crate) sentences: Vec<String>,
    /// Whether hints are left out, so that it is never full.
    is_unfilled: bool,
}

impl HintList {
    /// The hints at what was typed.
    pub(crate) fn of_typed(query: &Query, is_empty: bool) -> HintList {
        let mut hints = HintList {
            is_unfilled: false,
            ..HintList::unfilled(is_empty)
        };
        query.typed.0.iter().for_each(|hint| hints.add(hint));
        hints
    }

    /// A list that stays empty, for what is looked up for its hints.
    pub(crate) fn unfilled(is_empty: bool) -> HintList {
        HintList {
            is_empty,
            sentences: Vec::new(),
            is_unfilled: true,
        }
    }

    /// Adds a hint, if it is of use for the result and there is room.
    pub(crate) fn add(&mut self, hint: &Hint) {
        if self.is_unfilled || self.is_full() || !(self.is_empty || hint.is_always_of_use()) {
            return;
        }
        let sentence = hint.to_string();
        if !self.sentences.contains(&sentence) {
            self.sentences.push(sentence);
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.sentences.len() >= HINTS_MAX
    }
}

/// The known values of a facet, to find those that are nearest to unknown ones, with bounded effort.
#[derive(Debug)]
pub(crate) struct NearestValues<'k>(KnownNames<'k>);

impl<'k> NearestValues<'k> {
    /// How many known values an unknown one is compared with at most.
    pub(crate) const LABELS_MAX: usize = 256;

    /// The known values, sorted; `None` if there are too many.
    pub(crate) fn new(known: Option<Vec<&'k str>>) -> NearestValues<'k> {
        NearestValues(KnownNames::of(known.unwrap_or_default()))
    }

    /// The known value that is nearest, if one is near.
    pub(crate) fn find(&self, value: &str) -> Option<String> {
        self.0.nearest(value).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests;
