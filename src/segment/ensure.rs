//! What a rule that does not hold means: damage.

use crate::{Error, Result};

/// Returns a corrupt-segment error if a rule does not hold.
pub(super) fn ensure(holds: bool, rule: &str) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(Error::corrupt(rule))
    }
}
