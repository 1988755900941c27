//! Compression of records: choosing symbols, and compressing a finished segment.

use std::io::Write;

use super::Segment;
use super::assemble::{write_record_starts, write_symbols};
use super::field::Field;
use super::format::{self, SegmentWriter};
use super::parts::Part;
use super::record::{RecordWriter, Records, Stored};
use super::schema::SectionKind;
use crate::encoding::bytes::Bytes;
use crate::encoding::linear_frames::LinearFrameSections;
use crate::encoding::symbols::{Encoder, SAMPLE_BYTES};
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
    let bytes: u64 = segments.iter().map(|segment| text_bytes(segment)).sum();
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
    let sources: Vec<Source<'_>> = segments.iter().copied().map(Source::of).collect();
    train(&sources).map(Some)
}

/// An encoder with a segment's symbols, if it has a sufficient share of the number of records, and its symbols suit
/// the segments to merge.
fn kept_encoder(own: &Segment, segments: &[&Segment], total: usize) -> Result<Option<Encoder>> {
    own.ensure(Part::RecordStarts.bit())?;
    if own.symbols().is_empty() || own.record_count() * KEPT_SHARE_MIN < total {
        return Ok(None);
    }
    let encoder = Encoder::of_table(own.symbols());
    let serves = serves(&encoder, own, segments)?;
    Ok(serves.then_some(encoder))
}

/// Writes a segment again with its records compressed, by ascending id. All else is copied. `view` views
/// the segment's file anew: each view is given up after some records, so that memory never holds the
/// pages of all.
///
/// # Errors
/// A record is corrupt; or the file cannot be viewed, or the output written.
///
/// Cost: that of training and of encoding all texts, 6 to 10 nanoseconds per byte; copies the rest.
pub(crate) fn compress<W: Write>(
    segment: &Segment,
    view: impl Fn() -> Result<Bytes>,
    output: W,
) -> Result<W> {
    let encoder = {
        let file = view()?;
        let records = records_in(&file, segment)?;
        train(&[Source { segment, records }])?
    };
    let mut output = SegmentWriter::new(output)?;
    output.begin(SectionKind::Records, Field::None)?;
    let mut writer = RecordWriter::default();
    let mut starts = Vec::new();
    for first in (0..segment.record_count()).step_by(RECORDS_IN_VIEW) {
        let file = view()?;
        let source = Source {
            segment,
            records: records_in(&file, segment)?,
        };
        let last = segment.record_count().min(first + RECORDS_IN_VIEW);
        for number in first..last {
            let stored = source.stored(number)?;
            writer.take(&stored, segment.symbols())?;
            starts.push(output.append(writer.finish(Some(&encoder)))?);
        }
    }
    let companies = starts.split_off(segment.row_count() as usize);
    for (field, starts) in [
        (Field::SignalRecord, starts),
        (Field::CompanyRecord, companies),
    ] {
        write_record_starts(&mut output, field, &LinearFrameSections::of(starts))?;
    }
    write_symbols(&mut output, &encoder.symbols())?;
    let table = &segment.views().table;
    let file = segment.bytes.borrow_owner();
    for entry in &table.sections {
        if !is_of_records(entry.kind) {
            output.copy(entry, format::check_section(file, entry)?)?;
        }
    }
    let postings = table.field_postings.clone();
    output.finish(table.rows, table.companies, postings)
}

/// The records of a segment in a view of its file.
fn records_in<'a>(file: &'a [u8], segment: &'a Segment) -> Result<Records<'a>> {
    let mut entries = segment.views().table.sections.iter();
    let entry = entries.find(|entry| entry.kind == SectionKind::Records);
    let entry = entry.ok_or_else(|| Error::corrupt("there is no section of records"))?;
    Ok(Records {
        bytes: format::check_bounds(file, entry)?,
        ..segment.records()
    })
}

/// Whether compression changes a section. Checkpoints are written by the writer itself.
fn is_of_records(kind: SectionKind) -> bool {
    use SectionKind as Kind;
    matches!(
        kind,
        Kind::Records
            | Kind::LinearFrames
            | Kind::LinearWords
            | Kind::SymbolStarts
            | Kind::Symbols
            | Kind::Checkpoints
    )
}

/// The approximate number of bytes of a segment's texts.
fn text_bytes(segment: &Segment) -> u64 {
    let bytes = segment.views().records.len() as u64;
    if segment.symbols().is_empty() {
        bytes
    } else {
        bytes * EXPECTED_RATIO
    }
}

fn train(sources: &[Source<'_>]) -> Result<Encoder> {
    let sample = Sample::of(sources, SAMPLE_BYTES)?;
    Ok(Encoder::train(sample.texts()))
}

/// Whether the symbols of one segment suit the texts of the others.
fn serves(encoder: &Encoder, own: &Segment, segments: &[&Segment]) -> Result<bool> {
    let others = segments.iter().filter(|other| !std::ptr::eq(**other, own));
    let others: Vec<Source<'_>> = others.map(|segment| Source::of(segment)).collect();
    let compressed_bytes = |sources: &[Source<'_>]| -> Result<[usize; 2]> {
        let sample = Sample::of(sources, TRIAL_BYTES)?;
        let mut codes = Vec::new();
        sample
            .texts()
            .for_each(|text| encoder.encode(text, &mut codes));
        Ok([sample.bytes.len(), codes.len()])
    };
    let [own_texts, own_codes] = compressed_bytes(&[Source::of(own)])?;
    let [texts, codes] = compressed_bytes(&others)?;
    Ok(codes * own_texts * 100 <= own_codes * texts * TRIAL_RATIO_MAX)
}

/// A segment with a view of its records.
#[derive(Clone, Copy)]
struct Source<'a> {
    segment: &'a Segment,
    records: Records<'a>,
}

impl<'a> Source<'a> {
    fn of(segment: &'a Segment) -> Source<'a> {
        Source {
            segment,
            records: segment.records(),
        }
    }

    /// A record by number; those of signals come first.
    fn stored(&self, number: usize) -> Result<Stored<'a>> {
        let stored = self
            .records
            .stored(number, self.segment.record_start(number));
        stored.map_err(|error| self.segment.named(error))
    }
}

/// A sample of texts from whole segments.
struct Sample {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Sample {
    /// Takes records until their texts have `bytes_max` bytes: runs of neighbours, to touch few pages of the files, at
    /// offsets spread evenly by the golden ratio (Fibonacci hashing), so that every prefix is a sample, too.
    fn of(sources: &[Source<'_>], bytes_max: usize) -> Result<Sample> {
        const GOLDEN: u32 = 0x9E37_79B9;
        let mut sample = Sample {
            bytes: Vec::new(),
            ends: Vec::new(),
        };
        let total: usize = sources.iter().map(|of| of.segment.record_count()).sum();
        let mut runs = 0..total.div_ceil(RUN_RECORDS) as u32;
        while sample.bytes.len() < bytes_max
            && let Some(run) = runs.next()
        {
            let place = u64::from(run.wrapping_mul(GOLDEN)) * total as u64;
            let first = (place >> u32::BITS) as usize;
            for number in first..total.min(first + RUN_RECORDS) {
                sample.take(sources, number)?;
            }
        }
        Ok(sample)
    }

    /// Takes a record by number, counted over all segments.
    fn take(&mut self, sources: &[Source<'_>], mut number: usize) -> Result<()> {
        for source in sources {
            if number < source.segment.record_count() {
                let stored = source.stored(number)?;
                let texts = stored.append_texts(source.segment.symbols(), &mut self.bytes);
                self.ends.push(self.bytes.len());
                return texts.ok_or_else(|| Error::corrupt("the texts of a record are malformed"));
            }
            number -= source.segment.record_count();
        }
        Ok(())
    }

    fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let spans = starts.zip(&self.ends);
        spans.map(|(start, &end)| &self.bytes[start..end])
    }
}

#[cfg(test)]
mod tests;
