//! Finds the words of a filter in a title, for highlighting.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::Filter;
use crate::text;

impl Filter {
    /// The byte ranges of the words in a title that the filter looks for, ascending. Words of phrases match on
    /// their own, too.
    ///
    /// ```
    /// # use signaldex::Filter;
    /// let filter = Filter::from_query_string("q=\"series a\"")?;
    /// assert_eq!(filter.matched_words("Acme: Series A"), [6..12, 13..14]);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn matched_words(&self, title: &str) -> Vec<Range<usize>> {
        let words = self.title_words();
        let is_match = |range: &Range<usize>| {
            let terms = text::terms(&title[range.clone()]);
            terms.iter().any(|term| words.contains(term))
        };
        parts(title).filter(is_match).collect()
    }
}

/// Splits a title into words and the text between them, with the signs of "C++" and "C#" as part of the word.
fn parts(title: &str) -> impl Iterator<Item = Range<usize>> {
    let mut bounds = title.split_word_bound_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = bounds.next()?;
        let mut end = start + first.len();
        let is_letter = first.chars().count() == 1 && first.chars().all(char::is_alphabetic);
        while is_letter
            && let Some((_, sign)) = bounds.next_if(|(_, next)| matches!(*next, "+" | "#"))
        {
            end += sign.len();
        }
        Some(start..end)
    })
}
