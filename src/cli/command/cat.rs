//! `bsafs cat`: writes files to standard output, without a mount.

use std::path::PathBuf;
use std::slice;

use clap::Args;

use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::options::named_sources::open_sources;
use crate::cli::options::open_args::{OpenArgs, SALVAGE};
use crate::cli::options::same_names::same_names;
use crate::cli::terminal::output::raw_stdout;
use crate::cli::ui::Ui;
use crate::shown::Shown;

/// Write files of an archive, folder or game to standard output
#[derive(Args, Debug)]
pub(crate) struct Cat {
    /// Archive, folder, game, or any other source that `mount` accepts
    #[arg(value_name = "SOURCE")]
    archive: PathBuf,
    /// Paths of files in the source, in any case and with either slash
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    #[arg(long, help = SALVAGE)]
    salvage: bool,
    #[command(flatten)]
    open: OpenArgs,
}

impl Cat {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        let options = self.open.options().salvage(self.salvage);
        let vfs = open_sources(slice::from_ref(&self.archive), options)?;
        let mut out = raw_stdout();
        for path in &self.paths {
            let shown = path.shown();
            let missing = |what: &str| {
                Failure::new(Exit::NoInput, format!("{}: {shown}: {what}", self.archive.shown()))
            };
            let file = vfs.file(path).ok_or_else(|| match vfs.folder(path) {
                Some(_) => missing("it is a folder; give a file in it"),
                None => match same_names(&vfs, path) {
                    found if found.is_empty() => missing("no such file; `bsafs list` prints all paths"),
                    found => missing(&format!("no such file{found}")),
                },
            })?;
            let copied = file.write_to(&mut out);
            if let Some(error) = file.take_salvaged() {
                log::warn!("{}: {shown}: {error}; written anyway because of --salvage", self.archive.shown());
            }
            copied.map_err(|error| match error.kind() {
                std::io::ErrorKind::Other => {
                    Failure::new(Exit::Data, format!("{}: {shown}: {error}", self.archive.shown()))
                }
                _ => OutputError(error).into(),
            })?;
        }
        out.flush()?;
        Ok(Exit::Ok)
    }
}
