//! Bounds the request target before the HTTP parser reads it, so that a target beyond the parser's
//! own limit is answered by the router, with a problem body, and not by the parser, without one.

/// Bytes of a target that are passed on. More than the router allows, so that it sees that the
/// target is too long, and less than the 65,534 that the parser takes.
const PASSED_BYTES_MAX: usize = super::limits::URI_BYTES_MAX + 1_000;
/// Bytes of a header's line that are looked at: enough for a length.
const LINE_BYTES_MAX: usize = 64;

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// The space before the method, where empty lines may stand.
    Start,
    Method,
    /// The target, after this many of its bytes.
    Target(usize),
    /// A line after the target.
    Line,
    /// A body, of which this many bytes are left.
    Body(u64),
    /// A body in chunks. It ends the connection, so no target follows.
    Chunks,
}

/// Follows the requests of one connection and drops the bytes of a target beyond the bound.
///
/// Which bytes are a body is read from the head as the parser reads it. Where the two differ, the parser
/// refuses the request, or the connection ends with it.
#[derive(Debug)]
pub(super) struct TargetBound {
    position: Position,
    /// The beginning of the present line.
    line: Vec<u8>,
    /// The body of the present head, as far as it is read.
    body: Position,
}

impl TargetBound {
    pub(super) fn new() -> TargetBound {
        TargetBound {
            position: Position::Start,
            line: Vec::with_capacity(LINE_BYTES_MAX),
            body: Position::Start,
        }
    }

    /// Moves the bytes to pass on to the front and returns their number.
    pub(super) fn retain(&mut self, bytes: &mut [u8]) -> usize {
        let mut kept = 0;
        // The first `kept` bytes are those passed on of all before `next`.
        for next in 0..bytes.len() {
            let byte = bytes[next];
            self.take(byte);
            let is_passed = !matches!(self.position, Position::Target(n) if n > PASSED_BYTES_MAX);
            if is_passed {
                bytes[kept] = byte;
                kept += 1;
            }
        }
        kept
    }

    fn take(&mut self, byte: u8) {
        self.position = match (self.position, byte) {
            (Position::Start, b'\r' | b'\n') => Position::Start,
            (Position::Body(left), _) => Position::of_body(left - 1),
            (Position::Chunks, _) => Position::Chunks,
            (_, b'\n') => self.end_line(),
            (Position::Method, b' ') => Position::Target(0),
            (Position::Start | Position::Method, _) => Position::Method,
            // The rest of the first line is no header and not empty, as the space says.
            (Position::Target(_), b' ' | b'\r') => self.add_to_line(b' '),
            (Position::Target(n), _) => Position::Target(n + 1),
            (Position::Line, _) => self.add_to_line(byte),
        };
    }

    fn add_to_line(&mut self, byte: u8) -> Position {
        if self.line.len() < LINE_BYTES_MAX {
            self.line.push(byte);
        }
        Position::Line
    }

    /// Reads the line that ends here. An empty one ends the head.
    fn end_line(&mut self) -> Position {
        let is_empty = self.line.iter().all(|&byte| byte == b'\r');
        let next = if is_empty && self.position == Position::Line {
            std::mem::replace(&mut self.body, Position::Start)
        } else {
            self.body = body_of(&self.line).unwrap_or(self.body);
            Position::Line
        };
        self.line.clear();
        next
    }
}

impl Position {
    fn of_body(bytes: u64) -> Position {
        match bytes {
            0 => Position::Start,
            _ => Position::Body(bytes),
        }
    }
}

/// What follows a head with this header, if it is about the body.
fn body_of(line: &[u8]) -> Option<Position> {
    let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    if name.eq_ignore_ascii_case("transfer-encoding") {
        return Some(Position::Chunks);
    }
    let is_length = name.eq_ignore_ascii_case("content-length");
    is_length.then(|| Position::of_body(value.trim().parse().unwrap_or(0)))
}

#[cfg(test)]
mod tests;
