//! `bsafs names`: prints the paths that archives store, for use with archives that store none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::exit::{Exit, Failure};
use crate::cli::inquiry::Inquiry;
use crate::cli::options::option_table::{OpenArgs, PARSE};
use crate::cli::terminal::unseen::Unseen;
use crate::cli::ui::Ui;
use crate::format::Name;
use crate::format::encoding::Encoding;
use crate::shown::Shown;
use crate::system::text::count;
use crate::vfs::opened_archive::{notes_on, stored_path, with_archive};

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
    parse: OpenArgs<PARSE>,
}

impl Names {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        Inquiry::run(false, |inquiry| self.answer(inquiry))
    }

    fn answer(&self, inquiry: &mut Inquiry) -> Result<(), Failure> {
        let mut paths = BTreeMap::new();
        for archive in &self.archives {
            let left_out = self.collect(archive, &mut paths, &mut inquiry.unseen)?;
            if left_out > 0 {
                let what = "cannot be written as one line of text";
                log::error!("{}: left out {} that {what}", archive.shown(), count(left_out, "path"));
                inquiry.set_exit(Exit::No);
            }
        }
        for path in paths.values() {
            writeln!(inquiry.out, "{path}")?;
        }
        Ok(())
    }

    /// Adds an archive's paths, with their lower-case forms as keys. Returns how many stored names were left
    /// out.
    fn collect(
        &self,
        archive: &Path,
        paths: &mut BTreeMap<String, String>,
        unseen: &mut Unseen,
    ) -> Result<usize, Failure> {
        let options = self.parse.options();
        Ok(with_archive(archive, &options.parse_options(), |parsed| {
            unseen.add(&notes_on(&parsed, archive));
            let encoding = options.names_encoding(&parsed).encoding;
            let mut left_out = 0;
            for name in parsed.entries().map(|entry| entry.name).filter(|name| name.parts().is_some()) {
                match single_line(&name, encoding) {
                    Some(path) => _ = paths.entry(path.to_ascii_lowercase()).or_insert(path),
                    None => left_out += 1,
                }
            }
            left_out
        })?)
    }
}

/// The whole stored path. `None` if it cannot be decoded in the encoding, or is not a single line.
fn single_line(name: &Name<'_>, encoding: Encoding) -> Option<String> {
    let path = stored_path(name, encoding)?;
    (!path.is_empty() && !path.contains(['\n', '\r', '\0'])).then_some(path)
}
