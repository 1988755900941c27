//! Error messages of the search form.

use super::choices::HIRING;
use signaldex::query::{ErrorCode, Parameter, ParameterError, ParameterKind};
use signaldex::text::nearest_name;

/// An error message next to a field.
pub(super) struct WordedFault {
    pub(super) parameter: String,
    /// The label of the field; `None` if the parameter has no field.
    pub(super) label: Option<&'static str>,
    pub(super) text: String,
}

impl WordedFault {
    pub(super) fn of(error: &ParameterError) -> WordedFault {
        let parameter = Parameter::of_name(&error.parameter);
        WordedFault {
            label: parameter.and_then(label),
            text: text(error, parameter),
            parameter: error.parameter.clone(),
        }
    }
}

fn text(error: &ParameterError, parameter: Option<Parameter>) -> String {
    let kind = parameter.map(|parameter| parameter.description().kind);
    match error.code {
        ErrorCode::UnknownParameter => unknown(&error.parameter),
        ErrorCode::RepeatedParameter => "This filter is given twice; give it once.".to_owned(),
        ErrorCode::EmptyValue => "An item is empty; separate items by single commas.".to_owned(),
        ErrorCode::InvalidValue => kind.map_or_else(|| error.message.clone(), allowed),
        ErrorCode::TooLong => too_long(kind),
        ErrorCode::TooManyItems => too_many(kind),
        ErrorCode::UnsearchableText => unsearchable(error),
        ErrorCode::ConflictingParameters => match parameter {
            Some(Parameter::FundingMin) => "The lowest amount is above the highest.".to_owned(),
            Some(Parameter::DateFrom) => "The first day is after the last.".to_owned(),
            Some(Parameter::Order) => {
                "Choose a funding currency too: amounts are compared within one.".to_owned()
            }
            _ => "The address names two starts of a page; search again.".to_owned(),
        },
        ErrorCode::InvalidCursor | ErrorCode::CursorMismatch => {
            "This page belongs to another search; search again.".to_owned()
        }
        ErrorCode::InvalidPosition => "This is not a position in the index.".to_owned(),
        // A malformed query string.
        _ => "The address is damaged: a value is not percent-encoded UTF-8.".to_owned(),
    }
}

/// A text without words, or a star that makes no prefix word, whose message names the word and what to write instead.
fn unsearchable(error: &ParameterError) -> String {
    let of_star = format!("{} has the word ", error.parameter);
    match error.message.strip_prefix(&of_star) {
        Some(advice) => format!("The word {advice}."),
        None => "Enter at least one letter or digit.".to_owned(),
    }
}

fn unknown(name: &str) -> String {
    let names = signaldex::query::PARAMETERS.iter().map(|known| known.name);
    match nearest_name(name, names) {
        Some(nearest) => format!("There is no filter “{name}”. Did you mean {nearest}?"),
        None => format!("There is no filter “{name}”."),
    }
}

/// The allowed values of a field.
fn allowed(kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Date => "Enter a day of the calendar as YYYY-MM-DD.".to_owned(),
        ParameterKind::Amount => "Enter a number of at least 0, such as 1500000.".to_owned(),
        ParameterKind::IdList(_) => {
            "Enter ids, whole numbers of 1 to 19 digits, separated by commas.".to_owned()
        }
        ParameterKind::Choice(choices) => format!("Choose one of {}.", choices.join(", ")),
        ParameterKind::ChoiceList { choices, .. } => {
            format!("Choose among {}.", choices.join(", "))
        }
        ParameterKind::Number(max) => format!("Enter a whole number from 1 to {max}."),
        ParameterKind::List { .. } | ParameterKind::AttributeList(_) => {
            "Close each quotation mark, and put a comma after it.".to_owned()
        }
        ParameterKind::Flag => "Choose true or false.".to_owned(),
        ParameterKind::Text(_) | ParameterKind::Cursor(_) => "Enter another text.".to_owned(),
    }
}

fn too_long(kind: Option<ParameterKind>) -> String {
    match kind {
        Some(
            ParameterKind::Text(max)
            | ParameterKind::AttributeList(max)
            | ParameterKind::Cursor(max),
        ) => format!("Use at most {max} characters."),
        Some(ParameterKind::List { chars, .. }) => {
            format!("Use at most {chars} characters for each item.")
        }
        _ => "Use a shorter text.".to_owned(),
    }
}

fn too_many(kind: Option<ParameterKind>) -> String {
    match kind {
        Some(
            ParameterKind::List { items, .. }
            | ParameterKind::IdList(items)
            | ParameterKind::ChoiceList { items, .. },
        ) => format!("Enter at most {items} items."),
        _ => "Enter fewer items.".to_owned(),
    }
}

/// The label of the field of a parameter, if it has one.
pub(super) fn label(parameter: Parameter) -> Option<&'static str> {
    Some(match parameter.name() {
        "q" => "Words in the title",
        "all" => "Title: all of these",
        "any" => "Title: any of these",
        "exact" => "Title: exact phrase",
        "exclude" => "Title: none of these",
        "company" => "Company: words in the name",
        "companySlug" => "Company: slug",
        "companies" => "Company: any of these",
        "country" => "Country",
        "industry" => "Industry",
        "size" => "Employees",
        "days" => "Within the last",
        "dateRanges" => "Any of these windows",
        "dateFrom" => "Date from",
        "dateTo" => "Date to",
        "categories" => "Category",
        "fundingStage" => "Funding stage",
        "fundingCurrency" => "Funding currency",
        "fundingMin" => "Funding at least",
        "fundingMax" => "Funding at most",
        "ids" => "Ids",
        "activityIds" => "Activity ids",
        "limit" => "Signals per page",
        "order" => "Order",
        _ => return hiring_label(parameter),
    })
}

/// The label of a hiring attribute is that of its group of values.
fn hiring_label(parameter: Parameter) -> Option<&'static str> {
    let mut attributes = HIRING.iter();
    let attribute = attributes.find(|(facet, _)| facet.parameter() == parameter);
    attribute.map(|&(_, label)| label)
}
