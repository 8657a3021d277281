//! Which of a kernel's modules a guest needs, and in which order they load.
//!
//! Debian's packages come without `modules.dep`, which is made where they are installed; modules say
//! themselves what they depend on.

use crate::VmError;
use crate::command::Job;
use object::{Object, ObjectSection};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the ways out of a guest need, and the loads.
const WANTED: [&str; 5] = ["virtio_pci", "virtio_mmio", "virtio_console", "virtio_blk", "veth"];
/// What file systems on a disk need, where a kernel has that in modules: `ext4` mounts ext2 too, and asks for its checksums
/// by a name that no dependency tells.
const FOR_DISKS: [&str; 2] = ["crc32c_generic", "ext4"];
/// No module is that large; a damaged file is not to fill the memory.
const MODULE_BYTES_MAX: u64 = 256 << 20;
const DECOMPRESS_LIMIT: Duration = Duration::from_secs(60);
/// As deep as dependencies are followed below folders; the kernel's own tree has eight levels.
const DEPTH_MAX: usize = 32;

/// Names of modules in a folder, in loading order.
pub(super) struct Taken {
    /// What every guest loads.
    pub(super) usual: Vec<PathBuf>,
    /// What guests with a disk load after that.
    pub(super) for_disks: Vec<PathBuf>,
}

/// Moves what is wanted of an unpacked package to `folder`.
pub(super) fn take(package: &str, modules: &Path, folder: &Path) -> Result<Taken, VmError> {
    fs::create_dir_all(folder).map_err(VmError::file("make", folder))?;
    let mut files = BTreeMap::new();
    find(&modules.join("kernel"), 0, &mut files)?;
    let builtin = fs::read_to_string(modules.join("modules.builtin")).unwrap_or_default();
    let is_builtin = |name: &str| builtin.lines().any(|line| name_of(Path::new(line)) == name);
    let mut plain = BTreeMap::new();
    let mut depends = |name: &str| match files.get(name) {
        Some(file) => {
            let file = decompressed(file)?;
            let depends = depends_of(&file)?;
            plain.insert(name.to_owned(), file);
            Ok(Some(depends))
        }
        // Newer kernels have no such module and need none, or have no such file system.
        None if is_builtin(name) || FOR_DISKS.contains(&name) => Ok(None),
        None => Err(VmError::Package {
            package: package.to_owned(),
            why: format!("it has no module {name}"),
        }),
    };
    let usual = order(&WANTED, &mut depends)?;
    let with_disks = order(&[&WANTED[..], &FOR_DISKS].concat(), &mut depends)?;
    let for_disks: Vec<String> =
        with_disks.into_iter().filter(|name| !usual.contains(name)).collect();
    let moved = |names: Vec<String>| -> Result<Vec<PathBuf>, VmError> {
        let one = |name: String| {
            let from = &plain[&name];
            let name = PathBuf::from(from.file_name().expect("it was found by its name"));
            fs::rename(from, folder.join(&name)).map_err(VmError::file("move", from))?;
            Ok(name)
        };
        names.into_iter().map(one).collect()
    };
    Ok(Taken { usual: moved(usual)?, for_disks: moved(for_disks)? })
}

/// The file of a module as a guest loads it: some packages have them compressed, and not every kernel that
/// does can load them so.
fn decompressed(file: &Path) -> Result<PathBuf, VmError> {
    if file.extension().is_none_or(|extension| extension != "xz") {
        return Ok(file.to_owned());
    }
    Job::new("xz", format!("decompress {}", file.display()), DECOMPRESS_LIMIT)
        .args(["--decompress", "--keep", "--force"])
        .arg(file)
        .output()?;
    Ok(file.with_extension(""))
}

/// The wanted modules and what they depend on, each after what it depends on. `depends` says nothing
/// of what is part of the image.
fn order(
    wanted: &[&str],
    mut depends: impl FnMut(&str) -> Result<Option<Vec<String>>, VmError>,
) -> Result<Vec<String>, VmError> {
    enum Step {
        Enter(String),
        Leave(String),
    }
    let mut ordered: Vec<String> = vec![];
    let mut entered: Vec<String> = vec![];
    let mut left: Vec<_> =
        wanted.iter().rev().map(|name| Step::Enter((*name).to_owned())).collect();
    while let Some(step) = left.pop() {
        match step {
            // Whatever is in a circle has been entered before and ends it.
            Step::Enter(name) if entered.contains(&name) => {}
            Step::Enter(name) => {
                entered.push(name.clone());
                if let Some(needed) = depends(&name)? {
                    left.push(Step::Leave(name));
                    left.extend(needed.into_iter().rev().map(Step::Enter));
                }
            }
            Step::Leave(name) => ordered.push(name),
        }
    }
    Ok(ordered)
}

/// The name that the kernel has for the module in a file.
fn name_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().replace('-', "_")
}

fn find(folder: &Path, depth: usize, files: &mut BTreeMap<String, PathBuf>) -> Result<(), VmError> {
    let failed = |error| VmError::file("read", folder)(error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            if depth < DEPTH_MAX {
                find(&path, depth + 1, files)?;
            }
        } else if path.to_string_lossy().contains(".ko") {
            files.insert(name_of(&path), path);
        }
    }
    Ok(())
}

/// What a module's file says that it depends on.
fn depends_of(file: &Path) -> Result<Vec<String>, VmError> {
    let wrong = |why: String| VmError::Program { path: file.to_owned(), why };
    let bytes = fs::metadata(file).map_err(VmError::file("read", file))?.len();
    if bytes > MODULE_BYTES_MAX {
        return Err(wrong(format!("{bytes} bytes are no module")));
    }
    let data = fs::read(file).map_err(VmError::file("read", file))?;
    let read = object::File::parse(&*data).map_err(|error| wrong(error.to_string()))?;
    let section = read
        .section_by_name(".modinfo")
        .ok_or_else(|| wrong("it does not say what it depends on".to_owned()))?;
    let text = section.data().map_err(|error| wrong(error.to_string()))?;
    Ok(depends(text))
}

/// From `name=value` texts, each ended by a zero byte.
fn depends(modinfo: &[u8]) -> Vec<String> {
    let texts = modinfo.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut lists = texts.filter_map(|text| text.strip_prefix("depends=").map(str::to_owned));
    let list = lists.next().unwrap_or_default();
    list.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(wanted: &[&str], known: &[(&str, Option<&[&str]>)]) -> Result<Vec<String>, VmError> {
        order(wanted, |name| {
            let found = known.iter().find(|(known, _)| *known == name);
            let (_, depends) = found.ok_or(VmError::NoHome)?;
            Ok(depends.map(|depends| depends.iter().map(ToString::to_string).collect()))
        })
    }

    #[test]
    fn each_module_comes_after_what_it_depends_on_and_once() {
        let known: [(&str, Option<&[&str]>); 7] = [
            ("virtio", Some(&[])),
            ("virtio_ring", Some(&["virtio"])),
            ("virtio_pci", Some(&["virtio_pci_modern", "virtio_ring", "virtio"])),
            ("virtio_pci_modern", Some(&[])),
            ("virtio_mmio", Some(&["virtio", "virtio_ring"])),
            ("virtio_console", Some(&["tty", "virtio_ring"])),
            ("tty", None),
        ];
        let names = ordered(&["virtio_pci", "virtio_mmio", "virtio_console"], &known).unwrap();
        let expected = [
            "virtio_pci_modern",
            "virtio",
            "virtio_ring",
            "virtio_pci",
            "virtio_mmio",
            "virtio_console",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_circle_ends_and_a_missing_module_is_an_error() {
        let known: [(&str, Option<&[&str]>); 2] = [("a", Some(&["b"])), ("b", Some(&["a"]))];
        assert_eq!(ordered(&["a"], &known).unwrap(), ["b", "a"]);
        ordered(&["c"], &known).unwrap_err();
    }

    #[test]
    fn a_module_says_what_it_depends_on() {
        let text = b"license=GPL\0depends=virtio,virtio-ring\0name=some\0";
        assert_eq!(depends(text), ["virtio", "virtio_ring"]);
        assert!(depends(b"depends=\0").is_empty());
        assert!(depends(b"").is_empty());
    }

    #[test]
    fn a_module_is_known_by_its_name_in_the_kernel() {
        assert_eq!(name_of(Path::new("kernel/net/virtio-gpu.ko.xz")), "virtio_gpu");
    }
}
