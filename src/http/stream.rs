//! A socket whose peer has to keep reading.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// A socket that fails once its peer has taken nothing for some time while there was something to
/// send. Without it, clients that stop reading would hold answers in memory for ever.
pub(super) struct PatientStream {
    socket: TcpStream,
    patience: Duration,
    /// Runs while a write waits.
    deadline: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl PatientStream {
    pub(super) fn new(socket: TcpStream, patience: Duration) -> PatientStream {
        PatientStream {
            socket,
            patience,
            deadline: Box::pin(sleep(patience)),
            is_waiting: false,
        }
    }

    /// Passes on a finished write; lets one that waits fail when its time is over.
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
            let deadline = Instant::now() + self.patience;
            self.deadline.as_mut().reset(deadline);
        }
        ready!(self.deadline.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for PatientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl AsyncWrite for PatientStream {
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
