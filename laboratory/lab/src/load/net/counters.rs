//! What the kernel has counted in the two namespaces.

use super::link::{DEVICE, End};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The open counters of both ends.
pub(super) struct Counters([Files; 2]);

struct Files {
    device: File,
    protocol: File,
}

/// Both ends, since they were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// That crossed the pair of devices, both ways, also acknowledgements and the few of the
    /// kernel's own.
    pub(super) packets: u64,
    /// Segments of TCP that were sent once more.
    pub(super) retransmissions: u64,
    /// Datagrams that arrived and found no room in the receiver's buffer or the CPU's backlog.
    pub(super) losses: u64,
}

impl Counters {
    pub(super) fn of(ends: [End; 2]) -> Self {
        Self(ends.map(|end| Files { device: end.device_counters, protocol: end.protocol_counters }))
    }

    pub(super) fn now(&self) -> Counted {
        let mut counted = Counted::default();
        for Files { device, protocol } in &self.0 {
            let (device, protocol) = (read(device), read(protocol));
            let protocol = |name, field| of_protocol(&protocol, name, field).unwrap_or_default();
            // Columns of proc_pid_net(5): received bytes, packets, errs, drop, …
            let column = |column| of_device(&device, column).unwrap_or_default();
            counted.packets += column(1) + column(3);
            counted.retransmissions += protocol("Tcp:", "RetransSegs");
            // Of those with errors, all that these streams can have are of full buffers.
            counted.losses += protocol("Udp:", "InErrors") + column(3);
        }
        counted
    }
}

/// From its beginning, as it is now; empty where it cannot be read.
fn read(file: &File) -> String {
    let mut text = vec![0; 16 << 10];
    let mut length = 0;
    while let Ok(more @ 1..) = file.read_at(&mut text[length..], length as u64) {
        length += more;
    }
    String::from_utf8_lossy(&text[..length]).into_owned()
}

/// A column of the line of our device.
fn of_device(text: &str, column: usize) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(DEVICE)?.strip_prefix(':'))?;
    line.split_whitespace().nth(column)?.parse().ok()
}

/// A protocol has a line of names and one of numbers.
fn of_protocol(text: &str, protocol: &str, field: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(protocol));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let column = names.split_whitespace().position(|name| name == field)?;
    numbers.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_tables_are_read() {
        let dev = "Inter-|   Receive                |  Transmit\n \
                   face |bytes    packets errs drop fifo frame compressed multicast|bytes\n    \
                   lo:       0       0    0    0    0     0          0         0        0\n \
                   tardy: 1876 21    0    7    0     0          0         0     1966      23\n";
        assert_eq!((of_device(dev, 1), of_device(dev, 3)), (Some(21), Some(7)));
        assert_eq!(of_device("", 1), None);
        let snmp = "Tcp: RtoAlgorithm InSegs RetransSegs\nTcp: 1 33 5\n\
                    Udp: InDatagrams NoPorts InErrors\nUdp: 9 0 4\n";
        assert_eq!(of_protocol(snmp, "Tcp:", "RetransSegs"), Some(5));
        assert_eq!(of_protocol(snmp, "Udp:", "InErrors"), Some(4));
        assert_eq!(of_protocol(snmp, "Udp:", "Nothing"), None);
        assert_eq!(of_protocol("Udp: InErrors", "Udp:", "InErrors"), None);
    }
}
