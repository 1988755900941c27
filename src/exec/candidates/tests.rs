//! White-box tests of `exec/candidates.rs`.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::encoding::row::Row;
use crate::exec::output::OutputBuffer;
use crate::kernels::block::BLOCK_ROWS;
use crate::query::IdOrder;

fn sets() -> impl Strategy<Value = BTreeSet<u16>> {
    prop_oneof![
        prop::collection::btree_set(any::<u16>(), 0..40),
        prop::collection::btree_set(0_u16..2_000, 0..1_500),
        (1_u32..90, any::<u16>()).prop_map(|(stride, first)| (u32::from(first)..65_536)
            .step_by(stride as usize)
            .map(|o| o as u16)
            .collect()),
    ]
}

/// A set in each of the shapes in which it can come.
struct Shapes {
    rows: Vec<u32>,
    offsets: Vec<u16>,
    bits: Box<BlockBits>,
}

impl Shapes {
    fn new(set: &BTreeSet<u16>) -> Shapes {
        let mut bits = Box::new([0; BLOCK_WORDS]);
        set.iter().for_each(|&offset| bits::set(&mut bits, offset));
        Shapes {
            rows: set.iter().map(|&offset| Row::of(3, offset).0).collect(),
            offsets: set.iter().copied().collect(),
            bits,
        }
    }

    fn each(&self) -> [BlockRows<'_>; 3] {
        [
            BlockRows::List(&self.rows),
            BlockRows::Array(&self.offsets),
            BlockRows::Bits(&self.bits),
        ]
    }
}

fn listed(candidates: &Candidates) -> Vec<u16> {
    let mut offsets = Vec::new();
    candidates.rows().for_each(|offset| offsets.push(offset));
    offsets
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sets_narrow_as_sets_do(a in sets(), b in sets()) {
        let (shapes_a, shapes_b) = (Shapes::new(&a), Shapes::new(&b));
        let mut candidates = Candidates::default();
        for first in shapes_a.each() {
            for second in shapes_b.each() {
                if let Some(count) = count_both(first, second) {
                    prop_assert_eq!(count as usize, a.intersection(&b).count());
                }
                candidates.load_both(first, second);
                prop_assert_eq!(listed(&candidates), a.intersection(&b).copied().collect::<Vec<_>>());
                candidates.load(first);
                candidates.intersect(second);
                prop_assert_eq!(listed(&candidates), a.intersection(&b).copied().collect::<Vec<_>>());
                prop_assert_eq!(candidates.count() as usize, a.intersection(&b).count());
                candidates.load(first);
                prop_assert_eq!(candidates.count_in(second) as usize, a.intersection(&b).count());
                candidates.load(first);
                candidates.subtract(second);
                prop_assert_eq!(listed(&candidates), a.difference(&b).copied().collect::<Vec<_>>());
            }
            candidates.load(first);
            candidates.retain(|offset| offset % 7 < 3);
            let expected: Vec<u16> = a.iter().copied().filter(|o| o % 7 < 3).collect();
            prop_assert_eq!(listed(&candidates), expected);
        }
    }

    #[test]
    fn candidates_are_collected_from_both_sides(
        a in sets(),
        bounds in (0_u32..=65_536, 0_u32..=65_536),
        wanted in 1_usize..80,
    ) {
        let shapes = Shapes::new(&a);
        let (start, end) = (bounds.0.min(bounds.1), bounds.0.max(bounds.1));
        let words = (start / 64) as usize..(end.div_ceil(64) as usize).max(1);
        let bits = CandidateRows::Bits { first_word: words.start, words: &shapes.bits[words] };
        let inside = a.iter().copied().filter(|&row| (start..end).contains(&row.into()));
        let inside: Vec<u32> = inside.map(u32::from).collect();
        for rows in [CandidateRows::List(&shapes.offsets), bits] {
            let mut output = OutputBuffer::new();
            output.reset(0, wanted);
            let most = wanted.min(output.room());
            rows.collect(&(start..end), IdOrder::OldestFirst, &mut output);
            prop_assert_eq!(output.rows(), &inside[..inside.len().min(most)]);
            output.reset(0, wanted);
            rows.collect(&(start..end), IdOrder::NewestFirst, &mut output);
            let last: Vec<u32> = inside.iter().rev().take(most).copied().collect();
            prop_assert_eq!(output.rows(), last);
        }
    }

    #[test]
    fn unions_are_unions(parts in prop::collection::vec(sets(), 1..5), narrowed in sets()) {
        let rows: Vec<Vec<u32>> = parts
            .iter()
            .map(|part| part.iter().map(|&offset| Row::of(3, offset).0).collect())
            .collect();
        let postings: Vec<Posting<'_>> = rows.iter().map(|rows| Posting::List(rows)).collect();
        let union: BTreeSet<u16> = parts.iter().flatten().copied().collect();
        let mut candidates = Candidates::default();
        candidates.set_window(RowWindow::whole(3));
        candidates.load_union(&postings);
        prop_assert_eq!(listed(&candidates), union.iter().copied().collect::<Vec<_>>());
        for set in Shapes::new(&narrowed).each() {
            candidates.load(set);
            candidates.intersect_union(&postings);
            prop_assert_eq!(listed(&candidates), narrowed.intersection(&union).copied().collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_block_may_be_shorter_than_a_block() {
    let mut candidates = Candidates::default();
    for rows in [1, 63, 64, 65, BLOCK_ROWS - 1, BLOCK_ROWS] {
        candidates.fill(rows);
        assert_eq!(candidates.count(), rows);
        let all: Vec<u16> = (0..rows).map(|row| row as u16).collect();
        assert_eq!(listed(&candidates), all);
    }
}
