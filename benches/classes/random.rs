//! Random numbers that are the same everywhere: splitmix64, seeded by a name.

/// A stream of random numbers.
pub(crate) struct Random(u64);

impl Random {
    /// The stream of a name. Streams of different names have nothing to do with each other.
    pub(crate) fn named(name: &str) -> Random {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01b3;
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        Random(name.bytes().fold(OFFSET, hash))
    }

    /// A number below `bound`, which is at least 1. The bias is far below what measuring notices.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// One of some items; none of an empty list.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() {
            None
        } else {
            items.get(self.below(items.len()))
        }
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }
}

/// The number that splitmix64 makes of a state.
pub(crate) fn mixed(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}
