//! The choices of the form, each with the number of signals it would match.

use crate::admin::figures;
use crate::admin::form::FormData;
use signaldex::query::{Facet, Order, ParameterKind, list};
use signaldex::{Facets, Filter};

/// Facets with their labels, below the heading of their part of the form.
pub(super) type LabelledFacets = [(Facet, &'static str)];

pub(super) const COMPANY: &LabelledFacets = &[
    (Facet::Country, "Country"),
    (Facet::Industry, "Industry"),
    (Facet::Size, "Employees"),
];

const FUNDING: &LabelledFacets = &[
    (Facet::FundingStage, "Stage"),
    (Facet::FundingCurrency, "Currency"),
];

pub(super) const HIRING: &LabelledFacets = &[
    (Facet::HiringType, "Hiring type"),
    (Facet::JobFunction, "Job function"),
    (Facet::Seniority, "Seniority"),
    (Facet::EmploymentType, "Employment"),
    (Facet::WorkArrangement, "Work arrangement"),
];

/// A value of a group.
pub(super) struct FilterChoice {
    /// The value that the form sends.
    pub(super) value: String,
    pub(super) label: String,
    /// The number of signals it would match; `None` if it is not counted.
    pub(super) count: Option<String>,
    pub(super) is_chosen: bool,
}

/// A group of values, exclusive or not.
pub(super) struct FilterGroup {
    /// The parameter of the values.
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) choices: Vec<FilterChoice>,
}

/// All groups of the form.
pub(super) struct Choices {
    pub(super) categories: FilterGroup,
    /// Country, industry and size of the company.
    pub(super) company: Vec<FilterGroup>,
    pub(super) days: FilterGroup,
    pub(super) date_ranges: FilterGroup,
    pub(super) hiring: Vec<FilterGroup>,
    /// Stage and currency of the funding.
    pub(super) funding: Vec<FilterGroup>,
}

impl Choices {
    /// The groups under a filter, each counted without its own part of the filter.
    pub(super) fn of(facets: &Facets, filter: &Filter, form: &FormData) -> Choices {
        let group =
            |&(facet, label): &(Facet, &'static str)| group(facet, label, facets, filter, form);
        let groups = |labelled: &LabelledFacets| labelled.iter().map(group).collect();
        let days = [("7", "7 days"), ("30", "30 days"), ("90", "90 days")];
        let ranges = [&days[..], &[("older", "90 days ago and before")]].concat();
        Choices {
            categories: group(&(Facet::Category, "Category")),
            company: groups(COMPANY),
            days: FilterGroup {
                name: "days",
                label: "Within the last",
                choices: fixed(form, "days", &days),
            },
            date_ranges: FilterGroup {
                name: "dateRanges",
                label: "Any of these windows",
                choices: fixed(form, "dateRanges", &ranges),
            },
            hiring: groups(HIRING),
            funding: groups(FUNDING),
        }
    }
}

/// What an order puts first.
pub(super) fn order_label(order: Order) -> &'static str {
    match order {
        Order::NewestFirst => "newest id first",
        Order::OldestFirst => "oldest id first",
        Order::LatestDate => "latest date first",
        Order::EarliestDate => "earliest date first",
        Order::LargestAmount => "largest amount first",
        Order::SmallestAmount => "smallest amount first",
    }
}

/// Fixed values without counts.
pub(super) fn fixed(
    form: &FormData,
    name: &'static str,
    values: &[(&'static str, &'static str)],
) -> Vec<FilterChoice> {
    let typed: Vec<&str> = form
        .values(name)
        .flat_map(|value| value.split(','))
        .collect();
    let mut choices: Vec<FilterChoice> = values
        .iter()
        .map(|&(value, label)| FilterChoice {
            value: value.to_owned(),
            label: label.to_owned(),
            count: None,
            is_chosen: typed.contains(&value),
        })
        .collect();
    // A value from a link may be none of these; it stays until another is chosen.
    for other in typed
        .iter()
        .filter(|typed| values.iter().all(|(value, _)| value != *typed))
    {
        choices.push(FilterChoice {
            value: (*other).to_owned(),
            label: (*other).to_owned(),
            count: None,
            is_chosen: true,
        });
    }
    choices
}

/// The values of a facet under a filter, each with its count.
pub(super) fn group(
    facet: Facet,
    label: &'static str,
    facets: &Facets,
    filter: &Filter,
    form: &FormData,
) -> FilterGroup {
    let parameter = facet.parameter();
    let kind = parameter.description().kind;
    let chosen: Vec<&str> = filter.chosen(facet).collect();
    let mut choices: Vec<FilterChoice> = facets
        .values(facet)
        .iter()
        .filter(|value| is_allowed(kind, value.label()))
        .map(|value| FilterChoice {
            value: sent(kind, value.label()),
            label: value.label().to_owned(),
            count: Some(figures::grouped(value.count())),
            is_chosen: chosen.iter().any(|key| *key == facet.key(value.label())),
        })
        .collect();
    // Chosen values without signals stay visible, so that they can be deselected.
    for key in chosen {
        if choices.iter().all(|choice| facet.key(&choice.label) != key) {
            let typed = form
                .values(parameter.name())
                .find(|typed| facet.key(typed) == key);
            let label = typed.unwrap_or(key);
            choices.push(FilterChoice {
                value: sent(kind, label),
                label: label.to_owned(),
                count: Some("0".to_owned()),
                is_chosen: true,
            });
        }
    }
    if let ParameterKind::Choice(order) = kind {
        choices.sort_by_key(|choice| order.iter().position(|known| *known == choice.value));
    }
    FilterGroup {
        name: parameter.name(),
        label,
        choices,
    }
}

/// Whether a parameter accepts a value. Signals may have currencies that cannot be filtered on.
fn is_allowed(kind: ParameterKind, label: &str) -> bool {
    match kind {
        ParameterKind::Choice(choices) => choices.contains(&label),
        _ => true,
    }
}

/// The value that the form sends: values with commas are quoted if the parameter is a list.
fn sent(kind: ParameterKind, label: &str) -> String {
    match kind {
        ParameterKind::List { .. } | ParameterKind::AttributeList(_) => list::join([label]),
        _ => label.to_owned(),
    }
}

#[cfg(test)]
mod tests;
