//! Aggregates of a snapshot: matches are counted by group, groups are ranked, and those that are shown are measured.

use time::Date;

use super::cell_sums::CellSums;
use super::group_table::{
    ByCombination, CountedGroup, GroupTable, NO_CELL, SegmentColumnsBy, cells_of,
};
use super::group_values::GroupValues;
use super::measuring::{CellAmounts, SegmentCells, count_companies, counted};
use super::snapshot::Snapshot;
use super::top_companies::is_of_top_companies;
use crate::Result;
use crate::aggregate::{
    AggregateGroup, AggregateTotals, Aggregates, AmountFigures, Figures, KeyValue,
    PartialAggregates, PartialGroup, check_groups, measured_amounts, needs_sum, sum_of_bits,
};
use crate::exec::{GroupColumnValues, MatchedRows, Observer, SharedExecutor, Unobserved};
use crate::plan::{Cost, cost};
use crate::query::{AggregateOrder, AggregateQuery, GroupBy, Measure};

impl Snapshot {
    /// Figures over all matches of a query, exact whatever is shown of them: [`AggregateQuery::of`] defines them.
    ///
    /// ```
    /// use signaldex::query::ParameterSet;
    /// use signaldex::{AggregateQuery, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let text = "categories=funding&by=quarter&measures=sum,median&fundingCurrency=USD";
    /// let query = AggregateQuery::from_query_string(text, ParameterSet::FILTERS)?;
    /// let aggregates = snapshot.aggregate(&query, sample::AS_OF)?;
    /// for group in &aggregates.groups {
    ///     println!("{:?} {:?}", group.key, group.figures.amounts);
    /// }
    /// assert_eq!(aggregates.totals.figures.count, snapshot.count(query.filter(), sample::AS_OF)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There are too many groups of two ([`TooManyGroups`](crate::ErrorKind::TooManyGroups)), or a part of a file that
    /// the query needs is damaged.
    ///
    /// Cost: that of [`count`](Self::count) and a few nanoseconds per match and column; without a filter, counts by one
    /// unit of time or one list are stored.
    pub fn aggregate(&self, query: &AggregateQuery, today: Date) -> Result<Aggregates> {
        if is_of_top_companies(query) {
            return self.top_companies(query, today);
        }
        let run = AggregateRun::<Unobserved>::new(self, query, today)?;
        run.answer()
    }

    /// What the snapshot contributes to the answer over several, such as the shards of a corpus.
    ///
    /// ```
    /// use signaldex::query::ParameterSet;
    /// use signaldex::{AggregateQuery, sample};
    ///
    /// let query = AggregateQuery::from_query_string("by=sizes", ParameterSet::FILTERS)?;
    /// let partial = sample::index()?.snapshot().partial_aggregates(&query, sample::AS_OF)?;
    /// assert!(partial.finish(&query)?.totals.groups >= 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`aggregate`](Self::aggregate).
    ///
    /// Cost: as [`aggregate`](Self::aggregate), with the amounts of every group sorted.
    pub fn partial_aggregates(
        &self,
        query: &AggregateQuery,
        today: Date,
    ) -> Result<PartialAggregates> {
        let run = AggregateRun::<Unobserved>::new(self, query, today)?;
        run.partial()
    }

    /// An upper bound of the work of [`aggregate`](Self::aggregate), in the unit of [`cost`](Self::cost), found without
    /// visiting a match.
    ///
    /// ```
    /// use signaldex::query::ParameterSet;
    /// use signaldex::{AggregateQuery, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let cost = |text| {
    ///     let query = AggregateQuery::from_query_string(text, ParameterSet::FILTERS)?;
    ///     Ok::<_, Box<dyn std::error::Error>>(snapshot.aggregate_cost(&query, sample::AS_OF, 0)?)
    /// };
    /// assert!(cost("q=raises&by=month")? <= cost("q=raises&by=month,countries&measures=median")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`cost`](Self::cost).
    pub fn aggregate_cost(&self, query: &AggregateQuery, today: Date, cheap: Cost) -> Result<Cost> {
        let rows: u64 = self
            .segments
            .iter()
            .map(|live| u64::from(live.segment.row_count()))
            .sum();
        let bound = cost::tally_bound(rows, passes(query));
        if self.has_stored_groups(query) {
            return Ok(0);
        }
        let filter = self.cost(query.filter(), today, cheap.saturating_sub(bound))?;
        if filter + bound <= cheap {
            return Ok(filter + bound);
        }
        // Of the matches alone, of which there may be few.
        self.cost_with_tallies(query.filter(), today, passes(query))
    }

    /// Whether counts of all groups are stored.
    fn has_stored_groups(&self, query: &AggregateQuery) -> bool {
        let is_stored = matches!(query.by(), [GroupBy::Time(_) | GroupBy::Facet(_)]);
        let mut segments = self.segments.iter();
        is_stored
            && segments.all(|handle| handle.live().has_few_deleted())
            && query.filter().is_empty()
            && query.measures() == [Measure::Count]
            && !needs_sum(query)
    }
}

/// The passes over columns of matches that a query takes at most, each as long as counting a facet.
fn passes(query: &AggregateQuery) -> usize {
    /// Collecting and sorting the amounts of cells, of which all matches may have one.
    const OF_AMOUNTS: usize = 12;
    /// Each quantile selects among the amounts, again for the totals.
    const OF_QUANTILE: usize = 16;
    /// Sets of companies may have to be sorted.
    const OF_COMPANIES: usize = 24;
    let of_measure = |measure: &Measure| match measure {
        Measure::Count => 2,
        Measure::Companies => OF_COMPANIES,
        Measure::Sum | Measure::Min | Measure::Max => OF_AMOUNTS / 3,
        Measure::Median | Measure::P25 | Measure::P75 => OF_QUANTILE,
    };
    let measures: usize = query.measures().iter().map(of_measure).sum();
    let has_amounts = query.has_amounts() || needs_sum(query);
    measures + 4 * query.by().len() + if has_amounts { OF_AMOUNTS } else { 0 }
}

/// A query with the counts of its groups.
pub(super) struct AggregateRun<'s, O: Observer> {
    snapshot: &'s Snapshot,
    query: &'s AggregateQuery,
    pub(super) table: GroupTable<'s>,
    /// By segment; none if the counts are stored.
    segments: Vec<CountedSegment<'s>>,
    /// How the matches of each segment were found.
    pub(super) explained: Vec<O::Explained>,
}

/// The matches of a segment and the group of each combination of codes.
struct CountedSegment<'s> {
    columns: SegmentColumnsBy<'s>,
    groups: ByCombination<u32>,
    matched: MatchedRows,
    executor: Option<&'s SharedExecutor>,
}

/// The amounts of cells: added up where that is enough, or all of them.
enum MeasuredAmounts {
    Summed(CellSums),
    Listed(CellAmounts),
}

impl MeasuredAmounts {
    fn of_cell(&mut self, query: &AggregateQuery, cell: usize) -> Vec<AmountFigures> {
        match self {
            MeasuredAmounts::Summed(sums) => sums.of_cell(query, cell),
            MeasuredAmounts::Listed(amounts) => amounts.of_cell(cell, |currency, bits| {
                measured_amounts(query, currency, bits)
            }),
        }
    }

    fn of_all(&self, query: &AggregateQuery) -> Vec<AmountFigures> {
        match self {
            MeasuredAmounts::Summed(sums) => sums.of_all(query),
            MeasuredAmounts::Listed(amounts) => {
                amounts.of_all(|currency, bits| measured_amounts(query, currency, bits))
            }
        }
    }

    /// The sum of a cell of a query whose amounts are of one currency.
    fn sum_of_cell(&mut self, cell: usize) -> Option<f64> {
        match self {
            MeasuredAmounts::Summed(sums) => sums.sum_of_cell(cell),
            MeasuredAmounts::Listed(amounts) => {
                amounts.of_cell(cell, |_, bits| sum_of_bits(bits)).pop()
            }
        }
    }
}

/// The groups that are shown, in order, and whether there are more.
struct Ranking {
    shown: Vec<u32>,
    truncated: bool,
}

impl<'s, O: Observer> AggregateRun<'s, O> {
    /// Finds the matches of a query and counts their groups.
    ///
    /// # Errors
    /// There are too many groups of two, or a part of a file is damaged.
    pub(super) fn new(
        snapshot: &'s Snapshot,
        query: &'s AggregateQuery,
        today: Date,
    ) -> Result<AggregateRun<'s, O>> {
        let has_companies = query.has(Measure::Companies) || query.names_companies();
        let companies = if has_companies {
            Some(snapshot.company_ranks()?)
        } else {
            None
        };
        let values = [0, 1].map(|_| GroupValues::new(&snapshot.segments, companies));
        let mut run = AggregateRun {
            snapshot,
            query,
            table: GroupTable::new(values),
            segments: Vec::new(),
            explained: Vec::new(),
        };
        for handle in &snapshot.segments {
            handle.segment.check_facet_values()?;
        }
        if snapshot.has_stored_groups(query) {
            run.add_stored()?;
        } else {
            run.count(today)?;
        }
        check_groups(query, run.table.groups.len())?;
        Ok(run)
    }

    fn add_stored(&mut self) -> Result<()> {
        let by = self.query.by()[0];
        for (index, handle) in self.snapshot.segments.iter().enumerate() {
            if let Some(counts) = handle.live().stored_groups(by)? {
                let values = GroupColumnValues::of(&handle.segment, by)?;
                self.table.add_stored(index, &values, &counts);
            }
        }
        Ok(())
    }

    fn count(&mut self, today: Date) -> Result<()> {
        let request = self.snapshot.request(self.query.filter(), today);
        for (index, handle) in self.snapshot.segments.iter().enumerate() {
            let (matched, explained) = handle.live().matched_rows::<O>(&request)?;
            let columns = SegmentColumnsBy::of(&handle.segment, self.query)?;
            let executor = request.executor_for::<O>(&handle.segment);
            let counts = columns.count(&matched, executor)?;
            let groups = self.table.add(index, &columns, &counts, self.query)?;
            self.explained.push(explained);
            self.segments.push(CountedSegment {
                columns,
                groups,
                matched,
                executor,
            });
        }
        Ok(())
    }

    /// Whether the counts of groups are stored.
    pub(super) fn is_stored(&self) -> bool {
        self.snapshot.has_stored_groups(self.query)
    }

    /// The matches of each segment with the cells of their groups.
    fn cells(&self, cells: &[u32]) -> Vec<SegmentCells<'_, 's>> {
        let segments = self.segments.iter();
        let of_segment = segments.map(|counted| SegmentCells {
            cells: cells_of(&counted.groups, cells),
            columns: &counted.columns,
            matched: &counted.matched,
            executor: counted.executor,
        });
        of_segment.collect()
    }

    fn amounts(&self, cells: &[u32], len: usize) -> Result<CellAmounts> {
        CellAmounts::collect(&self.snapshot.segments, &self.cells(cells), len)
    }

    /// The amounts of cells, added up where that is all a query needs.
    fn measured(&self, cells: &[u32], len: usize) -> Result<MeasuredAmounts> {
        let (segments, matches) = (&self.snapshot.segments, self.cells(cells));
        let sums = CellSums::collect(self.query, segments, &matches, len)?;
        Ok(match sums {
            Some(sums) => MeasuredAmounts::Summed(sums),
            None => MeasuredAmounts::Listed(CellAmounts::collect(segments, &matches, len)?),
        })
    }

    /// The number of companies of each cell but the last, and that of all matches.
    fn companies(&self, cells: &[u32], len: usize) -> Result<(Vec<u64>, u64)> {
        if !self.query.has(Measure::Companies) {
            return Ok((vec![0; len - 1], 0));
        }
        if self.query.names_companies() {
            return Ok((vec![1; len - 1], self.table.groups.len() as u64));
        }
        let ranks = self.snapshot.company_ranks()?;
        let matches = self.cells(cells);
        count_companies(ranks, &self.snapshot.segments, &matches, len)
    }

    /// A cell for each group, in their order.
    fn all_cells(&self) -> Vec<u32> {
        (0..self.table.groups.len() as u32).collect()
    }

    fn key(&self, group: u32) -> Result<Vec<Option<KeyValue>>> {
        let values = self.table.groups[group as usize].values;
        let columns = self
            .table
            .values
            .iter()
            .zip(values)
            .take(self.query.by().len());
        columns
            .map(|(column, value)| column.key_value(value))
            .collect()
    }

    /// The answer.
    ///
    /// # Errors
    /// A part of a file is damaged.
    pub(super) fn answer(&self) -> Result<Aggregates> {
        let groups = self.table.groups.len();
        let is_grouped = !self.query.by().is_empty();
        // An order by sums needs the amounts of all groups before it ranks them.
        let mut all = None;
        let mut sums = Vec::new();
        if needs_sum(self.query) && is_grouped {
            let mut amounts = self.measured(&self.all_cells(), groups + 1)?;
            sums = (0..groups)
                .map(|group| amounts.sum_of_cell(group))
                .collect();
            all = Some(amounts);
        }
        let ranking = if is_grouped {
            self.ranking(&sums)
        } else {
            Ranking {
                shown: Vec::new(),
                truncated: false,
            }
        };
        let mut cells = vec![NO_CELL; groups];
        for (cell, &group) in ranking.shown.iter().enumerate() {
            cells[group as usize] = cell as u32;
        }
        let len = ranking.shown.len() + 1;
        let by_group = all.is_some();
        let mut amounts = match all {
            _ if !self.query.has_amounts() => None,
            Some(amounts) => Some(amounts),
            None => Some(self.measured(&cells, len)?),
        };
        let (companies, all_companies) = self.companies(&cells, len)?;
        let mut shown = Vec::with_capacity(ranking.shown.len());
        for (cell, &group) in ranking.shown.iter().enumerate() {
            let slot = if by_group { group as usize } else { cell };
            let measure = |amounts: &mut MeasuredAmounts| amounts.of_cell(self.query, slot);
            shown.push(AggregateGroup {
                key: self.key(group)?,
                figures: Figures {
                    count: self.table.groups[group as usize].count,
                    companies: self.query.has(Measure::Companies).then(|| companies[cell]),
                    amounts: amounts.as_mut().map(measure),
                },
            });
        }
        let measure = |amounts: &MeasuredAmounts| amounts.of_all(self.query);
        Ok(Aggregates {
            groups: shown,
            truncated: ranking.truncated,
            totals: AggregateTotals {
                groups: if is_grouped { groups as u64 } else { 0 },
                figures: Figures {
                    count: self.table.matches(),
                    companies: self.query.has(Measure::Companies).then_some(all_companies),
                    amounts: amounts.as_ref().map(measure),
                },
            },
        })
    }

    /// Ranks the groups; `sums` are those of their amounts if the order needs them.
    fn ranking(&self, sums: &[Option<f64>]) -> Ranking {
        let GroupTable { groups, values, .. } = &self.table;
        let order = self.query.order();
        let descending = order == AggregateOrder::KeyDescending;
        let figure = |group: usize| match order {
            AggregateOrder::Key | AggregateOrder::KeyDescending => 0,
            AggregateOrder::Count => u64::MAX - groups[group].count,
            // The bits of sums, none of which is negative, compare like them; none comes last.
            AggregateOrder::Sum => sums[group].map_or(u64::MAX, |sum| !sum.to_bits() - 1),
        };
        let pairs = self.pair_ranks(descending);
        let pair = |group: usize| pairs.as_ref().map_or(0, |ranks| ranks[group]);
        let all = (0..groups.len()).map(|group| ((figure(group), pair(group)), group as u32));
        let mut ranked: Vec<((u64, u64), u32)> = all.collect();
        // Numbers are compared faster than keys, which are compared only where all numbers are equal.
        let compare = |a: &((u64, u64), u32), b: &((u64, u64), u32)| {
            let key = |&(_, group): &(_, u32)| groups[group as usize].values[0];
            let by_key = || values[0].compare(key(a), key(b), descending);
            a.0.cmp(&b.0).then_with(by_key)
        };
        let limit = self.query.limit().unwrap_or(usize::MAX);
        let truncated = limit < ranked.len();
        if truncated {
            ranked.select_nth_unstable_by(limit, compare);
            ranked.truncate(limit);
        }
        ranked.sort_unstable_by(compare);
        let shown = ranked.into_iter().map(|(_, group)| group).collect();
        Ranking { shown, truncated }
    }

    /// By group of two values: a number that compares like the first value and then the second, since there may be many
    /// groups of few values.
    fn pair_ranks(&self, descending: bool) -> Option<Vec<u64>> {
        let [_, _] = self.query.by() else {
            return None;
        };
        let GroupTable { groups, values, .. } = &self.table;
        let [first, second] = [0, 1].map(|index| values[index].ranks(descending));
        let rank = |group: &CountedGroup| {
            let [one, other] = group.values;
            u64::from(first[one as usize]) << 32 | u64::from(second[other as usize])
        };
        Some(groups.iter().map(rank).collect())
    }

    /// The counters of all groups.
    fn partial(&self) -> Result<PartialAggregates> {
        let (cells, len) = (self.all_cells(), self.table.groups.len() + 1);
        let (companies, all_companies) = self.companies(&cells, len)?;
        let has_amounts = self.query.has_amounts() || needs_sum(self.query);
        let mut amounts = if has_amounts {
            Some(self.amounts(&cells, len)?)
        } else {
            None
        };
        let mut groups = Vec::with_capacity(len - 1);
        for (cell, counted_group) in self.table.groups.iter().enumerate() {
            let key = self.key(cell as u32)?;
            let mut group = PartialGroup::new(key, counted_group.count, companies[cell]);
            if let Some(amounts) = &mut amounts {
                group.amounts = amounts.of_cell(cell, counted).concat();
            }
            groups.push(group);
        }
        Ok(PartialAggregates::new(self.query, groups, all_companies))
    }
}
