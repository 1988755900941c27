//! White-box tests of `random.rs`.

use super::*;

#[test]
fn the_stream_is_that_of_the_published_generator() {
    let mut random = Random { state: 1_234_567 };
    let published = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
    assert_eq!([random.bits(), random.bits()], published);
}

#[test]
fn logarithms_and_powers_agree_with_floating_point() {
    for number in [
        1_u64,
        2,
        3,
        10,
        1000,
        65_537,
        5_000_021,
        u64::from(u32::MAX),
    ] {
        let logarithm = binary_logarithm(number) as f64 / ONE as f64;
        assert!(
            (logarithm - (number as f64).log2()).abs() < 1e-8,
            "{number}: {logarithm}"
        );
    }
    for step in 0..=300 {
        let exponent = step as f64 / 10.0;
        let power = power_of_two((exponent * ONE as f64) as u64) as f64 / ONE as f64;
        assert!(
            (power / exponent.exp2() - 1.0).abs() < 0.004,
            "{exponent}: {power}"
        );
    }
}

#[test]
fn zipf_stays_within_its_ranks_and_halves_from_one_to_two() {
    for (ranks, flatness) in [(1, 0), (1, 40), (2, 0), (80, 0), (5_000_000, 20)] {
        let zipf = Zipf::new(ranks, flatness);
        let mut random = Random::of_record(1, 2, ranks);
        assert!(
            (0..20_000).all(|_| zipf.sample(&mut random) < ranks),
            "{ranks} {flatness}"
        );
    }
    let zipf = Zipf::new(1000, 0);
    let mut random = Random::of_record(1, 2, 3);
    let mut drawn = [0_u32; 1000];
    (0..200_000).for_each(|_| drawn[zipf.sample(&mut random) as usize] += 1);
    let ratio = f64::from(drawn[0]) / f64::from(drawn[1]);
    assert!((1.5..2.0).contains(&ratio), "{ratio}");
    assert!(drawn.iter().all(|&count| count > 0));
}

#[test]
fn weights_are_kept() {
    let mut random = Random::of_record(7, 7, 7);
    let items = [(1, 'a'), (0, 'b'), (3, 'c')];
    let drawn: Vec<char> = (0..10_000).map(|_| random.weighted(&items)).collect();
    let count = |wanted| drawn.iter().filter(|&&item| item == wanted).count();
    assert!((2300..2700).contains(&count('a')));
    assert_eq!(count('b'), 0);
}

#[test]
fn half_of_the_tail_ranks_are_drawn_once() {
    let mut random = Random::of_record(3, 1, 4);
    let mut ranks: Vec<u64> = (0..200_000).map(|_| random.tail_rank(100)).collect();
    ranks.sort_unstable();
    let groups: Vec<usize> = ranks.chunk_by(|a, b| a == b).map(<[u64]>::len).collect();
    let once = groups.iter().filter(|&&length| length == 1).count();
    let share = once as f64 / groups.len() as f64;
    assert!((0.45..0.55).contains(&share), "{share}");
}
