//! Hints from the dictionaries of a snapshot, and the companies that are named.

use std::collections::BTreeSet;

use super::live::SegmentHandle;
use super::snapshot::Snapshot;
use crate::Result;
use crate::plan::{Source, Statistics};
use crate::query::{
    CompanyReference, Facet, Filter, Hint, HintList, NamedCompanies, NearestValues, Parameter,
    Phrase, Query, prefix_of,
};
use crate::segment::TextField;

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
        self.hint_at_companies(query.filter(), &mut hints)?;
        self.hint_at_values(query.filter(), &mut hints)?;
        self.hint_at_ids(query.filter(), &mut hints)?;
        if is_empty {
            self.hint_at_words(query.filter(), &mut hints)?;
        }
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

    /// Adds the companies that do not exist.
    fn hint_at_companies(&self, filter: &Filter, hints: &mut HintList) -> Result<()> {
        if hints.is_empty
            && let Some(slug) = &filter.company_slug
            && !self.knows(|handle| Ok(handle.live().company(slug)?.is_some()))?
        {
            hints.add(&Hint::Value(Parameter::CompanySlug, slug.to_string(), None));
        }
        for reference in &filter.companies {
            let one = std::slice::from_ref(reference);
            if !hints.is_full()
                && !self.knows(|handle| Ok(!handle.live().companies(one)?.is_empty()))?
            {
                let nearest = self.other_form_of(reference)?;
                let typed = reference.slug.to_string();
                hints.add(&Hint::Value(Parameter::Companies, typed, nearest));
            }
        }
        Ok(())
    }

    /// Adds the values of facets that no signal has.
    fn hint_at_values(&self, filter: &Filter, hints: &mut HintList) -> Result<()> {
        let mut nearest = NearestValues::new();
        for facet in filter.filtered_facets() {
            for key in filter.value_keys(facet) {
                let knows = |handle: &SegmentHandle| -> Result<bool> {
                    Ok(handle.live().facet_values(facet, key)?.next().is_some())
                };
                if !hints.is_full() && !self.knows(knows)? {
                    let nearest = nearest.find(key, self.labels(facet).into_iter());
                    hints.add(&Hint::Value(facet.parameter(), key.to_string(), nearest));
                }
            }
        }
        Ok(())
    }

    /// Adds the ids of no signal.
    fn hint_at_ids(&self, filter: &Filter, hints: &mut HintList) -> Result<()> {
        let ids = [
            (Parameter::Ids, &filter.ids),
            (Parameter::ActivityIds, &filter.activity_ids),
        ];
        for (parameter, ids) in ids {
            for &id in ids.iter().flatten() {
                if !hints.is_full() && !self.contains(id)? {
                    hints.add(&Hint::Value(parameter, id.to_string(), None));
                }
            }
        }
        Ok(())
    }

    /// Adds the words that no title or name has and without which nothing is found.
    fn hint_at_words(&self, filter: &Filter, hints: &mut HintList) -> Result<()> {
        for phrase in &filter.all {
            for missing in self.missing_in_titles(phrase)? {
                hints.add(&missing);
            }
        }
        let any = filter.any.iter();
        let any: Vec<Vec<Hint>> = any
            .map(|phrase| self.missing_in_titles(phrase))
            .collect::<Result<_>>()?;
        // One phrase whose words are all known may be what is found.
        if any.iter().all(|missing| !missing.is_empty()) {
            any.iter().flatten().for_each(|missing| hints.add(missing));
        }
        for phrase in &filter.company_words {
            for word in phrase.terms() {
                if !self.has_word(TextField::Name, word)? {
                    hints.add(&Hint::NameWord(word.to_owned()));
                }
            }
        }
        Ok(())
    }

    /// The words and beginnings of a phrase that no title has.
    fn missing_in_titles(&self, phrase: &Phrase) -> Result<Vec<Hint>> {
        let mut missing = Vec::new();
        for word in phrase.terms() {
            if phrase.is_prefix() {
                if !self.has_beginning(word)? {
                    missing.push(Hint::TitlePrefix(word.to_owned()));
                }
            } else if !self.has_word(TextField::Title, word)? {
                let prefix = match prefix_of(word) {
                    Some(prefix) if self.has_beginning(word)? => Some(prefix.joined(" ")),
                    _ => None,
                };
                missing.push(Hint::TitleWord(word.to_owned(), prefix));
            }
        }
        Ok(missing)
    }

    fn has_word(&self, field: TextField, word: &str) -> Result<bool> {
        self.knows(|handle| Ok(handle.live().term(field, word)?.is_some()))
    }

    fn has_beginning(&self, beginning: &str) -> Result<bool> {
        self.knows(|handle| Ok(handle.segment.title_words_beginning(beginning)?.len() > 0))
    }

    /// Whether a segment has what `has` looks for.
    fn knows(&self, has: impl Fn(&SegmentHandle) -> Result<bool>) -> Result<bool> {
        for handle in &self.segments {
            if has(handle)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The labels of a facet.
    fn labels(&self, facet: Facet) -> BTreeSet<&str> {
        let segments = self.segments.iter();
        segments
            .flat_map(|handle| handle.segment.facet_labels(facet))
            .collect()
    }

    /// The name of a company that differs from a name in its legal form.
    fn other_form_of(&self, reference: &CompanyReference) -> Result<Option<String>> {
        let mut names = BTreeSet::new();
        for handle in &self.segments {
            let mut found = Vec::new();
            let key = reference.name.key();
            handle
                .segment
                .company_keys()?
                .by_names([key].into_iter(), &mut found, 0);
            found.retain(|&company| !handle.deleted.contains_company(company));
            for company in found {
                names.insert(handle.segment.company_name(company)?.to_owned());
            }
        }
        Ok(names.pop_first())
    }
}
