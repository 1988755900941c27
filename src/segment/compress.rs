//! Compression of records: choosing symbols, and compressing the records of a segment under construction.

use std::io::Write;
use std::ops::Range;

use super::Segment;
use super::assemble::{self, RecordOrder};
use super::builder::SegmentBuilder;
use super::field::Field;
use super::finish_progress::{FinishProgress, FinishStep};
use super::format::SegmentWriter;
use super::parts::Checked;
use super::record::{RecordWriter, Records, Stored};
use super::schema::SectionKind;
use crate::encoding::bytes::Bytes;
use crate::encoding::symbols::{Encoder, SAMPLE_BYTES, SymbolTable};
use crate::{Error, Result};

/// Minimum bytes of texts for which records are compressed. With fewer, the symbols, several hundred kilobytes,
/// cost much of the saving, and training dominates the time of a merge.
pub(super) const COMPRESSED_FROM: u64 = 4 << 20;

/// Records per view of a file: about twenty megabytes.
const RECORDS_IN_VIEW: usize = 1 << 16;

/// Neighbouring records that a sample takes together.
const RUN_RECORDS: usize = 16;

/// Assumed compression ratio, to estimate the length of texts without reading them.
const EXPECTED_RATIO: u64 = 4;

/// One of this many records have to be those of a segment whose symbols are kept: then symbols are made anew as
/// often as an index has grown fourfold. With two, records of companies, of which each segment has its own,
/// were often enough for making them anew.
const KEPT_SHARE_MIN: usize = 4;

/// Bytes of texts used to decide whether existing symbols suit added texts.
const TRIAL_BYTES: usize = 256 << 10;

/// Existing symbols are kept if added texts compress to at most this percentage of the size of the texts that
/// they were trained on.
const TRIAL_RATIO_MAX: usize = 125;

/// The encoder for a segment that several are merged into; none where its records are not worth it. The
/// symbols of one that has a quarter of the records are kept while they serve, so that its records are copied.
/// Otherwise those of the largest segment of the index serve, which may not be merged: when it is, later,
/// the records of both are copied.
///
/// # Errors
/// A record that is looked at is corrupt.
///
/// Cost: a few milliseconds where symbols are kept, else that of [`Encoder::train`].
pub(crate) fn encoder_for(
    segments: &[&Segment],
    largest_of_index: Option<&Segment>,
) -> Result<Option<Encoder>> {
    let bytes = segments.iter().map(|segment| text_bytes(segment));
    let bytes = bytes.sum::<Result<u64>>()?;
    if bytes < COMPRESSED_FROM {
        return Ok(None);
    }
    let total: usize = segments.iter().map(|segment| segment.record_count()).sum();
    let largest = segments.iter().max_by_key(|segment| segment.record_count());
    if let Some(largest) = largest
        && let Some(encoder) = kept_encoder(largest, segments, total)?
    {
        return Ok(Some(encoder));
    }
    // Damage of a segment that is not merged must not prevent the merge.
    let kept = largest_of_index.map(|largest| kept_encoder(largest, segments, total));
    if let Some(Ok(Some(encoder))) = kept {
        return Ok(Some(encoder));
    }
    let sources: Vec<SegmentRecords<'_>> = segments
        .iter()
        .copied()
        .map(SegmentRecords::of)
        .collect::<Result<_>>()?;
    train(&sources).map(Some)
}

/// An encoder with a segment's symbols, if it has a sufficient share of the number of records, and its symbols suit
/// the segments to merge.
fn kept_encoder(own: &Segment, segments: &[&Segment], total: usize) -> Result<Option<Encoder>> {
    let symbols = own.symbols()?;
    if symbols.is_empty() || own.record_count() * KEPT_SHARE_MIN < total {
        return Ok(None);
    }
    let encoder = Encoder::of_table(symbols);
    let serves = serves(&encoder, own, segments)?;
    Ok(serves.then_some(encoder))
}

impl<W: Write> SegmentBuilder<W> {
    /// Finishes the segment in another output, with its records compressed, by ascending id. `view` views
    /// the flushed output so far, which has the records as they were added: each view is given up after some
    /// records, so that memory never holds the pages of all. `release` is called when they are no longer needed,
    /// before anything else is written, so that a disk holds either the plain records or the rest of the segment.
    ///
    /// # Errors
    /// A record is corrupt; or the records cannot be viewed, or the output written.
    ///
    /// Cost: that of training, of encoding all texts, 6 to 10 nanoseconds per byte, and of
    /// [`finish`](Self::finish).
    pub(crate) fn finish_compressed(
        mut self,
        output: W,
        view: impl Fn(&W) -> Result<Bytes>,
        release: impl FnOnce() -> Result<()>,
        progress: &mut FinishProgress<'_>,
    ) -> Result<W> {
        let mut output = SegmentWriter::new(output)?;
        output.begin(SectionKind::Records, Field::None)?;
        // From here on the plain records are only read, and the new output takes their place.
        let (plain, section) = std::mem::replace(&mut self.output, output).into_open_section()?;
        let order = RecordOrder::of(&self);
        let records = PlainRecords {
            view: || view(&plain),
            section,
            starts: self.record_starts(&order),
        };
        let encoder = records.train()?;
        progress.end(FinishStep::TRAIN);
        let starts = records.compress(&encoder, &mut self.output, progress)?;
        drop(records);
        drop(plain);
        release()?;
        self.set_record_starts(&order, &starts);
        drop(starts);
        self.symbols = encoder.symbols();
        drop(encoder);
        assemble::finish(self, order, progress)
    }

    /// The offsets of records in the order of rows, then of company numbers.
    fn record_starts(&self, order: &RecordOrder) -> Vec<u64> {
        let signals = order.rows.iter();
        let signals = signals.map(|&arrival| self.signals.records[arrival as usize]);
        let companies = order.companies.iter();
        let companies = companies.map(|&arrival| self.companies[arrival as usize].record);
        signals.chain(companies).collect()
    }

    /// Replaces the offsets of records, given in the same order.
    fn set_record_starts(&mut self, order: &RecordOrder, starts: &[u64]) {
        let (signals, companies) = starts.split_at(order.rows.len());
        for (&arrival, &start) in order.rows.iter().zip(signals) {
            self.signals.records[arrival as usize] = start;
        }
        for (&arrival, &start) in order.companies.iter().zip(companies) {
            self.companies[arrival as usize].record = start;
        }
    }
}

/// Written records without symbols.
struct PlainRecords<V> {
    /// Views the file anew.
    view: V,
    /// The range of the records in the file.
    section: Range<usize>,
    /// Where each record starts, from the start of the section.
    starts: Vec<u64>,
}

impl<V: Fn() -> Result<Bytes>> PlainRecords<V> {
    fn train(&self) -> Result<Encoder> {
        let file = (self.view)()?;
        let checked = Checked::none(self.starts.len());
        let records = self.records_in(&file, &checked);
        let append_texts = |number: usize, texts: &mut Vec<u8>| {
            append_texts(
                records.stored(number, self.starts[number])?,
                records.symbols,
                texts,
            )
        };
        let sample = Sample::of(self.starts.len(), SAMPLE_BYTES, append_texts)?;
        Ok(Encoder::train(sample.texts()))
    }

    /// Appends the compressed records to an output. Returns where each starts.
    fn compress<W: Write>(
        &self,
        encoder: &Encoder,
        output: &mut SegmentWriter<W>,
        progress: &mut FinishProgress<'_>,
    ) -> Result<Vec<u64>> {
        let mut writer = RecordWriter::default();
        let mut starts = Vec::with_capacity(self.starts.len());
        let checked = Checked::none(self.starts.len());
        let views = self.starts.chunks(RECORDS_IN_VIEW);
        for in_view in views.clone() {
            // Invariant: `starts` has the new offsets of all records before this view.
            let file = (self.view)()?;
            let records = self.records_in(&file, &checked);
            for &start in in_view {
                let stored = records.stored(starts.len(), start)?;
                let bytes = writer.encode(&stored, records.symbols, Some(encoder))?;
                starts.push(output.append(bytes)?);
            }
            progress.end_part(FinishStep::COMPRESS, views.len());
        }
        Ok(starts)
    }

    fn records_in<'a>(&self, file: &'a [u8], checked: &'a Checked) -> Records<'a> {
        Records {
            // A file that is too short has no records, which is an error when the first is read.
            bytes: file.get(self.section.clone()).unwrap_or_default(),
            symbols: SymbolTable {
                starts: &[],
                bytes: &[],
            },
            checked,
        }
    }
}

/// The approximate number of bytes of a segment's texts.
fn text_bytes(segment: &Segment) -> Result<u64> {
    let bytes = segment.views().records.len() as u64;
    Ok(if segment.symbols()?.is_empty() {
        bytes
    } else {
        bytes * EXPECTED_RATIO
    })
}

fn train(sources: &[SegmentRecords<'_>]) -> Result<Encoder> {
    let sample = Sample::of_sources(sources, SAMPLE_BYTES)?;
    Ok(Encoder::train(sample.texts()))
}

/// Whether the symbols of one segment suit the texts of the others.
fn serves(encoder: &Encoder, own: &Segment, segments: &[&Segment]) -> Result<bool> {
    let others = segments.iter().filter(|other| !std::ptr::eq(**other, own));
    let others: Vec<SegmentRecords<'_>> = others
        .map(|segment| SegmentRecords::of(segment))
        .collect::<Result<_>>()?;
    let compressed_bytes = |sources: &[SegmentRecords<'_>]| -> Result<[usize; 2]> {
        let sample = Sample::of_sources(sources, TRIAL_BYTES)?;
        let mut codes = Vec::new();
        sample
            .texts()
            .for_each(|text| encoder.encode(text, &mut codes));
        Ok([sample.bytes.len(), codes.len()])
    };
    let [own_texts, own_codes] = compressed_bytes(&[SegmentRecords::of(own)?])?;
    let [texts, codes] = compressed_bytes(&others)?;
    // Compares the ratios of codes to texts without dividing.
    Ok(codes * own_texts * 100 <= own_codes * texts * TRIAL_RATIO_MAX)
}

/// A segment with a view of its records.
#[derive(Clone, Copy)]
struct SegmentRecords<'a> {
    segment: &'a Segment,
    records: Records<'a>,
}

impl<'a> SegmentRecords<'a> {
    fn of(segment: &'a Segment) -> Result<SegmentRecords<'a>> {
        Ok(SegmentRecords {
            segment,
            records: segment.records()?,
        })
    }

    /// A record by number; those of signals come first.
    fn stored(&self, number: usize) -> Result<Stored<'a>> {
        let stored = self
            .records
            .stored(number, self.segment.record_start(number)?);
        stored.map_err(|error| self.segment.damaged(error))
    }
}

/// Appends the texts of a record.
fn append_texts(stored: Stored<'_>, symbols: SymbolTable<'_>, output: &mut Vec<u8>) -> Result<()> {
    let texts = stored.append_texts(symbols, output);
    texts.ok_or_else(|| Error::corrupt("the texts of a record are malformed"))
}

/// A sample of texts from all over some records.
struct Sample {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Sample {
    /// As [`of`](Self::of), of the records of segments.
    fn of_sources(sources: &[SegmentRecords<'_>], bytes_max: usize) -> Result<Sample> {
        let total = sources.iter().map(|of| of.segment.record_count()).sum();
        Sample::of(total, bytes_max, |mut number, texts| {
            for source in sources {
                // Invariant: `number` counts from the first record of this source.
                if number < source.segment.record_count() {
                    let stored = source.stored(number)?;
                    return append_texts(stored, source.records.symbols, texts);
                }
                number -= source.segment.record_count();
            }
            Ok(())
        })
    }

    /// Takes records until their texts have `bytes_max` bytes: runs of neighbours, to touch few pages of the files, at
    /// offsets spread evenly by the golden ratio (Fibonacci hashing), so that every prefix is a sample, too.
    /// `append_texts` appends the texts of the record with a number below `total`.
    fn of(
        total: usize,
        bytes_max: usize,
        append_texts: impl Fn(usize, &mut Vec<u8>) -> Result<()>,
    ) -> Result<Sample> {
        const GOLDEN: u32 = 0x9E37_79B9;
        let mut sample = Sample {
            bytes: Vec::new(),
            ends: Vec::new(),
        };
        let mut runs = 0..total.div_ceil(RUN_RECORDS) as u32;
        while sample.bytes.len() < bytes_max
            && let Some(run) = runs.next()
        {
            // A fraction of 2³² times the total, so the index is below the total.
            let place = u64::from(run.wrapping_mul(GOLDEN)) * total as u64;
            let first = (place >> u32::BITS) as usize;
            for number in first..total.min(first + RUN_RECORDS) {
                append_texts(number, &mut sample.bytes)?;
                sample.ends.push(sample.bytes.len());
            }
        }
        Ok(sample)
    }

    fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let spans = starts.zip(&self.ends);
        spans.map(|(start, &end)| &self.bytes[start..end])
    }
}

#[cfg(test)]
mod tests;
