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

    /// All on, all off, and each one off by itself, with a name: what tests go through.
    pub fn each_off() -> impl Iterator<Item = (&'static str, Strategies)> {
        let all = Strategies::ALL;
        [
            ("all on", all),
            ("all off", Strategies::NONE),
            (
                "cost_order off",
                Strategies {
                    cost_order: false,
                    ..all
                },
            ),
            (
                "block_zones off",
                Strategies {
                    block_zones: false,
                    ..all
                },
            ),
            (
                "block_orders off",
                Strategies {
                    block_orders: false,
                    ..all
                },
            ),
            (
                "compared_ranges off",
                Strategies {
                    compared_ranges: false,
                    ..all
                },
            ),
            (
                "early_stop off",
                Strategies {
                    early_stop: false,
                    ..all
                },
            ),
            (
                "candidate_lists off",
                Strategies {
                    candidate_lists: false,
                    ..all
                },
            ),
            (
                "direct_scans off",
                Strategies {
                    direct_scans: false,
                    ..all
                },
            ),
            (
                "scanned_lists off",
                Strategies {
                    scanned_lists: false,
                    ..all
                },
            ),
            (
                "small_windows off",
                Strategies {
                    small_windows: false,
                    ..all
                },
            ),
            (
                "stored_counts off",
                Strategies {
                    stored_counts: false,
                    ..all
                },
            ),
            (
                "stored_pairs off",
                Strategies {
                    stored_pairs: false,
                    ..all
                },
            ),
            (
                "merged_unions off",
                Strategies {
                    merged_unions: false,
                    ..all
                },
            ),
            (
                "company_sets off",
                Strategies {
                    company_sets: false,
                    ..all
                },
            ),
            (
                "intersected_facets off",
                Strategies {
                    intersected_facets: false,
                    ..all
                },
            ),
        ]
        .into_iter()
    }
}

impl Default for Strategies {
    fn default() -> Strategies {
        Strategies::ALL
    }
}
