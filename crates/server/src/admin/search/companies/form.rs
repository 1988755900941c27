//! The form of companies: what was sent, and the fields of each condition.

use time::Date;

use super::super::chips::{self, Chip};
use super::super::choices::{COMPANY, Choices};
use super::super::fields::FilterFields;
use super::super::query_text::QueryText;
use super::conditions::{self, BOUNDS, ConditionText, KINDS, TypedCondition};
use super::{DEFAULT_LIMIT, PATH, words};
use crate::admin::failed::Failed;
use crate::admin::form::FormData;
use signaldex::query::limits::CONDITIONS_MAX;
use signaldex::query::{CompanyFilter, CompanyQuery, ParameterError};
use signaldex::{Facet, Filter, Snapshot};

/// What was sent: a query string, and the conditions in it or in the fields of the form.
pub(super) struct SentQuery {
    pub(super) text: QueryText,
    /// The conditions of each kind, as far as their texts can be read.
    texts: [Vec<ConditionText>; KINDS.len()],
    /// What was typed, if it cannot be written as a query string.
    unwritten: Vec<TypedCondition>,
}

/// The conditions of one kind, and the fields for one more.
pub(super) struct ConditionGroup {
    /// `has` or `hasNot`.
    pub(super) kind: &'static str,
    pub(super) title: &'static str,
    /// What companies must do with the conditions.
    pub(super) hint: &'static str,
    pub(super) conditions: Vec<ConditionFields>,
    /// The last are empty, unless there are four.
    pub(super) next: Option<ConditionFields>,
}

/// The fields of one condition.
pub(super) struct ConditionFields {
    pub(super) number: usize,
    pub(super) summary: String,
    pub(super) fields: FilterFields,
}

impl SentQuery {
    /// What the fields of conditions say goes before what the address has.
    pub(super) fn of(form: &FormData) -> SentQuery {
        let typed = conditions::typed(form);
        let others = form.fields().iter().cloned();
        let others = others.filter(|(name, _)| !conditions::is_of_condition(name));
        let mut text = QueryText::of(&FormData::of(others));
        if !text.has("limit") {
            text = text.with("limit", DEFAULT_LIMIT);
        }
        let written: Result<Vec<_>, _> = typed
            .iter()
            .map(|condition| condition.text().map(|text| (condition.kind, text)))
            .collect();
        let unwritten = match &written {
            Ok(_) => Vec::new(),
            Err(_) => typed,
        };
        for kind in KINDS {
            let texts = written.iter().flatten().filter(|(known, _)| *known == kind);
            let texts: Vec<&str> = texts.map(|(_, text)| text.as_str()).collect();
            if !texts.is_empty() {
                text = text.without("page").without("cursor");
                text = text.with(kind, &texts.join(","));
            }
        }
        let texts = KINDS.map(|kind| {
            let value = text.value(kind);
            value.and_then(conditions::split).unwrap_or_default()
        });
        SentQuery {
            text,
            texts,
            unwritten,
        }
    }

    /// Whether the query string has all that was typed.
    pub(super) fn is_written(&self) -> bool {
        self.unwritten.is_empty()
    }

    /// The conditions of `has`.
    pub(super) fn has(&self) -> &[ConditionText] {
        &self.texts[0]
    }

    /// The fields of all conditions.
    pub(super) fn groups(
        &self,
        snapshot: &Snapshot,
        today: Date,
    ) -> Result<Vec<ConditionGroup>, Failed> {
        let texts = [
            (
                "Has signals",
                "A company must fulfil each of these conditions.",
            ),
            (
                "Has no such signals",
                "A company that fulfils one of these conditions is left out.",
            ),
        ];
        let mut groups = Vec::new();
        for (index, (title, hint)) in texts.into_iter().enumerate() {
            let mut group = ConditionGroup {
                kind: KINDS[index],
                title,
                hint,
                conditions: Vec::new(),
                next: None,
            };
            for typed in self.typed(index) {
                let number = group.conditions.len() + 1;
                let fields = ConditionFields::of(snapshot, &typed, number, today)?;
                group.conditions.push(fields);
            }
            let number = group.conditions.len() + 1;
            if number <= CONDITIONS_MAX {
                let empty = TypedCondition {
                    kind: group.kind,
                    form: FormData::default(),
                };
                group.next = Some(ConditionFields::of(snapshot, &empty, number, today)?);
            }
            groups.push(group);
        }
        Ok(groups)
    }

    /// What the fields of the conditions of a kind have.
    fn typed(&self, index: usize) -> Vec<TypedCondition> {
        let kind = KINDS[index];
        if !self.is_written() {
            let typed = self.unwritten.iter().filter(|typed| typed.kind == kind);
            return typed.cloned().collect();
        }
        let form = |condition: &ConditionText| {
            let pairs = condition.pairs.iter().cloned();
            // A condition without filters would be none at all in a form.
            let any = condition
                .pairs
                .is_empty()
                .then(|| ("min".to_owned(), "1".to_owned()));
            FormData::of(pairs.chain(any))
        };
        let texts = self.texts[index].iter();
        texts
            .map(|condition| TypedCondition {
                kind,
                form: form(condition),
            })
            .collect()
    }

    /// The active filters and conditions, each with the URL that removes it.
    pub(super) fn chips(&self) -> Vec<Chip> {
        let others = |name: &str| !KINDS.contains(&name) && name != "facets";
        let filters = chips::chips(&self.text.only(others));
        let mut chips: Vec<Chip> = filters
            .into_iter()
            .map(|chip| Chip {
                without: self
                    .text
                    .without(&chip.name)
                    .without("cursor")
                    .link_to(PATH),
                ..chip
            })
            .collect();
        for (kind, texts) in KINDS.into_iter().zip(&self.texts) {
            for (index, condition) in texts.iter().enumerate() {
                chips.push(Chip {
                    name: format!("{kind} {}", index + 1),
                    value: condition.summary(),
                    without: self.without(kind, texts, index).link_to(PATH),
                });
            }
        }
        chips
    }

    /// The query string without one of its conditions.
    fn without(&self, kind: &str, texts: &[ConditionText], removed: usize) -> QueryText {
        let left = texts
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != removed);
        let left: Vec<&str> = left.map(|(_, condition)| condition.text.as_str()).collect();
        let text = self.text.without("cursor").without(kind);
        if left.is_empty() {
            text
        } else {
            text.with(kind, &left.join(","))
        }
    }
}

impl ConditionFields {
    /// The fields as they were typed, with what is wrong with them and counts of signals under the condition alone.
    fn of(
        snapshot: &Snapshot,
        typed: &TypedCondition,
        number: usize,
        today: Date,
    ) -> Result<ConditionFields, Failed> {
        let text = QueryText::of(&typed.form);
        let filters = text.only(|name| !BOUNDS.contains(&name));
        let filter = Filter::from_query_string(&filters.to_string());
        let invalid = filter
            .as_ref()
            .err()
            .map_or(&[][..], |error| error.errors());
        let errors = words::of_condition(typed, invalid);
        let filter = filter.unwrap_or_default();
        let facets = snapshot.facets(&filter, today)?;
        let condition = ConditionText {
            text: String::new(),
            pairs: text.into_pairs(),
        };
        Ok(ConditionFields {
            number,
            summary: condition.summary(),
            fields: FilterFields {
                prefix: conditions::prefix(typed.kind, number),
                choices: Choices::of(&facets, &filter, &typed.form),
                form: typed.form.clone(),
                errors,
            },
        })
    }
}

/// The fields of the filters of companies, with counts of companies.
pub(super) fn company_fields(
    snapshot: &Snapshot,
    query: Option<&CompanyQuery>,
    text: &QueryText,
    invalid: &[ParameterError],
    today: Date,
) -> Result<FilterFields, Failed> {
    let all = CompanyFilter::default();
    let filter = query.map_or(&all, CompanyQuery::filter);
    let facets = COMPANY.iter().map(|(facet, _)| *facet);
    let facets: Vec<Facet> = facets.collect();
    let counts = snapshot.company_facets(filter, today, &facets)?;
    let is_facet = |name: &str| facets.iter().any(|facet| facet.parameter().name() == name);
    let chosen = text.only(is_facet).to_string();
    let chosen = Filter::from_query_string(&chosen).unwrap_or_default();
    let form = FormData::of(text.pairs().iter().cloned());
    let is_own = |error: &&ParameterError| !KINDS.contains(&error.parameter.as_str());
    Ok(FilterFields {
        prefix: String::new(),
        choices: Choices::of(&counts, &chosen, &form),
        form,
        errors: invalid
            .iter()
            .filter(is_own)
            .map(words::of_company)
            .collect(),
    })
}
