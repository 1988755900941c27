//! A loser tree over `u64` keys: the largest of many sorted inputs, replaced in one pass to the root.

/// The key of an input without further values: less than every other.
pub(crate) const NO_KEY: u64 = 0;

/// A tree of comparisons, each of which stores its loser ("tree of losers", Knuth, The Art of Computer
/// Programming, volume 3, 5.4.1): a key that replaces the root is compared only with losers on its way up.
/// Which input comes next is unpredictable, so a heap, which branches on it, takes three times as long
/// (`benches/queries`, 20 companies).
#[derive(Debug)]
pub(crate) struct LoserTree {
    root: u64,
    /// The final comparison is at index 1; the children of index `n` are at `2n` and `2n + 1`.
    losers: Vec<u64>,
}

impl LoserTree {
    /// Creates a tree from the first key of each input.
    pub(crate) fn new(leaves: impl ExactSizeIterator<Item = u64>) -> LoserTree {
        let count = leaves.len().next_power_of_two();
        let mut tree = vec![NO_KEY; 2 * count];
        for (slot, leaf) in tree[count..].iter_mut().zip(leaves) {
            *slot = leaf;
        }
        // From the leaves up, so both children of a comparison have their winners.
        for index in (1..count).rev() {
            tree[index] = tree[2 * index].max(tree[2 * index + 1]);
        }
        let root = tree[1];
        // From the root down, the children of a comparison still hold their winners.
        for index in 1..count {
            tree[index] = tree[2 * index].min(tree[2 * index + 1]);
        }
        tree.truncate(count);
        LoserTree { root, losers: tree }
    }

    /// The largest key; [`NO_KEY`] if every input is exhausted.
    #[inline(always)]
    pub(crate) fn root(&self) -> u64 {
        self.root
    }

    /// Replaces the root, which is the key of this input, with the input's next key.
    #[inline(always)]
    pub(crate) fn replace_root(&mut self, input: usize, next: u64) {
        // There are as many slots as leaves, a power of two, so this is the parent of the input's
        // leaf.
        let mut index = (self.losers.len() + input) / 2;
        let mut winner = next;
        // `winner` is the largest key below the comparison at `index`.
        while index > 0 {
            let loser = &mut self.losers[index];
            (winner, *loser) = (winner.max(*loser), winner.min(*loser));
            index /= 2;
        }
        self.root = winner;
    }
}

#[cfg(test)]
mod tests;
