//! Where in a title the words are that a filter looks for, for people to see.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::Filter;
use crate::text;

impl Filter {
    /// The words of a title that are among those the filter looks for, as ranges of bytes in ascending
    /// order. Which words stand in a phrase, or are excluded, makes no difference.
    ///
    /// ```
    /// # use signaldex::Filter;
    /// let filter = Filter::parse("q=\"series a\"")?;
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

/// Words and what is between them. The signs of "C++" and "C#" belong to their letter.
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
