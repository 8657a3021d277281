//! Datagrams over the loopback device, from a socket to itself: the receive softirq runs for each, on
//! the CPU of the sender.

use super::{Way, at_rate};
use crate::sched::bind;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::net::{Ipv4Addr, UdpSocket};

pub(super) const WAY: Way = Way {
    name: "softirq",
    rate_least: 0,
    posts: |irq, cpus| {
        let senders = (0..irq.threads).map(|index| {
            let cpu = cpus[index as usize % cpus.len()];
            at_rate(irq, format!("irq-net-{index:02}"), &["packets"], move || {
                bind(cpu)?;
                let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
                socket.connect(socket.local_addr()?)?;
                Ok(move || {
                    send(&socket, &[0], SendFlags::empty())?;
                    // It need not have come yet; so long as there is room it will.
                    let _ = recv(&socket, &mut [0][..], RecvFlags::DONTWAIT);
                    Ok(())
                })
            })
        });
        Ok(senders.collect())
    },
    #[cfg(test)]
    raises: &["NET_RX"],
};
