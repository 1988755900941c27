//! White-box tests of `cluster/engine/accepted.rs`.

use datafusion::physical_expr::expressions::lit;
use datafusion::physical_plan::aggregates::PhysicalGroupBy;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::empty::EmptyExec;
use time::macros::date;

use super::*;
use crate::Filter;
use crate::cluster::engine::columns::{FACET, VALUE, schema_of};
use crate::cluster::engine::plans::{group_by, sum};
use crate::cluster::question::{Kind, Question, Wanted};

fn leaf() -> Arc<dyn ExecutionPlan> {
    let question = Question {
        generation: 1,
        wanted: Wanted::Facets {
            filter: Box::new(Filter::parse("q=raises").expect("a filter")),
            today: date!(2026 - 06 - 30),
        },
    };
    Arc::new(Leaf::new(Arc::new(question), vec![Some(0), None]).expect("a leaf"))
}

fn limited(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    Arc::new(LocalLimitExec::new(input, 8))
}

fn sums(mode: AggregateMode, groups: PhysicalGroupBy) -> Arc<dyn ExecutionPlan> {
    let schema = schema_of(Kind::Facets);
    let sum = vec![sum(&schema).expect("a sum")];
    let plan = AggregateExec::try_new(mode, groups, sum, vec![None], leaf(), schema);
    Arc::new(plan.expect("a plan"))
}

fn by_columns() -> PhysicalGroupBy {
    group_by(&[FACET, VALUE], &schema_of(Kind::Facets)).expect("groups")
}

#[test]
fn plans_of_coordinators_are_accepted_and_no_others() {
    let by_a_constant = PhysicalGroupBy::new_single(vec![(lit(1), "one".to_owned())]);
    let empty: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(schema_of(Kind::Rows)));
    for (plan, refusal) in [
        (leaf(), None),
        (limited(leaf()), None),
        (sums(AggregateMode::Partial, by_columns()), None),
        (limited(sums(AggregateMode::Partial, by_columns())), None),
        (
            sums(AggregateMode::Partial, by_a_constant),
            Some("by columns"),
        ),
        (
            sums(AggregateMode::Final, by_columns()),
            Some("partial sums"),
        ),
        (limited(empty), Some("not EmptyExec")),
        (
            Arc::new(CoalescePartitionsExec::new(leaf())),
            Some("not CoalescePartitionsExec"),
        ),
        (
            (0..4).fold(leaf(), |plan, _| limited(plan)),
            Some("at most 4"),
        ),
    ] {
        let error = check_plan(&plan).err().map(|error| error.to_string());
        let is_expected = match (&error, refusal) {
            (Some(error), Some(refusal)) => error.contains(refusal),
            (None, None) => true,
            _ => false,
        };
        assert!(is_expected, "{plan:?}: {error:?}");
    }
}
