//! What is said of the items of a filter that a corpus does not have. What it has, a dictionary says, or facts of parts
//! of it.

use crate::query::{
    CompanyReference, Facet, Filter, Hint, HintList, NearestValues, Parameter, Phrase, prefix_of,
};
use crate::signal::SignalId;

/// An item of a filter that a corpus may have.
#[derive(Clone, Copy, Debug)]
pub(super) enum NamedItem<'f> {
    CompanySlug(&'f str),
    Company(&'f CompanyReference),
    /// A value of a facet, by its key.
    Value(Facet, &'f str),
    Signal(SignalId),
    TitleWord(&'f str),
    /// A beginning of a word of a title.
    TitleBeginning(&'f str),
    /// A word of a company's name.
    NameWord(&'f str),
}

/// What a corpus has.
pub(super) trait KnownItems {
    type Error;

    fn knows(&self, item: NamedItem<'_>) -> Result<bool, Self::Error>;

    /// The labels of a facet, sorted, each once; `None` if there are more than [`NearestValues::LABELS_MAX`].
    fn labels(&self, facet: Facet) -> Result<Option<Vec<&str>>, Self::Error>;

    /// The first name that differs from a name in its legal form.
    fn other_form_of(&self, reference: &CompanyReference) -> Result<Option<String>, Self::Error>;
}

/// Adds the hints at the items of a filter that a corpus does not have.
pub(super) fn add_hints<K: KnownItems>(
    filter: &Filter,
    known: &K,
    hints: &mut HintList,
) -> Result<(), K::Error> {
    add_companies(filter, known, hints)?;
    add_values(filter, known, hints)?;
    add_ids(filter, known, hints)?;
    if hints.is_empty {
        add_words(filter, known, hints)?;
    }
    Ok(())
}

/// The items of a list that a corpus may not have: what is found has the only item of a list.
fn unknown_at_most<'f, T>(items: &'f [T], hints: &HintList) -> &'f [T] {
    if hints.is_empty || items.len() > 1 {
        items
    } else {
        &[]
    }
}

fn add_companies<K: KnownItems>(
    filter: &Filter,
    known: &K,
    hints: &mut HintList,
) -> Result<(), K::Error> {
    if hints.is_empty
        && let Some(slug) = &filter.company_slug
        && !known.knows(NamedItem::CompanySlug(slug))?
    {
        hints.add(&Hint::Value(Parameter::CompanySlug, slug.to_string(), None));
    }
    for reference in unknown_at_most(&filter.companies, hints) {
        if !hints.is_full() && !known.knows(NamedItem::Company(reference))? {
            let nearest = known.other_form_of(reference)?;
            let typed = reference.slug.to_string();
            hints.add(&Hint::Value(Parameter::Companies, typed, nearest));
        }
    }
    Ok(())
}

fn add_values<K: KnownItems>(
    filter: &Filter,
    known: &K,
    hints: &mut HintList,
) -> Result<(), K::Error> {
    for facet in filter.filtered_facets() {
        // Read for the first unknown value.
        let mut nearest = None;
        for key in unknown_at_most(filter.value_keys(facet), hints) {
            if hints.is_full() || known.knows(NamedItem::Value(facet, key))? {
                continue;
            }
            if nearest.is_none() {
                nearest = Some(NearestValues::new(known.labels(facet)?));
            }
            let nearest = nearest.as_ref().and_then(|values| values.find(key));
            hints.add(&Hint::Value(facet.parameter(), key.to_string(), nearest));
        }
    }
    Ok(())
}

fn add_ids<K: KnownItems>(
    filter: &Filter,
    known: &K,
    hints: &mut HintList,
) -> Result<(), K::Error> {
    let ids = [
        (Parameter::Ids, &filter.ids),
        (Parameter::ActivityIds, &filter.activity_ids),
    ];
    for (parameter, ids) in ids {
        for &id in unknown_at_most(ids.as_deref().unwrap_or_default(), hints) {
            if !hints.is_full() && !known.knows(NamedItem::Signal(id))? {
                hints.add(&Hint::Value(parameter, id.to_string(), None));
            }
        }
    }
    Ok(())
}

/// Adds the words without which nothing is found.
fn add_words<K: KnownItems>(
    filter: &Filter,
    known: &K,
    hints: &mut HintList,
) -> Result<(), K::Error> {
    for phrase in &filter.all {
        for missing in missing_in_titles(phrase, known)? {
            hints.add(&missing);
        }
    }
    let any = filter.any.iter();
    let any: Vec<Vec<Hint>> = any
        .map(|phrase| missing_in_titles(phrase, known))
        .collect::<Result<_, _>>()?;
    // One phrase whose words are all known may be what is found.
    if any.iter().all(|missing| !missing.is_empty()) {
        any.iter().flatten().for_each(|missing| hints.add(missing));
    }
    for phrase in &filter.company_words {
        for word in phrase.terms() {
            if !known.knows(NamedItem::NameWord(word))? {
                hints.add(&Hint::NameWord(word.to_owned()));
            }
        }
    }
    Ok(())
}

/// The words and beginnings of a phrase that no title has.
fn missing_in_titles<K: KnownItems>(phrase: &Phrase, known: &K) -> Result<Vec<Hint>, K::Error> {
    let mut missing = Vec::new();
    for word in phrase.terms() {
        if phrase.is_prefix() {
            if !known.knows(NamedItem::TitleBeginning(word))? {
                missing.push(Hint::TitlePrefix(word.to_owned()));
            }
        } else if !known.knows(NamedItem::TitleWord(word))? {
            let prefix = match prefix_of(word) {
                Some(prefix) if known.knows(NamedItem::TitleBeginning(word))? => {
                    Some(prefix.joined(" "))
                }
                _ => None,
            };
            missing.push(Hint::TitleWord(word.to_owned(), prefix));
        }
    }
    Ok(missing)
}
