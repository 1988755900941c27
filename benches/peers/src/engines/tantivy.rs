//! tantivy, the fastest way it has for this: one segment built by one thread, the newest signal
//! first so that a page is the first documents that match, terms for everything that is looked up,
//! columns for ranges, ids and facet counts, and no scoring.

use std::cell::OnceCell;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use signaldex::query::Order;
use tantivy::aggregation::agg_req::{Aggregation, AggregationVariants, Aggregations};
use tantivy::aggregation::agg_result::{AggregationResult, BucketResult};
use tantivy::aggregation::bucket::TermsAggregation;
use tantivy::aggregation::{AggregationCollector, Key};
use tantivy::collector::TopDocs;
use tantivy::columnar::ColumnValues;
use tantivy::directory::MmapDirectory;
use tantivy::indexer::SingleSegmentIndexWriter;
use tantivy::query::{
    AllQuery, BooleanQuery, EnableScoring, InvertedIndexRangeQuery, Occur, PhraseQuery, Query,
    RangeQuery, TermQuery, Weight,
};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{
    DocAddress, DocSet, Index, Searcher, SegmentReader, TERMINATED, TantivyDocument, Term,
};

use crate::Result;
use crate::engine::{Build, Engine, FacetAnswer, PAGE, PageAnswer, Prepared, Tally};
use crate::question::{Question, Start};
use crate::record::{FACETS, NONE, Record};

/// How a date range is found; which is faster depends on the rest of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateSearch {
    /// By looking at the column of days.
    Column,
    /// By uniting the postings of the days.
    Postings,
}

/// How facets are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FacetCounting {
    /// By a loop over the columns of values.
    Loop,
    /// By the aggregations of terms that tantivy has.
    Aggregations,
}

/// The fields of a document.
#[derive(Clone, Copy)]
struct Fields {
    id: Field,
    title: Field,
    facets: [Field; FACETS],
    company: Field,
    day: Field,
    amount: Field,
}

impl Fields {
    /// The schema and its fields.
    fn schema() -> (Schema, Fields) {
        let mut schema = Schema::builder();
        let found_and_counted: NumericOptions = (INDEXED | FAST).into();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("whitespace")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let title = TextOptions::default().set_indexing_options(indexing);
        let fields = Fields {
            id: schema.add_u64_field("id", FAST),
            title: schema.add_text_field("title", title),
            facets: std::array::from_fn(|facet| {
                schema.add_u64_field(&facet_name(facet), found_and_counted.clone())
            }),
            company: schema.add_u64_field("company", INDEXED),
            day: schema.add_i64_field("day", found_and_counted.clone()),
            amount: schema.add_f64_field("amount", FAST),
        };
        (schema.build(), fields)
    }
}

fn facet_name(facet: usize) -> String {
    format!("facet{facet}")
}

/// A segment being built.
pub struct Builder {
    writer: SingleSegmentIndexWriter,
    fields: Fields,
}

impl Builder {
    /// Starts a segment in a folder.
    pub fn new(folder: &Path) -> Result<Builder> {
        /// Only sizes the first tables; the writer takes what it needs.
        const MEMORY: usize = 1 << 30;
        let (schema, fields) = Fields::schema();
        let directory = MmapDirectory::open(folder)?;
        let writer = Index::builder()
            .schema(schema)
            .single_segment_index_writer(directory, MEMORY)?;
        Ok(Builder { writer, fields })
    }
}

impl Build for Builder {
    fn add(&mut self, record: Record) -> Result<()> {
        let fields = &self.fields;
        let mut document = TantivyDocument::new();
        document.add_u64(fields.id, record.id);
        document.add_text(fields.title, &record.title);
        for (field, number) in fields.facets.iter().zip(record.facets) {
            document.add_u64(*field, u64::from(number));
        }
        document.add_u64(fields.company, u64::from(record.company));
        if let Some(day) = record.day {
            document.add_i64(fields.day, i64::from(day));
        }
        if let Some(amount) = record.amount {
            document.add_f64(fields.amount, amount);
        }
        Ok(self.writer.add_document(document)?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finalize()?;
        Ok(())
    }
}

/// An open segment.
pub struct Tantivy {
    searcher: Searcher,
    fields: Fields,
    dates: DateSearch,
    facet_counting: FacetCounting,
    ids: Arc<dyn ColumnValues<u64>>,
    facets: Vec<Arc<dyn ColumnValues<u64>>>,
    value_bounds: [usize; FACETS],
}

impl Tantivy {
    /// Opens what was built.
    pub fn open(
        folder: &Path,
        dates: DateSearch,
        facet_counting: FacetCounting,
        value_bounds: [usize; FACETS],
    ) -> Result<Tantivy> {
        let (_, fields) = Fields::schema();
        let searcher = Index::open_in_dir(folder)?.reader()?.searcher();
        let [segment] = searcher.segment_readers() else {
            return Err("tantivy has to have one segment".into());
        };
        let columns = segment.fast_fields();
        let column = |name: &str| columns.column_first_or_default::<u64>(name);
        Ok(Tantivy {
            ids: column("id")?,
            facets: (0..FACETS)
                .map(|facet| column(&facet_name(facet)))
                .collect::<tantivy::Result<_>>()?,
            searcher,
            fields,
            dates,
            facet_counting,
            value_bounds,
        })
    }

    fn segment(&self) -> &SegmentReader {
        self.searcher.segment_reader(0)
    }

    fn weight(&self, query: &dyn Query) -> Result<Box<dyn Weight>> {
        Ok(query.weight(EnableScoring::disabled_from_searcher(&self.searcher))?)
    }

    /// The query for a question, the condition of one facet lifted.
    fn query(&self, question: &Question, lifted: Option<usize>) -> Box<dyn Query> {
        let wanted = &question.wanted;
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut must = |query| clauses.push((Occur::Must, query));
        wanted.all.iter().for_each(|term| must(self.word(term)));
        if !wanted.phrase.is_empty() {
            must(self.phrase(&wanted.phrase));
        }
        if !wanted.any.is_empty() {
            must(union(wanted.any.iter().map(|term| self.word(term))));
        }
        for (facet, numbers) in question.facets_without(lifted) {
            must(self.any_number(self.fields.facets[*facet], numbers));
        }
        if !question.companies.is_empty() {
            must(self.any_number(self.fields.company, &question.companies));
        }
        if let Some((first, last)) = question.days {
            must(self.days(first, last));
        }
        if let Some((min, max)) = wanted.amounts {
            must(self.amounts(min, max));
        }
        let excluded = wanted.none.iter().map(|term| self.word(term));
        clauses.extend(excluded.map(|query| (Occur::MustNot, query)));
        conjunction(clauses)
    }

    fn word(&self, term: &str) -> Box<dyn Query> {
        found(Term::from_field_text(self.fields.title, term))
    }

    fn phrase(&self, terms: &[String]) -> Box<dyn Query> {
        let terms = terms.iter();
        let terms = terms.map(|term| Term::from_field_text(self.fields.title, term));
        Box::new(PhraseQuery::new(terms.collect()))
    }

    fn any_number(&self, field: Field, numbers: &[u32]) -> Box<dyn Query> {
        let terms = numbers.iter();
        union(terms.map(|&number| found(Term::from_field_u64(field, u64::from(number)))))
    }

    fn days(&self, first: i32, last: i32) -> Box<dyn Query> {
        let term = |day| Term::from_field_i64(self.fields.day, i64::from(day));
        let (first, last) = (Bound::Included(term(first)), Bound::Included(term(last)));
        match self.dates {
            DateSearch::Column => Box::new(RangeQuery::new(first, last)),
            DateSearch::Postings => Box::new(InvertedIndexRangeQuery::new(first, last)),
        }
    }

    fn amounts(&self, min: f64, max: f64) -> Box<dyn Query> {
        let term = |amount| Bound::Included(Term::from_field_f64(self.fields.amount, amount));
        Box::new(RangeQuery::new(term(min), term(max)))
    }
}

fn found(term: Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

fn union(queries: impl Iterator<Item = Box<dyn Query>>) -> Box<dyn Query> {
    let mut queries: Vec<Box<dyn Query>> = queries.collect();
    match queries.len() {
        1 => queries.swap_remove(0),
        _ => Box::new(BooleanQuery::union(queries)),
    }
}

/// The query that all clauses make; a single one stands alone, since that is faster.
fn conjunction(mut clauses: Vec<(Occur, Box<dyn Query>)>) -> Box<dyn Query> {
    match clauses.len() {
        0 => Box::new(AllQuery),
        1 => clauses.swap_remove(0).1,
        _ => Box::new(BooleanQuery::new(clauses)),
    }
}

impl Engine for Tantivy {
    fn prepare<'e>(&'e self, question: &'e Question) -> Result<Box<dyn Prepared + 'e>> {
        Ok(Box::new(Asked {
            engine: self,
            question,
            query: OnceCell::new(),
            counted: OnceCell::new(),
        }))
    }
}

struct Asked<'e> {
    engine: &'e Tantivy,
    question: &'e Question,
    query: OnceCell<Box<dyn Query>>,
    /// Facets, and the query under which they are counted.
    counted: OnceCell<Vec<(Vec<usize>, Box<dyn Query>)>>,
}

impl Asked<'_> {
    fn query(&self) -> &dyn Query {
        let query = || self.engine.query(self.question, None);
        &**self.query.get_or_init(query)
    }

    fn counted(&self) -> &[(Vec<usize>, Box<dyn Query>)] {
        self.counted.get_or_init(|| {
            let lifted = self.question.filtered_facets().map(|facet| {
                let query = self.engine.query(self.question, Some(facet));
                (vec![facet], query)
            });
            let free = self.question.free_facets();
            let mut counted = vec![(free, self.engine.query(self.question, None))];
            counted.extend(lifted);
            counted.retain(|(facets, _)| !facets.is_empty());
            counted
        })
    }
}

impl Prepared for Asked<'_> {
    fn page(&mut self, start: Start) -> Result<PageAnswer> {
        let weight = self.engine.weight(self.query())?;
        let mut matches = weight.scorer(self.engine.segment(), 1.0)?;
        let first = self.question.rank(start);
        let mut document = matches.doc();
        if document < first {
            document = matches.seek(first);
        }
        let mut ids = Vec::with_capacity(PAGE);
        while document != TERMINATED && ids.len() < PAGE {
            ids.push(self.engine.ids.get_val(document));
            document = matches.advance();
        }
        Ok(PageAnswer::Numbers(ids))
    }

    fn page_by_value(&mut self, order: Order) -> Result<Option<PageAnswer>> {
        let (query, searcher) = (self.query(), &self.engine.searcher);
        let direction = match order {
            Order::LatestDate | Order::LargestAmount => tantivy::Order::Desc,
            _ => tantivy::Order::Asc,
        };
        let first = TopDocs::with_limit(PAGE);
        let documents = match order {
            Order::LatestDate | Order::EarliestDate => {
                let by_day = first.order_by_fast_field::<i64>("day", direction);
                documents(searcher.search(query, &by_day)?)
            }
            Order::LargestAmount | Order::SmallestAmount => {
                let by_amount = first.order_by_fast_field::<f64>("amount", direction);
                documents(searcher.search(query, &by_amount)?)
            }
            Order::NewestFirst | Order::OldestFirst => return Ok(None),
        };
        let id = |document| self.engine.ids.get_val(document);
        Ok(Some(PageAnswer::Numbers(
            documents.into_iter().map(id).collect(),
        )))
    }

    fn count(&mut self) -> Result<u64> {
        let weight = self.engine.weight(self.query())?;
        Ok(u64::from(weight.count(self.engine.segment())?))
    }

    fn facets(&mut self) -> Result<FacetAnswer> {
        let mut tally = Tally::new(&self.engine.value_bounds);
        for (facets, query) in self.counted() {
            match self.engine.facet_counting {
                FacetCounting::Loop => {
                    let weight = self.engine.weight(&**query)?;
                    self.engine.count_facets(&*weight, facets, &mut tally)?;
                }
                FacetCounting::Aggregations => {
                    self.engine.aggregate(&**query, facets, &mut tally)?;
                }
            }
        }
        Ok(FacetAnswer::Numbered(tally))
    }
}

/// The numbers of documents, in the order found.
fn documents<T>(found: Vec<(Option<T>, DocAddress)>) -> Vec<u32> {
    let addresses = found.into_iter().map(|(_, address)| address);
    addresses.map(|address| address.doc_id).collect()
}

impl Tantivy {
    /// Adds the matches of a query to the counts of some facets, a buffer of documents at a time.
    fn count_facets(&self, weight: &dyn Weight, facets: &[usize], tally: &mut Tally) -> Result<()> {
        let mut numbers = vec![u64::from(NONE); tantivy::COLLECT_BLOCK_BUFFER_LEN];
        weight.for_each_no_score(self.segment(), &mut |documents| {
            let numbers = &mut numbers[..documents.len()];
            for &facet in facets {
                self.facets[facet].get_vals(documents, numbers);
                let counts = &mut tally.0[facet];
                numbers
                    .iter()
                    .for_each(|&number| counts[number as usize] += 1);
            }
        })?;
        Ok(())
    }

    /// The same by tantivy's own aggregation of terms.
    fn aggregate(&self, query: &dyn Query, facets: &[usize], tally: &mut Tally) -> Result<()> {
        let request = facets.iter().map(|&facet| {
            let terms = TermsAggregation {
                field: facet_name(facet),
                size: Some(self.value_bounds[facet] as u32),
                ..TermsAggregation::default()
            };
            let aggregation = Aggregation {
                agg: AggregationVariants::Terms(terms),
                sub_aggregation: Aggregations::default(),
            };
            (facet_name(facet), aggregation)
        });
        let collector = AggregationCollector::from_aggs(request.collect(), Default::default());
        let results = self.searcher.search(query, &collector)?;
        for &facet in facets {
            add_buckets(results.0.get(&facet_name(facet)), &mut tally.0[facet])?;
        }
        Ok(())
    }
}

fn add_buckets(result: Option<&AggregationResult>, counts: &mut [u64]) -> Result<()> {
    let Some(AggregationResult::BucketResult(BucketResult::Terms { buckets, .. })) = result else {
        return Err("an aggregation of terms gives buckets".into());
    };
    for bucket in buckets {
        let number = match bucket.key {
            Key::U64(number) => number,
            Key::I64(number) => number.cast_unsigned(),
            Key::F64(number) => number as u64,
            Key::Str(ref text) => return Err(format!("a facet is a number, not {text}").into()),
        };
        counts[number as usize] += bucket.doc_count;
    }
    Ok(())
}
