//! White-box tests of `admin/figures.rs`.

use super::*;

#[test]
fn numbers_are_grouped_by_thousands() {
    let cases = [
        (0, "0"),
        (999, "999"),
        (1000, "1,000"),
        (1_234_567, "1,234,567"),
    ];
    for (number, text) in cases {
        assert_eq!(grouped(number), text);
    }
    assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
}

#[test]
fn amounts_show_cents_where_there_are_some() {
    assert_eq!(amount(12_000_000.0), "12,000,000");
    assert_eq!(amount(1234.5), "1,234.50");
    assert_eq!(amount(1e300), "1e300");
}

#[test]
fn sizes_and_times_choose_their_unit() {
    let sizes = [
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_960, "1.0 MB"),
        (u64::MAX, "18446744.1 TB"),
    ];
    for (count, text) in sizes {
        assert_eq!(bytes(count), text);
    }
    let times = [
        (350, "350 ns"),
        (35_000, "35 µs"),
        (999_600, "1.0 ms"),
        (4_100_000, "4.1 ms"),
        (1_200_000_000, "1.2 s"),
    ];
    for (nanoseconds, text) in times {
        assert_eq!(duration(Duration::from_nanos(nanoseconds)), text);
    }
    let uptimes = [
        (45, "45 s"),
        (750, "12 min"),
        (12_010, "3 h 20 min"),
        (1_051_300, "12 d 4 h"),
    ];
    for (seconds, text) in uptimes {
        assert_eq!(uptime(Duration::from_secs(seconds)), text);
    }
}

#[test]
fn a_count_is_shortened_to_four_characters() {
    let texts = [
        (0, ""),
        (999, "999"),
        (1_000, "1.0k"),
        (1_299, "1.2k"),
        (24_429, "24k"),
        (999_999, "999k"),
        (1_300_000, "1.3M"),
        (u64::MAX, "18E"),
    ];
    for (count, text) in texts {
        assert_eq!(short(count), text);
    }
}
