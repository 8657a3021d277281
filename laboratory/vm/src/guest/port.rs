//! The port to the host.

use crate::channel::Message;
use crate::qemu::PORT_NAME;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const PORTS: &str = "/sys/class/virtio-ports";

/// How often the port is looked for, and how many times: a second in all.
const LOOK_EVERY: Duration = Duration::from_millis(10);
const LOOKS: u32 = 100;

/// A port, shared by whoever has something to say.
pub(super) struct Port(Mutex<File>);

impl From<File> for Port {
    fn from(file: File) -> Self {
        Self(Mutex::new(file))
    }
}

impl Port {
    /// Opens the one that the host reads.
    pub(super) fn open() -> Result<Self, String> {
        for _ in 0..LOOKS {
            if let Some(device) = find() {
                let file = OpenOptions::new().write(true).open(&device);
                let file =
                    file.map_err(|error| format!("cannot open {}: {error}", device.display()))?;
                return Ok(file.into());
            }
            // Drivers find their devices in their own time.
            std::thread::sleep(LOOK_EVERY);
        }
        Err(format!(
            "there is no virtio port {PORT_NAME} in {PORTS}: this kernel needs VIRTIO_CONSOLE, and \
             VIRTIO_PCI or VIRTIO_MMIO"
        ))
    }

    /// Sends a message, whole. A host that does not read any more is none of the guest's business.
    pub(super) fn send(&self, message: &Message) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(&message.frame())
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            eprintln!("tardy-guest: cannot send to the host: {error}");
        }
    }
}

fn find() -> Option<PathBuf> {
    let ports = fs::read_dir(PORTS).ok()?;
    let port = ports.flatten().find(|port| {
        fs::read_to_string(port.path().join("name")).is_ok_and(|name| name.trim() == PORT_NAME)
    })?;
    let device = Path::new("/dev").join(port.file_name());
    device.exists().then_some(device)
}
