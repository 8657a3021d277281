//! `tardy vm build`: the kernel that is our own.

use super::waiting;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Output};
use clap::Args;
use serde_json::json;
use tardy_vm::{Cache, Kernel};

/// Flags of `tardy vm build`.
#[derive(Debug, Args)]
pub(crate) struct Build {
    /// Which kernels; those that are missing or stale are compiled
    #[arg(value_name = "NAME", default_value = "small")]
    name: String,

    /// Compile from the newest source, even if it was compiled before
    #[arg(long)]
    newest: bool,

    #[command(flatten)]
    output: Output,
}

impl Build {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let kernel =
            Kernel::named(&self.name).map_err(|error| Failure::usage(error.to_string()))?;
        if !kernel.is_built() {
            let command = kernel.command();
            return Err(Failure::usage(format!("{} comes from Debian: {command}", self.name)));
        }
        let cache = Cache::of_user()?;
        let installed = waiting::show(&self.output, |tell| {
            if self.newest { kernel.bring_anew(&cache, tell) } else { kernel.bring(&cache, tell) }
        })?;
        if self.output.json {
            let document = json!({
                "schema": "tardy.vm.build/1",
                "name": kernel.name,
                "release": installed.release,
                "version": installed.version,
                "image": installed.image,
                "sha256": installed.image_sha256,
                "bytes": installed.bytes,
            });
            output::write_json(&document, None)?;
        } else {
            self.output.remark(&format!(
                "{}: {} ({}), {}",
                kernel.name,
                installed.release,
                installed.version,
                super::megabytes(installed.bytes)
            ));
        }
        Ok(Outcome::Fine)
    }
}
