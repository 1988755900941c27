//! A socket with a write time-out and bounded request targets.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::request_target::TargetBound;

/// A socket that fails if the client reads nothing for some time while data is waiting to be sent.
/// Without it, clients that stop reading would keep answers in memory for ever.
pub(super) struct TimedStream {
    socket: TcpStream,
    write_timeout: Duration,
    /// Runs while a write is pending.
    deadline: Pin<Box<Sleep>>,
    is_waiting: bool,
    target_bound: TargetBound,
}

impl TimedStream {
    pub(super) fn new(socket: TcpStream, write_timeout: Duration) -> TimedStream {
        TimedStream {
            socket,
            write_timeout,
            deadline: Box::pin(sleep(write_timeout)),
            is_waiting: false,
            target_bound: TargetBound::new(),
        }
    }

    /// Returns a finished write; makes a pending one fail after the time-out.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.is_waiting = false;
            return poll;
        }
        if !self.is_waiting {
            self.is_waiting = true;
            let deadline = Instant::now() + self.write_timeout;
            self.deadline.as_mut().reset(deadline);
        }
        ready!(self.deadline.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        // A read of zero bytes means the end of the stream, so if all bytes of a read are dropped, read
        // again.
        loop {
            ready!(Pin::new(&mut self.socket).poll_read(context, buffer))?;
            let is_end = buffer.filled().len() == before;
            let kept = self.target_bound.retain(&mut buffer.filled_mut()[before..]);
            buffer.set_filled(before + kept);
            if is_end || kept > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.watch(context, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.watch(context, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.socket).poll_flush(context);
        self.watch(context, poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
