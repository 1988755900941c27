//! The optimisations by name, each of which can be switched off.

/// Which optimisations are on. All are by default; answers never depend on them.
///
/// They exist to be switched off in tests (the same queries have to give the same answers) and
/// to be compared in benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Strategies {
    /// Apply the rarest set first. Off: in the order of the filter's parts.
    pub cost_order: bool,
    /// Skip blocks whose minimum and maximum dates or amounts cannot match, take blocks whole that
    /// cannot fail, and look only where zone maps of a block may have matches. Off: look at every
    /// candidate row.
    pub block_zones: bool,
    /// Find the rows of a block in a range of dates through its sorted permutation, where they are few.
    /// Off: by comparing dates.
    pub block_orders: bool,
    /// Compare the dates or amounts of all candidates at once. Off: look at every candidate by
    /// itself.
    pub compared_ranges: bool,
    /// End a page as soon as it is full. Off: find all rows, then cut.
    pub early_stop: bool,
    /// Carry few candidates of a block as a list. Off: always as a bitset.
    pub candidate_lists: bool,
    /// Scan the rows of a set that all match: one posting, some companies, or all rows. Off: bind and
    /// execute the plan.
    pub direct_scans: bool,
    /// Scan a short leading list row by row. Off: form the candidates of each block.
    pub scanned_lists: bool,
    /// Look at windows of a block for a page, the first as large as its matches should need. Off: always
    /// at whole blocks.
    pub small_windows: bool,
    /// Count a single value, or everything, by its stored cardinality. Off: by visiting.
    pub stored_counts: bool,
    /// Find two frequent words next to each other by their stored rows. Off: by reading titles.
    pub stored_pairs: bool,
    /// Merge a union of few rows into one list beforehand. Off: unite block by block.
    pub merged_unions: bool,
    /// Find the companies that facets leave, and look only at their rows, where they are few. Off:
    /// look at the rows with each value.
    pub company_sets: bool,
    /// Count a facet's values in a block of many candidates by intersecting bitsets. Off: by
    /// reading the column.
    pub intersected_facets: bool,
}

impl Strategies {
    /// All on.
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
    };

    /// All off: the plain way.
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
    };

    /// The same without sets of companies, whose rows a plan lists.
    pub(crate) fn without_company_sets(&self) -> Strategies {
        Strategies {
            company_sets: false,
            ..*self
        }
    }

    /// All on, all off, and each one off by itself, with a name: what tests go through.
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

/// One optimisation among all.
type Switch = fn(&mut Strategies) -> &mut bool;

/// Each optimisation, by what a test without it is called.
const SWITCHES: [(&str, Switch); 14] = [
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
];

impl Default for Strategies {
    fn default() -> Strategies {
        Strategies::ALL
    }
}
