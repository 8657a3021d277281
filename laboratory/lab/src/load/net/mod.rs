//! Network traffic through the whole stack, on one machine, without a network.
//!
//! Streams between two network namespaces that a pair of virtual Ethernet devices joins: each packet
//! goes down through IP to a device and is taken up by the receive softirq, as one from a wire is
//! after its interrupt. The half of a load that says "hackbench + iperf" (Gratian Crisan, "latency
//! induced by hrtimer stacking", linux-rt-users, 4 January 2017).
//!
//! Nothing of it has a name outside: no `ip netns`, no device in the machine's own namespace. The
//! sockets alone keep the namespaces, and the kernel takes namespaces and devices apart when the last
//! socket is closed, however the process ends.

mod counters;
mod link;
mod stream;

use super::amount::{self, Rate};
use super::crew::{Crew, Rank, add};
use super::spec::{Arguments, SpecError};
use super::{Kind, Load, LoadError, RunningLoad, Work};
use counters::Counters;
use std::fmt;
use stream::Stream;

/// Two threads and two sockets each: within the 1,024 files that a process may usually have.
const STREAMS_MAX: u64 = 256;

/// One in each direction.
const STREAMS: u64 = 2;

/// More packets than any machine moves; below the bytes of a terabit a second.
const RATE_MAX: u64 = 1_000_000_000_000;

/// What a TCP stream writes at once: as iperf does.
const TCP_BYTES: u64 = 128 << 10;
const TCP_BYTES_MAX: u64 = 16 << 20;

/// What fits in one packet of the devices' 1,500 bytes after the headers of IP and UDP.
const UDP_BYTES: u64 = 1_472;
/// IPv4 has 16 bits for the length of a packet; this is cut to fragments.
const UDP_BYTES_MAX: u64 = 65_507;

const USAGE: &str = "net[:N][,tcp|udp][,rate=R][,size=BYTES]";

pub(super) const KIND: Kind = Kind {
    name: "net",
    usage: USAGE,
    summary: "N streams (2), in both directions by turns, of TCP or UDP between two network \
              namespaces over a veth pair; each sends `size` bytes (TCP 128k, UDP 1472) at a time, \
              `rate` (0: as fast as it goes) times a second, or so many bytes (10MB) a second; needs \
              root",
    parse: |arguments| Net::parse(arguments).map(|net| Box::new(net) as Box<dyn Load>),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Tcp,
    Udp,
}

/// Streams between two namespaces.
#[derive(Clone, Copy, Debug)]
struct Net {
    streams: u64,
    protocol: Protocol,
    /// Of each stream; 0 is no bound.
    rate: Rate,
    /// Sent at a time.
    size_bytes: u64,
}

impl Net {
    fn parse(arguments: &Arguments) -> Result<Self, SpecError> {
        let rate = Rate::Times(0);
        let streams = arguments.count("streams", STREAMS, STREAMS_MAX)?;
        let mut net = Self { streams, protocol: Protocol::Tcp, rate, size_bytes: 0 };
        let mut size = None;
        for &(option, value) in &arguments.options {
            match (option, value) {
                ("tcp", None) => net.protocol = Protocol::Tcp,
                ("udp", None) => net.protocol = Protocol::Udp,
                ("rate", Some(value)) => {
                    net.rate = arguments.rate(option, value, RATE_MAX)?;
                }
                ("size", Some(value)) => size = Some(value),
                _ => return Err(arguments.no_option(option, USAGE)),
            }
        }
        // After the protocol is known, which bounds it.
        let (default, most) = match net.protocol {
            Protocol::Tcp => (TCP_BYTES, TCP_BYTES_MAX),
            Protocol::Udp => (UDP_BYTES, UDP_BYTES_MAX),
        };
        net.size_bytes = match size {
            Some(size) => arguments.size("size", size, 1, most)?,
            None => default,
        };
        Ok(net)
    }

    /// How often a stream sends, a second.
    fn sends_per_second(&self) -> f64 {
        match self.rate {
            Rate::Times(times) => times as f64,
            Rate::Bytes(bytes) => bytes as f64 / self.size_bytes as f64,
        }
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (protocol, default) = match self.protocol {
            Protocol::Tcp => ("tcp", TCP_BYTES),
            Protocol::Udp => ("udp", UDP_BYTES),
        };
        write!(f, "net:{},{protocol}", self.streams)?;
        if self.rate != Rate::Times(0) {
            write!(f, ",rate={}", self.rate)?;
        }
        if self.size_bytes != default {
            write!(f, ",size={}", amount::size(self.size_bytes))?;
        }
        Ok(())
    }
}

impl Load for Net {
    fn start(&self) -> Result<Box<dyn RunningLoad>, LoadError> {
        let net = *self;
        // A thread of its own: it changes the namespace it is in.
        let made = std::thread::Builder::new()
            .name("net-link".to_owned())
            .spawn(move || link::make().and_then(|ends| Ok((stream::make(&ends, &net)?, ends))))
            .map_err(|source| LoadError::Spawn {
                load: self.to_string(),
                index: 0,
                count: 2 * self.streams as usize + 1,
                source,
            })?
            .join()
            .unwrap_or_else(|_| Err(link::gone()));
        let (streams, ends) = made.map_err(|refused| LoadError::Network {
            load: self.to_string(),
            doing: refused.doing,
            remedy: refused.remedy(),
            source: refused.source,
        })?;
        let counters = Counters::of(ends);
        let posts =
            streams.iter().enumerate().flat_map(|(index, stream)| stream.posts(index, self));
        let posts: Vec<_> = posts.collect();
        // Whoever waits in one returns.
        let shut = move || streams.iter().for_each(Stream::shut);
        let crew = Crew::start_woken_by(self, Rank::default(), posts, shut)?;
        Ok(Box::new(RunningNet { protocol: self.protocol, counters, crew }))
    }
}

struct RunningNet {
    protocol: Protocol,
    counters: Counters,
    crew: Crew,
}

impl RunningLoad for RunningNet {
    fn tids(&self) -> Vec<u32> {
        self.crew.tids()
    }

    fn notes(&self) -> Vec<String> {
        self.crew.notes()
    }

    fn work(&self) -> Vec<Work> {
        let mut work = self.crew.work();
        let counted = self.counters.now();
        add(&mut work, "packets", counted.packets);
        match self.protocol {
            Protocol::Tcp => add(&mut work, "retransmissions", counted.retransmissions),
            Protocol::Udp => add(&mut work, "losses", counted.losses),
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Spec;
    use std::time::{Duration, Instant};

    #[test]
    fn written_and_read_again() {
        for (text, shown) in [
            ("net", "net:2,tcp"),
            ("net:1,udp", "net:1,udp"),
            ("net:4,udp,rate=10MB,size=100", "net:4,udp,rate=10MB,size=100"),
            ("net,size=2048", "net:2,tcp,size=2k"),
            ("net,size=1472,udp,rate=500", "net:2,udp,rate=500"),
            ("net,rate=1500kB", "net:2,tcp,rate=1500kB"),
            ("net,udp,rate=0,tcp", "net:2,tcp"),
        ] {
            let spec: Spec = text.parse().unwrap();
            assert_eq!(spec.to_string(), shown);
            assert_eq!(shown.parse::<Spec>().unwrap().to_string(), shown);
        }
        for (text, said) in [
            ("net:0", "from 1 to 256"),
            ("net,sctp", "no option `sctp`"),
            ("net,rate=fast", "net: rate is `fast`"),
            ("net,rate=10mb", "net: rate is `10mb`"),
            ("net,udp,size=70000", "from 1 to 65507, like"),
            ("net,tcp=1", "no option `tcp`"),
        ] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    fn is_allowed(error: &LoadError) -> bool {
        let text = error.to_string();
        assert!(text.contains("CAP_NET_ADMIN") || text.contains("CONFIG_"), "{text}");
        println!("skipped: {text}");
        false
    }

    fn count(work: &[Work], unit: &str) -> u64 {
        work.iter().find(|work| work.unit == unit).map_or(0, |work| work.count)
    }

    #[test]
    fn bytes_and_packets_arrive_at_both_ends_and_the_own_devices_stay_as_they_are() {
        let devices = || -> Vec<_> {
            let text = std::fs::read_to_string("/proc/self/net/dev").unwrap();
            text.lines().filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect()
        };
        let before = devices();
        for text in
            ["net:2", "net:2,udp", "net:2,udp,rate=500,size=100", "net:2,rate=1MB,size=1000"]
        {
            let spec: Spec = text.parse().unwrap();
            let running = match spec.start() {
                Ok(running) => running,
                Err(error) => return assert!(!is_allowed(&error)),
            };
            assert_eq!(running.tids().len(), 4);
            let begun = Instant::now();
            while count(&running.work()[0], "bytes") < 10_000 {
                assert!(begun.elapsed() < Duration::from_secs(60), "{text}: nothing arrives");
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(running.notes(), Vec::<String>::new());
            let work = running.stop().remove(0);
            println!("{text}: {work:?}");
            // A packet has at most 1,500 bytes with its headers.
            let packets = count(&work, "packets");
            assert!(packets * 1500 >= count(&work, "bytes") / 2, "{text}: {work:?}");
            assert_eq!(devices(), before);
        }
    }

    #[test]
    fn a_stream_sends_no_more_often_than_its_rate() {
        let spec: Spec = "net:1,udp,rate=200,size=10".parse().unwrap();
        let begun = Instant::now();
        let running = match spec.start() {
            Ok(running) => running,
            Err(error) => return assert!(!is_allowed(&error)),
        };
        while count(&running.work()[0], "sends") < 50 {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(1));
        }
        let sends = count(&running.work()[0], "sends");
        let most = begun.elapsed().as_secs_f64() * 200.0 + 1.0;
        assert!(sends as f64 <= most, "{sends} sends, {most} due");
    }
}
