//! `bsafs names`: prints the paths that archives store, for use with archives that store none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::exit::{Exit, Failure};
use crate::cli::options::open_args::ParseArgs;
use crate::cli::terminal::output::stdout;
use crate::cli::ui::Ui;
use crate::format::Name;
use crate::format::encoding::Encoding;
use crate::vfs::opened_archive::{stored_path, with_archive};

/// Print the paths that archives store, one per line, as a list for `--names`
///
/// The list is sorted and encoded in UTF-8. Paths that differ only in case are printed once. Files
/// without a stored name are left out.
#[derive(Args, Debug)]
pub(crate) struct Names {
    /// Archives that store names
    #[arg(required = true, value_name = "ARCHIVE")]
    archives: Vec<PathBuf>,
    #[command(flatten)]
    parse: ParseArgs,
}

impl Names {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        let mut paths = BTreeMap::new();
        for archive in &self.archives {
            self.collect(archive, &mut paths)?;
        }
        let mut out = stdout();
        for path in paths.values() {
            writeln!(out, "{path}")?;
        }
        out.flush()?;
        Ok(Exit::Ok)
    }

    /// Adds an archive's paths, with their lower-case forms as keys.
    fn collect(&self, archive: &Path, paths: &mut BTreeMap<String, String>) -> Result<(), Failure> {
        let options = self.parse.options();
        Ok(with_archive(archive, &options.parse_options(), |parsed| {
            let encoding = options.names_encoding(&parsed).encoding;
            for path in parsed.entries().filter_map(|entry| single_line(&entry.name, encoding)) {
                paths.entry(path.to_ascii_lowercase()).or_insert(path);
            }
        })?)
    }
}

/// The whole stored path. `None` if it cannot be decoded in the encoding, or is not a single line.
fn single_line(name: &Name<'_>, encoding: Encoding) -> Option<String> {
    let path = stored_path(name, encoding)?;
    (!path.is_empty() && !path.contains(['\n', '\r', '\0'])).then_some(path)
}
