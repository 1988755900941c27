//! The entropy bound of each section: the minimum number of bytes if each symbol or set is coded independently.
//!
//! The bounds show which encodings could be improved. docs/format.md describes how they are computed, and has the
//! table for two corpora.

use super::field::{COMPANY_POSTINGS, Field};
use super::format::{self, FieldNumber};
use super::schema::{SECTIONS, SectionKind};
use super::views::section_name;
use super::{Segment, TextField};
use crate::Result;
use crate::encoding::entropy::{choice_bits, of_differences, of_symbols};
use crate::encoding::posting::PostingBits;
use crate::encoding::tokens;
use crate::query::Facet;

impl Segment {
    /// The name of each section with its entropy bound in bytes.
    ///
    /// # Errors
    /// Damage in anything except the records.
    ///
    /// Cost: reads everything, including records, and counts symbols in tables.
    pub(crate) fn entropy_bounds(&self) -> Result<Vec<(String, f64)>> {
        self.check()?;
        let file = self.bytes.borrow_owner();
        let postings = self.posting_bits();
        let entries = self.views().table.sections.iter();
        let bounds = entries.map(|entry| {
            let bytes = format::check_bounds(file, entry)?;
            let bits = match entry.kind {
                SectionKind::Postings => postings.entries,
                SectionKind::PostingRows => postings.rows,
                SectionKind::Containers => postings.containers,
                SectionKind::Arrays => postings.arrays,
                SectionKind::Bitsets => postings.bitsets,
                kind => self.bits_of(kind, entry.field, bytes)?,
            };
            Ok((section_name(entry.kind, entry.field), bits / 8.0))
        });
        bounds.collect()
    }

    /// Adds the bounds of postings: for each list and container, the bits that identify its set.
    fn posting_bits(&self) -> PostingBits {
        let first_of_companies = self.views().table.field_postings[COMPANY_POSTINGS] as usize;
        self.views().postings.bits(|posting| {
            if posting < first_of_companies {
                self.row_count()
            } else {
                self.company_count()
            }
        })
    }

    fn bits_of(&self, kind: SectionKind, field: FieldNumber, bytes: &[u8]) -> Result<f64> {
        let views = self.views();
        Ok(match kind {
            SectionKind::FrameOfReference if field == Field::Title.number() => {
                of_differences(self.tokens(TextField::Title)?.ends.iter())
            }
            SectionKind::FrameOfReference if field == Field::Name.number() => {
                of_differences(self.tokens(TextField::Name)?.ends.iter())
            }
            SectionKind::FrameOfReference => of_differences(self.ids()?.iter()),
            SectionKind::PackedWords => {
                let of_first = field == Field::FirstCommit.number();
                let numbers = if of_first {
                    views.commits.first
                } else {
                    views.commits.last
                };
                of_symbols((0..numbers.len).map(|index| numbers.get(index)))
            }
            SectionKind::LinearFrames if field == Field::CompanyName.number() => {
                of_differences(views.company_names.ends.iter())
            }
            SectionKind::LinearFrames if field == Field::CompanyRecord.number() => {
                of_differences(views.company_records.iter())
            }
            SectionKind::LinearFrames => of_differences(views.signal_records.iter()),
            // Their bits are counted with the words.
            SectionKind::PackedFrames | SectionKind::ExceptionBlocks => 0.0,
            SectionKind::Codes => self.bits_of_codes(field)?,
            SectionKind::Tokens => {
                let terms = tokens::decode(bytes).map_while(|term| term.ok());
                of_symbols(terms.map(|term| term.0.into()))
            }
            SectionKind::CompanyRows => {
                let by_company = self.rows_by_company()?;
                let rows_of = |company| by_company.get(company).len() as f64;
                let rows = f64::from(self.row_count());
                self.companies()
                    .map(|company| choice_bits(rows, rows_of(company)))
                    .sum()
            }
            SectionKind::KeyEnds
            | SectionKind::LabelEnds
            | SectionKind::CompanyStarts
            | SectionKind::HashIndexStarts
            | SectionKind::SymbolStarts
            | SectionKind::Days => of_differences(elements::<4>(bytes)),
            SectionKind::PermutationStarts => of_differences(elements::<2>(bytes)),
            _ => match SECTIONS[kind as usize].width {
                1 => of_symbols(elements::<1>(bytes)),
                2 => of_symbols(elements::<2>(bytes)),
                4 => of_symbols(elements::<4>(bytes)),
                _ => of_symbols(elements::<8>(bytes)),
            },
        })
    }

    fn bits_of_codes(&self, field: FieldNumber) -> Result<f64> {
        let facet = Facet::ALL
            .into_iter()
            .find(|&facet| Field::Facet(facet).number() == field);
        if let Some(facet) = facet {
            let column = self.facet_column(facet)?;
            return Ok(of_symbols(self.rows().map(|row| column.get(row).into())));
        }
        let column = if field == Field::Date.number() {
            self.day_column()?.column
        } else if field == Field::Amount.number() {
            self.amount_column()?.column
        } else {
            self.company_column()?
        };
        Ok(of_symbols(self.rows().map(|row| column.get(row).into())))
    }
}

/// The elements of a section as numbers.
fn elements<const WIDTH: usize>(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let (elements, _) = bytes.as_chunks::<WIDTH>();
    elements.iter().map(|element| {
        let mut number = [0; 8];
        number[..WIDTH].copy_from_slice(element);
        u64::from_le_bytes(number)
    })
}
