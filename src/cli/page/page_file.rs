//! The file of a page.

use std::io::{BufWriter, Write};
use std::path::Path;

use super::html::{BEGINNING, Page};
use crate::cli::exit::{Exit, Failure};
use crate::shown::Shown;
use crate::system::output_place::{Missing, OutputPlace};

/// The place of a page. It was free, or had an older page.
pub(crate) struct PageFile<'p> {
    path: &'p Path,
    place: OutputPlace,
}

impl<'p> PageFile<'p> {
    /// Finds the place of a page. Fails if another file is there: a user who forgets FILE would otherwise
    /// lose the first source.
    pub(super) fn prepare(path: &'p Path) -> Result<Self, Failure> {
        let place = OutputPlace::of(path, Missing::Fail);
        let place = place.map_err(|error| Failure::not_made("the page", path, &error))?;
        let file = Self { path, place };
        match file.place.find_alike(BEGINNING.as_bytes()) {
            Ok(_) => Ok(file),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let what = format!(
                    "cannot create the page {}: {error}, and only a page of bsafs is replaced; give another \
                     FILE",
                    path.shown()
                );
                Err(Failure::new(Exit::CannotCreate, what))
            }
            Err(error) => Err(Failure::not_made("the page", path, &error)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.path
    }

    /// Writes a page. Returns its length in bytes.
    pub(super) fn write(&self, page: &Page) -> Result<u64, Failure> {
        let mut len = 0;
        let written = self.place.replace_alike(BEGINNING.as_bytes(), |file| {
            let mut out = BufWriter::with_capacity(1 << 16, &mut *file);
            page.write(&mut out)?;
            out.flush()?;
            drop(out);
            len = file.metadata()?.len();
            Ok(())
        });
        written.map_err(|error| Failure::not_made("the page", self.path, &error))?;
        Ok(len)
    }
}
