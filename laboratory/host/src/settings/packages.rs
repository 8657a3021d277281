//! Versions of packages, as the system's own list of them says.

use crate::probe::Probe;

/// Lists of packages: where, and how lines begin that hold a package's name and its version.
const LISTS: [(&str, &str, &str); 2] =
    [("var/lib/dpkg/status", "Package: ", "Version: "), ("lib/apk/db/installed", "P:", "V:")];

/// As much of a list as is read: those of systems with thousands of packages are a tenth of it.
const BYTES_MAX: u64 = 64 << 20;

/// The version of a package, where it is installed.
pub(super) fn version(probe: &Probe, package: &str) -> Option<String> {
    LISTS.iter().find_map(|(path, name, version)| {
        let text = probe.root.bytes(path, BYTES_MAX)?;
        let text = String::from_utf8_lossy(&text);
        text.split("\n\n")
            .find_map(|entry| {
                let field = |start: &str| entry.lines().find_map(|line| line.strip_prefix(start));
                // What was removed, and left its settings there, has no version that counts.
                let is_there =
                    field("Status: ").is_none_or(|status| status.ends_with(" installed"));
                (is_there && field(name) == Some(package)).then(|| field(version)).flatten()
            })
            .map(str::to_owned)
    })
}

/// The version of the kernel's package, where it came in one.
pub(super) fn kernel(probe: &Probe) -> Option<String> {
    version(probe, &format!("linux-image-{}", probe.calls.release))
}
