//! The encoding of a text: recognised, or given by an option, and decoded as a stream.

use std::io::BufRead;

/// A text that is read as UTF-8.
pub(super) type TextReader = Box<dyn BufRead + Send>;

/// Marks at the beginning of a text, and the labels of what they mark.
const MARKS: [(&[u8], &str); 3] = [
    (b"\xEF\xBB\xBF", "utf-8"),
    (b"\xFF\xFE", "utf-16le"),
    (b"\xFE\xFF", "utf-16be"),
];

/// Reads a text of another encoding as UTF-8.
///
/// # Errors
/// Why it cannot be read: the label is unknown, the mark contradicts it, or the program has no decoder.
pub(super) fn decoded(
    reader: TextReader,
    beginning: &[u8],
    label: Option<&str>,
) -> Result<TextReader, String> {
    let marked = MARKS.iter().find(|(mark, _)| beginning.starts_with(mark));
    let marked = marked.map(|(_, label)| *label);
    let label = match (label, marked.or_else(|| utf_16_without_mark(beginning))) {
        (None, found) => found.unwrap_or("utf-8"),
        (Some(given), found) => {
            let is_other = |found: &&str| !is_same(given, found);
            if let Some(found) = found.filter(is_other) {
                return Err(format!(
                    "is {found} by its first bytes, and --encoding {given} says otherwise; leave the option out"
                ));
            }
            given
        }
    };
    if is_same(label, "utf-8") {
        return Ok(reader);
    }
    decoder::reader(reader, label)
}

/// Whether two labels are of one encoding, for those that a mark can tell.
fn is_same(given: &str, found: &str) -> bool {
    let plain = |label: &str| label.trim().to_ascii_lowercase().replace(['-', '_'], "");
    let (given, found) = (plain(given), plain(found));
    given == found
        || (given == "utf16" && found == "utf16le")
        || (given == "unicode" && found == "utf16le")
}

/// UTF-16 of mostly Latin letters has a zero in every other byte.
fn utf_16_without_mark(beginning: &[u8]) -> Option<&'static str> {
    const BYTES_MIN: usize = 8;
    if beginning.len() < BYTES_MIN {
        return None;
    }
    let zeros = |offset: usize| {
        let bytes = beginning.iter().skip(offset).step_by(2);
        bytes.filter(|byte| **byte == 0).count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    let most = beginning.len() / 4;
    if odd > most && even == 0 {
        Some("utf-16le")
    } else if even > most && odd == 0 {
        Some("utf-16be")
    } else {
        None
    }
}

/// What to say of bytes that are not UTF-8: what they look like, and the option that reads them.
pub(super) fn not_utf8(bytes: &[u8]) -> String {
    let looks_like = looks_like(bytes);
    let feature = if cfg!(feature = "encodings") {
        ""
    } else {
        "; this program was built without the feature `encodings`, which reads it"
    };
    format!("is not UTF-8 and looks like {looks_like}: --encoding {looks_like} reads it{feature}")
}

/// In windows-1251 nearly all letters are beyond ASCII; in windows-1252 few are.
fn looks_like(bytes: &[u8]) -> &'static str {
    let letters = bytes
        .iter()
        .filter(|byte| byte.is_ascii_alphabetic())
        .count();
    let beyond = bytes.iter().filter(|byte| **byte >= 0xC0).count();
    if beyond > letters {
        "windows-1251"
    } else {
        "windows-1252"
    }
}

#[cfg(feature = "encodings")]
mod decoder {
    //! Decodes by encoding_rs, buffer by buffer.

    use std::io::{self, BufRead, BufReader, Read};

    use encoding_rs::{Decoder, DecoderResult, Encoding};

    use super::TextReader;

    /// A buffer is decoded at a time; three bytes of UTF-8 may come of one.
    const BUFFER_BYTES: usize = 64 << 10;

    pub(super) fn reader(source: TextReader, label: &str) -> Result<TextReader, String> {
        let encoding = Encoding::for_label(label.as_bytes()).ok_or_else(|| {
            format!("cannot be read: --encoding {label:?} is no label of the Encoding Standard, such as windows-1252")
        })?;
        let decoded = Decoded {
            source,
            decoder: encoding.new_decoder_with_bom_removal(),
            name: encoding.name(),
            is_done: false,
        };
        Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, decoded)))
    }

    struct Decoded {
        source: TextReader,
        decoder: Decoder,
        name: &'static str,
        is_done: bool,
    }

    impl Read for Decoded {
        fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
            // Every turn takes bytes of the source or ends.
            while !self.is_done {
                let input = self.source.fill_buf()?;
                let (is_last, length) = (input.is_empty(), input.len());
                let (result, read, written) = self
                    .decoder
                    .decode_to_utf8_without_replacement(input, output, is_last);
                self.source.consume(read);
                match result {
                    DecoderResult::Malformed(..) => {
                        return Err(io::Error::other(format!("the bytes are not {}", self.name)));
                    }
                    DecoderResult::InputEmpty => self.is_done = is_last,
                    DecoderResult::OutputFull if written == 0 && read == 0 && length > 0 => {
                        return Err(io::Error::other("the buffer is too small for a character"));
                    }
                    DecoderResult::OutputFull => {}
                }
                if written > 0 {
                    return Ok(written);
                }
            }
            Ok(0)
        }
    }
}

#[cfg(not(feature = "encodings"))]
mod decoder {
    //! No decoder: says which feature has one.

    use super::TextReader;

    pub(super) fn reader(_: TextReader, label: &str) -> Result<TextReader, String> {
        Err(format!(
            "is {label}, which this program was built without: the feature `encodings` reads it, and so does saving the file as UTF-8"
        ))
    }
}
