//! Mutations of what a segment's records are read by: their bytes, codes and symbols, and where they start.

use crate::random::Random;
use crate::segment_file::{Parts, RECORDS};
use crate::segment_mutation::{Blind, blindly, change_number_of, change_record};
use crate::segment_records::{Content, LINEAR_FRAMES, RECORD_FIELDS, SYMBOLS};

/// Bytes that a blind mutation may add to the symbols.
const GROWTH_BYTES: usize = 32;

/// The most bytes of a symbol, and those after the last one.
const SYMBOL_BYTES_MAX: usize = 16;

/// A whole file with those sections of another that its records are read by, checksums made right; none
/// where the other is no file of the same sections.
pub fn grafted(whole: &[u8], other: &[u8]) -> Option<Vec<u8>> {
    let mut parts = Parts::of(whole)?;
    let others = Parts::of(other)?;
    let of_records = [&[RECORDS][..], &SYMBOLS].concat();
    for (line, section) in parts.table.lines.iter().zip(&mut parts.sections) {
        let has_starts = line.kind == LINEAR_FRAMES && RECORD_FIELDS.contains(&line.field);
        if has_starts || of_records.contains(&line.kind) {
            let mut lines = others.table.lines.iter();
            let same = lines.position(|other| (other.kind, other.field) == (line.kind, line.field));
            section.clone_from(&others.sections[same?]);
        }
    }
    Some(parts.assemble())
}

/// Mutates the records of a file of at most `max_size` bytes, checksums made right; every other time those of
/// the whole file instead, since most of what is broken already stays broken at the same place.
pub fn mutate(file: &[u8], whole: &[u8], max_size: usize, seed: u32, blind: Blind<'_>) -> Vec<u8> {
    let mut random = Random::new(seed);
    let file = match (random.below(2), Parts::of(file)) {
        (1, Some(parts)) => parts,
        _ => Parts::of(whole).expect("a whole file"),
    };
    let mut parts = file.clone();
    for _ in 0..=random.below(3) {
        match random.below(8) {
            0..=1 => change_record(&mut parts, &mut random, blind),
            2..=4 => change_code(&mut parts, &mut random),
            5 => change_number(&mut parts, SYMBOLS[0], &mut random),
            6 => change_symbols(&mut parts, &mut random, blind),
            _ => change_number(&mut parts, LINEAR_FRAMES, &mut random),
        }
    }
    let mutated = parts.assemble();
    if mutated.len() <= max_size {
        mutated
    } else {
        file.assemble()
    }
}

/// Replaces a code of a record by another, or takes it out.
fn change_code(parts: &mut Parts, random: &mut Random) {
    let starts = parts
        .first_of(SYMBOLS[0])
        .map(|starts| &parts.sections[starts]);
    let symbols = starts.map_or(0, |starts| (starts.len() / 4).saturating_sub(1));
    let code = match random.below(5) {
        0 => None,
        1 => Some(symbols),
        2 => Some(symbols.saturating_sub(1)),
        3 => Some(u16::MAX.into()),
        _ => Some(random.below(symbols)),
    };
    let new = code.map(|code| (code as u16).to_le_bytes());
    let pointers = parts.record_pointers();
    let Some(&pointer) = pointers.get(random.below(pointers.len())) else {
        return;
    };
    parts.replace_record(pointer, |content| {
        let taken_apart = Content::of(content);
        let codes = taken_apart.and_then(|content| Some((content, content.codes()?)));
        let Some((taken_apart, codes)) = codes.filter(|(_, codes)| codes.len() >= 2) else {
            return content.to_vec();
        };
        let first = random.below(codes.len() / 2) * 2;
        let mut codes = codes.to_vec();
        codes.splice(first..first + 2, new.into_iter().flatten());
        taken_apart.with_texts(&codes)
    });
}

/// Adds a symbol, takes the last one out, or changes the bytes of symbols blindly.
fn change_symbols(parts: &mut Parts, random: &mut Random, blind: Blind<'_>) {
    let [Some(starts), Some(bytes)] = SYMBOLS.map(|kind| parts.first_of(kind)) else {
        return;
    };
    match random.below(3) {
        0 => {
            let symbol = vec![b'x'; random.below(SYMBOL_BYTES_MAX + 2)];
            let end = parts.sections[bytes].len().saturating_sub(SYMBOL_BYTES_MAX);
            let new_end = (end + symbol.len()) as u32;
            parts.sections[bytes].splice(end..end, symbol);
            parts.sections[starts].extend(new_end.to_le_bytes());
        }
        1 => {
            let length = parts.sections[starts].len().saturating_sub(4);
            parts.sections[starts].truncate(length);
        }
        _ => parts.sections[bytes] = blindly(&parts.sections[bytes], GROWTH_BYTES, blind),
    }
}

/// Gives a number of a section of that kind another value.
fn change_number(parts: &mut Parts, kind: u32, random: &mut Random) {
    let lines = parts.table.lines.iter().enumerate();
    let sections = lines.filter(|(_, line)| line.kind == kind);
    let sections: Vec<usize> = sections.map(|(section, _)| section).collect();
    if let Some(&section) = sections.get(random.below(sections.len())) {
        change_number_of(parts, section, random);
    }
}
