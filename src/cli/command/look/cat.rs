//! `bsafs cat`: writes files to standard output, without a mount.

use std::path::{Path, PathBuf};
use std::slice;

use clap::Args;

use crate::answers::question::Meant;
use crate::answers::unseen::unseen_about;
use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::inquiry::Inquiry;
use crate::cli::options::named_sources::open_sources_for;
use crate::cli::options::option_table::{OPEN, OpenArgs, SALVAGE};
use crate::cli::options::selection::same_names;
use crate::cli::terminal::output::raw_stdout;
use crate::cli::ui::Ui;
use crate::shown::Shown;

/// Write files of an archive, folder or game to standard output
///
/// The exit status is 1 if something in the source was not looked at, but may have one of the paths and win.
#[derive(Args, Debug)]
pub(crate) struct Cat {
    /// Archive, folder, game, or any other source that `mount` accepts
    #[arg(value_name = "SOURCE")]
    archive: PathBuf,
    /// Paths of files in the source, in upper or lower case and with either slash
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    #[command(flatten)]
    open: OpenArgs<{ OPEN | SALVAGE }>,
}

impl Cat {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        Inquiry::run_to(raw_stdout().until_closed(), false, |inquiry| self.answer(inquiry))
    }

    fn answer(&self, inquiry: &mut Inquiry) -> Result<(), Failure> {
        let paths = self.paths.iter().map(Path::new);
        let vfs = &open_sources_for(slice::from_ref(&self.archive), self.open.options(), paths.clone())?;
        paths.for_each(|path| inquiry.unseen.add(unseen_about(vfs, path)));
        for path in &self.paths {
            let shown = path.shown();
            let missing = |what: &str| {
                Failure::new(Exit::NoInput, format!("{}: {shown}: {what}", self.archive.shown()))
            };
            // The path of a hidden copy on the disk means that copy.
            let file = match Meant::find(vfs, Path::new(path)) {
                Ok(Meant::Copy(file)) => file,
                Ok(Meant::Folder(_)) => return Err(missing("it is a folder; give a file in it")),
                Err(several) => match same_names(vfs, path) {
                    found if !several.is_empty() => {
                        return Err(missing(&format!("several files are called so{found}")));
                    }
                    found if found.is_empty() => {
                        return Err(missing("no such file; `bsafs list` prints all paths"));
                    }
                    found => return Err(missing(&format!("no such file{found}"))),
                },
            };
            let copied = file.write_to(&mut inquiry.out);
            if let Some(error) = file.take_salvaged() {
                log::warn!("{}: {shown}: {error}; written anyway because of --salvage", self.archive.shown());
            }
            copied.map_err(|error| match error.kind() {
                std::io::ErrorKind::Other => {
                    Failure::new(Exit::of_read(&error), format!("{}: {shown}: {error}", self.archive.shown()))
                }
                _ => OutputError(error).into(),
            })?;
            if let Some(what) = file.take_flaw() {
                log::error!("{}: {shown}: {what}", self.archive.shown());
                inquiry.set_exit(Exit::Data);
            }
        }
        Ok(())
    }
}
