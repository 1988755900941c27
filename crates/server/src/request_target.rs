//! Truncates request targets before the HTTP parser reads them, so that the router answers a target beyond
//! the parser's limit, with a problem body. The parser would refuse it without one.

/// Bytes of a target passed to the parser: more than the router allows, so that it notices the excess, and
/// less than the parser's 65,534.
const PASSED_BYTES_MAX: usize = super::limits::URI_BYTES_MAX + 1_000;
/// Bytes read of a header line: enough for a length.
const LINE_BYTES_MAX: usize = 64;

/// The position of the next byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamPosition {
    /// Before the method, where empty lines are allowed.
    Start,
    Method,
    /// In the target, after this many bytes of it.
    Target(usize),
    /// In a line after the target.
    Line,
    /// In a body with this many bytes left.
    Body(u64),
    /// In a chunked body. It ends the connection, so no target follows.
    Chunks,
}

/// Follows the requests of one connection and drops the excess bytes of long targets.
///
/// Body lengths are read from the head in the same way as the parser does. If the two differ, the parser
/// refuses the request or the connection ends.
#[derive(Debug)]
pub(super) struct TargetBound {
    position: StreamPosition,
    /// The beginning of the current line.
    line: Vec<u8>,
    /// The body that the current head announces, as far as it has been read.
    body: StreamPosition,
}

impl TargetBound {
    pub(super) fn new() -> TargetBound {
        TargetBound {
            position: StreamPosition::Start,
            line: Vec::with_capacity(LINE_BYTES_MAX),
            body: StreamPosition::Start,
        }
    }

    /// Moves the bytes to keep to the front and returns their number.
    pub(super) fn retain(&mut self, bytes: &mut [u8]) -> usize {
        let mut kept = 0;
        // The first `kept` bytes are those kept of all before `next`.
        for next in 0..bytes.len() {
            let byte = bytes[next];
            self.take(byte);
            let is_passed =
                !matches!(self.position, StreamPosition::Target(n) if n > PASSED_BYTES_MAX);
            if is_passed {
                bytes[kept] = byte;
                kept += 1;
            }
        }
        kept
    }

    fn take(&mut self, byte: u8) {
        self.position = match (self.position, byte) {
            (StreamPosition::Start, b'\r' | b'\n') => StreamPosition::Start,
            (StreamPosition::Body(left), _) => StreamPosition::of_body(left - 1),
            (StreamPosition::Chunks, _) => StreamPosition::Chunks,
            (_, b'\n') => self.end_line(),
            (StreamPosition::Method, b' ') => StreamPosition::Target(0),
            (StreamPosition::Start | StreamPosition::Method, _) => StreamPosition::Method,
            // The space marks the rest of the first line as neither empty nor a header.
            (StreamPosition::Target(_), b' ' | b'\r') => self.add_to_line(b' '),
            (StreamPosition::Target(n), _) => StreamPosition::Target(n + 1),
            (StreamPosition::Line, _) => self.add_to_line(byte),
        };
    }

    fn add_to_line(&mut self, byte: u8) -> StreamPosition {
        if self.line.len() < LINE_BYTES_MAX {
            self.line.push(byte);
        }
        StreamPosition::Line
    }

    /// Ends the current line. An empty line ends the head.
    fn end_line(&mut self) -> StreamPosition {
        let is_empty = self.line.iter().all(|&byte| byte == b'\r');
        let next = if is_empty && self.position == StreamPosition::Line {
            std::mem::replace(&mut self.body, StreamPosition::Start)
        } else {
            self.body = body_of(&self.line).unwrap_or(self.body);
            StreamPosition::Line
        };
        self.line.clear();
        next
    }
}

impl StreamPosition {
    fn of_body(bytes: u64) -> StreamPosition {
        match bytes {
            0 => StreamPosition::Start,
            _ => StreamPosition::Body(bytes),
        }
    }
}

/// The body that this header line announces, if any.
fn body_of(line: &[u8]) -> Option<StreamPosition> {
    let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    if name.eq_ignore_ascii_case("transfer-encoding") {
        return Some(StreamPosition::Chunks);
    }
    let is_length = name.eq_ignore_ascii_case("content-length");
    is_length.then(|| StreamPosition::of_body(value.trim().parse().unwrap_or(0)))
}

#[cfg(test)]
mod tests;
