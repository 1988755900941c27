//! The field of a rotation that says for how long the former secret is good, too.

use time::Duration;

use super::form::{FormData, SelectOption};

/// The name of the field.
pub(super) const FIELD: &str = "overlap";
/// The overlaps to choose from, in hours, and their names.
const OVERLAPS: [(i64, &str); 4] = [
    (0, "none: the present secret stops working at once"),
    (1, "1 hour"),
    (24, "24 hours"),
    (7 * 24, "7 days"),
];

/// The field, as it was submitted or with its default.
pub(super) struct OverlapField {
    pub(super) choices: Vec<SelectOption>,
    /// Empty if there is none.
    pub(super) error: String,
}

impl OverlapField {
    /// The field with a number of hours chosen.
    pub(super) fn of(chosen: i64) -> OverlapField {
        let choice = |(hours, name): (i64, &str)| SelectOption {
            value: hours.to_string(),
            label: name.to_owned(),
            is_chosen: hours == chosen,
        };
        OverlapField {
            choices: OVERLAPS.map(choice).into(),
            error: String::new(),
        }
    }

    /// The same with what is wrong with it.
    pub(super) fn refused(self, error: String) -> OverlapField {
        OverlapField { error, ..self }
    }
}

/// The overlap of a submitted form.
///
/// # Errors
/// It is none of those to choose from, or missing; the text names the field, the fault and what is allowed.
pub(super) fn read(form: &FormData) -> Result<Duration, String> {
    let typed = form.value(FIELD);
    let mut known = OVERLAPS.into_iter().map(|(hours, _)| hours);
    let hours = known.find(|hours| typed == hours.to_string());
    hours.map(Duration::hours).ok_or_else(|| {
        let allowed = OVERLAPS.map(|(hours, _)| hours.to_string()).join(", ");
        let typed: String = typed.chars().take(64).collect();
        format!(
            "{FIELD} is {typed:?}, which is no choice of hours: {allowed}. The secret was not replaced; choose one."
        )
    })
}

#[cfg(test)]
mod tests;
