//! A kernel as Debian delivers it.

use super::{IMAGE, Kernel, Record, modules};
use crate::debian::{Apt, unpack};
use crate::manifest::Manifest;
use crate::{Cache, VmError};
use std::fs;
use std::path::{Path, PathBuf};

/// Downloads a kernel and makes its folder below `scratch`.
pub(super) fn bring(
    kernel: &Kernel,
    metapackage: &str,
    cache: &Cache,
    scratch: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<PathBuf, VmError> {
    let apt = Apt::fresh(kernel.arch, cache, tell)?;
    let candidate = apt.resolve(metapackage, "linux-image-")?;
    let file = apt.download(&candidate, scratch, tell)?;
    tell(&format!("unpacking {}", candidate.package.name));
    let root = scratch.join("root");
    unpack(&file, &root)?;
    let complete = scratch.join("complete");
    let release = take(&candidate.package.name, &root, &complete)?;
    let below = complete.join("modules");
    let modules = modules::take(&candidate.package.name, &root, &release, &below)?;
    let modules: Vec<_> = modules.iter().map(|name| Path::new("modules").join(name)).collect();
    Record::of(kernel, &complete, &release, &candidate.package, &modules)?.write(&complete)?;
    Ok(complete)
}

/// Takes the image, and the configuration for who is curious. Returns the release.
fn take(package: &str, root: &Path, complete: &Path) -> Result<String, VmError> {
    fs::create_dir_all(complete).map_err(VmError::file("make", complete))?;
    let boot = root.join("boot");
    let entries = fs::read_dir(&boot).map_err(VmError::file("read", &boot))?;
    let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let release = names
        .find_map(|name| name.strip_prefix("vmlinuz-").map(str::to_owned))
        .ok_or_else(|| VmError::Package {
            package: package.to_owned(),
            why: "it holds no boot/vmlinuz-…".to_owned(),
        })?;
    let from = boot.join(format!("vmlinuz-{release}"));
    fs::rename(&from, complete.join(IMAGE)).map_err(VmError::file("move", &from))?;
    // Not needed for anything.
    let _ = fs::rename(boot.join(format!("config-{release}")), complete.join("config"));
    Ok(release)
}
