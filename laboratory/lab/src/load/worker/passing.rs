//! Open files handed from process to process over a socket.

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How many go in one message; the kernel takes at most 253 (`SCM_MAX_FD`).
const FILES_PER_MESSAGE: usize = 128;

/// Hands files over; where they are many, in several messages.
pub(in super::super) fn send(socket: impl AsFd, files: &[BorrowedFd]) -> io::Result<()> {
    for files in files.chunks(FILES_PER_MESSAGE) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_PER_MESSAGE))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(files)) {
            return Err(Errno::NOBUFS.into());
        }
        // Files travel with at least a byte.
        let byte = [IoSlice::new(b"*")];
        retry_on_intr(|| sendmsg(&socket, &byte, &mut control, SendFlags::NOSIGNAL))?;
    }
    Ok(())
}

/// Takes `count` files.
pub(in super::super) fn receive(socket: impl AsFd, count: usize) -> io::Result<Vec<OwnedFd>> {
    let mut files = Vec::new();
    while files.len() < count {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_PER_MESSAGE))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let mut bytes = [IoSliceMut::new(&mut byte)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let got = retry_on_intr(|| recvmsg(&socket, &mut bytes, &mut control, flags))?;
        let before = files.len();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(more) = message {
                files.extend(more);
            }
        }
        if got.bytes == 0 || files.len() == before {
            // Closed, or no room for more files: the kernel then drops them without an error.
            return Err(if got.bytes == 0 { Errno::CONNRESET } else { Errno::MFILE }.into());
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn more_files_than_one_message_holds() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        let files = vec![writer.as_fd(); FILES_PER_MESSAGE * 2 + 1];
        send(&here, &files).unwrap();
        let taken = receive(&there, files.len()).unwrap();
        assert_eq!(taken.len(), files.len());
        drop(writer);
        for file in taken {
            std::fs::File::from(file).write_all(b"x").unwrap();
        }
        let mut read = vec![];
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read.len(), FILES_PER_MESSAGE * 2 + 1);
        drop(here);
        assert!(receive(&there, 1).is_err(), "a closed socket is told, not waited for");
    }
}
