use super::*;
use std::fs;

/// A kernel's folder as it is after it was brought.
fn brought(cache: &Cache, kernel: &'static Kernel) -> PathBuf {
    let folder = cache.kernel(kernel.name);
    fs::create_dir_all(folder.join("modules")).unwrap();
    fs::write(folder.join(IMAGE), "an image").unwrap();
    fs::write(folder.join("modules/a.ko"), "a module").unwrap();
    let package = Package {
        name: "linux-some".to_owned(),
        version: "6.1-2".to_owned(),
        sha256: String::new(),
    };
    let modules = [PathBuf::from("modules/a.ko")];
    let mut record = Record::of(kernel, &folder, "6.1-rt", &package, &modules).unwrap();
    if let Origin::Built(recipe) = &kernel.origin {
        record.recipe_sha256 = Some(recipe.sha256());
    }
    record.write(&folder).unwrap();
    folder
}

#[test]
fn names_are_unique_and_found() {
    for kernel in Kernel::all() {
        assert!(std::ptr::eq(Kernel::named(kernel.name).unwrap(), kernel));
    }
    let words = Kernel::named("big").unwrap_err().to_string();
    let expected = "there is no kernel \"big\"; there are small, policies, policies-hz1000, policies-debug, \
                    policies-kasan, debian-rt, debian, debian-rt-armv7, ";
    assert!(words.starts_with(expected), "{words}");
}

#[test]
fn what_is_not_here_names_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let words = |name| Kernel::named(name).unwrap().installed(&cache).unwrap_err().to_string();
    assert_eq!(
        words("small"),
        "the kernel small is not present; get it with `tardy vm build small`"
    );
    assert_eq!(
        words("debian-rt"),
        "the kernel debian-rt is not present; get it with `tardy vm fetch debian-rt`"
    );
}

#[test]
fn what_was_brought_is_installed_until_a_file_changes() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let kernel = Kernel::named("debian-rt").unwrap();
    let its = brought(&cache, kernel);
    let installed = kernel.installed(&cache).unwrap();
    assert_eq!(installed.image, its.join("vmlinuz"));
    assert_eq!(installed.modules, [its.join("modules/a.ko")]);
    assert_eq!((installed.release.as_str(), installed.version.as_str()), ("6.1-rt", "6.1-2"));
    assert_eq!(installed.bytes, 16);

    fs::write(its.join("modules/a.ko"), "another").unwrap();
    let error = kernel.installed(&cache).unwrap_err();
    assert_eq!(error.command(), Some("tardy vm fetch debian-rt"));
    assert!(matches!(error, VmError::Changed { .. }), "{error}");
}

#[test]
fn a_kernel_built_by_another_recipe_is_stale() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let kernel = Kernel::named("small").unwrap();
    let its = brought(&cache, kernel);
    kernel.installed(&cache).unwrap();

    let manifest = its.join(Record::FILE);
    let text = fs::read_to_string(&manifest).unwrap();
    let recipe = Record::read(&its, "").unwrap().unwrap().recipe_sha256.unwrap();
    fs::write(&manifest, text.replace(&recipe, "0")).unwrap();
    let error = kernel.installed(&cache).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the kernel small is stale: its configuration or its patches have changed since it was built; \
         get it again with `tardy vm build small`"
    );
}

#[test]
fn a_damaged_manifest_is_an_error_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let kernel = Kernel::named("debian").unwrap();
    let its = brought(&cache, kernel);
    let manifest = its.join(Record::FILE);
    let text = fs::read_to_string(&manifest).unwrap();
    for damaged in [&text[..text.len() / 2], "", "[]", &text.replace("kernel/1", "kernel/9")] {
        fs::write(&manifest, damaged).unwrap();
        let error = kernel.installed(&cache).unwrap_err();
        assert_eq!(error.command(), Some("tardy vm fetch debian"), "{error}");
    }
}

/// Downloads some 70 MB each; asked for by `TARDY_TEST_VM=1`.
#[test]
fn debians_kernels_can_be_had() {
    if std::env::var_os("TARDY_TEST_VM").is_none_or(|value| value != "1") {
        println!("skipped: TARDY_TEST_VM=1 asks for it, with a network");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    // Those of the matrix alone are another half a GB, have other modules built in, and are tried by their own test.
    let usual = |kernel: &&Kernel| !kernel.is_built() && kernel.purpose != Purpose::Matrix;
    for kernel in Kernel::all().iter().filter(usual) {
        let installed = match kernel.bring(&cache, &mut |words| println!("{words}")) {
            Ok(installed) => installed,
            Err(error @ (VmError::Failed { .. } | VmError::Needs { .. })) => {
                println!("skipped: {error}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let names: Vec<_> =
            installed.modules.iter().map(|module| module.file_stem().unwrap()).collect();
        for name in ["virtio_pci", "virtio_mmio", "virtio_console", "veth"] {
            assert!(names.iter().any(|found| *found == name), "{name} in {names:?}");
        }
        assert_eq!(installed.release.contains("-rt"), kernel.is_rt);
        // There now, so nothing is to be waited for.
        kernel.bring(&cache, &mut |words| panic!("{words}")).unwrap();
    }
}
