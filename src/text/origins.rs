//! Finds words in a text as it was before folding, for highlighting.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::folding::folded;
use super::forms::Form;
use super::{folded_part, latin, visit_forms_of};

/// The byte ranges in `text` of its words with a form that `is_wanted`, ascending and without overlap.
pub(crate) fn ranges_of_words(text: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut buffer = String::new();
    let mut start = 0;
    for part in text.split_inclusive(char::is_whitespace) {
        // Invariant: the ranges are those of the text before `start`.
        let written = part.trim_end();
        let (folded, is_latin) = folded_part(written);
        let origins = Origins::of(written, &folded);
        let mut add = |form: Form<'_>| {
            if !is_wanted(form.text) {
                return;
            }
            let range = origins.range(form.range, written.len());
            let range = start + range.start..start + range.end;
            match ranges.last_mut() {
                // A character may fold to parts of two words, as "℆" does.
                Some(last) if range.start < last.end => last.end = range.end,
                _ => ranges.push(range),
            }
        };
        visit_forms_of(&folded, is_latin, &mut buffer, &mut add);
        start += part.len();
    }
    ranges
}

/// Where the letters of a folded text come from.
enum Origins {
    /// From the same index: the text is ASCII.
    Same,
    /// By character as people see it: the end of what is folded up to it, and its range in the text.
    Folded(Vec<(usize, Range<usize>)>),
    /// The characters have other folds alone than together.
    Unknown,
}

impl Origins {
    fn of(text: &str, whole: &str) -> Origins {
        if text.is_ascii() {
            return Origins::Same;
        }
        let mut ends = Vec::new();
        let mut concatenated = String::with_capacity(whole.len());
        for (index, cluster) in text.grapheme_indices(true) {
            let alone = latin::folded(cluster).unwrap_or_else(|| folded(cluster));
            concatenated.push_str(&alone);
            ends.push((concatenated.len(), index..index + cluster.len()));
        }
        if concatenated == whole {
            Origins::Folded(ends)
        } else {
            Origins::Unknown
        }
    }

    /// The range in the text, of that `length`, of a range of the folded text.
    fn range(&self, folded: Range<usize>, length: usize) -> Range<usize> {
        match self {
            Origins::Same => folded,
            Origins::Folded(ends) => {
                let first = ends.partition_point(|(end, _)| *end <= folded.start);
                let last = ends.partition_point(|(end, _)| *end < folded.end);
                ends[first].1.start..ends[last].1.end
            }
            Origins::Unknown => 0..length,
        }
    }
}
