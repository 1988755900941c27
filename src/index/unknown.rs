//! Values of a filter that no signal has, often because they are misspelt.

use super::live::SegmentHandle;
use super::snapshot::Snapshot;
use crate::plan::Statistics;
use crate::query::{Filter, Parameter, UnknownValue};
use crate::{Error, Result};

impl Snapshot {
    /// The companies and facet values of a filter that no segment contains. A value whose signals have all been
    /// deleted is contained until a merge removes their rows.
    ///
    /// # Errors
    /// A dictionary that the values are looked up in is damaged.
    ///
    /// Cost: one dictionary look-up per value and segment.
    ///
    /// ```
    /// use signaldex::{Filter, IndexBuilder};
    ///
    /// let snapshot = IndexBuilder::in_memory().finish()?.snapshot();
    /// let unknown = snapshot.unknown_values(&Filter::from_query_string("country=Germny")?)?;
    /// assert_eq!(unknown[0].to_string(), "no signal has country \"germny\"");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unknown_values(&self, filter: &Filter) -> Result<Vec<UnknownValue>> {
        let mut unknown = Vec::new();
        type Knows<'k> = &'k dyn Fn(&SegmentHandle) -> Result<bool>;
        let mut note = |parameter, value: &str, knows: Knows<'_>| {
            for handle in &self.segments {
                if knows(handle)? {
                    return Ok(());
                }
            }
            let value = value.to_owned();
            unknown.push(UnknownValue { parameter, value });
            Ok::<(), Error>(())
        };
        if let Some(slug) = &filter.company_slug {
            note(Parameter::CompanySlug, slug, &|handle| {
                Ok(handle.live().company(slug)?.is_some())
            })?;
        }
        for reference in &filter.companies {
            let one = std::slice::from_ref(reference);
            note(Parameter::Companies, &reference.slug, &|handle| {
                Ok(!handle.live().companies(one)?.is_empty())
            })?;
        }
        for facet in filter.filtered_facets() {
            for key in filter.value_keys(facet) {
                note(facet.parameter(), key, &|handle| {
                    Ok(handle.live().facet_values(facet, key)?.next().is_some())
                })?;
            }
        }
        Ok(unknown)
    }
}
