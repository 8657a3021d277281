//! The two sockets of a stream, who sends, who receives, and how often.

use super::link::{End, Refused, refused};
use super::{Net, Protocol};
use crate::load::crew::{Duty, Post};
use crate::load::pacer::at_rate;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

/// How long the first datagram may take: three requests of ARP, a second apart, and a scheduler's
/// patience.
const FIRST_MAX: Duration = Duration::from_secs(5);

/// What a receiver takes at once: as much as the largest datagram.
const RECEIVE_BYTES: usize = 64 << 10;

/// A connection, in one direction.
pub(super) struct Stream {
    sends: Arc<OwnedFd>,
    receives: Arc<OwnedFd>,
}

/// Makes all streams of `net`. Leaves the calling thread in one of the namespaces.
pub(super) fn make(ends: &[End; 2], net: &Net) -> Result<Vec<Stream>, Refused> {
    let mut streams = vec![];
    for index in 0..net.streams {
        let [near, far] = ends;
        let (from, to) = if index % 2 == 0 { (near, far) } else { (far, near) };
        let (sends, receives) = match net.protocol {
            Protocol::Tcp => tcp(from, to)?,
            Protocol::Udp => udp(from, to)?,
        };
        streams.push(Stream { sends: Arc::new(sends), receives: Arc::new(receives) });
    }
    Ok(streams)
}

fn any_port(address: Ipv4Addr) -> SocketAddrV4 {
    SocketAddrV4::new(address, 0)
}

fn tcp(from: &End, to: &End) -> Result<(OwnedFd, OwnedFd), Refused> {
    let failed = refused::<io::Error>("connecting a TCP stream");
    to.enter()?;
    let listener = TcpListener::bind(any_port(to.address)).map_err(&failed)?;
    from.enter()?;
    let at = listener.local_addr().map_err(&failed)?;
    // Established by the kernel before it is accepted.
    let sends = TcpStream::connect(at).map_err(&failed)?;
    let (receives, _) = listener.accept().map_err(&failed)?;
    // As fast or as rarely as it is sent, it goes.
    sends.set_nodelay(true).map_err(&failed)?;
    // Closed, also by the kernel for a process that was killed, each is gone at once. Otherwise one that
    // has something to send still tries to, and holds its namespace for minutes where the other end has
    // gone first.
    for socket in [&sends, &receives] {
        set_socket_linger(socket, Some(Duration::ZERO)).map_err(|error| failed(error.into()))?;
    }
    Ok((sends.into(), receives.into()))
}

fn udp(from: &End, to: &End) -> Result<(OwnedFd, OwnedFd), Refused> {
    let failed = refused::<io::Error>("connecting a UDP stream");
    to.enter()?;
    let receives = UdpSocket::bind(any_port(to.address)).map_err(&failed)?;
    from.enter()?;
    let sends = UdpSocket::bind(any_port(from.address)).map_err(&failed)?;
    sends.connect(receives.local_addr().map_err(&failed)?).map_err(&failed)?;
    // Unconnected, a socket cannot be shut.
    receives.connect(sends.local_addr().map_err(&failed)?).map_err(&failed)?;
    // Until the first has arrived, the sender's end does not know where to send: datagrams beyond a few
    // would be dropped there, where no counter of ours sees it.
    receives.set_read_timeout(Some(FIRST_MAX)).map_err(&failed)?;
    sends.send(&[0]).map_err(&failed)?;
    receives.recv(&mut [0]).map_err(&failed)?;
    receives.set_read_timeout(None).map_err(&failed)?;
    Ok((sends.into(), receives.into()))
}

impl Stream {
    /// Its two threads. `index` is for their names.
    pub(super) fn posts(&self, index: usize, net: &Net) -> [Post; 2] {
        let (sends, receives) = (Arc::clone(&self.sends), Arc::clone(&self.receives));
        let (size, rate) = (net.size_bytes as usize, net.sends_per_second());
        [
            Post::new(format!("net-recv-{index:02}"), &["bytes"], move |duty| {
                receive_all(&receives, duty)
            }),
            Post::new(format!("net-send-{index:02}"), &["sends"], move |duty| {
                let buffer = vec![0; size];
                duty.begin();
                at_rate(rate, duty, || send_one(&sends, &buffer))
            }),
        ]
    }

    /// Lets both threads return from whatever they wait for in the sockets.
    pub(super) fn shut(&self) {
        for socket in [&self.sends, &self.receives] {
            // One that is shut already says so.
            let _ = shutdown(socket, Shutdown::Both);
        }
    }
}

fn receive_all(socket: &OwnedFd, duty: &mut Duty) -> io::Result<()> {
    let mut buffer = vec![0; RECEIVE_BYTES];
    duty.begin();
    while duty.goes_on() {
        match recv(socket, &mut buffer[..], RecvFlags::empty()) {
            Ok((_, bytes)) if bytes > 0 => duty.did(bytes as u64),
            // Shut; no datagram of these is empty.
            Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(Errno::INTR | Errno::CONNREFUSED) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// All of it: a stream may take a part.
fn send_one(socket: &OwnedFd, buffer: &[u8]) -> io::Result<()> {
    let mut sent = 0;
    while sent < buffer.len() {
        match send(socket, &buffer[sent..], SendFlags::NOSIGNAL) {
            Ok(bytes) => sent += bytes,
            Err(Errno::INTR) => {}
            // A datagram that found no room, or nobody, is lost.
            Err(Errno::NOBUFS | Errno::CONNREFUSED) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
