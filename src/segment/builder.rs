//! Builds segments from records in any order.
//!
//! Records are written to the output as they arrive, so memory holds only index data and the text of
//! dictionaries. Everything that is only known at the end (sorted ids, postings, columns) is written by
//! [`assemble`](super::assemble).

use std::io::Write;

use hashbrown::HashSet;
use smallvec::SmallVec;

use super::assemble::{self, RecordOrder};
use super::commits::{Commits, Tombstone};
use super::company_attributes::city_key;
use super::compress::COMPRESSED_FROM;
use super::field::{Field, TextField};
use super::finish_progress::{FinishProgress, FinishStep};
use super::format::SegmentWriter;
use super::interner::Interner;
use super::pending::{FacetLabels, PendingSignal, PendingSignals};
use super::record::{self, RecordWriter};
use super::schema::SectionKind;
use crate::encoding::row::SEGMENT_ROWS_MAX;
use crate::encoding::symbols::{Encoder, SymbolSections};
use crate::encoding::tokens::ALTERNATE;
use crate::query::Facet;
use crate::query::dates::day_number;
use crate::signal::{Company, Signal, SignalId};
use crate::text::CompanyName;
use crate::{Error, Result};

/// Collects the records of a segment.
#[derive(Debug)]
pub(crate) struct SegmentBuilder<W> {
    pub(super) output: SegmentWriter<W>,
    pub(super) companies: Vec<PendingCompany>,
    /// The added signals; of several with the same id, the last is kept.
    pub(super) signals: PendingSignals,
    /// The slugs of companies, in the order in which they were added.
    pub(super) slugs: Interner,
    /// Labels by facet, in the order of [`Facet::ALL`].
    pub(super) labels: [Interner; Facet::ALL.len()],
    pub(super) title_terms: Interner,
    pub(super) name_terms: Interner,
    /// The keys of cities.
    pub(super) cities: Interner,
    /// Deleted signals, in any order.
    pub(super) tombstones: Vec<Tombstone>,
    id_max: Option<SignalId>,
    /// The added ids, kept from the first one that was out of order.
    ids: Option<HashSet<SignalId>>,
    pub(super) record: RecordWriter,
    /// The encoder, if records are compressed.
    pub(super) encoder: Option<Encoder>,
    /// The symbols of the encoder.
    pub(super) symbols: SymbolSections,
}

/// An added company.
#[derive(Debug)]
pub(super) struct PendingCompany {
    pub(super) record: u64,
    pub(super) name: Box<str>,
    pub(super) name_key: Box<str>,
    pub(super) name_tokens: Box<[u32]>,
    pub(super) facets: FacetLabels,
    pub(super) attributes: PendingAttributes,
}

/// What an added company has of [`CompanyAttributes`](super::company_attributes::CompanyAttributes).
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingAttributes {
    /// The number of the key of its city.
    pub(super) city: Option<u32>,
    pub(super) founded: Option<i64>,
    pub(super) employees: Option<i64>,
}

/// Adding this to an amount turns negative zero into positive zero and changes no other amount, because both
/// zeros are the same value.
const POSITIVE_ZERO: f64 = 0.0;

impl<W: Write> SegmentBuilder<W> {
    /// Starts a segment with uncompressed records, written to `output` sequentially.
    #[cfg(test)]
    pub(crate) fn new(output: W) -> Result<SegmentBuilder<W>> {
        SegmentBuilder::with_encoder(output, None)
    }

    /// Starts a segment. Records are compressed if an encoder is given.
    pub(crate) fn with_encoder(output: W, encoder: Option<Encoder>) -> Result<SegmentBuilder<W>> {
        let mut output = SegmentWriter::new(output)?;
        output.begin(SectionKind::Records, Field::None)?;
        Ok(SegmentBuilder {
            output,
            companies: Vec::new(),
            signals: PendingSignals::default(),
            slugs: Interner::default(),
            labels: Default::default(),
            title_terms: Interner::default(),
            name_terms: Interner::default(),
            cities: Interner::default(),
            tombstones: Vec::new(),
            id_max: None,
            ids: None,
            record: RecordWriter::default(),
            symbols: encoder
                .as_ref()
                .map_or_else(SymbolSections::none, Encoder::symbols),
            encoder,
        })
    }

    /// Adds a company. Returns whether it replaces one with the same slug.
    pub(crate) fn add_company(&mut self, company: &Company<'_>) -> Result<bool> {
        record::check_company(company)?;
        record::write_company(&mut self.record, company);
        let record = self.append_record()?;
        let mut name_tokens = Vec::new();
        intern_forms(
            TextField::Name,
            &mut self.name_terms,
            &company.name,
            &mut name_tokens,
        )?;
        let facets = self.intern_labels(|facet| facet.company_label(company))?;
        let city = company.city.as_deref().filter(|city| !city.is_empty());
        let city = city.map(city_key);
        let city = city.map(|key| self.cities.intern(&key)).transpose()?;
        let pending = PendingCompany {
            record,
            name: company.name.as_ref().into(),
            name_key: CompanyName::new(&company.name).key().into(),
            name_tokens: name_tokens.into(),
            facets,
            attributes: PendingAttributes {
                city,
                founded: company.founded_year,
                employees: company.employees,
            },
        };
        self.push_company(&company.slug, pending)
    }

    /// Adds a signal of an added company, with the commits of a new index. Returns whether it replaces one with the same id.
    pub(crate) fn add_signal(&mut self, signal: &Signal<'_>) -> Result<bool> {
        self.add_committed_signal(signal, Commits::BUILT)
    }

    /// As [`add_signal`](Self::add_signal), with the given commits.
    pub(crate) fn add_committed_signal(
        &mut self,
        signal: &Signal<'_>,
        commits: Commits,
    ) -> Result<bool> {
        let company = self.company_by_slug(&signal.company_slug)?;
        // What the caller can get wrong is refused before anything is added.
        self.check_room()?;
        record::check_signal(signal)?;
        record::write_signal(&mut self.record, signal);
        let record = self.append_record()?;
        let tokens = &mut self.signals.title_tokens;
        intern_forms(
            TextField::Title,
            &mut self.title_terms,
            &signal.title,
            tokens,
        )?;
        let facets = self.intern_labels(|facet| facet.signal_label(signal))?;
        let amount = signal.funding.as_ref().and_then(|funding| funding.amount);
        // Before the signal is pushed, because the set of ids is made of the pushed ones.
        let is_replaced = self.see(signal.id);
        self.signals.push(PendingSignal {
            id: signal.id,
            commits,
            record,
            company,
            day: signal.date.map(day_number),
            amount: amount.map(|amount| amount + POSITIVE_ZERO),
            facets,
        })?;
        Ok(is_replaced)
    }

    /// Adds a deleted signal.
    pub(crate) fn add_tombstone(&mut self, tombstone: Tombstone) {
        self.tombstones.push(tombstone);
    }

    /// Appends the written record. Returns its offset.
    fn append_record(&mut self) -> Result<u64> {
        let bytes = self.record.finish(self.encoder.as_ref());
        self.output.append(bytes)
    }

    /// The number of the added company with a slug.
    ///
    /// # Errors
    /// [`UnknownCompany`](crate::ErrorKind::UnknownCompany) if there is none.
    pub(super) fn company_by_slug(&self, slug: &str) -> Result<u32> {
        let company = self.slugs.find(slug);
        company.ok_or_else(|| Error::unknown_company(slug))
    }

    /// Checks that another signal fits.
    ///
    /// # Errors
    /// The segment is full.
    pub(super) fn check_room(&self) -> Result<()> {
        if self.signals.len() < SEGMENT_ROWS_MAX as usize {
            return Ok(());
        }
        Err(Error::full(format!(
            "a segment holds at most {SEGMENT_ROWS_MAX} signals"
        )))
    }

    /// Adds a company whose record has been written. Returns whether it replaces one.
    pub(super) fn push_company(&mut self, slug: &str, pending: PendingCompany) -> Result<bool> {
        let number = self.slugs.intern(slug)? as usize;
        // Slugs are numbered in the order of companies, so a known slug has a company.
        if number < self.companies.len() {
            self.companies[number] = pending;
            return Ok(true);
        }
        self.companies.push(pending);
        Ok(false)
    }

    /// Whether there are enough bytes of records to compress them.
    pub(crate) fn is_worth_compressing(&self) -> bool {
        self.output.section_bytes() >= COMPRESSED_FROM
    }

    /// Whether a company with a slug has been added.
    pub(crate) fn has_company(&self, slug: &str) -> bool {
        self.slugs.find(slug).is_some()
    }

    /// Writes the rest of the segment and returns the flushed output.
    ///
    /// Cost: sorts ids and dictionaries, and groups rows by value; about as much time as adding.
    pub(crate) fn finish_with(self, progress: &mut FinishProgress<'_>) -> Result<W> {
        progress.skip(FinishStep::TRAIN);
        progress.skip(FinishStep::COMPRESS);
        let order = RecordOrder::of(&self);
        assemble::finish(self, order, progress)
    }

    /// As [`finish_with`](Self::finish_with), without telling anything.
    #[cfg(test)]
    pub(crate) fn finish(self) -> Result<W> {
        self.finish_with(&mut FinishProgress::new(&mut |_| ()))
    }

    fn intern_labels<'r>(
        &mut self,
        label: impl Fn(Facet) -> Option<std::borrow::Cow<'r, str>>,
    ) -> Result<FacetLabels> {
        let mut numbers = FacetLabels::default();
        for facet in Facet::ALL {
            if let Some(label) = label(facet) {
                numbers[facet as usize] = self.labels[facet as usize].intern(&label)? + 1;
            }
        }
        Ok(numbers)
    }

    /// Records an id. Returns whether it replaces an earlier one. Free while ids arrive in ascending order; from the
    /// first one out of order, a set of all ids is kept.
    fn see(&mut self, id: SignalId) -> bool {
        let ascends = self.id_max.is_none_or(|max| max < id);
        if self.ids.is_none() && !ascends {
            self.ids = Some(self.signals.ids.iter().copied().collect());
        }
        !self.note_id(id)
    }

    /// Records an id. Returns whether it is new as far as known: a set of ids is kept only after
    /// [`see`](Self::see) has met one out of order.
    pub(super) fn note_id(&mut self, id: SignalId) -> bool {
        self.id_max = self.id_max.max(Some(id));
        self.ids.as_mut().is_none_or(|ids| ids.insert(id))
    }
}

/// Appends the numbers of a text's primary forms, then those of its alternates, with their bit.
fn intern_forms(
    field: TextField,
    interner: &mut Interner,
    text: &str,
    tokens: &mut Vec<u32>,
) -> Result<()> {
    let mut outcome = Ok(());
    let mut alternates: SmallVec<[u32; 4]> = SmallVec::new();
    // The analysis does not stop at an error, so it is returned at the end.
    field.visit_forms(text, |form| match interner.intern(form.text) {
        Ok(number) if form.is_alternate => alternates.push(number | ALTERNATE),
        Ok(number) => tokens.push(number),
        Err(error) => outcome = Err(error),
    });
    tokens.extend(alternates);
    outcome
}
