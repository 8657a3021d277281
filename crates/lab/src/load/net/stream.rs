//! The two sockets of a stream, who sends, who receives, and how often.

use super::link::{End, Refused, refused};
use super::{Net, Protocol};
use crate::clock::{now_ns, sleep_until};
use crate::load::crew::{Duty, Post};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

/// A sender with a rate wakes at most so often and sends all that is due: its own timer is not to be
/// the load.
const BURST_NS: f64 = 1e6;

/// Who falls behind by more starts anew: to catch up would be another load.
const BEHIND_NS: f64 = 1e8;

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
            Post {
                name: format!("net-recv-{index:02}"),
                unit: "bytes",
                work: Box::new(move |duty| receive_all(&receives, duty)),
            },
            Post {
                name: format!("net-send-{index:02}"),
                unit: "sends",
                work: Box::new(move |duty| send_all(&sends, size, rate, duty)),
            },
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

fn send_all(socket: &OwnedFd, size: usize, per_second: f64, duty: &mut Duty) -> io::Result<()> {
    let buffer = vec![0; size];
    duty.begin();
    let mut pacer = Pacer::new(per_second);
    while duty.goes_on() {
        for _ in 0..pacer.wait() {
            send_one(socket, &buffer)?;
            duty.did(1);
            if !duty.goes_on() {
                break;
            }
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

/// When how many are due.
struct Pacer {
    /// Between two; 0 where there is no bound.
    every_ns: f64,
    start_ns: u64,
    done: u64,
}

impl Pacer {
    fn new(per_second: f64) -> Self {
        let every_ns = if per_second > 0.0 { 1e9 / per_second } else { 0.0 };
        Self { every_ns, start_ns: now_ns(), done: 0 }
    }

    /// Waits until something is due, and says how much.
    fn wait(&mut self) -> u64 {
        if self.every_ns <= 0.0 {
            return 1;
        }
        let due_ns = (self.done + 1) as f64 * self.every_ns;
        let wake_ns = due_ns.max(self.since() + BURST_NS.min(self.every_ns));
        // In steps: whoever is told to stop is to end soon.
        let _ = sleep_until(self.start_ns + wake_ns.min(self.since() + BEHIND_NS) as u64);
        self.due(self.since())
    }

    fn since(&self) -> f64 {
        now_ns().saturating_sub(self.start_ns) as f64
    }

    /// How many more are due `since_ns` after the start.
    fn due(&mut self, since_ns: f64) -> u64 {
        let behind_ns = since_ns - self.done as f64 * self.every_ns;
        if behind_ns > BEHIND_NS.max(2.0 * self.every_ns) {
            *self = Self { start_ns: self.start_ns + since_ns as u64, done: 0, ..*self };
            return 0;
        }
        let due = (behind_ns.max(0.0) / self.every_ns) as u64;
        self.done += due;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_is_due_as_the_rate_says_and_nothing_is_caught_up_with() {
        let mut pacer = Pacer { every_ns: 2.5e6, start_ns: 0, done: 0 };
        for (at_ns, due) in [(2.4e6, 0), (2.6e6, 1), (10.1e6, 3), (10.2e6, 0), (12.6e6, 1)] {
            assert_eq!(pacer.due(at_ns), due, "at {at_ns} ns");
        }
        assert_eq!(pacer.due(500e6), 0, "half a second late");
        assert_eq!((pacer.start_ns, pacer.done), (500_000_000, 0));
        assert_eq!(pacer.due(2.6e6), 1);
    }

    #[test]
    fn one_a_second_is_not_always_too_late() {
        let mut pacer = Pacer { every_ns: 1e9, start_ns: 0, done: 0 };
        assert_eq!(pacer.due(0.9e9), 0);
        assert_eq!(pacer.due(1.1e9), 1);
        assert_eq!(pacer.due(2.1e9), 1);
    }
}
