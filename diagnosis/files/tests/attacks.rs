//! What somebody else prepared leads nowhere.
#![allow(missing_docs)]

use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use tardy_files::{Access, Folder, create, open, open_named, replace};

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[test]
fn what_is_written_replaces_a_link_and_leaves_what_it_leads_to() {
    let home = tempfile::tempdir().unwrap();
    let precious = home.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    let dir = home.path().join("dir");
    let folder = Folder::make(&dir, Access::Private).unwrap();
    for name in ["report.html", "report.html.tmp", "hard"] {
        let at = dir.join(name);
        if name == "hard" { fs::hard_link(&precious, &at) } else { symlink(&precious, &at) }
            .unwrap();
        folder.replace(name, b"new", Access::Private).unwrap();
        assert_eq!(fs::read(&at).unwrap(), b"new");
        assert!(at.symlink_metadata().unwrap().is_file());
    }
    pipe(&dir.join("pipe"));
    folder.replace("pipe", b"new", Access::Private).unwrap();
    assert_eq!(fs::read(dir.join("pipe")).unwrap(), b"new");
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 4, "no temporary file is left");
}

#[test]
fn in_a_folder_nothing_but_regular_files_is_read_and_no_link_followed() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("file"), "text").unwrap();
    fs::create_dir(home.path().join("real")).unwrap();
    symlink("file", home.path().join("link")).unwrap();
    symlink("/dev/zero", home.path().join("device")).unwrap();
    symlink("real", home.path().join("events")).unwrap();
    pipe(&home.path().join("pipe"));
    let folder = Folder::open(home.path()).unwrap();
    assert_eq!(folder.read("file", 4).unwrap(), b"text");
    assert_eq!(folder.read("file", 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
    for (name, said) in
        [("link", "it is a link"), ("device", "it is a link"), ("pipe", "it is a pipe")]
    {
        let error = folder.file(name).unwrap_err().to_string();
        assert!(error.contains(said), "{name}: {error}");
        assert!(!folder.has_file(name));
        assert!(folder.append(name, Access::Private).is_err(), "{name}");
    }
    assert!(folder.folder("events").unwrap_err().to_string().contains("it is a link"));
    for name in ["../file", "..", "", "real/x", "/etc/passwd"] {
        assert!(folder.file(name).is_err() && folder.begin(name, Access::Usual).is_err(), "{name}");
    }
    // A path that the user names may lead through his own links.
    symlink(home.path(), home.path().join("here")).unwrap();
    assert!(open(&home.path().join("here/link")).is_ok());
}

#[test]
fn a_file_with_another_name_is_not_added_to() {
    let home = tempfile::tempdir().unwrap();
    let precious = home.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    fs::hard_link(&precious, home.path().join("blocks")).unwrap();
    let folder = Folder::open(home.path()).unwrap();
    assert!(folder.append("blocks", Access::Private).is_err());
    let mut fresh = folder.append("fresh", Access::Private).unwrap();
    fresh.write_all(b"a").unwrap();
    folder.append("fresh", Access::Private).unwrap().write_all(b"b").unwrap();
    assert_eq!(fs::read(home.path().join("fresh")).unwrap(), b"ab");
}

#[test]
fn a_folder_that_is_swapped_is_written_to_where_it_went() {
    let home = tempfile::tempdir().unwrap();
    let (dir, gone, other) =
        (home.path().join("dir"), home.path().join("gone"), home.path().join("other"));
    let folder = Folder::make(&dir, Access::Private).unwrap();
    fs::create_dir(&other).unwrap();
    fs::rename(&dir, &gone).unwrap();
    symlink(&other, &dir).unwrap();
    folder.replace("file", b"x", Access::Private).unwrap();
    assert!(gone.join("file").exists() && fs::read_dir(&other).unwrap().next().is_none());
}

#[test]
fn what_is_private_is_readable_for_nobody_else() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::make(&home.path().join("a/b"), Access::Private).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(folder.path()), 0o700);
    folder.replace("file", b"x", Access::Private).unwrap();
    drop(folder.create_new("new", Access::Private).unwrap());
    assert_eq!(mode(&folder.path().join("file")) | mode(&folder.path().join("new")), 0o600);
    assert_eq!(
        folder.create_new("new", Access::Private).unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
}

#[test]
fn what_the_user_names_is_written_whole_or_not_at_all() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    replace(&file, b"old", Access::Usual).unwrap();
    let mut begun = create(&file, Access::Usual).unwrap();
    begun.write_all(b"half").unwrap();
    drop(begun);
    assert_eq!(fs::read(&file).unwrap(), b"old");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    symlink(&file, home.path().join("link")).unwrap();
    assert!(create(&home.path().join("link"), Access::Usual).is_err());
    assert!(create(home.path(), Access::Usual).is_err(), "a folder");
    replace(Path::new("/dev/null"), b"gone", Access::Usual).unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

/// Needs root, who alone makes what is another user's.
#[test]
fn links_and_pipes_of_another_user_lead_nowhere() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can make another user's files");
        return;
    }
    let other = 65_534;
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let (link, fifo) = (home.path().join("link"), home.path().join("pipe"));
    symlink("/etc", &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(other), Some(other)).unwrap();
    for error in [
        open(&link.join("passwd")).unwrap_err(),
        Folder::open(&link).unwrap_err(),
        create(&link.join("tardy-must-not-be"), Access::Usual).unwrap_err(),
    ] {
        assert!(error.to_string().contains("another user's (uid 65534)"), "{error}");
    }
    pipe(&fifo);
    std::os::unix::fs::chown(&fifo, Some(other), Some(other)).unwrap();
    assert!(create(&fifo, Access::Usual).unwrap_err().to_string().contains("another user"));
    let his = home.path().join("his");
    fs::create_dir(&his).unwrap();
    std::os::unix::fs::chown(&his, Some(other), Some(other)).unwrap();
    assert!(!Folder::open(&his).unwrap().is_ours());
    assert!(Folder::open(home.path()).unwrap().is_ours());
}

/// Nothing waits for who never writes, and nothing is read that never ends.
#[test]
fn what_the_user_names_is_a_file_or_open_already() {
    let home = tempfile::tempdir().unwrap();
    let (file, link, fifo) = (home.path().join("a"), home.path().join("l"), home.path().join("p"));
    fs::write(&file, "text").unwrap();
    symlink(&file, &link).unwrap();
    pipe(&fifo);
    for path in [&file, &link] {
        assert_eq!(std::io::read_to_string(open_named(path).unwrap()).unwrap(), "text");
    }
    for path in [&fifo, Path::new("/dev/zero")] {
        let error = open_named(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"sent").unwrap();
    drop(writer);
    let number = std::os::fd::AsRawFd::as_raw_fd(&reader);
    let through = open_named(Path::new(&format!("/proc/self/fd/{number}"))).unwrap();
    assert_eq!(std::io::read_to_string(through).unwrap(), "sent");
}

/// What is removed is what is in the folder, and nothing that links lead to.
#[test]
fn what_is_removed_or_renamed_stays_in_its_folder() {
    let home = tempfile::tempdir().unwrap();
    let precious = home.path().join("precious");
    fs::create_dir_all(precious.join("late-1")).unwrap();
    let dir = home.path().join("night");
    fs::create_dir_all(dir.join("late-1/events")).unwrap();
    fs::write(dir.join("late-1/events/0"), "x").unwrap();
    symlink(&precious, dir.join("late-1/link")).unwrap();
    let held = Folder::open(&dir).unwrap();
    // Somebody puts another folder in its place.
    let went = home.path().join("went");
    fs::rename(&dir, &went).unwrap();
    symlink(&precious, &dir).unwrap();
    held.rename("late-1", "late-2").unwrap();
    held.remove_all("late-2").unwrap();
    assert_eq!(fs::read_dir(&went).unwrap().count(), 0);
    assert!(precious.join("late-1").is_dir());
    fs::create_dir(went.join("a")).unwrap();
    fs::create_dir(went.join("b")).unwrap();
    assert_eq!(held.rename("a", "b").unwrap_err().kind(), ErrorKind::AlreadyExists);
    let deep = went.join("d/".repeat(40));
    fs::create_dir_all(&deep).unwrap();
    held.remove_all("d").unwrap_err();
    for name in ["../precious", "..", ""] {
        held.remove_all(name).unwrap_err();
        held.rename("a", name).unwrap_err();
    }
    assert!(precious.is_dir());
}
