//! Named optimisations, each of which can be switched off.

/// The set of enabled optimisations. All are enabled by default; answers never depend on them.
///
/// Tests switch them off to check that answers stay the same, and benchmarks compare them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Strategies {
    /// Apply the rarest set first. Off: in the order of the filter's parts.
    pub cost_order: bool,
    /// Use zone maps to skip blocks without matches, include blocks that match entirely, and restrict others to a span.
    /// Off: check every candidate row.
    pub block_zones: bool,
    /// Find few rows of a block in a range of dates through its sorted permutation. Off: compare dates.
    pub block_orders: bool,
    /// Compare the dates or amounts of all candidates of a window together. Off: check every candidate separately.
    pub compared_ranges: bool,
    /// End a page as soon as it is full. Off: find all rows, then cut.
    pub early_stop: bool,
    /// Represent few candidates of a block as a list. Off: always a bitset.
    pub candidate_lists: bool,
    /// Scan a set whose rows all match: one posting, some companies, or all rows. Off: execute the plan.
    pub direct_scans: bool,
    /// Scan a short leading list row by row. Off: form the candidates of each block.
    pub scanned_lists: bool,
    /// Process row windows for a page, the first one sized for its expected matches. Off: whole blocks.
    pub small_windows: bool,
    /// Count a single value, or everything, by its stored cardinality. Off: visit rows.
    pub stored_counts: bool,
    /// Find two frequent neighbouring words by their stored rows. Off: read titles.
    pub stored_pairs: bool,
    /// Merge a union of few rows into one list beforehand. Off: form the union block by block.
    pub merged_unions: bool,
    /// Find the companies that match facets, and check only their rows if there are few. Off: use the rows with each
    /// value.
    pub company_sets: bool,
    /// Count a facet's values in a block of many candidates by intersecting bitsets. Off: by
    /// reading the column.
    pub intersected_facets: bool,
    /// Apply the parts of a filter to few rows of one of several segments as they are looked up. Off: plan, then
    /// execute the plan.
    pub eager_evaluation: bool,
    /// For an order by value, evaluate one range of values after another until the page is full. Off: evaluate all.
    pub value_ranges: bool,
}

impl Strategies {
    /// All enabled.
    pub const ALL: Strategies = Strategies {
        cost_order: true,
        block_zones: true,
        block_orders: true,
        compared_ranges: true,
        early_stop: true,
        candidate_lists: true,
        direct_scans: true,
        scanned_lists: true,
        small_windows: true,
        stored_counts: true,
        stored_pairs: true,
        merged_unions: true,
        company_sets: true,
        intersected_facets: true,
        eager_evaluation: true,
        value_ranges: true,
    };

    /// All disabled.
    pub const NONE: Strategies = Strategies {
        cost_order: false,
        block_zones: false,
        block_orders: false,
        compared_ranges: false,
        early_stop: false,
        candidate_lists: false,
        direct_scans: false,
        scanned_lists: false,
        small_windows: false,
        stored_counts: false,
        stored_pairs: false,
        merged_unions: false,
        company_sets: false,
        intersected_facets: false,
        eager_evaluation: false,
        value_ranges: false,
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
const SWITCHES: [(&str, Switch); 16] = [
    ("cost_order off", |all| &mut all.cost_order),
    ("block_zones off", |all| &mut all.block_zones),
    ("block_orders off", |all| &mut all.block_orders),
    ("compared_ranges off", |all| &mut all.compared_ranges),
    ("early_stop off", |all| &mut all.early_stop),
    ("candidate_lists off", |all| &mut all.candidate_lists),
    ("direct_scans off", |all| &mut all.direct_scans),
    ("scanned_lists off", |all| &mut all.scanned_lists),
    ("small_windows off", |all| &mut all.small_windows),
    ("stored_counts off", |all| &mut all.stored_counts),
    ("stored_pairs off", |all| &mut all.stored_pairs),
    ("merged_unions off", |all| &mut all.merged_unions),
    ("company_sets off", |all| &mut all.company_sets),
    ("intersected_facets off", |all| &mut all.intersected_facets),
    ("eager_evaluation off", |all| &mut all.eager_evaluation),
    ("value_ranges off", |all| &mut all.value_ranges),
];

impl Default for Strategies {
    fn default() -> Strategies {
        Strategies::ALL
    }
}
