//! Splits folded Latin text into words: [UAX #29](https://www.unicode.org/reports/tr29/) for ASCII and the
//! [table of Latin letters](super::latin).

/// The bounds of a word in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it is longer than a letter, and has only letters, digits and underscores.
    pub(super) is_plain: bool,
}

/// The words of a text that is ASCII or was folded with the table of Latin letters.
pub(super) struct LatinWords<'a> {
    text: &'a [u8],
    index: usize,
}

/// The class of a byte for word boundaries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// A letter, or a byte of a multi-byte letter.
    Letter,
    Digit,
    Underscore,
    /// A dot or an apostrophe: joins letters, and joins digits.
    Joiner,
    /// A colon: joins letters.
    LetterJoiner,
    /// A comma or a semicolon: joins digits.
    DigitJoiner,
    /// Joins nothing.
    Other,
    /// The first of two bytes of a sign.
    Sign,
    /// The first of three bytes of a sign or a quotation mark.
    LongSign,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    // Invariant: the classes of bytes below `byte` are set.
    while byte < classes.len() {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b'_' => Class::Underscore,
            b'.' | b'\'' => Class::Joiner,
            b':' => Class::LetterJoiner,
            b',' | b';' => Class::DigitJoiner,
            0xC2 => Class::Sign,
            0xE2 => Class::LongSign,
            0x80.. => Class::Letter,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
};

/// The last two of the three bytes of the quotation marks ‘ and ’, which are apostrophes, too.
const APOSTROPHES: [[u8; 2]; 2] = [[0x80, 0x98], [0x80, 0x99]];

impl<'a> LatinWords<'a> {
    pub(super) fn new(text: &'a str) -> LatinWords<'a> {
        LatinWords {
            text: text.as_bytes(),
            index: 0,
        }
    }

    /// The start of the next run of word bytes, at `index` or after it.
    fn start_of_word(&self, mut index: usize) -> Option<usize> {
        // Invariant: there is no word between the given index and this one.
        loop {
            index += match self.class(index)? {
                Class::Letter | Class::Digit | Class::Underscore => return Some(index),
                Class::Sign => 2,
                Class::LongSign => 3,
                _ => 1,
            };
        }
    }

    /// The end of a candidate word, whether it has a letter or digit, and whether it has joiners.
    fn end_of_word(&self, start: usize) -> (usize, bool, bool) {
        let (mut end, mut is_word, mut is_joined) = (start, false, false);
        // Invariant: everything between `start` and `end` belongs to the word.
        while let Some(class) = self.class(end) {
            match class {
                Class::Letter | Class::Digit => {
                    is_word = true;
                    end += 1;
                }
                Class::Underscore => end += 1,
                _ => {
                    let Some(length) = self.joined(end, class) else {
                        break;
                    };
                    is_joined = true;
                    end += length;
                }
            }
        }
        (end, is_word, is_joined)
    }

    /// The length of a character that joins its neighbours; `None` if it does not.
    fn joined(&self, index: usize, class: Class) -> Option<usize> {
        let length = match class {
            Class::Joiner | Class::LetterJoiner | Class::DigitJoiner => 1,
            Class::LongSign if self.is_apostrophe(index) => 3,
            _ => return None,
        };
        let before = CLASSES[usize::from(self.text[index - 1])];
        let after = self.class(index + length)?;
        let joins = match before {
            Class::Letter => class != Class::DigitJoiner,
            Class::Digit => class != Class::LetterJoiner,
            _ => false,
        };
        (joins && before == after).then_some(length)
    }

    fn is_apostrophe(&self, index: usize) -> bool {
        let rest = self.text[index + 1..].first_chunk();
        rest.is_some_and(|rest| APOSTROPHES.contains(rest))
    }

    fn class(&self, index: usize) -> Option<Class> {
        let byte = self.text.get(index)?;
        Some(CLASSES[usize::from(*byte)])
    }
}

impl Iterator for LatinWords<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        // Each iteration advances by at least one byte.
        loop {
            let start = self.start_of_word(self.index)?;
            let (end, is_word, is_joined) = self.end_of_word(start);
            self.index = end;
            if is_word {
                // A single non-ASCII letter has two bytes.
                let first = 1 + usize::from(!self.text[start].is_ascii());
                let is_plain = !is_joined && end - start > first;
                return Some(Word {
                    start,
                    end,
                    is_plain,
                });
            }
        }
    }
}
