//! Bounds the request target before the HTTP parser reads it, so that a target beyond the parser's
//! own limit is answered by the router, with a problem body, and not by the parser, without one.

/// Bytes of a target that are passed on. More than the router allows, so that it sees that the
/// target is too long, and less than the 65,534 that the parser takes.
const PASSED_BYTES_MAX: usize = super::limits::URI_BYTES_MAX + 1_000;

/// Where in a request head the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// Before the method, where empty lines may stand.
    Start,
    Method,
    /// In the target, after this many of its bytes.
    Target(usize),
    /// Behind the target. Whether the line is empty so far decides whether the head ends with it.
    Rest {
        is_line_empty: bool,
    },
}

/// Follows the request heads of one connection and drops the bytes of a target beyond the bound.
///
/// Requests with a body end their connection, so what follows a head is always another head; the
/// bytes of a body are answered by nobody.
#[derive(Debug)]
pub(super) struct TargetBound {
    position: Position,
}

impl TargetBound {
    pub(super) fn new() -> TargetBound {
        TargetBound {
            position: Position::Start,
        }
    }

    /// Moves the bytes to pass on to the front and returns their number.
    pub(super) fn retain(&mut self, bytes: &mut [u8]) -> usize {
        let mut kept = 0;
        // The first `kept` bytes are those passed on of all before `next`.
        for next in 0..bytes.len() {
            let byte = bytes[next];
            self.position = self.position.after(byte);
            let is_passed = !matches!(self.position, Position::Target(n) if n > PASSED_BYTES_MAX);
            if is_passed {
                bytes[kept] = byte;
                kept += 1;
            }
        }
        kept
    }
}

impl Position {
    fn after(self, byte: u8) -> Position {
        match (self, byte) {
            (Position::Start, b'\r' | b'\n') => Position::Start,
            (
                Position::Rest {
                    is_line_empty: true,
                },
                b'\n',
            ) => Position::Start,
            (
                Position::Rest {
                    is_line_empty: true,
                },
                b'\r',
            ) => self,
            (_, b'\n') => Position::Rest {
                is_line_empty: true,
            },
            (Position::Start, _) => Position::Method,
            (Position::Method, b' ') => Position::Target(0),
            (Position::Method, _) => Position::Method,
            (Position::Target(_), b' ' | b'\r') => Position::Rest {
                is_line_empty: false,
            },
            (Position::Target(n), _) => Position::Target(n + 1),
            (Position::Rest { .. }, _) => Position::Rest {
                is_line_empty: false,
            },
        }
    }
}

#[cfg(test)]
mod tests;
