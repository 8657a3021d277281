//! The time zone in which times are shown.
//!
//! `TZ` may name any file, and root may have it from somebody else: a device that never ends, a pipe into which nobody
//! writes. So a zone is a rule that stands in `TZ` itself, or a file in the system's folders of zones; anything else is
//! UTC, which is said.

use crate::{manners, output};
use jiff::tz::TimeZone;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Component, Path};
use std::sync::OnceLock;

/// Where systems have the files of zones, as `tzfile(5)` and C libraries have it.
const FOLDERS: [&str; 4] =
    ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"];

/// The system's own zone.
const OF_SYSTEM: &str = "/etc/localtime";

/// The largest zones have 4 KB.
const BYTES_MAX: u64 = 256 << 10;

/// The zone of who is here.
pub(crate) fn local() -> TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    let find = || {
        let wanted = std::env::var_os("TZ");
        let found = wanted.as_deref().map_or_else(of_system, named);
        found.unwrap_or_else(|| {
            if let Some(wanted) = &wanted
                && !manners::is_quiet()
            {
                output::say!(
                    "times are in UTC: TZ={} is no time zone that this system has in {}",
                    output::one_line(&wanted.to_string_lossy()),
                    FOLDERS[0]
                );
            }
            TimeZone::UTC
        })
    };
    ZONE.get_or_init(find).clone()
}

fn of_system() -> Option<TimeZone> {
    read(Path::new(OF_SYSTEM))
}

/// What `TZ` says: a rule (`CET-1CEST,M3.5.0,M10.5.0/3`), or the name of a file, perhaps with a colon before it.
fn named(wanted: &OsStr) -> Option<TimeZone> {
    let wanted = wanted.to_str()?;
    if wanted.is_empty() {
        return Some(TimeZone::UTC);
    }
    let name = wanted.strip_prefix(':').unwrap_or(wanted);
    if name == wanted
        && let Ok(zone) = TimeZone::posix(name)
    {
        return Some(zone);
    }
    let name = Path::new(name);
    if name.is_absolute() {
        return read(name);
    }
    let is_below = name.components().all(|part| matches!(part, Component::Normal(_)));
    FOLDERS.iter().filter(|_| is_below).find_map(|folder| read(&Path::new(folder).join(name)))
}

/// A file in one of the folders, wherever links lead to it from.
fn read(path: &Path) -> Option<TimeZone> {
    let path = path.canonicalize().ok()?;
    let folders = FOLDERS.iter().filter_map(|folder| Path::new(folder).canonicalize().ok());
    if path != Path::new(OF_SYSTEM) && !folders.into_iter().any(|folder| path.starts_with(folder)) {
        return None;
    }
    let mut bytes = Vec::new();
    tardy_files::open(&path).ok()?.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    TimeZone::tzif(&path.to_string_lossy(), &bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    /// The hour at noon of the first of January 2026.
    fn hour(zone: &TimeZone) -> i8 {
        Timestamp::from_second(1_767_268_800).expect("a time").to_zoned(zone.clone()).hour()
    }

    fn of(wanted: &str) -> Option<i8> {
        named(OsStr::new(wanted)).map(|zone| hour(&zone))
    }

    #[test]
    fn a_rule_or_a_file_of_the_system_is_a_zone() {
        assert_eq!(of(""), Some(12));
        assert_eq!(of("XXX-5"), Some(17));
        assert_eq!(of("EST5EDT,M3.2.0,M11.1.0"), Some(7));
        if Path::new(FOLDERS[0]).join("Asia/Tokyo").exists() {
            for wanted in ["Asia/Tokyo", ":Asia/Tokyo", "/usr/share/zoneinfo/Asia/Tokyo"] {
                assert_eq!(of(wanted), Some(21), "{wanted}");
            }
        }
    }

    #[test]
    fn nothing_else_is_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).to_str().expect("a text").to_owned();
        let (pipe, zone, link) = (at("pipe"), at("zone"), at("link"));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(made.success());
        // A stranger's, who may change it at any time.
        let _ = std::fs::copy(Path::new(FOLDERS[0]).join("Asia/Tokyo"), &zone);
        std::os::unix::fs::symlink("/dev/zero", &link).expect("a link");
        for wanted in [&*pipe, &zone, &link, "/dev/zero", ":/dev/zero", "/etc/passwd"] {
            assert_eq!(of(wanted), None, "{wanted}");
        }
        for wanted in ["../../../dev/zero", "./Asia/Tokyo", "no/such/zone", "zoneinfo//dev/zero"] {
            assert_eq!(of(wanted), None, "{wanted}");
        }
    }
}
