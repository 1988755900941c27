//! Finds the most similar known name, for "did you mean …?".

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
    let typed = letters(name);
    let allowed = (typed.len() / 3).clamp(1, 3);
    let forms = known.into_iter().flat_map(|known| {
        let last = known.rsplit('.').next().unwrap_or(known);
        [known, last].map(|form| (letters(form), known))
    });
    // The difference in length is a lower bound of the distance, which excludes most names.
    let near = forms.filter(|(form, _)| form.len().abs_diff(typed.len()) <= allowed);
    let nearest = near.map(|(form, known)| (distance(&typed, &form), known));
    let (distance, nearest) = nearest.min_by_key(|&(distance, _)| distance)?;
    // A name with every letter wrong is a different name.
    (distance <= allowed && distance < typed.len()).then_some(nearest)
}

/// The hint for a message; empty if no known name is similar.
pub(crate) fn did_you_mean(name: &str, known: &[&str]) -> String {
    let nearest = nearest_name(name, known.iter().copied());
    nearest.map_or(String::new(), |nearest| {
        format!(" (did you mean {nearest}?)")
    })
}

const LETTERS_MAX: usize = 64;

fn letters(name: &str) -> Vec<char> {
    let counts = |letter: &char| !matches!(letter, '_' | '-' | ' ');
    let letters = name.chars().flat_map(char::to_lowercase).filter(counts);
    letters.take(LETTERS_MAX).collect()
}

/// The edit distance, counting insertions, deletions, substitutions and swaps of neighbours.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before_last: Vec<usize> = vec![0; other.len() + 1];
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        // `last` holds the distances between the first `row` letters and each prefix of `other`.
        let mut next = vec![row + 1; other.len() + 1];
        for (column, with) in other.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != with);
            let mut min = replaced.min(last[column + 1] + 1).min(next[column] + 1);
            let is_swapped =
                row > 0 && column > 0 && one[row - 1] == *with && other[column - 1] == *letter;
            if is_swapped {
                min = min.min(before_last[column - 1] + 1);
            }
            next[column + 1] = min;
        }
        before_last = std::mem::replace(&mut last, next);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests;
