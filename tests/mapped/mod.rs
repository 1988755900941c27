//! How much of a directory's files the process has mapped.

use std::path::Path;

/// Bytes of the mappings of files in a directory, removed ones included.
#[cfg(target_os = "linux")]
pub(crate) fn mapped(directory: &Path) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the process's mappings");
    let ours = directory.to_string_lossy();
    let length = |line: &str| {
        let (start, rest) = line.split_once('-')?;
        let end = rest.split(' ').next()?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        Some(number(end)? - number(start)?)
    };
    let lines = maps.lines().filter(|line| line.contains(&*ours));
    lines.filter_map(length).sum()
}

/// Elsewhere than on Linux mappings are not looked at.
#[cfg(not(target_os = "linux"))]
pub(crate) fn mapped(_: &Path) -> usize {
    0
}
