//! Hints from the dictionaries of a snapshot, and the companies that are named.

use std::collections::BTreeSet;

use super::hint_rules::{KnownItems, NamedItem, add_hints};
use super::live::SegmentHandle;
use super::snapshot::Snapshot;
use crate::plan::{Source, SourceStatistics, Statistics};
use crate::query::{
    CompanyReference, Facet, Filter, HintList, NamedCompanies, NearestValues, Query,
};
use crate::segment::TextField;
use crate::{Error, Result};

impl Snapshot {
    /// Hints for the result of a query: at most 8 sentences for people about what was probably meant. `is_empty` says that
    /// nothing was found, which gives more of them. They come from what was typed and from dictionaries: a value whose
    /// signals have all been deleted counts as known until a merge removes their rows. Do not parse them: they may
    /// change with any release.
    ///
    /// # Errors
    /// A dictionary that the values are looked up in is damaged.
    ///
    /// Cost: a look-up for each item of a list in each segment. If nothing was found, also for each other value and word,
    /// and a comparison of unknown values with the known ones. Nothing is counted.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let query = Query::from_query_string("country=Germny")?;
    /// let hints = sample::index()?.snapshot().hints(&query, true)?;
    /// assert_eq!(hints, ["no signal has country \"germny\"; did you mean Germany?"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hints(&self, query: &Query, is_empty: bool) -> Result<Vec<String>> {
        let mut hints = HintList::of_typed(query, is_empty);
        add_hints(query.filter(), &KnownBySnapshot(self), &mut hints)?;
        Ok(hints.sentences)
    }

    /// The companies that each item of `companies` is, by its slug or its name.
    ///
    /// # Errors
    /// The keys or names of companies are damaged.
    ///
    /// Cost: a look-up for each item and segment; copies slugs and names.
    ///
    /// ```
    /// use signaldex::{Filter, sample};
    ///
    /// let filter = Filter::from_query_string("companies=cpp-foundry,pomelora")?;
    /// let named = sample::index()?.snapshot().named_companies(&filter)?;
    /// assert_eq!(named[1].to_string(), "\"pomelora\" is Pomelora AG (pomelora)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn named_companies(&self, filter: &Filter) -> Result<Vec<NamedCompanies>> {
        let named = filter.companies.iter();
        named.map(|reference| self.named_by(reference)).collect()
    }

    fn named_by(&self, reference: &CompanyReference) -> Result<NamedCompanies> {
        let mut named = NamedCompanies::new(&reference.slug);
        for handle in &self.segments {
            for found in handle.live().companies(std::slice::from_ref(reference))? {
                if let Source::Company(company) = found.source {
                    let slug = handle.segment.company_keys()?.slug(company);
                    named.add(slug, handle.segment.company_name(company)?);
                }
            }
        }
        Ok(named)
    }
}

/// Whether one of some stored sets has a row that is shown.
fn any_shown(
    handle: &SegmentHandle,
    mut sources: impl Iterator<Item = SourceStatistics>,
) -> Result<bool> {
    // Ends at the first set with such a row.
    sources
        .find_map(|found| {
            handle
                .shows(found.source)
                .map(|shown| shown.then_some(()))
                .transpose()
        })
        .transpose()
        .map(|shown| shown.is_some())
}

/// Whether a word occurs in a text of a row that is shown.
fn any_term(handle: &SegmentHandle, field: TextField, word: &str) -> Result<bool> {
    let term = handle.live().term(field, word)?;
    any_shown(handle, term.map(|term| term.source).into_iter())
}

/// Whether some word of a title that is shown begins so.
fn any_beginning(handle: &SegmentHandle, beginning: &str) -> Result<bool> {
    for posting in handle.segment.title_words_beginning(beginning)? {
        if handle.shows(Source::Posting(posting))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the dictionaries of a snapshot have.
pub(super) struct KnownBySnapshot<'s>(pub(super) &'s Snapshot);

impl KnownBySnapshot<'_> {
    /// Whether a segment has what `has` looks for.
    fn any(&self, has: impl Fn(&SegmentHandle) -> Result<bool>) -> Result<bool> {
        for handle in &self.0.segments {
            if has(handle)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl KnownItems for KnownBySnapshot<'_> {
    type Error = Error;

    fn knows(&self, item: NamedItem<'_>) -> Result<bool> {
        use NamedItem as N;
        match item {
            N::CompanySlug(slug) => self.any(|handle| Ok(handle.live().company(slug)?.is_some())),
            N::Company(reference) => {
                let one = std::slice::from_ref(reference);
                self.any(|handle| Ok(!handle.live().companies(one)?.is_empty()))
            }
            N::Value(facet, key) => {
                self.any(|handle| any_shown(handle, handle.live().facet_values(facet, key)?))
            }
            N::Signal(id) => self.0.contains(id),
            N::TitleWord(word) => self.any(|handle| any_term(handle, TextField::Title, word)),
            N::TitleBeginning(word) => self.any(|handle| any_beginning(handle, word)),
            N::NameWord(word) => self.any(|handle| any_term(handle, TextField::Name, word)),
        }
    }

    fn labels(&self, facet: Facet) -> Result<Option<Vec<&str>>> {
        let mut labels: Vec<&str> = Vec::new();
        for handle in &self.0.segments {
            let view = handle.segment.facet(facet);
            let before = labels.len();
            for (value, label) in handle.segment.facet_labels(facet).enumerate() {
                if handle.shows(Source::Posting(view.posting(value)))? {
                    labels.push(label);
                }
                if labels.len() - before > NearestValues::LABELS_MAX {
                    return Ok(None);
                }
            }
        }
        labels.sort_unstable();
        labels.dedup();
        Ok((labels.len() <= NearestValues::LABELS_MAX).then_some(labels))
    }

    fn other_form_of(&self, reference: &CompanyReference) -> Result<Option<String>> {
        let mut names = BTreeSet::new();
        for handle in &self.0.segments {
            let mut found = Vec::new();
            let key = [reference.name.key()].into_iter();
            let keys = handle.segment.company_keys()?;
            keys.by_names(key, &mut found, 0);
            for company in handle.live().live_companies(found)? {
                names.insert(handle.segment.company_name(company)?);
            }
        }
        Ok(names.pop_first().map(str::to_owned))
    }
}
