//! A kernel as Debian delivers it.

use super::{IMAGE, Kernel, Record, modules};
use crate::debian::{Apt, Release, unpack};
use crate::manifest::{Kept, Manifest};
use crate::{Cache, VmError};
use std::fs;
use std::path::{Path, PathBuf};

/// How the names of a kernel's packages begin: until 6.12 the first has all of it, since then it depends on
/// those that have.
const PACKAGES: [&str; 4] = ["linux-image-", "linux-base-", "linux-binary-", "linux-modules-"];

/// Where a package has its modules, by release.
const MODULES: [&str; 2] = ["lib/modules", "usr/lib/modules"];

/// Downloads a kernel and makes its folder below `scratch`.
pub(super) fn bring(
    kernel: &Kernel,
    release: Release,
    metapackage: &str,
    cache: &Cache,
    scratch: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<PathBuf, VmError> {
    let apt = Apt::fresh(kernel.arch, release, cache, tell)?;
    let candidates = apt.resolve(metapackage, &PACKAGES)?;
    let root = scratch.join("root");
    for candidate in &candidates {
        let file = apt.download(candidate, scratch, tell)?;
        tell(&format!("unpacking {}", candidate.package.name));
        unpack(&file, &root)?;
    }
    let package = &candidates[0].package;
    let complete = scratch.join("complete");
    let image = image(&package.name, &root)?;
    let release = take(&image, &root, &complete)?;
    let below = complete.join("modules");
    let modules = modules::take(&package.name, &root.join(image.modules), &below)?;
    let below = |names: &[PathBuf]| -> Vec<PathBuf> {
        names.iter().map(|name| Path::new("modules").join(name)).collect()
    };
    let mut record = Record::of(kernel, &complete, &release, package, &below(&modules.usual))?;
    let for_disks = below(&modules.for_disks);
    let for_disks = for_disks.iter().map(|module| Kept::of(&complete, module));
    record.modules_for_disks = Some(for_disks.collect::<Result<_, _>>()?);
    record.write(&complete)?;
    Ok(complete)
}

/// What was found in unpacked packages, below their root.
#[derive(Debug, PartialEq, Eq)]
struct Image {
    release: String,
    file: PathBuf,
    modules: PathBuf,
}

/// Finds the image: `boot/vmlinuz-RELEASE`, or beside the modules.
fn image(package: &str, root: &Path) -> Result<Image, VmError> {
    for at in MODULES.map(Path::new) {
        // Only one of the folders is there.
        let Ok(entries) = fs::read_dir(root.join(at)) else { continue };
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        for release in names {
            let modules = at.join(&release);
            let places = [
                Path::new("boot").join(format!("vmlinuz-{release}")),
                modules.join("vmlinuz"),
                modules.join("vmlinuz.unsigned"),
            ];
            if let Some(file) = places.into_iter().find(|place| root.join(place).is_file()) {
                return Ok(Image { release, file, modules });
            }
        }
    }
    Err(VmError::Package {
        package: package.to_owned(),
        why: "neither boot nor the folder of modules has an image".to_owned(),
    })
}

/// Takes the image, and the configuration for who is curious. Returns the release.
fn take(image: &Image, root: &Path, complete: &Path) -> Result<String, VmError> {
    fs::create_dir_all(complete).map_err(VmError::file("make", complete))?;
    let from = root.join(&image.file);
    fs::rename(&from, complete.join(IMAGE)).map_err(VmError::file("move", &from))?;
    for config in
        [Path::new("boot").join(format!("config-{}", image.release)), image.modules.join("config")]
    {
        // Not needed for anything.
        let _ = fs::rename(root.join(config), complete.join("config"));
    }
    Ok(image.release.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[&str]) -> Result<Image, VmError> {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        image("linux-image", root.path())
    }

    #[test]
    fn an_image_is_found_where_a_release_has_it() {
        let old = found(&["boot/vmlinuz-6.1", "boot/config-6.1", "lib/modules/6.1/a.ko"]).unwrap();
        assert_eq!(
            (old.release.as_str(), old.file.as_path()),
            ("6.1", Path::new("boot/vmlinuz-6.1"))
        );
        let new =
            found(&["usr/lib/modules/7.3/vmlinuz.unsigned", "usr/lib/modules/7.3/a.ko"]).unwrap();
        assert_eq!(new.modules, Path::new("usr/lib/modules/7.3"));
        found(&["lib/modules/6.1/a.ko"]).unwrap_err();
    }
}
