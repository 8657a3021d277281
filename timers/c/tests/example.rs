//! A C program is built as a user builds it, against an installation, and run.

use std::path::Path;
use std::process::Command;

/// Output of a program that must end well.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}{complaint}", output.status);
    said
}

fn absent() -> Option<&'static str> {
    let there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    ["cc", "pkg-config"].into_iter().find(|tool| !there(tool))
}

/// Installs to `prefix`, builds the example and says what it printed.
fn metronome(prefix: &Path, kind: &str, pkg_config: &[&str]) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut install = Command::new(here.join("install.sh"));
    run(install.args([kind, "--profile", "dev"]).arg(prefix));

    let libraries = prefix.join("lib");
    let flags = run(Command::new("pkg-config")
        .args(["--cflags", "--libs"])
        .args(pkg_config)
        .arg("tardy_timers")
        .env("PKG_CONFIG_PATH", libraries.join("pkgconfig")));
    let program = prefix.join("metronome");
    run(Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o"])
        .args([&program, &here.join("examples/metronome.c")])
        .args(flags.split_whitespace()));
    run(Command::new(&program).env("LD_LIBRARY_PATH", &libraries))
}

fn works(kind: &str, pkg_config: &[&str]) {
    if let Some(tool) = absent() {
        println!("skipped: there is no {tool}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let said = metronome(folder.path(), kind, pkg_config);
    assert_eq!(said.lines().filter(|line| line.starts_with("tick ")).count(), 10, "{said}");
    for part in ["rung 1, fired 1", "popped 2 of 1000 ns\npopped 1 of 4000 ns"] {
        assert!(said.contains(part), "{said}");
    }
    let needed = Command::new("readelf").arg("-d").arg(folder.path().join("metronome")).output();
    match needed {
        Ok(output) => {
            let shared = String::from_utf8_lossy(&output.stdout).contains("libtardy_timers.so");
            assert_eq!(shared, kind == "--shared");
        }
        Err(_) => println!("skipped: no readelf to see which library the program uses"),
    }
}

#[test]
fn with_the_shared_library() {
    works("--shared", &[]);
}

#[test]
fn with_the_archive() {
    works("--static", &["--static"]);
}

#[test]
fn the_shared_library_shows_its_own_names_alone() {
    if let Some(tool) = absent() {
        println!("skipped: there is no {tool}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut install = Command::new(here.join("install.sh"));
    run(install.args(["--profile", "dev"]).arg(folder.path()));
    let library = folder.path().join("lib/libtardy_timers.so");
    let names = run(Command::new("nm").args(["-D", "--defined-only"]).arg(library));
    let names: Vec<_> = names.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert!(names.len() > 20, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("tardy_")), "{names:?}");
    let header = std::fs::read_to_string(folder.path().join("include/tardy_timers.h"));
    let header = header.expect("a header");
    let absent: Vec<_> =
        names.iter().filter(|name| !header.contains(&format!("{name}("))).collect();
    assert!(absent.is_empty(), "not in the header: {absent:?}");
}
