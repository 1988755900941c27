//! A reference execution of plans: row by row, every step separately.
//!
//! It is an oracle for tests besides `Filter::matches`: it shares the plan and the stored sets with the real
//! execution, but none of the code that combines them.

use std::collections::BTreeSet;

use super::live::LiveSegment;
use super::operand::rows_of;
use crate::encoding::row::Row;
use crate::plan::{Access, PhraseCheck, Plan, RangeColumn, RangeStep, StoredUnion};
use crate::segment::TextField;

/// The rows that match, ascending.
///
/// # Panics
/// If the segment is damaged.
pub(super) fn matches(live: LiveSegment<'_>, plan: &Plan<'_>) -> Vec<u32> {
    if plan.no_match.is_some() {
        return Vec::new();
    }
    let sets = |steps: &[crate::plan::Step<'_>]| -> Vec<BTreeSet<u32>> {
        let accesses = steps.iter().map(|step| &step.access);
        accesses.map(|access| rows(live, access)).collect()
    };
    let (required, excluded) = (sets(&plan.required), sets(&plan.excluded));
    let is_match = |&row: &u32| {
        required.iter().all(|set| set.contains(&row))
            && !excluded.iter().any(|set| set.contains(&row))
            && !live.deleted.contains(Row(row))
            && plan.ranges.iter().all(|step| is_in(live, step, Row(row)))
            && plan
                .phrases
                .iter()
                .all(|step| occurs(live, &step.check, Row(row)))
    };
    (0..live.segment.row_count()).filter(is_match).collect()
}

/// The rows of a step.
fn rows(live: LiveSegment<'_>, access: &Access) -> BTreeSet<u32> {
    let of_source = |source| {
        let rows = rows_of(live.segment, source).expect("a whole segment");
        rows.rows().map(|row| row.0)
    };
    let of_union = |union: &StoredUnion| {
        let stored = union.sources.iter().flat_map(|source| of_source(*source));
        stored.chain(union.rows.clone()).collect::<BTreeSet<u32>>()
    };
    match access {
        Access::UnionWithRows(union) => of_union(union),
        Access::One(source) => of_source(*source).collect(),
        Access::Union(sources) => sources
            .iter()
            .flat_map(|source| of_source(*source))
            .collect(),
        Access::Rows(rows) | Access::OfCompanies(rows) => rows.iter().copied().collect(),
        Access::AnyPhrase(any) => {
            let checked = any.checked.iter().flat_map(|phrase| {
                let rarest = of_source(phrase.sources[0]);
                rarest.filter(|&row| occurs(live, &phrase.check, Row(row)))
            });
            of_union(&any.stored).into_iter().chain(checked).collect()
        }
    }
}

fn is_in(live: LiveSegment<'_>, step: &RangeStep<'_>, row: Row) -> bool {
    let column = match step.column {
        RangeColumn::Date => live.segment.day_column(),
        RangeColumn::Amount => live.segment.amount_column(),
    };
    let code = column.expect("a whole segment").column.get(row);
    step.codes.iter().any(|codes| codes.contains(&code))
}

fn occurs(live: LiveSegment<'_>, check: &PhraseCheck, row: Row) -> bool {
    let index = match check.field {
        TextField::Title => row.index(),
        TextField::Name => {
            let company = live.segment.company_of(row);
            company.expect("a whole segment").index()
        }
    };
    let streams = live.segment.tokens(check.field).expect("a whole segment");
    check.phrase.occurs(&streams, index)
}
