//! Writes all sample archives into a folder: `cargo run --example samples -- FOLDER`.
//!
//! With `--files` it writes the files of each archive into a separate folder. With `--seeds` it
//! writes the fuzzing seeds of each target into a separate folder.

#[path = "mod.rs"]
mod support;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let (write, options): (fn(&Path) -> io::Result<()>, usize) =
        match arguments.first().and_then(|first| first.to_str()) {
            Some("--files") => (write_files, 1),
            Some("--seeds") => (write_seeds, 1),
            _ => (write_samples, 0),
        };
    let [folder] = &arguments[options..] else {
        eprintln!("usage: samples [--files | --seeds] FOLDER");
        return ExitCode::from(2);
    };
    let folder = PathBuf::from(folder);
    match write(&folder) {
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

fn write_files(folder: &Path) -> io::Result<()> {
    for sample in support::samples() {
        for (name, content) in &sample.files {
            let path = folder.join(&sample.name).join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
            std::fs::write(path, content)?;
        }
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
