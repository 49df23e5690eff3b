//! `bsafs help`: prints the help of a command, or explains a topic.

use std::io::IsTerminal;

use clap::Args;

use super::man::show;
use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::terminal::output::{self, stdout};
use crate::cli::topics::topic::{page, topic};
use crate::cli::ui::Ui;
use crate::shown::Shown;

/// Print the help of a command, or explain a topic
///
/// A topic is shown by man(1), as its page `bsafs-TOPIC(7)`; if standard output is not a terminal, as plain
/// text.
#[derive(Args, Debug)]
pub(crate) struct Help {
    /// Command or topic; `bsafs help` lists both
    #[arg(value_name = "COMMAND|TOPIC")]
    name: Option<String>,
}

impl Help {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        let bsafs = (ui.definition)();
        if let Some(topic) = self.name.as_deref().and_then(topic) {
            if std::io::stdout().is_terminal() && show(page(topic).as_bytes()).is_ok() {
                return Ok(Exit::Ok);
            }
            let mut out = stdout();
            out.write_all(topic.text.as_bytes())?;
            out.flush()?;
            return Ok(Exit::Ok);
        }
        if let Some(name) = self.name.as_deref().filter(|name| bsafs.find_subcommand(name).is_none()) {
            let what = "there is no such command or topic; `bsafs help` lists both";
            return Err(Failure::new(Exit::Usage, format!("{}: {what}", name.shown())));
        }
        let arguments: Vec<_> = std::env::args_os().collect();
        let words = ["bsafs"].into_iter().chain(self.name.as_deref()).chain(["--help"]);
        match bsafs.color(output::choice_among(&arguments)).try_get_matches_from(words) {
            Err(help) => Ok(help.print().map(|()| Exit::Ok).map_err(OutputError)?),
            Ok(_) => Ok(Exit::Ok),
        }
    }
}
