use super::*;
use crate::Cache;
use crate::debian::{describe, unpack};
use crate::kernel::{Kernel, Origin};
use std::collections::BTreeSet;
use std::path::PathBuf;
use tardy_programs::find;

fn patches() -> (&'static str, &'static [Patch]) {
    let kernel = Kernel::named("policies").unwrap();
    let Origin::Built(recipe) = &kernel.origin else { panic!("{} is built", kernel.name) };
    (recipe.source, recipe.patches)
}

/// The files that a patch changes, and whether it makes them.
fn files(patch: &Patch) -> Vec<(&'static str, bool)> {
    let lines: Vec<&str> = patch.text.lines().collect();
    let pairs = lines.windows(2).filter_map(|pair| {
        let (from, to) = (pair[0].strip_prefix("--- ")?, pair[1].strip_prefix("+++ b/")?);
        Some((to, from == "/dev/null"))
    });
    pairs.collect()
}

#[test]
fn every_patch_of_the_folder_is_applied_and_none_else() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let there: BTreeSet<String> = names
        .map(|name| name.into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|it| it == "patch"))
        .collect();
    let applied: Vec<&str> = patches().1.iter().map(|patch| patch.name).collect();
    assert!(applied.is_sorted(), "they are applied in the order of their numbers");
    assert_eq!(there, applied.into_iter().map(str::to_owned).collect());
}

#[test]
fn a_patch_says_why_and_stays_within_the_kernel() {
    for patch in patches().1 {
        let (name, text) = (patch.name, patch.text);
        assert!(text.contains("\nSubject: [PATCH] timer_policy: "), "{name}");
        assert!(text.contains("\nSigned-off-by: "), "{name}");
        let files = files(patch);
        assert!(!files.is_empty(), "{name}");
        for (file, is_new) in files {
            assert!(!file.starts_with('/') && !file.contains(".."), "{name}: {file}");
            let license = "+// SPDX-License-Identifier: GPL-2.0";
            assert!(
                !is_new
                    || Path::new(file).extension().is_none_or(|it| it != "c")
                    || text.contains(license),
                "{name}: {file}"
            );
        }
    }
}

/// What the patches change of the kernel's source, where its package was brought here before.
fn source() -> Result<tempfile::TempDir, String> {
    let (source, patches) = patches();
    for program in ["patch", "tar", "xz"] {
        if find(program).is_none() {
            return Err(format!("{program} is not installed"));
        }
    }
    let cache = Cache::of_user().map_err(|error| error.to_string())?;
    let packages = fs::read_dir(cache.path().join("sources")).into_iter().flatten().flatten();
    let mut paths = packages.map(|entry| entry.path());
    let package = paths
        .find(|path| describe(path).is_ok_and(|package| package.name == source))
        .ok_or_else(|| format!("{source} is not present; get it with `tardy vm build policies`"))?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let root = folder.path().join("root");
    unpack(&package, &root).map_err(|error| error.to_string())?;
    let all = patches.iter().flat_map(files).filter(|(_, is_new)| !is_new);
    let made: BTreeSet<&str> = patches
        .iter()
        .flat_map(files)
        .filter(|(_, is_new)| *is_new)
        .map(|(file, _)| file)
        .collect();
    // Those that another patch makes are not in the package.
    let wanted: BTreeSet<String> = all
        .filter(|(file, _)| !made.contains(file))
        .map(|(file, _)| format!("{source}/{file}"))
        .collect();
    Job::new("tar", "unpack some of the kernel's source", Duration::from_secs(600))
        .arg("-xf")
        .arg(root.join("usr/src").join(format!("{source}.tar.xz")))
        .arg("-C")
        .arg(folder.path())
        .args(wanted)
        .output()
        .map_err(|error| error.to_string())?;
    fs::remove_dir_all(root).map_err(|error| error.to_string())?;
    Ok(folder)
}

/// Copies a tree of some files.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Patches that build upon another than the first, each with that one.
const UPON: &[(&str, &str)] = &[("0005", "0003"), ("0006", "0003"), ("0006", "0005")];

#[test]
fn they_apply_to_debians_source_together_and_each_alone() {
    let folder = match source() {
        Ok(folder) => folder,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let (source, patches) = patches();
    let original = folder.path().join(source);
    let log = folder.path().join("log");
    let apply = |to: &str, patches: &[&Patch]| -> PathBuf {
        let tree = folder.path().join(to);
        copy(&original, &tree);
        for patch in patches {
            let applied = patch.apply(&tree, &log);
            let said = fs::read_to_string(&log).unwrap();
            applied.unwrap_or_else(|error| panic!("{error}\n{said}"));
        }
        tree
    };
    let number = |start: &str| {
        patches.iter().position(|patch| patch.name.starts_with(start)).expect("there is one")
    };
    apply("together", &patches.iter().collect::<Vec<_>>());
    // Upon the place for switches, which all of them need.
    for (place, patch) in patches.iter().enumerate().skip(1) {
        let upon = UPON.iter().filter(|(one, _)| patch.name.starts_with(one));
        let mut needed: Vec<&Patch> = vec![&patches[0]];
        needed.extend(upon.map(|(_, other)| &patches[number(other)]));
        needed.push(patch);
        apply(&format!("alone-{place}"), &needed);
    }
}
