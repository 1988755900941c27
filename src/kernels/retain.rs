//! Filters a list in place without branches.

/// Keeps the offsets or rows of a list that pass a cheap test. Branchless, because the outcome is
/// unpredictable.
#[inline]
pub(crate) fn retain_where<T: Copy>(list: &mut Vec<T>, keep: impl Fn(T) -> bool) {
    let mut kept = 0;
    // Invariant: kept values are before `kept`, which is at most `index`.
    for index in 0..list.len() {
        let value = list[index];
        list[kept] = value;
        kept += usize::from(keep(value));
    }
    list.truncate(kept);
}
