//! Conflicts between parameters that are valid on their own.

use super::error::{ErrorCode, ParameterError};
use super::{Facet, Filter, Fingerprint, Order, Parameter};

/// Ranges whose lower bound is above the upper one.
pub(super) fn of_filter(filter: &Filter) -> Vec<ParameterError> {
    let mut found = Vec::new();
    if let (Some(from), Some(to)) = (filter.date_from, filter.date_to)
        && from > to
    {
        let message =
            format!("dateFrom {from} is after dateTo {to}; it must be the same day or before");
        found.push(conflict(Parameter::DateFrom, message));
    }
    if let (Some(min), Some(max)) = (filter.funding_min, filter.funding_max)
        && min > max
    {
        let message =
            format!("fundingMin {min} is over fundingMax {max}; it must be the same or less");
        found.push(conflict(Parameter::FundingMin, message));
    }
    found
}

/// Both a cursor and a page number, or either of them with `countOnly`.
pub(super) fn of_page(
    (has_cursor, has_page): (bool, bool),
    count_only: bool,
) -> Vec<ParameterError> {
    let mut found = Vec::new();
    if has_cursor && has_page {
        let message = "page cannot be given with cursor; give one of them".to_owned();
        found.push(conflict(Parameter::Page, message));
    }
    for (parameter, is_given) in [(Parameter::Cursor, has_cursor), (Parameter::Page, has_page)] {
        if count_only && is_given {
            let name = parameter.name();
            let message =
                format!("{name} cannot be given with countOnly=true; leave one of them out");
            found.push(conflict(parameter, message));
        }
    }
    found
}

/// An order by amounts of different currencies, which do not compare.
pub(super) fn of_order(order: Order, filter: &Filter) -> Option<ParameterError> {
    let has_currency = !filter.value_keys(Facet::FundingCurrency).is_empty();
    (order.needs_currency() && !has_currency).then(|| {
        let message = format!(
            "order {order} needs fundingCurrency, because amounts of different currencies do not \
             compare; give fundingCurrency, or another order"
        );
        conflict(Parameter::Order, message)
    })
}

/// A cursor of other filters or another order, or of a key with another filter.
pub(super) fn of_cursor(
    has_order: bool,
    cursor: Fingerprint,
    filter: Fingerprint,
) -> Option<ParameterError> {
    let message = match (has_order, cursor.is_of_filter_of(filter)) {
        (true, true) if cursor == filter => return None,
        (true, true) => {
            "cursor belongs to a key with another filter; start again without the cursor"
        }
        _ => {
            "cursor belongs to other filters or another order; give it with exactly the filters and the order of the \
             answer that it came with"
        }
    };
    Some(ParameterError {
        parameter: Parameter::Cursor.name().into(),
        code: ErrorCode::CursorMismatch,
        message: message.into(),
    })
}

fn conflict(parameter: Parameter, message: String) -> ParameterError {
    ParameterError {
        parameter: parameter.name().into(),
        code: ErrorCode::ConflictingParameters,
        message,
    }
}
