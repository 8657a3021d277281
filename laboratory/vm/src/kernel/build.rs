//! A kernel of our own, compiled here from Debian's package of the source.

use super::patch::Patch;
use super::{IMAGE, Kernel, Record};
use crate::command::Job;
use crate::debian::{Apt, Candidate, Release, describe, unpack};
use crate::manifest::{Manifest, Package, sha256_of};
use crate::{Cache, VmError};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tardy_programs::find;

/// What a kernel is built from.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    /// Debian's package of the source.
    pub(super) source: &'static str,
    /// What is asked of the configuration beside `tinyconfig`, a text over the other: no option stands
    /// in two.
    pub(super) fragments: &'static [&'static str],
    /// What is changed in the source, in this order.
    pub(super) patches: &'static [Patch],
}

/// Changes where a kernel that was built before is to be built again.
const RECIPE_VERSION: u32 = 2;

const CONFIGURE_LIMIT: Duration = Duration::from_secs(600);
const UNPACK_LIMIT: Duration = Duration::from_secs(600);
/// Minutes on any machine of today; hours on a slow one that is busy.
const COMPILE_LIMIT: Duration = Duration::from_secs(4 * 3600);

/// Whoever builds it, and whenever: the same source and compiler make the same image.
const FIXED: [(&str, &str); 6] = [
    ("SOURCE_DATE_EPOCH", "1767225600"),
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 2026"),
    ("KBUILD_BUILD_USER", "tardy"),
    ("KBUILD_BUILD_HOST", "tardy"),
    ("KBUILD_BUILD_VERSION", "1"),
    ("TZ", "UTC"),
];
/// What the environment may say of other builds, as `make` does that this one was started by.
const FOREIGN: [&str; 9] = [
    "MAKEFLAGS",
    "MFLAGS",
    "MAKELEVEL",
    "KBUILD_OUTPUT",
    "KCONFIG_CONFIG",
    "CROSS_COMPILE",
    "KAFLAGS",
    "KCFLAGS",
    "LLVM",
];

/// A program or a header, and Debian's package that has it.
const NEEDED: [(&str, &str); 12] = [
    ("gcc", "gcc"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("perl", "perl"),
    ("patch", "patch"),
    ("pahole", "dwarves"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
    ("gzip", "gzip"),
    ("/usr/include/gelf.h", "libelf-dev"),
];

impl Recipe {
    pub(super) fn sha256(&self) -> String {
        let mut all = format!("{RECIPE_VERSION}\n{}\n{}", self.source, self.fragment());
        for patch in self.patches {
            all.extend(["\n", patch.name, "\n", patch.text]);
        }
        sha256_of(&all)
    }

    fn fragment(&self) -> String {
        self.fragments.concat()
    }
}

/// Compiles a kernel and makes its folder below `scratch`.
pub(super) fn bring(
    kernel: &Kernel,
    recipe: &Recipe,
    cache: &Cache,
    scratch: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<PathBuf, VmError> {
    check_host(kernel)?;
    let (source, package) = source(kernel, recipe, cache, scratch, tell)?;
    tell(&format!("unpacking {} {}", package.name, package.version));
    let tree = tree(recipe, &source, scratch)?;

    let log = cache.folder("kernels")?.join(format!("{}.log", kernel.name));
    fs::write(&log, "").map_err(VmError::file("write", &log))?;
    for patch in recipe.patches {
        tell(&format!("applying {}", patch.name));
        patch.apply(&tree, &log)?;
    }
    tell("configuring the kernel");
    configure(recipe, &tree, &log)?;
    let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    tell(&format!("compiling the kernel, some minutes; log: {}", log.display()));
    make(&tree, "compile the kernel", COMPILE_LIMIT)
        .arg(format!("-j{jobs}"))
        .arg("bzImage")
        .logged(&log)?;

    let complete = scratch.join("complete");
    fs::create_dir(&complete).map_err(VmError::file("make", &complete))?;
    for (from, to) in [("arch/x86/boot/bzImage", IMAGE), (".config", "config")] {
        let from = tree.join(from);
        fs::copy(&from, complete.join(to)).map_err(VmError::file("copy", from))?;
    }
    let release = tree.join("include/config/kernel.release");
    let release = fs::read_to_string(&release).map_err(VmError::file("read", &release))?;
    let mut record = Record::of(kernel, &complete, release.trim(), &package, &[])?;
    record.recipe_sha256 = Some(recipe.sha256());
    record.compiler = compiler();
    record.write(&complete)?;
    Ok(complete)
}

/// One error for all that is missing.
fn check_host(kernel: &Kernel) -> Result<(), VmError> {
    let needs = |missing: String, advice: String| {
        Err(VmError::Needs { what: format!("build {}", kernel.name), missing, advice })
    };
    if std::env::consts::ARCH != kernel.arch.name() {
        return needs(format!("a machine that is {}", kernel.arch), "build it there".to_owned());
    }
    let is_there = |name: &str| Path::new(name).exists() || find(name).is_some();
    let missing: Vec<_> = NEEDED.iter().filter(|(name, _)| !is_there(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|(name, _)| *name).collect();
    let packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
    let command = format!("as root: apt-get install -y {}", packages.join(" "));
    needs(names.join(", "), command)
}

/// The package of the source: the newest, or where that cannot be asked for, what is here.
fn source(
    kernel: &Kernel,
    recipe: &Recipe,
    cache: &Cache,
    scratch: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<(PathBuf, Package), VmError> {
    let folder = cache.folder("sources")?;
    let kept = kept(recipe, &folder)?;
    let newest = Apt::fresh(kernel.arch, Release::Bookworm, cache, tell)
        .and_then(|apt| Ok((apt.candidate(recipe.source)?, apt)));
    match (newest, kept) {
        (Ok((candidate, _)), Some(kept)) if kept.1 == candidate.package => Ok(kept),
        (Ok((candidate, apt)), _) => {
            let file = download(&apt, &candidate, &folder, scratch, tell)?;
            Ok((file, candidate.package))
        }
        (Err(error), Some(kept)) => {
            tell(&format!("taking the source that is here, {}: {error}", kept.1.version));
            Ok(kept)
        }
        (Err(error), None) => Err(error),
    }
}

/// What was downloaded before.
fn kept(recipe: &Recipe, folder: &Path) -> Result<Option<(PathBuf, Package)>, VmError> {
    for entry in fs::read_dir(folder).map_err(VmError::file("read", folder))?.flatten() {
        if let Ok(package) = describe(&entry.path())
            && package.name == recipe.source
        {
            return Ok(Some((entry.path(), package)));
        }
    }
    Ok(None)
}

/// Keeps the package for the next time: a changed configuration alone needs no network then.
fn download(
    apt: &Apt,
    candidate: &Candidate,
    folder: &Path,
    scratch: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<PathBuf, VmError> {
    let file = apt.download(candidate, scratch, tell)?;
    for old in fs::read_dir(folder).map_err(VmError::file("read", folder))?.flatten() {
        let _ = fs::remove_file(old.path());
    }
    let kept = folder.join(file.file_name().expect("a package has a name"));
    fs::rename(&file, &kept).map_err(VmError::file("move", file))?;
    Ok(kept)
}

fn tree(recipe: &Recipe, package: &Path, scratch: &Path) -> Result<PathBuf, VmError> {
    let root = scratch.join("root");
    unpack(package, &root)?;
    let archive = root.join("usr/src").join(format!("{}.tar.xz", recipe.source));
    Job::new("tar", "unpack the kernel's source", UNPACK_LIMIT)
        .arg("-xf")
        .arg(&archive)
        .arg("-C")
        .arg(scratch)
        .output()?;
    Ok(scratch.join(recipe.source))
}

fn make(tree: &Path, what: &str, limit: Duration) -> Job {
    let job = Job::new("nice", what, limit).args(["make", "ARCH=x86_64"]).within(tree);
    // Where it was compiled would be in its debug information, and so in the id of the build.
    let here = format!("-fdebug-prefix-map={}=.", tree.display());
    environment(job).env("KCFLAGS", &here).env("KAFLAGS", &here)
}

fn environment(job: Job) -> Job {
    let job = FOREIGN.iter().fold(job, |job, name| job.env_remove(name));
    FIXED.iter().fold(job, |job, (name, value)| job.env(name, value))
}

fn configure(recipe: &Recipe, tree: &Path, log: &Path) -> Result<(), VmError> {
    let wanted = recipe.fragment();
    let fragment = tree.join("tardy.config");
    fs::write(&fragment, &wanted).map_err(VmError::file("write", &fragment))?;
    let what = "configure the kernel";
    make(tree, what, CONFIGURE_LIMIT).arg("tinyconfig").logged(log)?;
    // A script of the tree's is no program that is looked for.
    environment(Job::new("sh", what, CONFIGURE_LIMIT).within(tree))
        .args(["scripts/kconfig/merge_config.sh", "-m", "-Q", ".config", "tardy.config"])
        .logged(log)?;
    make(tree, what, CONFIGURE_LIMIT).arg("olddefconfig").logged(log)?;
    let path = tree.join(".config");
    let config = fs::read_to_string(&path).map_err(VmError::file("read", &path))?;
    let refused = refused(&wanted, &config);
    if refused.is_empty() {
        return Ok(());
    }
    // The tree vanishes.
    let kept = log.with_extension("config");
    fs::copy(&path, &kept).map_err(VmError::file("copy", &path))?;
    Err(VmError::Config { options: refused.join(", "), path: kept })
}

/// Lines of a fragment that a configuration does not hold: an option that does not exist, or needs
/// another.
fn refused<'a>(fragment: &'a str, config: &str) -> Vec<&'a str> {
    let is_taken = |line: &str| match line.strip_suffix(" is not set") {
        // An option that others hide is not set either, and not mentioned.
        Some(option) => {
            let set = format!("{}=", option.trim_start_matches("# "));
            !config.lines().any(|found| found.starts_with(&set))
        }
        None => config.lines().any(|found| found == line),
    };
    fragment.lines().filter(|line| is_option(line) && !is_taken(line)).collect()
}

fn is_option(line: &str) -> bool {
    line.starts_with("CONFIG_") || (line.starts_with("# CONFIG_") && line.ends_with(" is not set"))
}

fn compiler() -> Option<String> {
    let job = Job::new("gcc", "ask the compiler for its version", Duration::from_secs(10));
    Some(job.arg("--version").output().ok()?.lines().next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::Origin;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn an_option_without_effect_is_named() {
        let fragment = "# Why.\nCONFIG_A=y\nCONFIG_B=8\n# CONFIG_C is not set\nCONFIG_D=y\n";
        let config = "CONFIG_A=y\nCONFIG_B=4\nCONFIG_C=y\n# CONFIG_D is not set\n";
        let expected = ["CONFIG_B=8", "# CONFIG_C is not set", "CONFIG_D=y"];
        assert_eq!(refused(fragment, config), expected);
        assert!(refused(fragment, "CONFIG_D=y\nCONFIG_A=y\nCONFIG_B=8\n").is_empty());
    }

    #[test]
    fn the_fragment_is_options_and_comments_and_names_none_twice() {
        for kernel in Kernel::all() {
            let Origin::Built(recipe) = &kernel.origin else { continue };
            check_fragment(&recipe.fragment());
        }
    }

    fn check_fragment(fragment: &str) {
        let mut seen = BTreeSet::new();
        for line in fragment.lines() {
            if is_option(line) {
                let option = line.trim_start_matches("# ").split([' ', '=']).next().unwrap();
                assert!(seen.insert(option), "{option} twice");
            } else {
                assert!(line.is_empty() || line.starts_with("# "), "{line}");
                assert!(!line.contains("CONFIG_"), "{line} is meant as an option");
            }
        }
        for option in ["CONFIG_PREEMPT_RT", "CONFIG_DEBUG_INFO_BTF", "CONFIG_FTRACE_SYSCALLS"] {
            assert!(seen.contains(option), "{option}");
        }
    }

    #[test]
    fn another_fragment_source_or_patch_is_another_recipe() {
        let recipe = |source, fragments, patches| Recipe { source, fragments, patches }.sha256();
        let one = recipe("a", &["b"], &[]);
        assert_ne!(one, recipe("a", &["c"], &[]));
        assert_ne!(one, recipe("c", &["b"], &[]));
        assert_ne!(one, recipe("a", &["b"], &[Patch { name: "1", text: "x" }]));
    }
}
