//! What there is for guests, through the command, as a user would ask. Needs no rights, no network.
#![forbid(unsafe_code)]

mod cpus;
mod fix;
mod functions;
mod guests;
mod matrix;
mod policies;
mod power;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn vm(cache: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.env("XDG_CACHE_HOME", cache);
    command.arg("vm").args(arguments).output().expect("the command starts")
}

/// Ends with `status`, and says why in one line of standard error.
#[track_caller]
fn refused(status: i32, arguments: &[&str]) -> String {
    let cache = tempfile::tempdir().expect("a folder");
    let output = vm(cache.path(), arguments);
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    assert_eq!(output.status.code(), Some(status), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

#[test]
fn an_empty_cache_lists_what_brings_each_and_stays_empty() {
    let cache = tempfile::tempdir().expect("a folder");
    let output = vm(cache.path(), &["list", "--json"]);
    let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(list["schema"], "tardy.vm/1");
    assert_eq!(list["kernels"][0]["name"], "small");
    let all = list["kernels"].as_array().into_iter().chain(list["tools"].as_array()).flatten();
    let mut count = 0;
    for entry in all {
        count += 1;
        assert_eq!(entry["state"], "missing");
        let (command, name) = (entry["command"].as_str(), entry["name"].as_str());
        let (command, name) = (command.expect("a command"), name.expect("a name"));
        assert!(command.starts_with("tardy vm ") && command.ends_with(name), "{command}");
    }
    assert_eq!(count, 18, "15 kernels, programs for three architectures");
    assert_eq!(std::fs::read_dir(cache.path()).expect("it is there").count(), 0);

    let output = vm(cache.path(), &["list"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("missing: tardy vm build small"), "{text}");
}

#[test]
fn a_wrong_name_is_answered_with_the_right_ones() {
    assert_eq!(
        refused(2, &["fetch", "big"]),
        "tardy: there is no kernel \"big\"; there are small, policies, policies-hz1000, policies-debug, \
         policies-kasan, debian-rt, debian, debian-rt-armv7, debian-5.10, debian-6.12, debian-newest, \
         debian-5.10-arm64, debian-6.1-arm64, debian-6.12-arm64, debian-newest-arm64; \
         programs are tools-x86_64, tools-arm64, tools-armv7"
    );
    assert_eq!(
        refused(2, &["fetch", "small"]),
        "tardy: small is compiled here: tardy vm build small"
    );
    assert_eq!(
        refused(2, &["build", "debian-rt"]),
        "tardy: debian-rt comes from Debian: tardy vm fetch debian-rt"
    );
}
