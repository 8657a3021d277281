//! `tardy man`: the flags of every verb as manual pages.

use crate::failure::{Failure, Outcome};
use clap::{Args, CommandFactory};
use clap_mangen::Man;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Flags of `tardy man`.
#[derive(Debug, Args)]
#[command(after_help = "\
    tardy man | man -l -                                read tardy(1) at once\n\
    tardy man -o /usr/local/share/man/man1              install all pages")]
pub(crate) struct ManVerb {
    /// Write a page for each verb into this folder, instead of tardy(1) to standard output
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl ManVerb {
    pub(crate) fn execute<Command: CommandFactory>(&self) -> Result<Outcome, Failure> {
        let mut command = Command::command();
        // Names verbs by their whole path: tardy-vm-run.
        command.build();
        match &self.out {
            None => crate::output::raw().lock().write_all(&page(&command)?)?,
            Some(folder) => {
                tardy_files::Folder::make(folder, tardy_files::Access::Usual)
                    .map_err(|error| cannot_write(folder, &error))?;
                write_pages(&command, folder)?;
            }
        }
        Ok(Outcome::Fine)
    }
}

fn write_pages(command: &clap::Command, folder: &Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let path = folder.join(format!("{name}.1"));
    tardy_files::replace(&path, &page(command)?, tardy_files::Access::Usual)
        .map_err(|error| cannot_write(&path, &error))?;
    let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help");
    verbs.into_iter().try_for_each(|verb| write_pages(verb, folder))
}

fn page(command: &clap::Command) -> Result<Vec<u8>, Failure> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let mut page = Vec::new();
    Man::new(command.clone().name(name)).render(&mut page)?;
    Ok(page)
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("could not write {}: {error}", path.display()))
}
