//! Mutations of a segment file that know its sections, so that each reaches one rule of the
//! format instead of breaking the frame.

use crate::random::Random;
use crate::segment_file::{Parts, Table, repair};

/// Changes bytes blindly: given a buffer whose first bytes are the text, the length of the text
/// and the most that it may get, gives the new length.
pub type Blind<'b> = &'b mut dyn FnMut(&mut [u8], usize, usize) -> usize;

/// Bytes that a blind mutation may add to a section or record.
const GROWTH_BYTES: usize = 64;

/// Mutates a file of at most `max_size` bytes, checksums made right; every other time the whole
/// file instead, since most of what is broken already stays broken at the same place.
pub fn mutate(file: &[u8], whole: &[u8], max_size: usize, seed: u32, blind: Blind<'_>) -> Vec<u8> {
    let mut random = Random::new(seed);
    let file = match random.below(2) {
        0 if whole.len() <= max_size => whole,
        _ => file,
    };
    let mutated = match Parts::of(file) {
        Some(parts) if random.below(32) > 0 => mutate_parts(parts, &mut random, blind),
        _ => blindly(file, max_size.saturating_sub(file.len()), blind),
    };
    if mutated.len() <= max_size {
        repaired(mutated)
    } else {
        repaired(blindly(file, 0, blind))
    }
}

fn repaired(mut file: Vec<u8>) -> Vec<u8> {
    repair(&mut file);
    file
}

fn mutate_parts(mut parts: Parts, random: &mut Random, blind: Blind<'_>) -> Vec<u8> {
    let count = 1 + random.below(5) / 3;
    for _ in 0..count {
        match random.below(16) {
            0..=4 => change_number(&mut parts, random),
            5..=7 => change_bytes(&mut parts, random, blind),
            8..=10 => change_record(&mut parts, random, blind),
            11 => change_counts(&mut parts.table, random),
            12..=13 => change_elements(&mut parts, random),
            14 => exchange_sections(&mut parts, random),
            _ => change_line(&mut parts, random),
        }
    }
    let mut file = parts.assemble();
    if random.below(16) == 0 {
        displace_section(&mut file, random);
    }
    file
}

/// Gives one number of a section another value that is likely to mean something there.
fn change_number(parts: &mut Parts, random: &mut Random) {
    if let Some(section) = any_section(parts, random) {
        change_number_of(parts, section, random);
    }
}

/// Gives one number of that section another value.
pub fn change_number_of(parts: &mut Parts, section: usize, random: &mut Random) {
    let width = width_of(parts.table.lines[section].kind);
    let count = parts.sections[section].len() / width;
    if count == 0 {
        return;
    }
    let (place, other) = (random.below(count), random.below(count));
    let bytes = &mut parts.sections[section];
    let old = number_at(bytes, place * width, width);
    let new = match random.below(9) {
        0 => 0,
        1 => u64::MAX,
        2 => old.wrapping_add(1),
        3 => old.wrapping_sub(1),
        4 => number_at(bytes, other * width, width),
        5 => u64::from(parts.table.rows),
        6 => u64::from(parts.table.companies),
        7 => old ^ (1 << random.below(width * 8)),
        _ => random.number(),
    };
    bytes[place * width..(place + 1) * width].copy_from_slice(&new.to_le_bytes()[..width]);
}

fn change_bytes(parts: &mut Parts, random: &mut Random, blind: Blind<'_>) {
    if let Some(section) = any_section(parts, random) {
        let growth = GROWTH_BYTES * random.below(2);
        parts.sections[section] = blindly(&parts.sections[section], growth, blind);
    }
}

/// Mutates the content of a record.
pub fn change_record(parts: &mut Parts, random: &mut Random, blind: Blind<'_>) {
    let pointers = parts.record_pointers();
    if let Some(&pointer) = pointers.get(random.below(pointers.len())) {
        parts.replace_record(pointer, |content| blindly(content, GROWTH_BYTES, blind));
    }
}

fn change_counts(table: &mut Table, random: &mut Random) {
    let postings = random.below(table.field_postings.len());
    let count = match random.below(3) {
        0 => Some(&mut table.rows),
        1 => Some(&mut table.companies),
        _ => table.field_postings.get_mut(postings),
    };
    if let Some(count) = count {
        *count = match random.below(4) {
            0 => count.wrapping_add(1),
            1 => count.wrapping_sub(1),
            2 => random.number() as u32,
            _ => 0,
        };
    }
}

/// Takes out, repeats or exchanges elements of a section.
fn change_elements(parts: &mut Parts, random: &mut Random) {
    let Some(section) = any_section(parts, random) else {
        return;
    };
    let width = width_of(parts.table.lines[section].kind);
    let bytes = &mut parts.sections[section];
    let count = bytes.len() / width;
    if count == 0 {
        return;
    }
    let (a, b) = (random.below(count) * width, random.below(count) * width);
    match random.below(3) {
        0 => drop(bytes.drain(a..a + width)),
        1 => {
            let element = bytes[a..a + width].to_vec();
            bytes.splice(b..b, element);
        }
        _ => (0..width).for_each(|byte| bytes.swap(a + byte, b + byte)),
    }
}

/// Exchanges the contents of two sections, of the same kind where possible.
fn exchange_sections(parts: &mut Parts, random: &mut Random) {
    let (Some(a), Some(any)) = (any_section(parts, random), any_section(parts, random)) else {
        return;
    };
    let lines = &parts.table.lines;
    let alike: Vec<usize> = (0..lines.len())
        .filter(|&b| b != a && lines[b].kind == lines[a].kind)
        .collect();
    let b = alike.get(random.below(alike.len())).copied().unwrap_or(any);
    parts.sections.swap(a, b);
}

/// Changes, takes out or repeats a line of the table.
fn change_line(parts: &mut Parts, random: &mut Random) {
    let Some(place) = any_section(parts, random) else {
        return;
    };
    let lines = &mut parts.table.lines;
    match random.below(4) {
        0 => lines[place].kind = random.below(34) as u32,
        1 => lines[place].field = random.below(20) as u16,
        2 => {
            lines.remove(place);
            parts.sections.remove(place);
        }
        _ => {
            lines.push(lines[place]);
            parts.sections.push(parts.sections[place].clone());
        }
    }
}

/// Lets a line of the table point elsewhere.
fn displace_section(file: &mut [u8], random: &mut Random) {
    let Some((table, range)) = Table::of(file) else {
        return;
    };
    // Lines are the last of the table; offset and length stand behind kind and field.
    let line_bytes = 26;
    let line = random.below(table.lines.len()) + 1;
    let Some(start) = range.end.checked_sub(line * line_bytes) else {
        return;
    };
    let place = start + 6 + 8 * random.below(2);
    if place + 8 > range.end || place < range.start {
        return;
    }
    let new = match random.below(4) {
        0 => u64::MAX,
        1 => file.len() as u64,
        2 => number_at(file, place, 8).wrapping_add(64),
        _ => (random.below(file.len()) as u64).next_multiple_of(64),
    };
    file[place..place + 8].copy_from_slice(&new.to_le_bytes());
}

/// Some section, one that is not empty where it takes few tries to find one.
fn any_section(parts: &Parts, random: &mut Random) -> Option<usize> {
    let count = parts.sections.len();
    let mut chosen = random.below(count);
    for _ in 0..4 {
        if parts.sections.get(chosen).is_some_and(Vec::is_empty) {
            chosen = random.below(count);
        }
    }
    (count > 0).then_some(chosen)
}

/// Changes a text blindly; it may grow by some bytes.
pub fn blindly(text: &[u8], growth: usize, blind: Blind<'_>) -> Vec<u8> {
    let mut buffer = text.to_vec();
    let most = (text.len() + growth).max(1);
    buffer.resize(most, 0);
    let length = blind(&mut buffer, text.len(), most);
    buffer.truncate(length);
    buffer
}

fn number_at(bytes: &[u8], place: usize, width: usize) -> u64 {
    let mut number = [0; 8];
    number[..width].copy_from_slice(&bytes[place..place + width]);
    u64::from_le_bytes(number)
}

/// The bytes of a number in a section of a kind.
fn width_of(kind: u32) -> usize {
    match kind {
        0 | 5 | 13 | 14 | 18 | 29..=31 => 8,
        3 | 4 | 23 | 26 => 2,
        7 | 9 | 10 | 15 | 19 | 28 => 1,
        _ => 4,
    }
}
