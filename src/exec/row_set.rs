//! The matches of a segment as a set of rows, and whether a stored set has a live row.

use super::live::{LiveSegment, Request};
use super::observer::Unobserved;
use super::operand::rows_of;
use crate::Result;
use crate::encoding::posting::BlockRows;
use crate::encoding::row_bits::RowBits;
use crate::plan::Source;

impl LiveSegment<'_> {
    /// Adds the matches of a request to a set of rows.
    ///
    /// # Errors
    /// A part of the segment that the request needs is damaged.
    ///
    /// Cost: that of a count without stored counts, and copying the set of each block.
    pub(crate) fn add_matches_to(self, request: &Request<'_>, rows: &mut RowBits) -> Result<()> {
        let (matched, ()) = self.matched_rows::<Unobserved>(request)?;
        matched.add_to(rows);
        Ok(())
    }

    /// Whether a stored set has a live row.
    ///
    /// # Errors
    /// The set is damaged.
    ///
    /// Cost: a look at each block up to the first with such a row; that of a bitset takes a microsecond.
    pub(crate) fn has_live_row(self, source: Source) -> Result<bool> {
        let rows = rows_of(self.segment, source)?;
        let Some(deleted) = self.deleted.posting() else {
            return Ok(rows.next_block(0).is_some());
        };
        let mut next = rows.next_block(0);
        // Invariant: all rows in blocks before `next` are deleted.
        while let Some(block) = next {
            if has_other_row(rows.block(block), deleted.block(block)) {
                return Ok(true);
            }
            next = rows.next_block(block + 1);
        }
        Ok(false)
    }
}

/// Whether a set has a row of a block that another does not have.
fn has_other_row(set: BlockRows<'_>, other: BlockRows<'_>) -> bool {
    match (set, other) {
        (BlockRows::Bits(set), BlockRows::Bits(other)) => {
            let mut words = set.iter().zip(other);
            words.any(|(set, other)| set & !other != 0)
        }
        _ => set.offsets().any(|offset| !other.contains(offset)),
    }
}
