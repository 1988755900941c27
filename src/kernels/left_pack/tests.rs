//! White-box tests of `kernels/left_pack.rs`.

use multiversion::multiversion;
use multiversion::target::match_target;

use super::*;

type Pack = fn(&mut [u16], usize, [u16; LANES], u8) -> usize;

/// Every choice, after some offsets that were kept before.
fn packs_every_choice(pack: Pack) {
    let offsets: [u16; LANES] = std::array::from_fn(|lane| 0x0101 * (lane as u16 + 7));
    for keep in 0..=u8::MAX {
        let mut list = vec![3, 4, 5];
        list.extend([0; LANES]);
        let kept = pack(&mut list, 3, offsets, keep);
        let chosen = (0..LANES).filter(|lane| keep >> lane & 1 == 1);
        let expected: Vec<u16> = [3, 4, 5]
            .into_iter()
            .chain(chosen.map(|lane| offsets[lane]))
            .collect();
        assert_eq!(list[..kept], expected, "{keep:#b}");
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512vbmi2+popcnt"))]
fn by_avx512(list: &mut [u16], kept: usize, offsets: [u16; LANES], keep: u8) -> usize {
    match_target! {
        "x86_64+avx512f+avx512vl+avx512vbmi2+popcnt" => avx512(list, kept, offsets, keep),
        _ => plain(list, kept, offsets, keep),
    }
}

#[multiversion(targets("x86_64+avx2+popcnt"))]
fn by_avx2(list: &mut [u16], kept: usize, offsets: [u16; LANES], keep: u8) -> usize {
    match_target! {
        "x86_64+avx2+popcnt" => avx2(list, kept, offsets, keep),
        _ => plain(list, kept, offsets, keep),
    }
}

/// In each of the ways that the processor has.
#[test]
fn offsets_are_packed() {
    [plain, by_avx2, by_avx512]
        .into_iter()
        .for_each(packs_every_choice);
}
