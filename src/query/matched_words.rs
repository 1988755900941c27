//! Finds the words of a filter in a title, for highlighting.

use std::ops::Range;

use super::Filter;
use crate::text::ranges_of_words;

impl Filter {
    /// The byte ranges of the words in a title that the filter looks for, ascending. A word matches by each of its
    /// forms; words of phrases match on their own, too, and a prefix word marks the whole word that begins so.
    ///
    /// ```
    /// # use signaldex::Filter;
    /// let filter = Filter::from_query_string("q=\"series a\" acm*")?;
    /// assert_eq!(filter.matched_words("Acme: Series A"), [0..4, 6..12, 13..14]);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn matched_words(&self, title: &str) -> Vec<Range<usize>> {
        let phrases = || self.all.iter().chain(&self.any);
        ranges_of_words(title, |form| phrases().any(|phrase| phrase.has_word(form)))
    }
}
