//! `tardy vm fetch`: Debian's kernels and programs for guests.

use super::waiting;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Output};
use clap::Args;
use serde_json::json;
use tardy_vm::{Arch, Cache, Kernel, Purpose, Tools};

/// Flags of `tardy vm fetch`.
#[derive(Debug, Args)]
pub(crate) struct Fetch {
    /// Which kernels, as `tardy vm list` names them; matrix: those that tardy is tested on [default: all of
    /// Debian's outside the matrix]
    #[arg(value_name = "NAME|matrix|all")]
    names: Vec<String>,

    /// Fetch the newest version, even if one is present
    #[arg(long)]
    newest: bool,

    #[command(flatten)]
    output: Output,
}

/// Something that is downloaded.
enum Wanted {
    Kernel(&'static Kernel),
    Tools(Tools),
}

/// What came of it.
struct Brought {
    name: String,
    version: String,
    bytes: u64,
}

impl Fetch {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let cache = Cache::of_user()?;
        let wanted = self.wanted(&cache)?;
        let mut all = vec![];
        for wanted in wanted {
            let brought =
                waiting::show(&self.output, |tell| wanted.bring(&cache, self.newest, tell))?;
            self.output.remark(&format!(
                "{}: {}, {}",
                brought.name,
                brought.version,
                super::megabytes(brought.bytes)
            ));
            all.push(brought);
        }
        if self.output.json {
            let fetched = all.iter().map(|brought| {
                json!({ "name": brought.name, "version": brought.version, "bytes": brought.bytes })
            });
            let document = json!({
                "schema": "tardy.vm.fetch/1",
                "folder": cache.path(),
                "fetched": fetched.collect::<Vec<_>>(),
            });
            output::write_json(&document, None)?;
        }
        Ok(Outcome::Fine)
    }

    fn wanted(&self, cache: &Cache) -> Result<Vec<Wanted>, Failure> {
        let all = || {
            let is_usual = |kernel: &&Kernel| kernel.purpose != Purpose::Matrix;
            let kernels = Kernel::all().iter().filter(|it| !it.is_built()).filter(is_usual);
            let tools = Arch::ALL.map(|arch| Wanted::Tools(Tools::of(arch, cache)));
            kernels.map(Wanted::Kernel).chain(tools).collect()
        };
        if self.names.is_empty() {
            return Ok(all());
        }
        let mut wanted = vec![];
        for name in &self.names {
            let mut tools = Arch::ALL.map(|arch| Tools::of(arch, cache)).into_iter();
            if name == "all" {
                return Ok(all());
            } else if name == "matrix" {
                let kernels = Kernel::all().iter().filter(|kernel| kernel.purpose.is_matrix());
                wanted.extend(kernels.map(Wanted::Kernel));
            } else if let Some(tools) = tools.find(|tools| tools.name() == *name) {
                wanted.push(Wanted::Tools(tools));
            } else {
                wanted.push(Wanted::Kernel(kernel(name)?));
            }
        }
        Ok(wanted)
    }
}

/// A kernel that can be downloaded.
fn kernel(name: &str) -> Result<&'static Kernel, Failure> {
    let unknown = |error: tardy_vm::VmError| {
        let tools = Arch::ALL.map(|arch| format!("tools-{arch}")).join(", ");
        Failure::usage(format!("{error}; programs are {tools}"))
    };
    let kernel = Kernel::named(name).map_err(unknown)?;
    if kernel.is_built() {
        let command = kernel.command();
        return Err(Failure::usage(format!("{name} is compiled here: {command}")));
    }
    Ok(kernel)
}

impl Wanted {
    fn bring(
        &self,
        cache: &Cache,
        newest: bool,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Brought, Failure> {
        match self {
            Self::Kernel(kernel) => {
                let installed =
                    if newest { kernel.bring_anew(cache, tell) } else { kernel.bring(cache, tell) };
                let installed = installed?;
                let version = format!("{} ({})", installed.release, installed.version);
                Ok(Brought { name: kernel.name.to_owned(), version, bytes: installed.bytes })
            }
            Self::Tools(tools) => {
                let installed = if newest { tools.bring_anew(tell) } else { tools.bring(tell) };
                let installed = installed?;
                let versions = installed.packages.iter();
                let version = versions
                    .map(|package| format!("{} {}", package.name, package.version))
                    .collect::<Vec<_>>()
                    .join(", ");
                Ok(Brought { name: tools.name(), version, bytes: installed.bytes })
            }
        }
    }
}
