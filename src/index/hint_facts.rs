//! Facts for hints over a corpus in several parts: what each part has of the items that a query names.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;

use super::hint_rules::{KnownItems, NamedItem, add_hints};
use super::hints::KnownBySnapshot;
use super::snapshot::Snapshot;
use crate::Result;
use crate::query::{CompanyReference, Facet, Filter, HintList, NearestValues, Query};

/// What one part of a corpus, or several, have of the items that a filter names.
///
/// Merged from all parts, they give the hints that one index of the whole corpus gives.
///
/// ```
/// use signaldex::{HintFacts, Query, sample};
///
/// let query = Query::from_query_string("country=Germny")?;
/// let snapshot = sample::index()?.snapshot();
/// let mut facts = HintFacts::default();
/// facts.merge(snapshot.hint_facts(query.filter(), true)?);
/// assert_eq!(facts.hints(&query, true), snapshot.hints(&query, true)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HintFacts(BTreeSet<String>);

impl HintFacts {
    /// Adds what other parts of the corpus have.
    ///
    /// ```
    /// # use signaldex::HintFacts;
    /// let mut facts = HintFacts::default();
    /// facts.merge(HintFacts::from_iter(["title-word robots".to_owned()]));
    /// assert_eq!(facts.iter().count(), 1);
    /// ```
    pub fn merge(&mut self, other: HintFacts) {
        self.0.extend(other.0);
    }

    /// The hints for the result of a query, from the facts of all parts of a corpus. Equal to [`Snapshot::hints`] of one
    /// index of the whole.
    ///
    /// Cost: a look-up for each item of the query, and a comparison of unknown values with the labels among the facts.
    ///
    /// ```
    /// # use signaldex::{HintFacts, Query};
    /// let query = Query::from_query_string("q=robots gnuu")?;
    /// let facts = HintFacts::from_iter(["title-word robots".to_owned()]);
    /// assert_eq!(facts.hints(&query, true), ["no title has \"gnuu\""]);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn hints(&self, query: &Query, is_empty: bool) -> Vec<String> {
        let mut hints = HintList::of_typed(query, is_empty);
        let Ok(()) = add_hints(query.filter(), self, &mut hints);
        hints.sentences
    }

    /// Whether the hints for a filter depend on what the corpus has.
    ///
    /// ```
    /// # use signaldex::{Filter, HintFacts};
    /// let filter = Filter::from_query_string("q=robots&country=Germany")?;
    /// assert!(!HintFacts::are_needed(&filter, false));
    /// assert!(HintFacts::are_needed(&filter, true));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn are_needed(filter: &Filter, is_empty: bool) -> bool {
        let asked = AskedItems::default();
        let Ok(()) = add_hints(filter, &asked, &mut HintList::unfilled(is_empty));
        asked.0.into_inner()
    }

    /// The facts as lines of text, in an order of their own. They are for other processes of the same release: their form
    /// may change.
    ///
    /// ```
    /// # use signaldex::HintFacts;
    /// let facts = HintFacts::from_iter(["title-word robots".to_owned()]);
    /// assert!(facts.iter().eq(["title-word robots"]));
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    fn has(&self, fact: &HintFact<'_>) -> bool {
        self.0.contains(&fact.to_string())
    }

    /// The texts of the facts that begin so, sorted.
    fn after(&self, beginning: &str) -> impl Iterator<Item = &str> {
        let facts = self.0.range(beginning.to_owned()..);
        facts.map_while(move |fact| fact.strip_prefix(beginning))
    }
}

impl FromIterator<String> for HintFacts {
    /// Facts from their lines.
    fn from_iter<I: IntoIterator<Item = String>>(facts: I) -> HintFacts {
        HintFacts(facts.into_iter().collect())
    }
}

/// A fact; `Display` writes its line.
enum HintFact<'f> {
    Known(NamedItem<'f>),
    /// A label of a facet.
    Label(Facet, &'f str),
    /// A facet has too many labels to compare.
    ManyLabels(Facet),
    /// A company's name, by its loose key.
    Name(&'f str, &'f str),
}

impl fmt::Display for HintFact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |facet: &Facet| facet.parameter().name();
        match self {
            HintFact::Known(NamedItem::CompanySlug(slug)) => write!(f, "company-slug {slug}"),
            HintFact::Known(NamedItem::Company(reference)) => {
                write!(f, "company {}", reference.slug)
            }
            HintFact::Known(NamedItem::Value(facet, key)) => {
                write!(f, "value {} {key}", name(facet))
            }
            HintFact::Known(NamedItem::Signal(id)) => write!(f, "signal {id}"),
            HintFact::Known(NamedItem::TitleWord(word)) => write!(f, "title-word {word}"),
            HintFact::Known(NamedItem::TitleBeginning(word)) => write!(f, "title-beginning {word}"),
            HintFact::Known(NamedItem::NameWord(word)) => write!(f, "name-word {word}"),
            HintFact::Label(facet, label) => write!(f, "label {} {label}", name(facet)),
            HintFact::ManyLabels(facet) => write!(f, "labels {}", name(facet)),
            HintFact::Name(key, of_company) => write!(f, "name {key} {of_company}"),
        }
    }
}

impl KnownItems for HintFacts {
    type Error = Infallible;

    fn knows(&self, item: NamedItem<'_>) -> Result<bool, Infallible> {
        Ok(self.has(&HintFact::Known(item)))
    }

    fn labels(&self, facet: Facet) -> Result<Option<Vec<&str>>, Infallible> {
        let labels: Vec<&str> = self
            .after(&HintFact::Label(facet, "").to_string())
            .collect();
        let is_many =
            labels.len() > NearestValues::LABELS_MAX || self.has(&HintFact::ManyLabels(facet));
        Ok((!is_many).then_some(labels))
    }

    fn other_form_of(&self, reference: &CompanyReference) -> Result<Option<String>, Infallible> {
        let beginning = HintFact::Name(reference.name.key(), "").to_string();
        Ok(self.after(&beginning).next().map(str::to_owned))
    }
}

impl Snapshot {
    /// What this part of a corpus has of the items that a filter names, for [`HintFacts::hints`].
    ///
    /// # Errors
    /// A dictionary that the items are looked up in is damaged.
    ///
    /// Cost: a look-up for each item in each segment; copies the labels of the facets that have unknown values.
    ///
    /// ```
    /// use signaldex::{Filter, sample};
    ///
    /// let filter = Filter::from_query_string("q=robotics gnuu")?;
    /// let facts = sample::index()?.snapshot().hint_facts(&filter, true)?;
    /// assert!(facts.iter().eq(["title-word robotics"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hint_facts(&self, filter: &Filter, is_empty: bool) -> Result<HintFacts> {
        let noted = NotedFacts {
            known: KnownBySnapshot(self),
            facts: RefCell::default(),
        };
        // What is unknown here may be known elsewhere, so every item is looked up.
        add_hints(filter, &noted, &mut HintList::unfilled(is_empty))?;
        Ok(HintFacts(noted.facts.into_inner()))
    }
}

/// Notes what a snapshot has of the items that it is asked for.
struct NotedFacts<'s> {
    known: KnownBySnapshot<'s>,
    facts: RefCell<BTreeSet<String>>,
}

impl NotedFacts<'_> {
    fn note(&self, fact: &HintFact<'_>) {
        self.facts.borrow_mut().insert(fact.to_string());
    }
}

impl KnownItems for NotedFacts<'_> {
    type Error = crate::Error;

    fn knows(&self, item: NamedItem<'_>) -> Result<bool> {
        let is_known = self.known.knows(item)?;
        if is_known {
            self.note(&HintFact::Known(item));
        }
        Ok(is_known)
    }

    fn labels(&self, facet: Facet) -> Result<Option<Vec<&str>>> {
        match self.known.labels(facet)? {
            None => self.note(&HintFact::ManyLabels(facet)),
            Some(labels) => labels
                .iter()
                .for_each(|label| self.note(&HintFact::Label(facet, label))),
        }
        // They are compared when those of all parts are known.
        Ok(None)
    }

    fn other_form_of(&self, reference: &CompanyReference) -> Result<Option<String>> {
        let name = self.known.other_form_of(reference)?;
        if let Some(name) = &name {
            self.note(&HintFact::Name(reference.name.key(), name));
        }
        Ok(name)
    }
}

/// Notes that anything is asked for, and says that it is known.
#[derive(Default)]
struct AskedItems(Cell<bool>);

impl KnownItems for AskedItems {
    type Error = Infallible;

    fn knows(&self, _: NamedItem<'_>) -> Result<bool, Infallible> {
        self.0.replace(true);
        Ok(true)
    }

    fn labels(&self, _: Facet) -> Result<Option<Vec<&str>>, Infallible> {
        Ok(None)
    }

    fn other_form_of(&self, _: &CompanyReference) -> Result<Option<String>, Infallible> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
