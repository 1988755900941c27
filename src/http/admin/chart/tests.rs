//! White-box tests of `http/admin/chart.rs`.

use super::*;

#[test]
fn scales_are_round_and_hold_the_greatest() {
    for (max, expected) in [
        (0, (1, 1)),
        (3, (1, 3)),
        (100, (50, 100)),
        (1234, (500, 1500)),
        (8001, (5000, 10_000)),
    ] {
        assert_eq!(scale(max), expected, "{max}");
    }
    let (step, top) = scale(u64::MAX);
    assert!(top / step <= 10);
}

#[test]
fn no_number_is_too_great() {
    for part in [0, 1, 999, 1 << 40, u64::MAX] {
        let label = "Nov".to_owned();
        let bars = [Bar {
            label,
            parts: vec![part],
        }];
        assert!(draw(&bars, ChartSize::Narrow, Some(part)).is_ok(), "{part}");
    }
}

#[test]
fn every_part_is_drawn_and_nothing_is_styled_inline() {
    let bars = [
        Bar {
            label: "Oct".into(),
            parts: vec![5, 0, 7],
        },
        Bar {
            label: "Nov".into(),
            parts: vec![1, 2, 3],
        },
    ];
    for size in [ChartSize::Wide, ChartSize::Narrow] {
        let svg = draw(&bars, size, Some(9)).expect("a chart");
        assert_eq!(svg.matches("<rect").count(), 5, "{svg}");
        assert!(svg.contains("Oct") && svg.contains("Nov") && svg.contains("#B42318"));
        assert!(!svg.contains("style="), "the policy of pages forbids it");
    }
}
