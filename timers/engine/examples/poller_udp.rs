//! A UDP socket on the loopback that another thread sends to: busy polling beside pollers with
//! vacations.
//!
//! `cargo run --release -p tardy-timers --example poller_udp -- [DATAGRAMS_PER_SECOND] [MS_PER_ROW]`
//!
//! Latency is from before the send to after the receive, two system calls included. The kernel's
//! receive buffer bounds the backlog; what does not fit is lost, and missing in the column of items.

mod shared;

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};

use tardy_timers::clock::now_ns;

fn main() -> std::io::Result<()> {
    let (rate, row) = shared::arguments(10_000, 250);
    println!("UDP on the loopback, {rate} datagrams/s at random times");
    shared::print_header();
    for watcher in shared::WATCHERS {
        let receiver = UdpSocket::bind("127.0.0.1:0")?;
        receiver.set_nonblocking(true)?;
        let sender = UdpSocket::bind("127.0.0.1:0")?;
        sender.connect(receiver.local_addr()?)?;
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let end_ns = now_ns() + row.as_nanos() as u64;
                let mut send_ns = now_ns();
                while send_ns < end_ns {
                    send_ns = shared::next_ns(send_ns, rate);
                    while now_ns() < send_ns {
                        std::hint::spin_loop();
                    }
                    // A full buffer loses the datagram; the table shows it.
                    let _ = sender.send(&now_ns().to_ne_bytes());
                }
                done.store(true, Ordering::Release);
            });
            watcher.watch(|latencies_ns| {
                let finished = done.load(Ordering::Acquire);
                let mut sent_ns = [0; 8];
                match receiver.recv(&mut sent_ns) {
                    Ok(_) => {
                        latencies_ns.push(now_ns().saturating_sub(u64::from_ne_bytes(sent_ns)));
                        Some(1)
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock && !finished => Some(0),
                    Err(_) => None,
                }
            });
        });
    }
    Ok(())
}
