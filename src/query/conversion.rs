//! Sets parts of the builder from the text of parameters.

use super::derived::Derived;
use super::keywords::{self, Keywords};
use super::parameter::Parameter;
use super::prefix_word::{WithoutPrefixes, refuse_stars};
use super::values::{self, Origin, ValueError, searchable, sorted};
use super::{Facet, Filter, Phrase, Query, QueryBuilder, Start, conflicts};

impl QueryBuilder {
    /// Sets a parameter from the decoded text of a query string.
    pub(super) fn set(&mut self, parameter: Parameter, text: &str) {
        self.set_from(parameter, text, self.origin);
    }

    /// Sets a parameter from text of the given origin.
    pub(super) fn set_from(&mut self, parameter: Parameter, text: &str, origin: Origin) {
        self.typed.note(parameter, text);
        let outcome = values::check_length(parameter, text, origin)
            .and_then(|()| self.convert(parameter, text, origin));
        if let Err(error) = outcome {
            self.value_error(parameter, error);
        }
    }

    /// Removes the filter of a text parameter, or the cursor.
    pub(super) fn clear(&mut self, parameter: Parameter) {
        self.typed.note(parameter, "");
        match parameter {
            Parameter::Q => self.keywords = Keywords::default(),
            Parameter::All => self.all.clear(),
            Parameter::Exact => self.exact.clear(),
            Parameter::Any => self.filter.any.clear(),
            Parameter::Exclude => self.exclude.clear(),
            Parameter::Company => self.filter.company_words.clear(),
            Parameter::CompanySlug => self.filter.company_slug = None,
            Parameter::Cursor => self.cursor = None,
            _ => unreachable!("{} has a setter of its own type", parameter.name()),
        }
    }

    /// Sets a parameter. Parameters without a case of their own are facets.
    fn convert(
        &mut self,
        parameter: Parameter,
        text: &str,
        origin: Origin,
    ) -> Result<(), ValueError> {
        if let Some(facet) = Facet::of_parameter(parameter) {
            let keys = values::facet_keys(facet, text, origin)?;
            self.filter.facets.set(facet, keys);
            return Ok(());
        }
        match parameter {
            Parameter::Q => {
                let keywords = keywords::keywords(text)?;
                if keywords.all.is_empty() && keywords.none.is_empty() {
                    return Err(values::unsearchable(text));
                }
                self.keywords = keywords;
            }
            Parameter::All => self.all = searchable(keywords::phrases(text)?, text)?,
            Parameter::Exact => {
                refuse_stars(text, WithoutPrefixes::Exact)?;
                self.exact = searchable(Phrase::new(text).into_iter().collect(), text)?;
            }
            Parameter::Exclude => self.exclude = searchable(keywords::phrases(text)?, text)?,
            Parameter::Limit => {
                self.limit = Some(values::number(parameter, text, origin)? as usize);
            }
            Parameter::Order => self.order = values::order(text)?,
            Parameter::Cursor => self.cursor = Some(values::cursor(text)?),
            Parameter::Page => self.page = Some(values::number(parameter, text, origin)? as u16),
            Parameter::CountOnly => self.count_only = values::flag(text)?,
            _ => convert_filter(&mut self.filter, parameter, text, origin)?,
        }
        Ok(())
    }

    /// Adds errors for conflicting parameters. A cursor is compared with the filters only if these have no
    /// errors.
    pub(super) fn find_conflicts(&mut self, derived: &Derived) {
        let is_paged = (self.cursor.is_some(), self.page.is_some());
        let mut found = conflicts::of_filter(&self.filter);
        found.extend(conflicts::of_page(is_paged, self.count_only));
        found.extend(conflicts::of_order(self.order, &self.filter));
        if let Some(cursor) = self.cursor.as_ref().filter(|_| self.errors.is_empty()) {
            let has_order = cursor.order() == self.order;
            let fingerprint = derived.filter_fingerprint(&self.filter).within(self.key);
            found.extend(conflicts::of_cursor(
                has_order,
                cursor.filter(),
                fingerprint,
            ));
        }
        found.into_iter().for_each(|error| self.add_error(error));
    }
}

/// Sets a part of the filter.
fn convert_filter(
    filter: &mut Filter,
    parameter: Parameter,
    text: &str,
    origin: Origin,
) -> Result<(), ValueError> {
    let items = || values::items(parameter, text, origin);
    match parameter {
        Parameter::Any => filter.any = sorted(searchable(keywords::phrases(text)?, text)?),
        Parameter::Company => {
            refuse_stars(text, WithoutPrefixes::Company)?;
            let words = match origin {
                Origin::Typed | Origin::Host => keywords::words(text),
                Origin::Written => keywords::written_words(text),
            };
            filter.company_words = sorted(keywords::without_and(searchable(words, text)?));
        }
        Parameter::CompanySlug => filter.company_slug = Some(text.into()),
        Parameter::Companies => filter.companies = values::companies(items()?),
        Parameter::Days => filter.days = Some(values::days(text)?),
        Parameter::DateRanges => filter.date_ranges = values::date_ranges(items()?)?,
        Parameter::DateFrom => filter.date_from = Some(values::date(text)?),
        Parameter::DateTo => filter.date_to = Some(values::date(text)?),
        Parameter::FundingMin => filter.funding_min = Some(values::amount(text)?),
        Parameter::FundingMax => filter.funding_max = Some(values::amount(text)?),
        Parameter::Ids => filter.ids = Some(values::ids(items()?)?),
        Parameter::ActivityIds => filter.activity_ids = Some(values::ids(items()?)?),
        _ => unreachable!("{} is no plain filter", parameter.name()),
    }
    Ok(())
}

impl From<Query> for QueryBuilder {
    fn from(query: Query) -> QueryBuilder {
        let mut filter = query.filter;
        QueryBuilder {
            all: std::mem::take(&mut filter.all),
            exclude: std::mem::take(&mut filter.none),
            filter,
            order: query.order,
            limit: Some(query.limit),
            page: match query.start {
                Start::Page(number) => Some(number),
                Start::First | Start::After(_) => None,
            },
            cursor: match query.start {
                Start::After(cursor) => Some(cursor),
                Start::First | Start::Page(_) => None,
            },
            count_only: query.count_only,
            key: query.key,
            typed: query.typed,
            ..QueryBuilder::default()
        }
    }
}
