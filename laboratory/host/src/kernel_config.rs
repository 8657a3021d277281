//! The options that the running kernel was built with.

use crate::root::Root;
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::io::Read;

/// The most of a configuration that is read, unpacked. They are about 300 KB.
const CONFIG_BYTES_MAX: u64 = 4 << 20;

/// Options without their `CONFIG_`. Empty where no configuration can be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelConfig {
    options: BTreeMap<String, String>,
}

impl KernelConfig {
    /// Reads the first that is there: the kernel's own copy, then the places where distributions
    /// put it.
    pub(crate) fn read(root: &Root, release: &str) -> Self {
        let own = root.bytes("proc/config.gz", CONFIG_BYTES_MAX).and_then(|packed| {
            let mut bytes = Vec::new();
            let mut unpacked = GzDecoder::new(packed.as_slice()).take(CONFIG_BYTES_MAX);
            unpacked.read_to_end(&mut bytes).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        });
        let text = own.or_else(|| {
            // The release becomes part of a path; a kernel's never has a slash in it.
            let release = (!release.is_empty() && !release.contains('/')).then_some(release)?;
            [
                format!("boot/config-{release}"),
                format!("lib/modules/{release}/config"),
                format!("lib/modules/{release}/build/.config"),
            ]
            .iter()
            .find_map(|path| root.text(path))
        });
        Self::parse(&text.unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let options = text
            .lines()
            .filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.trim().trim_matches('"').to_owned()))
            .collect();
        Self { options }
    }

    /// Whether there is a configuration at all.
    pub(crate) fn is_known(&self) -> bool {
        !self.options.is_empty()
    }

    /// An option's value.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// Whether an option is built in or a module.
    pub(crate) fn has(&self, name: &str) -> bool {
        matches!(self.value(name), Some("y" | "m"))
    }

    /// Whether the configuration is known and lacks the option.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        self.is_known() && !self.has(name)
    }
}
