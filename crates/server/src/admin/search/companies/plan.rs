//! The plan of a query for companies: each step with what it left.

use crate::admin::figures;
use signaldex::{CompaniesExplanation, CompanyStepExplanation};

/// How companies were found.
pub(in crate::admin) struct CompaniesPlan {
    pub(in crate::admin) matches: String,
    pub(in crate::admin) companies: String,
    pub(in crate::admin) page_length: usize,
    pub(in crate::admin) page_time: String,
    pub(in crate::admin) cost: String,
    pub(in crate::admin) steps: Vec<CompanyPlanStep>,
}

pub(in crate::admin) struct CompanyPlanStep {
    pub(in crate::admin) clause: String,
    pub(in crate::admin) strategy: String,
    /// The bound of the cost of its matches; empty if the step has none.
    pub(in crate::admin) cost: String,
    pub(in crate::admin) left: String,
    pub(in crate::admin) time: String,
    /// What is left in percent of all companies.
    pub(in crate::admin) share: u64,
}

impl CompaniesPlan {
    pub(in crate::admin) fn of(explanation: &CompaniesExplanation) -> CompaniesPlan {
        let steps = explanation.steps.iter();
        CompaniesPlan {
            matches: figures::grouped(explanation.matches),
            companies: figures::grouped(explanation.companies),
            page_length: explanation.page_length,
            page_time: figures::duration(explanation.page_time),
            cost: figures::grouped(explanation.cost),
            steps: steps
                .map(|step| CompanyPlanStep::of(step, explanation.companies))
                .collect(),
        }
    }
}

impl CompanyPlanStep {
    fn of(step: &CompanyStepExplanation, companies: u64) -> CompanyPlanStep {
        CompanyPlanStep {
            clause: step.clause.clone(),
            strategy: step.strategy.clone(),
            cost: step.estimate.map(figures::grouped).unwrap_or_default(),
            left: figures::grouped(step.left),
            time: figures::duration(step.time),
            share: figures::percent(step.left, companies),
        }
    }
}
