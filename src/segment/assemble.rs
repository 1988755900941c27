//! The second half of building: sorts rows and dictionaries, and writes the sections.

use std::io::Write;

use super::builder::{PendingAttributes, SegmentBuilder};
use super::commits::sort_tombstones;
use super::company_attributes::coded;
use super::field::{COMPANY_POSTINGS, Field, TITLE_POSTINGS};
use super::finish_progress::{FinishProgress, FinishStep};
use super::format::SegmentWriter;
use super::groups::{Groups, PairNumbers};
use super::interner::Interner;
use super::pending::PendingSignals;
use super::schema::SectionKind;
use super::value_counts::{self, CountedFacet, VALUE_COUNTS};
use crate::encoding::block_permutation::PermutationSections;
use crate::encoding::column::{self, NO_CODE};
use crate::encoding::dictionary::{StringSections, Strings};
use crate::encoding::frame_of_reference::FrameOfReferenceSections;
use crate::encoding::hash_index::HashIndexSections;
use crate::encoding::linear_frames;
use crate::encoding::nibbles::{self, FacetColumn};
use crate::encoding::packed_numbers::PackedNumberSections;
use crate::encoding::pairs;
use crate::encoding::posting::{Optimize, PostingId, PostingSections};
use crate::encoding::row::CompanyNumber;
use crate::encoding::tokens::{self, TermNumber};
use crate::encoding::zone_map;
use crate::query::Facet;
use crate::signal::SignalId;
use crate::{Error, Result};

/// The added records in the order in which they are stored.
pub(super) struct RecordOrder {
    /// By row: the index of the added signal. Of several with the same id, the last is kept.
    pub(super) rows: Vec<u32>,
    /// By company number: the index of the added company. Numbers are in the order of slugs.
    pub(super) companies: Vec<u32>,
}

impl RecordOrder {
    pub(super) fn of<W>(builder: &SegmentBuilder<W>) -> RecordOrder {
        RecordOrder {
            rows: rows_in_id_order(&builder.signals.ids),
            companies: order_by_key(builder.slugs.strings()),
        }
    }
}

/// Writes everything after the records.
pub(super) fn finish<W: Write>(
    builder: SegmentBuilder<W>,
    order: RecordOrder,
    progress: &mut FinishProgress<'_>,
) -> Result<W> {
    let RecordOrder {
        rows,
        companies: company_order,
    } = order;
    let mut assembly = Assembly {
        row_count: rows.len() as u32,
        company_of_row: Vec::new(),
        rows,
        company_number: numbers_of(&company_order),
        company_order,
        postings: PostingSections::default(),
        field_postings: Vec::new(),
        companies_by_value: Vec::new(),
        columns: Vec::new(),
        builder,
    };
    let companies = std::mem::take(&mut assembly.builder.signals.companies);
    let company_number = |company: &u32| assembly.company_number[*company as usize];
    assembly.company_of_row = assembly.of_rows(&companies).map(company_number).collect();
    drop(companies);
    for facet in Facet::ALL {
        assembly.write_facet(facet)?;
        progress.end_part(FinishStep::FACETS, Facet::ALL.len());
    }
    // Titles take the most memory, so they come when the other columns of signals have been freed.
    assembly.write_days()?;
    assembly.write_amounts()?;
    assembly.write_rows()?;
    assembly.write_commits()?;
    progress.end(FinishStep::COLUMNS);
    assembly.write_titles(progress)?;
    assembly.write_names()?;
    assembly.push_company_postings();
    assembly.write_companies()?;
    assembly.write_symbols()?;
    progress.end(FinishStep::COMPANIES);
    let output = assembly.write_postings()?;
    progress.end(FinishStep::POSTINGS);
    Ok(output)
}

/// Writes a section of linear frames.
fn write_linear_frames<W: Write>(
    output: &mut SegmentWriter<W>,
    field: Field,
    numbers: impl IntoIterator<Item = u64>,
) -> Result<()> {
    let kind = SectionKind::LinearFrames;
    output.section(kind, field, &linear_frames::encode(numbers))
}

struct Assembly<W> {
    builder: SegmentBuilder<W>,
    row_count: u32,
    /// By row: the index of the added signal.
    rows: Vec<u32>,
    /// By row: its company.
    company_of_row: Vec<CompanyNumber>,
    /// By company number: the index of the added company. Numbers are in the order of slugs.
    company_order: Vec<u32>,
    /// By added company: its number.
    company_number: Vec<CompanyNumber>,
    postings: PostingSections,
    /// The first posting of each field.
    field_postings: Vec<u32>,
    /// For each facet of companies, the companies with each value.
    companies_by_value: Vec<Groups>,
    /// For each facet, the number of its values, and its column.
    columns: Vec<(usize, Vec<u8>)>,
}

impl<W: Write> Assembly<W> {
    /// Writes a facet's dictionary, postings and column, without labels that no row has.
    fn write_facet(&mut self, facet: Facet) -> Result<()> {
        let labels = std::mem::take(&mut self.builder.labels[facet as usize]);
        let mut codes = self.label_codes(facet);
        let (strings, order) = sorted_labels(facet, &labels, &codes);
        let code_of_label = codes_of_labels(&order, labels.len());
        // Up to here, codes are numbers of labels by arrival; after this, of sorted labels that
        // occur.
        codes
            .iter_mut()
            .for_each(|code| *code = code_of_label[*code as usize]);

        let field = Field::Facet(facet);
        self.begin_field();
        let groups = Groups::new(order.len(), codes.iter().map(|&code| code.checked_sub(1)));
        self.push_postings(&groups, self.row_count);
        if facet.is_of_company() {
            let companies = self.group_companies(&codes, order.len());
            self.companies_by_value.push(companies);
        }
        let mut keys = StringSections::default();
        let mut shown = StringSections::default();
        for &label in &order {
            keys.push(facet.key(strings.get(label as usize)).as_bytes())?;
            shown.push(strings.bytes(label as usize))?;
        }
        self.write_keys(field, &keys)?;
        self.write_strings([SectionKind::LabelEnds, SectionKind::Labels], field, &shown)?;
        let bytes = nibbles::encode(&codes, order.len());
        let output = &mut self.builder.output;
        output.section(SectionKind::Codes, field, &bytes)?;
        self.columns.push((order.len(), bytes));
        Ok(())
    }

    /// The companies with each value, by the codes of their rows. Companies without rows are omitted, because their
    /// values may have no number.
    fn group_companies(&self, codes: &[u32], values: usize) -> Groups {
        let mut code_of_company = vec![NO_CODE; self.company_order.len()];
        // All rows of a company have one value, so it does not matter which row sets it.
        for (&company, &code) in self.company_of_row.iter().zip(codes) {
            code_of_company[company.index()] = code;
        }
        let codes = code_of_company.iter();
        Groups::new(values, codes.map(|&code| code.checked_sub(1)))
    }

    /// By row: the number of the facet's label plus one.
    fn label_codes(&mut self, facet: Facet) -> Vec<u32> {
        if facet.is_of_company() {
            let label_of = |&number: &CompanyNumber| {
                let arrival = self.company_order[number.index()];
                self.builder.companies[arrival as usize].facets[facet as usize]
            };
            return self.company_of_row.iter().map(label_of).collect();
        }
        let labels = self.builder.signals.take_labels(facet);
        let rows = self.rows.iter();
        rows.map(|&arrival| labels.get(arrival)).collect()
    }

    /// Writes the dictionary, postings and token streams of titles.
    fn write_titles(&mut self, progress: &mut FinishProgress<'_>) -> Result<()> {
        let terms = std::mem::take(&mut self.builder.title_terms);
        let signals = std::mem::take(&mut self.builder.signals);
        let rows = std::mem::take(&mut self.rows);
        let documents = rows
            .iter()
            .map(|&arrival| &signals.title_tokens[signals.title(arrival)]);
        let order = self.write_terms(Field::Title, &terms, documents.clone())?;
        progress.end(FinishStep::TITLE_TERMS);
        self.write_streams(Field::Title, documents, &order.term_numbers)?;
        progress.end(FinishStep::TITLE_STREAMS);
        let output = &mut self.builder.output;
        output.section(SectionKind::WordOrder, Field::Title, &order.by_letters)?;
        self.write_pairs(&rows, signals, &order, progress)
    }

    /// Writes the keys and postings of pairs of frequent words in titles.
    fn write_pairs(
        &mut self,
        rows: &[u32],
        mut signals: PendingSignals,
        order: &TermOrder,
        progress: &mut FinishProgress<'_>,
    ) -> Result<()> {
        let mut pairs = PairNumbers::default();
        for &arrival in rows {
            // Each row has a title of its own, so none is replaced twice.
            let title = signals.title(arrival);
            pairs.replace_terms(&mut signals.title_tokens[title], |first, second| {
                let [first, second] = [first, second].map(|term| order.frequent(term));
                Some(pairs::key(first?, second?))
            });
        }
        let pairs_of_rows = rows.iter().map(|&arrival| {
            let numbers = &signals.title_tokens[signals.title(arrival)];
            PairNumbers::of_title(numbers)
        });
        let groups = Groups::of_distinct(pairs.len(), pairs_of_rows);
        // Releases the titles, which take the most memory.
        drop(signals);
        progress.end(FinishStep::TITLE_PAIRS);
        let order = pairs.order_by_key();
        self.begin_field();
        let keys: Vec<u64> = order.iter().map(|&pair| pairs.key(pair)).collect();
        let first_title = self.field_postings[TITLE_POSTINGS];
        for (&pair, &key) in order.iter().zip(&keys) {
            let rows = groups.rows(pair as usize);
            // A word that always has the same neighbour is found in no other rows than the two of them.
            let rarest = PostingId(first_title + pairs::rarest(key).0);
            self.postings
                .push_part_of(rarest, rows, self.row_count, Optimize::Time);
        }
        let field = Field::TitlePair;
        let output = &mut self.builder.output;
        output.section(SectionKind::Pairs, field, &pairs::encode(&keys))?;
        progress.end(FinishStep::PAIR_POSTINGS);
        Ok(())
    }

    /// Writes the dictionary, postings (of signals) and token streams of company names. A company without signals has
    /// an empty stream, because it is never read.
    fn write_names(&mut self) -> Result<()> {
        let terms = std::mem::take(&mut self.builder.name_terms);
        let company_of_row = std::mem::take(&mut self.company_of_row);
        let mut names: Vec<&[u32]> = vec![&[]; self.company_order.len()];
        let companies = std::mem::take(&mut self.builder.companies);
        // All rows of a company set the same name.
        for &number in &company_of_row {
            let arrival = self.company_order[number.index()];
            names[number.index()] = &companies[arrival as usize].name_tokens;
        }
        let of_rows = company_of_row.iter().map(|&number| names[number.index()]);
        let order = self.write_terms(Field::Name, &terms, of_rows)?;
        self.write_streams(Field::Name, names.iter().copied(), &order.term_numbers)?;
        self.builder.companies = companies;
        self.company_of_row = company_of_row;
        Ok(())
    }

    /// Writes the dictionary and postings of a text field; `documents` yields the terms of each row.
    fn write_terms<'t>(
        &mut self,
        field: Field,
        terms: &Interner,
        documents: impl Iterator<Item = &'t [u32]> + Clone,
    ) -> Result<TermOrder> {
        let groups = Groups::of_distinct(terms.len(), documents);
        let order = TermOrder::new(terms.strings(), &groups, self.row_count);
        // A company is mostly looked for by its name alone.
        let optimize = match field {
            Field::Name => Optimize::Space,
            _ => Optimize::Time,
        };
        self.begin_field();
        // Postings are in the order of term numbers, so that of a term follows from its number.
        for &term in &order.by_frequency {
            let rows = groups.rows(term as usize);
            self.postings.push(rows, self.row_count, optimize);
        }
        let strings = terms.strings();
        let mut keys = StringSections::default();
        for &term in &order.by_frequency {
            keys.push(strings.bytes(term as usize))?;
        }
        self.write_keys(field, &keys)?;
        Ok(order)
    }

    fn write_streams<'t>(
        &mut self,
        field: Field,
        documents: impl Iterator<Item = &'t [u32]>,
        term_numbers: &[u32],
    ) -> Result<()> {
        let mut streams = Vec::new();
        let ends = FrameOfReferenceSections::of(documents.map(|document| {
            for &term in document {
                let (term, alternate) = tokens::split(term);
                let number = term_numbers[term as usize] | alternate;
                tokens::push(&mut streams, TermNumber(number));
            }
            streams.len() as u64
        }));
        self.write_numbers(field, &ends)?;
        let number = field;
        self.builder
            .output
            .section(SectionKind::Tokens, number, &streams)
    }

    /// Writes the keys, names, records and rows of companies.
    fn write_companies(&mut self) -> Result<()> {
        let companies = &self.builder.companies;
        let mut keys = StringSections::default();
        let slugs = self.builder.slugs.strings();
        // Slugs first, then names, both by company number: `CompanyKeys` depends on this order.
        for &arrival in &self.company_order {
            keys.push(slugs.bytes(arrival as usize))?;
        }
        for &arrival in &self.company_order {
            keys.push(companies[arrival as usize].name_key.as_bytes())?;
        }
        let mut names = StringSections::default();
        for &arrival in &self.company_order {
            names.push(companies[arrival as usize].name.as_bytes())?;
        }
        let records: Vec<u64> = self
            .company_order
            .iter()
            .map(|&arrival| companies[arrival as usize].record)
            .collect();
        self.write_keys(Field::CompanyKey, &keys)?;
        let output = &mut self.builder.output;
        let ends = names.ends.iter().map(|&end| end.into());
        write_linear_frames(output, Field::CompanyName, ends)?;
        output.section(SectionKind::Labels, Field::CompanyName, &names.bytes)?;
        write_linear_frames(output, Field::CompanyRecord, records)?;
        self.write_attributes()?;
        self.write_company_rows()
    }

    /// Writes the columns of cities, founding years and numbers of employees.
    fn write_attributes(&mut self) -> Result<()> {
        let keys = self.builder.cities.strings();
        let cities = self.attributes(|it| it.city.map(|key| keys.bytes(key as usize)));
        let (keys, codes) = coded(&cities);
        let mut strings = StringSections::default();
        keys.iter().try_for_each(|key| strings.push(key))?;
        let bytes = column::encode(&codes, keys.len());
        let sections = [SectionKind::KeyEnds, SectionKind::Keys];
        self.write_strings(sections, Field::City, &strings)?;
        let output = &mut self.builder.output;
        output.section(SectionKind::Codes, Field::City, &bytes)?;
        let founded = self.attributes(|it| it.founded);
        let employees = self.attributes(|it| it.employees);
        for (field, numbers) in [(Field::FoundedYear, founded), (Field::Employees, employees)] {
            let (values, codes) = coded(&numbers);
            let bytes = column::encode(&codes, values.len());
            let output = &mut self.builder.output;
            output.section(SectionKind::Integers, field, &values)?;
            output.section(SectionKind::Codes, field, &bytes)?;
        }
        Ok(())
    }

    /// By company number: what `of` says of its attributes.
    fn attributes<T>(&self, of: impl Fn(&PendingAttributes) -> T) -> Vec<T> {
        let arrivals = self.company_order.iter();
        let companies = &self.builder.companies;
        arrivals
            .map(|&arrival| of(&companies[arrival as usize].attributes))
            .collect()
    }

    fn write_company_rows(&mut self) -> Result<()> {
        let count = self.company_order.len();
        let companies = self.company_of_row.iter();
        let groups = Groups::new(count, companies.clone().map(|&company| Some(company.0)));
        let field = Field::Company;
        let output = &mut self.builder.output;
        output.section(SectionKind::CompanyStarts, field, &groups.starts)?;
        output.section(SectionKind::CompanyRows, field, &groups.rows)?;
        let codes: Vec<u32> = companies.map(|&company| company.code()).collect();
        let bytes = column::encode(&codes, count);
        self.builder
            .output
            .section(SectionKind::Codes, field, &bytes)
    }

    fn write_days(&mut self) -> Result<()> {
        let day = self.builder.signals.take_days();
        let rows = self.rows.iter();
        let days: Vec<Option<i32>> = rows.map(|&arrival| day(arrival)).collect();
        drop(day);
        let mut values: Vec<i32> = days.iter().flatten().copied().collect();
        values.sort_unstable();
        values.dedup();
        // Every day of a row is among the values, so the index is exact.
        let code = |day: i32| values.partition_point(|&other| other < day) as u32 + 1;
        let codes: Vec<u32> = days.iter().map(|day| day.map_or(NO_CODE, code)).collect();
        self.builder
            .output
            .section(SectionKind::Days, Field::Date, &values)?;
        let orders = PermutationSections::of(&codes, &zone_map::block_zones(&codes));
        let fine_zones = zone_map::fine_zones(&codes);
        let field = Field::Date;
        let output = &mut self.builder.output;
        output.section(SectionKind::Permutations, field, &orders.offsets)?;
        output.section(SectionKind::PermutationEnds, field, &orders.ends)?;
        output.section(SectionKind::PermutationStarts, field, &orders.starts)?;
        output.section(SectionKind::FineZones, field, &fine_zones)?;
        self.write_ordered_codes(Field::Date, &codes, values.len())
    }

    fn write_amounts(&mut self) -> Result<()> {
        let amounts = std::mem::take(&mut self.builder.signals.amounts);
        let mut code_of_arrival = vec![NO_CODE; self.builder.signals.len()];
        // Only amounts of rows that are kept are values.
        let mut counts = vec![false; code_of_arrival.len()];
        self.rows
            .iter()
            .for_each(|&arrival| counts[arrival as usize] = true);
        let amounts = || {
            amounts
                .iter()
                .filter(|(arrival, _)| counts[*arrival as usize])
        };
        let mut values: Vec<f64> = amounts().map(|&(_, amount)| amount).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        for &(arrival, amount) in amounts() {
            let index = values.partition_point(|&other| other < amount);
            code_of_arrival[arrival as usize] = index as u32 + 1;
        }
        let codes: Vec<u32> = self.of_rows(&code_of_arrival).copied().collect();
        drop((code_of_arrival, counts));
        self.builder
            .output
            .section(SectionKind::Amounts, Field::Amount, &values)?;
        self.write_rows_by_code(Field::Amount, &codes, values.len())?;
        self.write_ordered_codes(Field::Amount, &codes, values.len())
    }

    /// Writes ids and record offsets.
    fn write_rows(&mut self) -> Result<()> {
        let ids = std::mem::take(&mut self.builder.signals.ids);
        let records = std::mem::take(&mut self.builder.signals.records);
        let ids = FrameOfReferenceSections::of(self.of_rows(&ids).map(|id| id.get()));
        let starts = linear_frames::encode(self.of_rows(&records).copied());
        self.write_numbers(Field::Id, &ids)?;
        let output = &mut self.builder.output;
        output.section(SectionKind::LinearFrames, Field::SignalRecord, &starts)
    }

    /// Writes the commits of rows, and deletions.
    fn write_commits(&mut self) -> Result<()> {
        let signals = &self.builder.signals;
        let commits = || self.rows.iter().map(|&arrival| signals.commits(arrival));
        let first = PackedNumberSections::of(commits().map(|commits| commits.first));
        let last = PackedNumberSections::of(commits().map(|commits| commits.last));
        let SegmentBuilder {
            output, tombstones, ..
        } = &mut self.builder;
        for (field, packed) in [(Field::FirstCommit, first), (Field::LastCommit, last)] {
            output.section(SectionKind::PackedFrames, field, &packed.frames)?;
            output.section(SectionKind::PackedWords, field, &packed.words)?;
        }
        sort_tombstones(tombstones);
        output.section(SectionKind::Tombstones, Field::None, tombstones)
    }

    fn write_symbols(&mut self) -> Result<()> {
        let SegmentBuilder {
            output, symbols, ..
        } = &mut self.builder;
        output.section(SectionKind::SymbolStarts, Field::None, &symbols.starts)?;
        output.section(SectionKind::Symbols, Field::None, &symbols.bytes)
    }

    fn write_postings(mut self) -> Result<W> {
        self.begin_field();
        if !self.postings.fit() {
            return Err(Error::full(
                "a segment holds at most 2,147,483,648 rows in lists and arrays each",
            ));
        }
        let mut output: SegmentWriter<W> = self.builder.output;
        let none = Field::None;
        output.section(SectionKind::Postings, none, &self.postings.entries)?;
        output.section(SectionKind::PostingRows, none, &self.postings.rows)?;
        output.section(SectionKind::Containers, none, &self.postings.containers)?;
        output.section(SectionKind::Arrays, none, &self.postings.arrays)?;
        output.section(SectionKind::Bitsets, none, &self.postings.bitsets)?;
        let columns = self.columns.iter().zip(&self.field_postings);
        let facets = columns.map(|(&(values, ref bytes), &first_posting)| {
            Ok(CountedFacet {
                values,
                first_posting,
                column: FacetColumn::new(bytes, self.row_count, values)?,
            })
        });
        let facets = facets.collect::<Result<Vec<_>>>()?;
        let postings = self.postings.view();
        let of_rows = (&postings, self.field_postings[COMPANY_POSTINGS]);
        let file_bytes = output.position();
        if let Some(counts) = value_counts::encode(of_rows, &facets, self.row_count, file_bytes)? {
            output.optional_section(VALUE_COUNTS, &counts)?;
        }
        output.finish(
            self.row_count,
            self.company_order.len() as u32,
            self.field_postings,
        )
    }

    /// Writes keys and their hash index.
    fn write_keys(&mut self, field: Field, keys: &StringSections) -> Result<()> {
        self.write_strings([SectionKind::KeyEnds, SectionKind::Keys], field, keys)?;
        let buckets = HashIndexSections::of(&Strings::new(&keys.ends, &keys.bytes));
        let output = &mut self.builder.output;
        let number = field;
        output.section(SectionKind::HashIndexStarts, number, &buckets.starts)?;
        output.section(SectionKind::HashIndexEntries, number, &buckets.entries)
    }

    fn write_strings(
        &mut self,
        [ends, bytes]: [SectionKind; 2],
        field: Field,
        sections: &StringSections,
    ) -> Result<()> {
        self.builder.output.section(ends, field, &sections.ends)?;
        self.builder.output.section(bytes, field, &sections.bytes)
    }

    fn write_numbers(&mut self, field: Field, sections: &FrameOfReferenceSections) -> Result<()> {
        let output = &mut self.builder.output;
        output.section(SectionKind::FrameOfReference, field, &sections.frames)?;
        output.section(SectionKind::ExceptionBlocks, field, &sections.exceptions)
    }

    fn write_ordered_codes(&mut self, field: Field, codes: &[u32], values: usize) -> Result<()> {
        let ranges = zone_map::block_zones(codes);
        self.builder
            .output
            .section(SectionKind::BlockZones, field, &ranges)?;
        let bytes = column::encode(codes, values);
        self.builder
            .output
            .section(SectionKind::Codes, field, &bytes)
    }

    fn write_rows_by_code(&mut self, field: Field, codes: &[u32], values: usize) -> Result<()> {
        // Code 0 means no value.
        let groups = Groups::new(values, codes.iter().map(|code| code.checked_sub(1)));
        let numbers = [groups.starts, groups.rows].concat();
        let output = &mut self.builder.output;
        output.section(SectionKind::RowsByCode, field, &numbers)
    }

    fn begin_field(&mut self) {
        self.field_postings.push(self.postings.entries.len() as u32);
    }

    /// Adds the postings of values, over rows or companies.
    fn push_postings(&mut self, groups: &Groups, count: u32) {
        for value in 0..groups.len() {
            self.postings
                .push(groups.rows(value), count, Optimize::Time);
        }
    }

    /// Adds the postings of companies for each facet of companies.
    fn push_company_postings(&mut self) {
        for groups in std::mem::take(&mut self.companies_by_value) {
            self.begin_field();
            self.push_postings(&groups, self.company_order.len() as u32);
        }
    }

    /// Converts data by arrival to data by row.
    fn of_rows<'s, T>(&'s self, of_arrivals: &'s [T]) -> impl Iterator<Item = &'s T> {
        let rows = self.rows.iter();
        rows.map(|&arrival| &of_arrivals[arrival as usize])
    }
}

/// The occurring terms of a field in the order of their numbers.
struct TermOrder {
    /// Most frequent first, and sorted where they are equally frequent: the order of postings, of keys and of term
    /// numbers.
    by_frequency: Vec<u32>,
    /// Their numbers, by ascending bytes of the terms.
    by_letters: Vec<u32>,
    /// By term: its index in `by_frequency`.
    term_numbers: Vec<u32>,
    /// The number of frequent terms.
    frequent: u32,
}

impl TermOrder {
    fn new(strings: Strings<'_>, groups: &Groups, row_count: u32) -> TermOrder {
        let mut by_key = order_by_key(strings);
        // Terms that occur only in replaced records have no rows.
        by_key.retain(|&term| !groups.rows(term as usize).is_empty());
        let by_frequency = order_by_frequency(&by_key, groups);
        // Terms are sorted by descending number of rows, so the frequent ones come first.
        let frequent = by_frequency.partition_point(|&term| {
            pairs::is_frequent(groups.rows(term as usize).len() as u64, row_count)
        });
        let mut term_numbers = vec![0; strings.len()];
        for (number, &term) in by_frequency.iter().enumerate() {
            term_numbers[term as usize] = number as u32;
        }
        let by_letters = by_key.iter().map(|&term| term_numbers[term as usize]);
        TermOrder {
            by_letters: by_letters.collect(),
            by_frequency,
            term_numbers,
            frequent: frequent as u32,
        }
    }

    /// The number of a term, if it is frequent. None for an alternate, which is in no pair.
    fn frequent(&self, term: u32) -> Option<TermNumber> {
        let number = *self.term_numbers.get(term as usize)?;
        (number < self.frequent).then_some(TermNumber(number))
    }
}

/// The labels that occur in `codes`, sorted by key and then by label.
fn sorted_labels<'l>(facet: Facet, labels: &'l Interner, codes: &[u32]) -> (Strings<'l>, Vec<u32>) {
    let strings = labels.strings();
    let mut occurs = vec![false; labels.len() + 1];
    codes.iter().for_each(|&code| occurs[code as usize] = true);
    let mut order: Vec<u32> = (0..labels.len() as u32)
        .filter(|&label| occurs[label as usize + 1])
        .collect();
    // Labels with the same key are sorted by themselves.
    order.sort_by_cached_key(|&label| {
        let label = strings.get(label as usize);
        (facet.key(label).into_owned(), label)
    });
    (strings, order)
}

/// By label plus one: its code, that is its index in `order` plus one; 0 stays 0.
fn codes_of_labels(order: &[u32], labels: usize) -> Vec<u32> {
    let mut codes = vec![NO_CODE; labels + 1];
    for (index, &label) in order.iter().enumerate() {
        codes[label as usize + 1] = index as u32 + 1;
    }
    codes
}

/// The arrivals to keep, by ascending id: of several with the same id, the last.
fn rows_in_id_order(ids: &[SignalId]) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..ids.len() as u32).collect();
    let id = |arrival: u32| ids[arrival as usize];
    if !rows.is_sorted_by_key(|&arrival| id(arrival)) {
        // The sort is stable, so the last arrival of an id stays the last.
        rows.sort_by_key(|&arrival| id(arrival));
    }
    let mut last_of_each = rows
        .chunk_by(|&a, &b| id(a) == id(b))
        .filter_map(<[u32]>::last);
    last_of_each.by_ref().copied().collect()
}

/// The indices of strings, sorted by string. The first eight bytes, in which most strings differ, are compared
/// as a number.
fn order_by_key(strings: Strings<'_>) -> Vec<u32> {
    let prefix = |bytes: &[u8]| {
        let mut first = [0; 8];
        let length = bytes.len().min(first.len());
        first[..length].copy_from_slice(&bytes[..length]);
        u64::from_be_bytes(first)
    };
    let mut order: Vec<(u64, u32)> = (0..strings.len() as u32)
        .map(|index| (prefix(strings.bytes(index as usize)), index))
        .collect();
    order.sort_unstable_by(|a, b| {
        let [bytes_a, bytes_b] = [a, b].map(|&(_, index)| strings.bytes(index as usize));
        a.0.cmp(&b.0).then_with(|| bytes_a.cmp(bytes_b))
    });
    order.into_iter().map(|(_, index)| index).collect()
}

/// The terms in `by_key`, sorted by descending number of rows; the sort is stable.
fn order_by_frequency(by_key: &[u32], groups: &Groups) -> Vec<u32> {
    let sort_key = |(index, &term): (u32, &u32)| {
        // Both criteria in one number: descending number of rows, then ascending index.
        let rarity = u32::MAX - groups.rows(term as usize).len() as u32;
        u64::from(rarity) << u32::BITS | u64::from(index)
    };
    let mut order: Vec<u64> = (0..).zip(by_key).map(sort_key).collect();
    order.sort_unstable();
    // The lower half is the index.
    let term = |key: u64| by_key[key as u32 as usize];
    order.into_iter().map(term).collect()
}

/// By added company: its number, that is its index in the order.
fn numbers_of(order: &[u32]) -> Vec<CompanyNumber> {
    let mut numbers = vec![CompanyNumber(0); order.len()];
    for (number, &arrival) in (0..).zip(order) {
        numbers[arrival as usize] = CompanyNumber(number);
    }
    numbers
}
