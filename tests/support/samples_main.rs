//! Writes all sample archives into a folder: `cargo run --example samples -- FOLDER`; or with `--seeds` what fuzzing starts
//! from, into a folder for each target.

#[path = "mod.rs"]
mod support;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let is_seeds = arguments.first().is_some_and(|first| first == "--seeds");
    if is_seeds {
        arguments.remove(0);
    }
    let [folder] = &arguments[..] else {
        eprintln!("usage: samples [--seeds] FOLDER");
        return ExitCode::from(2);
    };
    let folder = PathBuf::from(folder);
    let written = if is_seeds { write_seeds(&folder) } else { write_samples(&folder) };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("samples: {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

fn write_samples(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for sample in support::samples() {
        let path = folder.join(&sample.name);
        std::fs::write(&path, &sample.bytes)?;
        println!("{} ({} bytes, {} files)", path.display(), sample.bytes.len(), sample.files.len());
    }
    Ok(())
}

fn write_seeds(folder: &Path) -> io::Result<()> {
    for seed in support::seeds() {
        let folder = folder.join(seed.target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(&seed.name), &seed.bytes)?;
    }
    Ok(())
}
