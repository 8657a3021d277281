//! Interrupts, by the device that they are of: one of many queues has one for each.

use super::{IRQS_OF, Kind, Place, Who};
use tardy_model::Culprit;
use tardy_model::event::Irq;

pub(super) struct Device;

impl Kind for Device {
    fn place(&self, who: &Who<'_>) -> Option<Place> {
        let Culprit::Irq(Irq::Line(_, name)) = who.culprit else { return None };
        let device = device(who.labels.tables.name(name));
        Some(Place {
            kind: "irq",
            name: format!("{IRQS_OF}{device}"),
            exact: who.label.name.clone(),
        })
    }
}

/// `eth0` of `eth0-TxRx-3`, `virtio1` of `virtio1-input.0`, `nvme0` of `nvme0q7`; a name that tells of no queue is the
/// device.
pub(super) fn device(name: &str) -> &str {
    let stem = name.split(['-', ':', '@', '[']).next().unwrap_or(name);
    let digits = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = match digits.strip_suffix('q') {
        Some(before)
            if digits.len() < stem.len() && before.ends_with(|c: char| c.is_ascii_digit()) =>
        {
            before
        }
        _ => stem,
    };
    if stem.is_empty() { name } else { stem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_of_a_device() {
        let named = [
            "eth0-TxRx-3",
            "virtio1-input.0",
            "nvme0q7",
            "ahci[0000:00:17.0]",
            "uniq7",
            "i8042",
            "-",
        ];
        assert_eq!(named.map(device), ["eth0", "virtio1", "nvme0", "ahci", "uniq7", "i8042", "-"]);
    }
}
