//! Debian's packages, for any architecture, without installing any.
//!
//! apt keeps lists of its own below the cache, so neither the system's packages nor its architectures
//! change, and nobody has to be root. Of the system's settings only those of the transport are used.

use crate::command::Job;
use crate::manifest::{Package, sha256};
use crate::{Arch, Cache, VmError};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tardy_programs::find;

/// A release of Debian's, whatever runs here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// 11.
    Bullseye,
    /// 12: that of the programs too.
    Bookworm,
    /// 13.
    Trixie,
    /// 13 with its backports, which are taken first.
    TrixieBackports,
}

impl Release {
    /// Its name, that of the folder that apt's lists of it are in.
    const fn name(self) -> &'static str {
        match self {
            Self::Bullseye => "bullseye",
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
            Self::TrixieBackports => "trixie-backports",
        }
    }

    /// The release itself, and its backports where those are asked for.
    fn suites(self) -> (&'static str, Option<&'static str>) {
        let name = self.name();
        match name.strip_suffix("-backports") {
            Some(release) => (release, Some(name)),
            None => (name, None),
        }
    }
}

const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

const ASK_LIMIT: Duration = Duration::from_secs(60);
const LISTS_LIMIT: Duration = Duration::from_secs(300);
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(1800);
const UNPACK_LIMIT: Duration = Duration::from_secs(600);

/// apt for one architecture.
#[derive(Debug)]
pub(crate) struct Apt {
    settings: PathBuf,
    arch: Arch,
    release: Release,
}

/// A package as apt's lists have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) package: Package,
    pub(crate) bytes: u64,
    depends: String,
}

impl Apt {
    /// With lists as of now.
    pub(crate) fn fresh(
        arch: Arch,
        release: Release,
        cache: &Cache,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Self, VmError> {
        check_host()?;
        let name = match release {
            Release::Bookworm => format!("apt/{arch}"),
            other => format!("apt/{arch}-{}", other.name()),
        };
        let folder = cache.folder(&name)?;
        for below in ["lists/partial", "archives/partial", "parts"] {
            cache.folder(&format!("{name}/{below}"))?;
        }
        let settings = folder.join("apt.conf");
        write(&folder.join("status"), "")?;
        write(&settings, &settings_of(&folder, arch, release, &transport()?))?;
        let apt = Self { settings, arch, release };
        tell(&format!("asking Debian for the packages of {} for {arch}", release.name()));
        let with_security = apt.update(&folder, true);
        let Err(VmError::Failed { said, .. }) = with_security else {
            return with_security.map(|()| apt);
        };
        // Mirrors in the middle of their own update have one suite and not the other.
        tell(&format!("Debian's security updates for {arch} are not available{said}"));
        apt.update(&folder, false)?;
        Ok(apt)
    }

    fn update(&self, folder: &Path, with_security: bool) -> Result<(), VmError> {
        write(&folder.join("sources.list"), &sources(self.release, with_security))?;
        self.job("apt-get", "fetch Debian's package lists", LISTS_LIMIT)
            .args(["-qq", "update"])
            .output()
            .map(drop)
    }

    fn job(&self, program: &str, what: impl Into<String>, limit: Duration) -> Job {
        Job::new(program, what, limit).env("APT_CONFIG", &self.settings)
    }

    /// The newest version of a package, if there is one.
    pub(crate) fn candidate(&self, name: &str) -> Result<Candidate, VmError> {
        let text = self
            .job("apt-cache", format!("look up Debian's package {name}"), ASK_LIMIT)
            .args(["show", "--no-all-versions", name])
            .output()?;
        candidate(&text).ok_or_else(|| VmError::Package {
            package: format!("{name} ({})", self.arch.debian()),
            why: "apt's entry lacks a version or a checksum".to_owned(),
        })
    }

    /// The packages that a metapackage stands for now: the first that it depends on whose name begins
    /// with the first of `prefixes`, or its unsigned twin, and those that this one depends on in turn whose
    /// names begin with any of the others.
    pub(crate) fn resolve(
        &self,
        metapackage: &str,
        prefixes: &[&str],
    ) -> Result<Vec<Candidate>, VmError> {
        let meta = self.candidate(metapackage)?;
        let (first, others) = prefixes.split_first().expect("the caller says what it looks for");
        let name = meta.real_names(first).next().ok_or_else(|| VmError::Package {
            package: metapackage.to_owned(),
            why: format!("it depends on no package {first}…"),
        })?;
        let main = self
            .candidate(&name)
            .or_else(|error| self.candidate(&format!("{name}-unsigned")).map_err(|_| error))?;
        let mut all = vec![];
        for name in others.iter().flat_map(|prefix| main.real_names(prefix).collect::<Vec<_>>()) {
            all.push(self.candidate(&name)?);
        }
        all.insert(0, main);
        Ok(all)
    }

    /// Downloads a package into `folder`; apt checks signature and checksum.
    pub(crate) fn download(
        &self,
        candidate: &Candidate,
        folder: &Path,
        tell: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, VmError> {
        let Package { name, version, .. } = &candidate.package;
        tell(&format!("downloading {name} {version}, {} MB", candidate.bytes.div_ceil(1_000_000)));
        self.job("apt-get", format!("download Debian's package {name}"), DOWNLOAD_LIMIT)
            .args(["-qq", "download", &format!("{name}={version}")])
            .within(folder)
            .output()?;
        packages_in(folder)?
            .into_iter()
            .find(|path| name_and_version(path).is_some_and(|(found, _)| found == *name))
            .ok_or_else(|| VmError::Package {
                package: name.clone(),
                why: "apt downloaded no such file".to_owned(),
            })
    }

    /// Downloads packages and all that they depend on into `folder`.
    pub(crate) fn download_all(
        &self,
        names: &[&str],
        folder: &Path,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Vec<PathBuf>, VmError> {
        let list = names.join(", ");
        tell(&format!("downloading {list} and what they need"));
        let partial = folder.join("partial");
        fs::create_dir_all(&partial).map_err(VmError::file("make", partial))?;
        self.job("apt-get", format!("download Debian's packages {list}"), DOWNLOAD_LIMIT)
            .args(["-qq", "install", "--download-only", "--no-install-recommends", "-y", "-o"])
            .arg(format!("Dir::Cache::archives={}", folder.display()))
            .args(names)
            .output()?;
        packages_in(folder)
    }
}

impl Candidate {
    fn real_names(&self, prefix: &str) -> impl Iterator<Item = String> {
        let names = self.depends.split([',', '|']).filter_map(|one| one.split_whitespace().next());
        names.map(str::to_owned).filter(move |name| name.starts_with(prefix))
    }
}

/// Unpacks a package below `root`.
pub(crate) fn unpack(package: &Path, root: &Path) -> Result<(), VmError> {
    Job::new("dpkg-deb", format!("unpack {}", package.display()), UNPACK_LIMIT)
        .arg("-x")
        .arg(package)
        .arg(root)
        .output()
        .map(drop)
}

/// Name, version and checksum of a package's file.
pub(crate) fn describe(file: &Path) -> Result<Package, VmError> {
    let (name, version) = name_and_version(file).ok_or_else(|| VmError::Package {
        package: file.display().to_string(),
        why: "its name is not as apt writes them".to_owned(),
    })?;
    Ok(Package { name, version, sha256: sha256(file)? })
}

/// From `NAME_VERSION_ARCH.deb`, where the version has its colon as `%3a`.
fn name_and_version(file: &Path) -> Option<(String, String)> {
    let stem = file.file_name()?.to_str()?.strip_suffix(".deb")?;
    let mut parts = stem.split('_');
    let (name, version) = (parts.next()?, parts.next()?);
    Some((name.to_owned(), version.replace("%3a", ":")))
}

fn packages_in(folder: &Path) -> Result<Vec<PathBuf>, VmError> {
    let entries = fs::read_dir(folder).map_err(VmError::file("read", folder))?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .collect();
    files.sort();
    Ok(files)
}

fn candidate(text: &str) -> Option<Candidate> {
    let first = text.split("\n\n").next()?;
    let field = |name: &str| {
        let value = |line: &str| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned);
        first.lines().find_map(value)
    };
    let package =
        Package { name: field("Package")?, version: field("Version")?, sha256: field("SHA256")? };
    let bytes = field("Size").and_then(|size| size.parse().ok()).unwrap_or(0);
    Some(Candidate { package, bytes, depends: field("Depends").unwrap_or_default() })
}

fn check_host() -> Result<(), VmError> {
    let needs = |missing: &str, advice: &str| {
        Err(VmError::Needs {
            what: "fetch Debian's packages".to_owned(),
            missing: missing.to_owned(),
            advice: advice.to_owned(),
        })
    };
    for program in ["apt-get", "apt-cache", "dpkg-deb"] {
        if find(program).is_none() {
            let advice = "do it on Debian or a system made from it, and copy ~/.cache/tardy/vm \
                          from there";
            return needs(program, advice);
        }
    }
    if !Path::new(KEYS).exists() {
        return needs(KEYS, "as root: apt-get install -y debian-archive-keyring");
    }
    Ok(())
}

fn sources(release: Release, with_security: bool) -> String {
    let archive = format!("deb [signed-by={KEYS}] http://deb.debian.org");
    let (suite, backports) = release.suites();
    let mut sources = format!("{archive}/debian {suite} main\n");
    if with_security {
        let _ = writeln!(sources, "{archive}/debian-security {suite}-security main");
    }
    if let Some(backports) = backports {
        let _ = writeln!(sources, "{archive}/debian {backports} main");
    }
    sources
}

/// The system's settings of proxies, time limits and the like.
fn transport() -> Result<String, VmError> {
    let all = Job::new("apt-config", "read apt's settings", ASK_LIMIT).arg("dump").output()?;
    let lines = all.lines().filter(|line| line.starts_with("Acquire"));
    Ok(lines.flat_map(|line| [line, "\n"]).collect())
}

/// Nothing that is not signed, whatever the system's settings say: they stand before these, which count.
const SIGNED: &str = "\
    Acquire::AllowInsecureRepositories \"false\";\n\
    Acquire::AllowWeakRepositories \"false\";\n\
    Acquire::AllowDowngradeToInsecureRepositories \"false\";\n\
    Acquire::Check-Valid-Until \"true\";\n\
    APT::Get::AllowUnauthenticated \"false\";\n";

/// apt reads this file before any other, so no other says anything: not what is to be run after lists
/// were brought, either.
fn settings_of(folder: &Path, arch: Arch, release: Release, transport: &str) -> String {
    let folder = folder.display();
    let debian = arch.debian();
    let release = release.name();
    format!(
        "{transport}\
         Acquire::Retries \"2\";\n\
         Acquire::http::Timeout \"30\";\n\
         Acquire::Languages \"none\";\n\
         APT::Architecture \"{debian}\";\n\
         APT::Architectures {{ \"{debian}\"; }};\n\
         APT::Default-Release \"{release}\";\n\
         APT::Sandbox::User \"root\";\n\
         Debug::NoLocking \"1\";\n\
         Dir::State \"{folder}\";\n\
         Dir::State::lists \"{folder}/lists\";\n\
         Dir::State::status \"{folder}/status\";\n\
         Dir::Cache \"{folder}\";\n\
         Dir::Cache::archives \"{folder}/archives\";\n\
         Dir::Etc::main \"/dev/null\";\n\
         Dir::Etc::parts \"{folder}/parts\";\n\
         Dir::Etc::sourcelist \"{folder}/sources.list\";\n\
         Dir::Etc::sourceparts \"{folder}/parts\";\n\
         Dir::Etc::preferences \"/dev/null\";\n\
         Dir::Etc::preferencesparts \"{folder}/parts\";\n\
         {SIGNED}"
    )
}

fn write(path: &Path, text: &str) -> Result<(), VmError> {
    fs::write(path, text).map_err(VmError::file("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRIES: &str = "\
Package: linux-image-rt-amd64
Version: 6.1.192-2
Depends: linux-image-6.1.0-56-rt-amd64 (= 6.1.192-2)
Size: 1480
SHA256: e97e

Package: linux-image-rt-amd64
Version: 6.1.176-1
SHA256: 0000
";

    #[test]
    fn an_entry_of_apts_is_read_and_its_kernel_found() {
        let found = candidate(ENTRIES).unwrap();
        assert_eq!(found.package.version, "6.1.192-2");
        assert_eq!(found.bytes, 1480);
        let real: Vec<_> = found.real_names("linux-image-").collect();
        assert_eq!(real, ["linux-image-6.1.0-56-rt-amd64"]);
        assert_eq!(found.real_names("linux-headers-").count(), 0);
        assert_eq!(candidate("Package: some\nVersion: 1\n"), None, "no checksum");
    }

    #[test]
    fn backports_are_asked_for_beside_their_release() {
        let all = sources(Release::TrixieBackports, true);
        for suite in
            ["/debian trixie main", "trixie-security main", "/debian trixie-backports main"]
        {
            assert!(all.contains(suite), "{all}");
        }
        let one = sources(Release::Bullseye, false);
        assert_eq!(one.lines().count(), 1, "{one}");
    }

    #[test]
    fn a_packages_file_says_its_name_and_version() {
        let name = Path::new("/a/libtracefs1_1%3a1.6.4-1_amd64.deb");
        let (name, version) = name_and_version(name).unwrap();
        assert_eq!((name.as_str(), version.as_str()), ("libtracefs1", "1:1.6.4-1"));
        assert_eq!(name_and_version(Path::new("lock")), None);
    }

    /// apt takes what stands last.
    #[test]
    fn nothing_unsigned_is_taken_whatever_the_system_says() {
        let lax =
            "Acquire::AllowInsecureRepositories \"true\";\nAcquire::Check-Valid-Until \"0\";\n";
        let settings = settings_of(Path::new("/a"), Arch::X86_64, Release::Bookworm, lax);
        for (name, value) in [
            ("Acquire::AllowInsecureRepositories", "false"),
            ("Acquire::AllowWeakRepositories", "false"),
            ("Acquire::AllowDowngradeToInsecureRepositories", "false"),
            ("Acquire::Check-Valid-Until", "true"),
            ("APT::Get::AllowUnauthenticated", "false"),
        ] {
            let last = settings.lines().rfind(|line| line.trim().starts_with(name)).unwrap();
            assert_eq!(last.trim(), format!("{name} \"{value}\";"));
        }
        for release in [Release::Bookworm, Release::TrixieBackports] {
            let sources = sources(release, true);
            assert!(sources.lines().all(|line| line.starts_with("deb [signed-by=")), "{sources}");
        }
    }
}
