//! Messages between nodes: length-prefixed bytes, one question and one reply at a time.
//!
//! ```text
//! question   length: u32, big-endian    the encoding of `question`
//! reply      length: u32, big-endian    status: u8, then an answer or the reason for a refusal
//! ```
//!
//! A connection carries one question at a time, so cancelling one only costs its connection.

use std::io;

use axum::body::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::connections::Connection;

/// Maximum bytes of a reply: a page of the largest records, or the values of all facets.
pub(super) const REPLY_BYTES_MAX: usize = 64 << 20;

/// Maximum bytes allocated for a declared length before its data arrives.
const ALLOCATED_MAX: usize = 1 << 16;

/// The status of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ReplyStatus {
    Answer = 0,
    /// The worker is overloaded; try another node, or later.
    Overloaded = 1,
    /// The shards or the generation are not loaded.
    Missing = 2,
    /// The question is invalid or has a newer version.
    Invalid = 3,
    /// The shard is damaged.
    Failed = 4,
}

impl ReplyStatus {
    fn of(byte: u8) -> Option<ReplyStatus> {
        use ReplyStatus::{Answer, Failed, Invalid, Missing, Overloaded};
        let all = [Answer, Overloaded, Missing, Invalid, Failed];
        all.into_iter().find(|&status| status as u8 == byte)
    }
}

/// Encodes a message with this content.
pub(super) fn message(content: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut message = vec![0; size_of::<u32>()];
    content(&mut message);
    let length = message.len() - size_of::<u32>();
    // Questions and replies are much shorter.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    message[..size_of::<u32>()].copy_from_slice(&length.to_be_bytes());
    message
}

/// Encodes a reply.
pub(super) fn reply(status: ReplyStatus, content: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    message(|bytes| {
        bytes.push(status as u8);
        content(bytes);
    })
}

/// Sends a message.
pub(super) async fn send(connection: &mut Connection, message: &[u8]) -> io::Result<()> {
    connection.stream.write_all(message).await?;
    connection.stream.flush().await
}

/// The length of the next message; `None` if the other side has closed the connection.
pub(super) async fn next_length(
    connection: &mut Connection,
    bytes_max: usize,
) -> io::Result<Option<usize>> {
    let length = match connection.stream.read_u32().await {
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

/// Reads the content of a message with this length.
pub(super) async fn content(connection: &mut Connection, length: usize) -> io::Result<Bytes> {
    let mut bytes = Vec::with_capacity(length.min(ALLOCATED_MAX));
    let mut limited = (&mut connection.stream).take(length as u64);
    limited.read_to_end(&mut bytes).await?;
    if bytes.len() == length {
        Ok(bytes.into())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Sends a question and waits for the reply.
pub(super) async fn exchange(
    connection: &mut Connection,
    question: &[u8],
) -> io::Result<(ReplyStatus, Bytes)> {
    send(connection, question).await?;
    let length = next_length(connection, REPLY_BYTES_MAX).await?;
    let length = length.ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut bytes = content(connection, length).await?;
    let status = bytes.first().copied().and_then(ReplyStatus::of);
    let status = status.ok_or_else(|| invalid("a reply has no valid status".to_owned()))?;
    Ok((status, bytes.split_off(1)))
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
