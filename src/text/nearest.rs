//! Finds the most similar known name, for "did you mean …?".

use std::ops::Range;

/// The known name that is most similar to `name`, if one is similar enough.
///
/// Ignores letter case, `_`, `-`, spaces, and the part of a known name before a dot: `company_slug` equals
/// `companySlug`, and `stage` is similar to `funding.stage`. Otherwise, one letter in three may be
/// wrong, missing, added, or swapped with its neighbour.
///
/// ```
/// let names = ["country", "companySlug", "funding.stage"];
/// assert_eq!(signaldex::text::nearest_name("contry", names), Some("country"));
/// assert_eq!(signaldex::text::nearest_name("company_slug", names), Some("companySlug"));
/// assert_eq!(signaldex::text::nearest_name("colour", names), None);
/// ```
///
/// Cost: the product of the lengths, for each known name. Only 64 characters of `name` are compared.
pub fn nearest_name<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    KnownNames::of(known).nearest(name)
}

/// Known names, prepared for comparison with several others.
#[derive(Debug)]
pub(crate) struct KnownNames<'k> {
    forms: Vec<KnownForm<'k>>,
    /// The letters of all forms.
    letters: Vec<char>,
}

/// A known name, or its part after the last dot.
#[derive(Debug)]
struct KnownForm<'k> {
    name: &'k str,
    letters: Range<usize>,
    set: u64,
}

impl<'k> KnownNames<'k> {
    pub(crate) fn of(known: impl IntoIterator<Item = &'k str>) -> KnownNames<'k> {
        let mut names = KnownNames {
            forms: Vec::new(),
            letters: Vec::new(),
        };
        for name in known {
            names.add(name, name);
            if let Some((_, last)) = name.rsplit_once('.') {
                names.add(name, last);
            }
        }
        names
    }

    fn add(&mut self, name: &'k str, text: &str) {
        let start = self.letters.len();
        self.letters.extend(letters(text));
        let letters = start..self.letters.len();
        let set = letter_set(&self.letters[letters.clone()]);
        self.forms.push(KnownForm { name, letters, set });
    }

    /// The known name that is most similar, as [`nearest_name`] says.
    pub(crate) fn nearest(&self, name: &str) -> Option<&'k str> {
        let typed: Vec<char> = letters(name).collect();
        // A name with every letter wrong is a different name.
        let most_wrong = typed.len().checked_sub(1)?;
        let mut allowed = (typed.len() / 3).clamp(1, 3).min(most_wrong);
        let (mut nearest, mut rows, set) = (None, EditRows::default(), letter_set(&typed));
        for form in &self.forms {
            // Invariant: a form is nearer than all before it if at most `allowed` letters are wrong.
            if letters_apart(set, form.set) > allowed {
                continue;
            }
            let letters = &self.letters[form.letters.clone()];
            let Some(distance) = rows.distance(&typed, letters, allowed) else {
                continue;
            };
            nearest = Some(form.name);
            match distance.checked_sub(1) {
                Some(nearer) => allowed = nearer,
                None => return nearest,
            }
        }
        nearest
    }
}

/// The hint for a message; empty if no known name is similar.
pub(crate) fn did_you_mean(name: &str, known: &[&str]) -> String {
    let nearest = nearest_name(name, known.iter().copied());
    nearest.map_or(String::new(), |nearest| {
        format!(" (did you mean {nearest}?)")
    })
}

const LETTERS_MAX: usize = 64;

fn letters(name: &str) -> impl Iterator<Item = char> {
    let counts = |letter: &char| !matches!(letter, '_' | '-' | ' ');
    let letters = name.chars().flat_map(|letter| {
        // The table of letters is for others than ASCII.
        let ascii = letter.is_ascii().then(|| letter.to_ascii_lowercase());
        let other = ascii.is_none().then(|| letter.to_lowercase());
        ascii.into_iter().chain(other.into_iter().flatten())
    });
    letters.filter(counts).take(LETTERS_MAX)
}

/// The set of the letters of a name, by their last six bits.
fn letter_set(name: &[char]) -> u64 {
    let bits = name.iter().map(|&letter| 1 << (letter as u32 % u64::BITS));
    bits.fold(0, |set: u64, bit: u64| set | bit)
}

/// A lower bound of the distance of names: each edit adds at most one letter to a set, and removes one.
fn letters_apart(one: u64, other: u64) -> usize {
    let added = (other & !one).count_ones();
    (one & !other).count_ones().max(added) as usize
}

/// The rows of a table of distances, kept for the next one.
#[derive(Default)]
struct EditRows {
    before_last: Vec<usize>,
    last: Vec<usize>,
    next: Vec<usize>,
}

impl EditRows {
    /// The edit distance, counting insertions, deletions, substitutions and swaps of neighbours; `None` if it is more
    /// than `max`.
    fn distance(&mut self, one: &[char], other: &[char], max: usize) -> Option<usize> {
        // The difference in length is a lower bound, which excludes most names.
        if one.len().abs_diff(other.len()) > max {
            return None;
        }
        self.before_last.clear();
        self.before_last.resize(other.len() + 1, 0);
        self.last.clear();
        self.last.extend(0..=other.len());
        let mut last_min = 0;
        for (row, letter) in one.iter().enumerate() {
            // `last` holds the distances between the first `row` letters and each prefix of `other`.
            self.next.clear();
            self.next.push(row + 1);
            let mut row_min = row + 1;
            for (column, with) in other.iter().enumerate() {
                let replaced = self.last[column] + usize::from(letter != with);
                let mut min = replaced
                    .min(self.last[column + 1] + 1)
                    .min(self.next[column] + 1);
                let is_swapped =
                    row > 0 && column > 0 && one[row - 1] == *with && other[column - 1] == *letter;
                if is_swapped {
                    min = min.min(self.before_last[column - 1] + 1);
                }
                self.next.push(min);
                row_min = row_min.min(min);
            }
            // A distance comes from one of the last two rows, and never gets smaller.
            if row_min > max && last_min > max {
                return None;
            }
            last_min = row_min;
            std::mem::swap(&mut self.before_last, &mut self.last);
            std::mem::swap(&mut self.last, &mut self.next);
        }
        Some(self.last[other.len()]).filter(|distance| *distance <= max)
    }
}

#[cfg(test)]
mod tests;
