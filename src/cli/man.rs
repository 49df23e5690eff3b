//! `bsafs man`: the manual, from the same definitions as `--help`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man as Page;

use super::exit::{Exit, Failure};
use super::output::stdout;

/// Print the manual page of bsafs or of one of its commands
#[derive(Args, Debug)]
pub(super) struct Man {
    /// The command whose page is printed
    command: Option<String>,
    /// Write all pages into a folder instead
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    all: Option<PathBuf>,
}

impl Man {
    pub(super) fn run(&self, mut bsafs: Command) -> Result<Exit, Failure> {
        bsafs.build();
        if let Some(folder) = &self.all {
            for command in
                std::iter::once(&bsafs).chain(bsafs.get_subcommands().filter(|it| it.get_name() != "help"))
            {
                let page = page(command)?;
                let path = folder.join(format!("{}.1", name(command)));
                std::fs::write(&path, page)
                    .map_err(|error| Failure::io(Exit::CannotCreate, &path, &error))?;
            }
            return Ok(Exit::Ok);
        }
        let command = match &self.command {
            None => &bsafs,
            Some(name) => bsafs.find_subcommand(name).ok_or_else(|| {
                Failure::new(Exit::Usage, format!("there is no command {name}; `bsafs help` lists them"))
            })?,
        };
        let mut out = stdout();
        out.write_all(&page(command)?)?;
        out.flush()?;
        Ok(Exit::Ok)
    }
}

/// A page's name: `bsafs`, `bsafs-mount`.
fn name(command: &Command) -> String {
    match command.get_name() {
        "bsafs" => "bsafs".into(),
        name => format!("bsafs-{name}"),
    }
}

fn page(command: &Command) -> Result<Vec<u8>, Failure> {
    let named = command.clone().name(name(command)).version(env!("CARGO_PKG_VERSION"));
    let page = Page::new(named);
    let mut text = Vec::new();
    page.render(&mut text)?;
    writeln!(text, ".SH \"EXIT STATUS\"")?;
    for (exit, meaning) in Exit::ALL {
        writeln!(text, ".TP\n{}\n{meaning}", exit as i32)?;
    }
    writeln!(text, ".PP\nCalled by mount(8), the program exits as mount(8) asks: 0, 1, 2 or 32.")?;
    Ok(text)
}
