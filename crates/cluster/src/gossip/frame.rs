//! Frames of a connection for gossip: a length, four bytes in little-endian order, and a message of protobuf.

use std::io;

use prost::Message;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Maximum bytes of a frame. A message of chitchat is split at 64 kB.
const FRAME_BYTES_MAX: u32 = 128 << 10;

/// What a node sends: who it is, and a message of gossip. Without a message it asks who is there.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Frame {
    /// The name of the cluster; empty where the file lists all nodes.
    #[prost(string, optional, tag = "1")]
    pub(super) cluster: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    /// Tells processes of one name apart.
    #[prost(uint64, optional, tag = "3")]
    pub(super) incarnation: Option<u64>,
    /// Where others reach it.
    #[prost(string, optional, tag = "4")]
    pub(super) address: Option<String>,
    /// Of chitchat, in its own format.
    #[prost(bytes = "vec", optional, tag = "5")]
    pub(super) message: Option<Vec<u8>>,
    /// In an answer: where a node of the other's name is that seems to be alive.
    #[prost(string, optional, tag = "6")]
    pub(super) namesake: Option<String>,
}

/// Reads a frame; memory grows as its bytes come.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Frame> {
    let length = stream.read_u32_le().await?;
    if length > FRAME_BYTES_MAX {
        let reason = format!("a frame of {length} bytes; at most {FRAME_BYTES_MAX} are allowed");
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    let mut bytes = Vec::new();
    let read = stream.take(length.into()).read_to_end(&mut bytes).await?;
    if read < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Frame::decode(&bytes[..]).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Writes a frame in one piece.
pub(super) async fn write(stream: &mut (impl AsyncWrite + Unpin), frame: &Frame) -> io::Result<()> {
    let length = u32::try_from(frame.encoded_len()).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(size_of::<u32>() + frame.encoded_len());
    bytes.extend_from_slice(&length.to_le_bytes());
    frame.encode(&mut bytes).map_err(io::Error::other)?;
    stream.write_all(&bytes).await?;
    stream.flush().await
}
