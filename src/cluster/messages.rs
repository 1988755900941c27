//! Messages between nodes: a length and as many bytes, one question and one reply at a time.
//!
//! ```text
//! question   length: u32, big-endian    bytes as `question` writes them
//! reply      length: u32, big-endian    status: u8, then an answer or the reason of a refusal
//! ```
//!
//! A connection carries one question at a time, so a cancelled one costs its connection and nothing else.

use std::io;

use axum::body::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::connections::Connection;

/// The longest reply, in bytes: a page of the largest records, or the values of all facets.
pub(super) const REPLY_BYTES_MAX: usize = 64 << 20;

/// The most bytes that a declared length alone allocates.
const ALLOCATED_MAX: usize = 1 << 16;

/// What a reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Status {
    Answer = 0,
    /// Too much is under way; ask elsewhere, or later.
    Overloaded = 1,
    /// The shards or the generation are not here.
    Missing = 2,
    /// The question breaks a rule, or is of a later version.
    Invalid = 3,
    /// The shard is damaged.
    Failed = 4,
}

impl Status {
    fn of(byte: u8) -> Option<Status> {
        use Status::{Answer, Failed, Invalid, Missing, Overloaded};
        let all = [Answer, Overloaded, Missing, Invalid, Failed];
        all.into_iter().find(|&status| status as u8 == byte)
    }
}

/// A message with this content, as it is sent.
pub(super) fn message(content: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut message = vec![0; size_of::<u32>()];
    content(&mut message);
    let length = message.len() - size_of::<u32>();
    // Questions and replies are bounded far below.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    message[..size_of::<u32>()].copy_from_slice(&length.to_be_bytes());
    message
}

/// A reply as it is sent.
pub(super) fn reply(status: Status, content: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    message(|bytes| {
        bytes.push(status as u8);
        content(bytes);
    })
}

/// Sends a message.
pub(super) async fn send(connection: &mut Connection, message: &[u8]) -> io::Result<()> {
    connection.write_all(message).await?;
    connection.flush().await
}

/// The length of the next message; `None` where the other side has ended the connection.
pub(super) async fn next_length(
    connection: &mut Connection,
    bytes_max: usize,
) -> io::Result<Option<usize>> {
    let length = match connection.read_u32().await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        length => length? as usize,
    };
    if length > bytes_max {
        return Err(invalid(format!(
            "a message declares {length} bytes; at most {bytes_max} are allowed"
        )));
    }
    Ok(Some(length))
}

/// The content of a message of that length.
pub(super) async fn content(connection: &mut Connection, length: usize) -> io::Result<Bytes> {
    let mut bytes = Vec::with_capacity(length.min(ALLOCATED_MAX));
    let mut limited = connection.take(length as u64);
    limited.read_to_end(&mut bytes).await?;
    if bytes.len() == length {
        Ok(bytes.into())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Asks, and waits for the reply.
pub(super) async fn exchange(
    connection: &mut Connection,
    question: &[u8],
) -> io::Result<(Status, Bytes)> {
    send(connection, question).await?;
    let length = next_length(connection, REPLY_BYTES_MAX).await?;
    let length = length.ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut bytes = content(connection, length).await?;
    let status = bytes.first().copied().and_then(Status::of);
    let status = status.ok_or_else(|| invalid("a reply has no valid status".to_owned()))?;
    Ok((status, bytes.split_off(1)))
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
