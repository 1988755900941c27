//! The optimisations that change an algorithm, each of which can be switched off.

/// The enabled ones of the optimisations that change an algorithm. All are by default; answers never depend on them.
///
/// Tests switch them off to check that answers stay the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Strategies {
    /// Use zone maps to skip blocks without matches, include blocks that match entirely, and restrict others to a span.
    /// Off: check every candidate row.
    pub block_zones: bool,
    /// End a page as soon as it is full. Off: find all rows, then cut.
    pub early_stop: bool,
    /// Find two frequent neighbouring words by their stored rows. Off: read titles.
    pub stored_pairs: bool,
    /// Find the companies that match facets, and check only their rows if there are few. Off: use the rows with each
    /// value.
    pub company_sets: bool,
    /// Apply the parts of a filter to few rows of one of several segments as they are looked up. Off: plan, then
    /// execute the plan.
    pub eager_evaluation: bool,
    /// Find a page by value block by block, the one with the first values first, and only the rows of these. Off:
    /// evaluate one range of values after another in all blocks.
    pub ordered_blocks: bool,
    /// Read the rows with an amount in the order of the amounts and look them up in the sets, where few have to be read.
    /// Off: form the sets.
    pub ordered_rows: bool,
    /// Count facets of a frequent set by what is stored of it, less the rows that the rest of a filter leaves out. Off:
    /// visit the matches.
    pub stored_facets: bool,
}

impl Strategies {
    /// All enabled.
    pub const ALL: Strategies = Strategies {
        block_zones: true,
        early_stop: true,
        stored_pairs: true,
        company_sets: true,
        eager_evaluation: true,
        ordered_blocks: true,
        ordered_rows: true,
        stored_facets: true,
    };

    /// All disabled.
    pub const NONE: Strategies = Strategies {
        block_zones: false,
        early_stop: false,
        stored_pairs: false,
        company_sets: false,
        eager_evaluation: false,
        ordered_blocks: false,
        ordered_rows: false,
        stored_facets: false,
    };

    /// The same without listing the rows of companies while planning.
    pub(crate) fn without_company_sets(&self) -> Strategies {
        Strategies {
            company_sets: false,
            ..*self
        }
    }

    /// All enabled, all disabled, and each one disabled separately, with names, for tests.
    pub fn each_off() -> impl Iterator<Item = (&'static str, Strategies)> {
        let one_off = SWITCHES.iter().map(|(name, switch)| {
            let mut strategies = Strategies::ALL;
            *switch(&mut strategies) = false;
            (*name, strategies)
        });
        [("all on", Strategies::ALL), ("all off", Strategies::NONE)]
            .into_iter()
            .chain(one_off)
    }
}

/// A flag of one optimisation.
type Switch = fn(&mut Strategies) -> &mut bool;

/// All optimisations with the names of tests that disable them.
const SWITCHES: [(&str, Switch); 8] = [
    ("block_zones off", |all| &mut all.block_zones),
    ("early_stop off", |all| &mut all.early_stop),
    ("stored_pairs off", |all| &mut all.stored_pairs),
    ("company_sets off", |all| &mut all.company_sets),
    ("eager_evaluation off", |all| &mut all.eager_evaluation),
    ("ordered_blocks off", |all| &mut all.ordered_blocks),
    ("ordered_rows off", |all| &mut all.ordered_rows),
    ("stored_facets off", |all| &mut all.stored_facets),
];

impl Default for Strategies {
    fn default() -> Strategies {
        Strategies::ALL
    }
}
