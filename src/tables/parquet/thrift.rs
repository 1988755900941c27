//! Reads the numbers of structs in Thrift's compact protocol, as headers of Parquet have them, and skips the rest.

use std::io::{self, Read};

/// Structs within structs: more than any header of Parquet has.
const LEVELS_MAX: u8 = 16;

/// The first level whose numbers are not passed.
const NOT_TAKEN: u8 = 2;

/// Reads a struct field by field.
pub(super) struct ThriftReader<R> {
    input: R,
    bytes_read: u64,
}

/// The type of a field, as the protocol numbers it.
pub(super) type FieldKind = u8;

pub(super) const LIST: FieldKind = 9;
const STRUCT: FieldKind = 12;

impl<R: Read> ThriftReader<R> {
    pub(super) fn new(input: R) -> ThriftReader<R> {
        ThriftReader {
            input,
            bytes_read: 0,
        }
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The id and the type of the struct's next field; `None` at its end.
    pub(super) fn next_field(&mut self, last_id: i16) -> io::Result<Option<(i16, FieldKind)>> {
        let byte = self.byte()?;
        let (delta, kind) = (byte >> 4, byte & 0xF);
        if kind == 0 {
            return Ok(None);
        }
        let id = if delta == 0 {
            i16::try_from(self.number()?).ok()
        } else {
            last_id.checked_add(i16::from(delta))
        };
        let id = id.ok_or_else(|| damaged("a field's id"))?;
        Ok(Some((id, kind)))
    }

    /// The length of a list, and the type of its elements.
    pub(super) fn list_start(&mut self) -> io::Result<(u64, FieldKind)> {
        let byte = self.byte()?;
        let length = match byte >> 4 {
            0xF => self.varint()?,
            length => u64::from(length),
        };
        Ok((length, byte & 0xF))
    }

    /// Reads a struct, and passes the numbers and truth values in it and in the structs of its fields: the id of the
    /// field of this struct, the id within that field's struct or 0, and the number.
    pub(super) fn read_struct(&mut self, take: &mut dyn FnMut((i16, i16), i64)) -> io::Result<()> {
        self.fields(0, 0, take)
    }

    /// Skips a value of a field.
    pub(super) fn skip(&mut self, kind: FieldKind) -> io::Result<()> {
        self.value(kind, NOT_TAKEN, (0, 0), &mut |_, _| ())
    }

    fn fields(
        &mut self,
        level: u8,
        outer: i16,
        take: &mut dyn FnMut((i16, i16), i64),
    ) -> io::Result<()> {
        if level > LEVELS_MAX {
            return Err(damaged("structs in one another"));
        }
        let mut last_id = 0;
        while let Some((id, kind)) = self.next_field(last_id)? {
            last_id = id;
            let path = if level == 0 { (id, 0) } else { (outer, id) };
            self.value(kind, level, path, take)?;
        }
        Ok(())
    }

    fn value(
        &mut self,
        kind: FieldKind,
        level: u8,
        path: (i16, i16),
        take: &mut dyn FnMut((i16, i16), i64),
    ) -> io::Result<()> {
        // What stands deeper has the path of another field.
        let is_taken = level < NOT_TAKEN;
        match kind {
            1 | 2 if is_taken => take(path, i64::from(kind == 1)),
            1 | 2 => {}
            3 => self.skip_bytes(1)?,
            4..=6 => {
                let number = self.number()?;
                if is_taken {
                    take(path, number);
                }
            }
            7 => self.skip_bytes(8)?,
            8 => {
                let length = self.varint()?;
                self.skip_bytes(length)?;
            }
            LIST | 10 => {
                let (length, kind) = self.list_start()?;
                for _ in 0..length {
                    self.element(kind, level)?;
                }
            }
            STRUCT => self.fields(level + 1, path.0, take)?,
            _ => return Err(damaged("a field's type")),
        }
        Ok(())
    }

    /// Skips an element of a list, whose truth values take a byte.
    fn element(&mut self, kind: FieldKind, level: u8) -> io::Result<()> {
        if level >= LEVELS_MAX {
            return Err(damaged("lists in one another"));
        }
        match kind {
            1 | 2 => self.skip_bytes(1),
            kind => self.value(kind, level.max(NOT_TAKEN) + 1, (0, 0), &mut |_, _| ()),
        }
    }

    fn skip_bytes(&mut self, count: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.input).take(count), &mut io::sink())?;
        self.bytes_read += skipped;
        if skipped < count {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        self.bytes_read += 1;
        Ok(byte[0])
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(damaged("a number"))
    }

    /// A signed number, of which the lowest bit is the sign.
    fn number(&mut self) -> io::Result<i64> {
        let bits = self.varint()?;
        Ok((bits >> 1) as i64 ^ -((bits & 1) as i64))
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is damaged"))
}
