//! The program that is a guest's first process, and its `tardy`.

use crate::{Arch, Cache, VmError, libraries_of};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Where static builds of this program for guests lie in the cache, by architecture.
fn built(arch: Arch, cache: &Cache) -> PathBuf {
    cache.path().join("guest").join(arch.name()).join("tardy")
}

/// The program for guests of an architecture, with its libraries: where each goes in the guest, and
/// where it is here. Of this machine's architecture that is this very program, or its static build
/// where that is younger.
///
/// # Errors
/// Where there is none, with the command that builds one.
pub fn guest_program(arch: Arch, cache: &Cache) -> Result<Vec<(PathBuf, PathBuf)>, VmError> {
    let built = built(arch, cache);
    let own = Path::new("/proc/self/exe");
    let is_own = Arch::of_this_machine() == Some(arch) && changed(own) >= changed(&built);
    let program = if is_own { own } else { &built };
    if changed(program).is_none() {
        return Err(VmError::Missing {
            what: format!("a tardy for {arch} guests"),
            command: "make vm".to_owned(),
        });
    }
    let program = fs::canonicalize(program).map_err(VmError::file("read", program))?;
    let mut files = vec![(PathBuf::from(crate::job::PROGRAM), program.clone())];
    files.extend(libraries_of(&program, Path::new("/"))?);
    Ok(files)
}

/// The program without what only debuggers read, where `strip` is here: a guest holds it in memory.
pub(crate) fn stripped(program: &Path, to: &Path) -> PathBuf {
    let arguments = ["-o".as_ref(), to.as_os_str(), program.as_os_str()];
    let said =
        tardy_programs::command("strip").and_then(|mut strip| strip.args(arguments).output());
    let made = said.is_ok_and(|said| said.status.success());
    if made { to.to_owned() } else { program.to_owned() }
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|found| found.modified()).ok()
}
