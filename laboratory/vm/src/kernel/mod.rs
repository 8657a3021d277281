//! Which kernels there are, whether they are here, and how they come here.

mod build;
mod debian;
mod known;
mod modules;
mod patch;

use crate::cache::Claim;
use crate::debian::Release;
use crate::manifest::{self, Kept, Manifest, Package};
use crate::{Arch, Cache, VmError};
use build::Recipe;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A kernel for guests.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernel {
    /// What users call it.
    pub name: &'static str,
    /// The machine it is for.
    pub arch: Arch,
    /// What it is, in words.
    pub what: &'static str,
    /// Whether it is fully preemptible.
    pub is_rt: bool,
    /// What it is here for.
    pub purpose: Purpose,
    origin: Origin,
}

/// What a kernel is here for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To measure on.
    Measuring,
    /// To see that tardy works on it: one of the matrix, brought where it is asked for by name.
    Matrix,
    /// Both.
    Both,
}

impl Purpose {
    /// Whether it is one of the matrix.
    pub fn is_matrix(self) -> bool {
        self != Self::Measuring
    }
}

/// Where a kernel comes from.
#[derive(Debug, PartialEq, Eq)]
enum Origin {
    /// A package that depends on the newest of its kind in a release of Debian's.
    Debian { release: Release, metapackage: &'static str },
    /// Compiled here.
    Built(Recipe),
}

/// A kernel that is here, as it was brought.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Installed {
    /// Which.
    pub kernel: &'static Kernel,
    /// What QEMU boots.
    pub image: PathBuf,
    /// What is not part of the image and a guest needs: virtio over PCI and MMIO, its console and
    /// block device, pairs of network devices. In an order in which they can be loaded.
    pub modules: Vec<PathBuf>,
    /// What a guest needs beside for file systems on a disk; none where that was not brought along: by an earlier tardy.
    pub modules_for_disks: Option<Vec<PathBuf>>,
    /// What `uname -r` tells in the guest.
    pub release: String,
    /// Debian's version of the package that it is, or was built from.
    pub version: String,
    /// SHA-256 of the image.
    pub image_sha256: String,
    /// All its files together.
    pub bytes: u64,
}

impl Kernel {
    /// All there are; the first is the one to take where none is named.
    pub fn all() -> &'static [Self] {
        known::ALL
    }

    /// The one of that name.
    ///
    /// # Errors
    /// Where there is none; the words hold the names there are.
    pub fn named(name: &str) -> Result<&'static Self, VmError> {
        Self::all().iter().find(|kernel| kernel.name == name).ok_or_else(|| VmError::Unknown {
            what: "kernel",
            name: name.to_owned(),
            known: Self::all().iter().map(|kernel| kernel.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// Whether it is compiled here, which takes minutes.
    pub fn is_built(&self) -> bool {
        matches!(self.origin, Origin::Built(_))
    }

    /// The command that brings it.
    pub fn command(&self) -> String {
        let verb = if self.is_built() { "build" } else { "fetch" };
        format!("tardy vm {verb} {}", self.name)
    }

    /// Where it is, if it is here, complete, and what it would be if it were brought now.
    ///
    /// # Errors
    /// Where it is not; the words name the command that brings it.
    pub fn installed(&'static self, cache: &Cache) -> Result<Installed, VmError> {
        let folder = cache.kernel(self.name);
        let command = self.command();
        let Some(record) = Record::read(&folder, &command)? else {
            return Err(VmError::Missing { what: format!("the kernel {}", self.name), command });
        };
        if let Origin::Built(recipe) = &self.origin
            && record.recipe_sha256.as_deref() != Some(&recipe.sha256())
        {
            let what = format!("the kernel {}", self.name);
            let why = "its configuration or its patches have changed since it was built";
            return Err(VmError::Stale { what, why, command });
        }
        let image = record.image.check(&folder, &command)?;
        let checked = |modules: &[Kept]| -> Result<Vec<PathBuf>, VmError> {
            modules.iter().map(|module| module.check(&folder, &command)).collect()
        };
        // What is compiled here has all of it in its image.
        let for_disks = record.modules_for_disks.as_deref().or(self.is_built().then_some(&[]));
        Ok(Installed {
            kernel: self,
            image,
            modules: checked(&record.modules)?,
            modules_for_disks: for_disks.map(checked).transpose()?,
            release: record.release,
            version: record.package.version,
            bytes: record.modules.iter().map(|file| file.bytes).sum::<u64>() + record.image.bytes,
            image_sha256: record.image.sha256().to_owned(),
        })
    }

    /// Sees to it that it is here: does nothing where it is. `tell` hears what it waits for.
    ///
    /// # Errors
    /// Where it cannot be had; what was here before stays.
    pub fn bring(
        &'static self,
        cache: &Cache,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Installed, VmError> {
        // What an earlier tardy brought has nothing for disks.
        let is_whole = |installed: &Installed| installed.modules_for_disks.is_some();
        if let Ok(installed) = self.installed(cache)
            && is_whole(&installed)
        {
            return Ok(installed);
        }
        let claim = cache.claim(tell)?;
        // Another process may have brought it meanwhile.
        match self.installed(cache) {
            Ok(installed) if is_whole(&installed) => Ok(installed),
            // Without a network it is as good as it was.
            Ok(installed) => Ok(self.replace(cache, &claim, tell).unwrap_or(installed)),
            Err(_) => self.replace(cache, &claim, tell),
        }
    }

    /// Brings it again in the newest version there is. `tell` hears what it waits for.
    ///
    /// # Errors
    /// Where it cannot be had; what was here before stays.
    pub fn bring_anew(
        &'static self,
        cache: &Cache,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Installed, VmError> {
        let claim = cache.claim(tell)?;
        self.replace(cache, &claim, tell)
    }

    fn replace(
        &'static self,
        cache: &Cache,
        claim: &Claim<'_>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Installed, VmError> {
        let scratch = claim.scratch()?;
        let complete = match &self.origin {
            Origin::Debian { release, metapackage } => {
                debian::bring(self, *release, metapackage, cache, scratch.path(), tell)?
            }
            Origin::Built(recipe) => build::bring(self, recipe, cache, scratch.path(), tell)?,
        };
        claim.put(&complete, &cache.kernel(self.name))?;
        self.installed(cache)
    }
}

/// `kernel.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    schema: String,
    kernel: String,
    release: String,
    /// The package that it is, or was built from.
    package: Package,
    /// Of all that a build depends on beside its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    recipe_sha256: Option<String>,
    /// The first line that the compiler says of its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    compiler: Option<String>,
    /// Seconds since 1970.
    brought_s: u64,
    image: Kept,
    /// In loading order.
    modules: Vec<Kept>,
    /// The same for guests with a disk, after those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modules_for_disks: Option<Vec<Kept>>,
}

impl Manifest for Record {
    const FILE: &'static str = "kernel.json";
    const SCHEMA: &'static str = "tardy.vm.kernel/1";

    fn schema(&self) -> &str {
        &self.schema
    }
}

impl Record {
    /// Of what is in `folder`: `vmlinuz` and `modules` below it.
    fn of(
        kernel: &Kernel,
        folder: &Path,
        release: &str,
        package: &Package,
        modules: &[PathBuf],
    ) -> Result<Self, VmError> {
        let modules = modules.iter().map(|module| Kept::of(folder, module));
        Ok(Self {
            schema: Self::SCHEMA.to_owned(),
            kernel: kernel.name.to_owned(),
            release: release.to_owned(),
            package: package.clone(),
            recipe_sha256: None,
            compiler: None,
            brought_s: manifest::now_s(),
            image: Kept::of(folder, IMAGE)?,
            modules: modules.collect::<Result<_, _>>()?,
            modules_for_disks: None,
        })
    }
}

/// The name of an image in a kernel's folder.
const IMAGE: &str = "vmlinuz";

#[cfg(test)]
mod tests;
