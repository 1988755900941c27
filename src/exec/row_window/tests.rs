//! White-box tests of `exec/row_window.rs`.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn windows_cover_a_block_from_both_sides(
        offset in 0..=BLOCK_ROWS,
        bounds in (0..=BLOCK_ROWS / 64, 0..=BLOCK_ROWS / 64),
    ) {
        let span = bounds.0.min(bounds.1) * 64..bounds.0.max(bounds.1) * 64;
        let is_in_size = |window: &RowWindow, size: WindowSize| {
            let part = window.within(&span);
            part.end() - part.start() <= size.0 + 64
        };
        let (mut at, mut size) = (offset, WindowSize(MIN_ROWS));
        while at < BLOCK_ROWS {
            let window = RowWindow::from(7, at, size, &span);
            prop_assert!(window.start() <= at && at < window.end() && is_in_size(&window, size));
            (at, size) = (window.end(), size.grown());
        }
        let (mut at, mut size) = (offset, WindowSize(MIN_ROWS));
        while at > 0 {
            let window = RowWindow::before(7, at, size, &span);
            prop_assert!(window.start() < at && at <= window.end() && is_in_size(&window, size));
            (at, size) = (window.start(), size.grown());
        }
    }

    #[test]
    fn a_size_is_one_of_a_window(wanted in 0_usize..2_000, share in 0.0..1.0) {
        for share in [share, 0.0, f64::MIN_POSITIVE] {
            let size = WindowSize::of(wanted, share);
            prop_assert!((MIN_ROWS..=BLOCK_ROWS).contains(&size.0) && size.0.is_multiple_of(64));
        }
    }

    #[test]
    fn a_window_cuts_sorted_offsets(
        offsets in prop::collection::btree_set(any::<u16>(), 0..200),
        offset in 0..BLOCK_ROWS,
    ) {
        let window = RowWindow::from(3, offset, WindowSize(MIN_ROWS), &(0..BLOCK_ROWS));
        let offsets: Vec<u16> = offsets.into_iter().collect();
        let rows: Vec<u32> = offsets.iter().map(|&offset| Row::of(3, offset).0).collect();
        let is_inside = |offset: u16| (window.start()..window.end()).contains(&offset.into());
        let inside: Vec<u16> = offsets.iter().copied().filter(|&offset| is_inside(offset)).collect();
        for set in [BlockRows::Array(&offsets), BlockRows::List(&rows)] {
            prop_assert_eq!(window.cut(set).offsets().collect::<Vec<_>>(), inside.clone());
            prop_assert_eq!(RowWindow::whole(3).cut(set).offsets().collect::<Vec<_>>(), offsets.clone());
        }
    }
}
