//! Writes all sample archives into a folder: `cargo run --example samples -- FOLDER`.

#[path = "mod.rs"]
mod support;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: samples FOLDER");
        return ExitCode::from(2);
    };
    match write(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("samples: {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for sample in support::samples() {
        let path = folder.join(&sample.name);
        std::fs::write(&path, &sample.bytes)?;
        println!("{} ({} bytes, {} files)", path.display(), sample.bytes.len(), sample.files.len());
    }
    Ok(())
}
