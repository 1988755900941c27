//! Results as plots.

use std::path::Path;

use crate::Result;
use crate::measure::Results;

/// Draws one plot a task.
pub fn draw(_results: &Results, _folder: &Path, _name: &str) -> Result<()> {
    Ok(())
}
