//! The commands of README and of the topics run, in a home with a small game, mods and archives.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::mounted::{TestDir, is_root, run};
use crate::support::mesh::Nif;
use crate::support::{Tes3, Tes4, dds};

/// A home with what the documents name. The commands run in its folder `work`.
fn home() -> TestDir {
    let dir = TestDir::new();
    let data = "home/Games/Skyrim Special Edition/Data";
    for folder in [data, "home/work/Data/Interface", "home/mods/SkyUI/interface", "home/mnt"] {
        fs::create_dir_all(dir.path(folder)).unwrap();
    }
    let texture = [&dds::header(28, 4, 4, 1, false)[..], &[0x80; 64]].concat();
    let textures = Tes4::new(105).file(r"textures\clutter", "bucket.dds", &texture[..]);
    let textures = textures.file(r"textures\village", "sword.dds", &texture[..]).build();
    dir.archive(&format!("{data}/Skyrim - Textures0.bsa"), &textures);
    dir.archive("home/work/Skyrim - Textures0.bsa", &textures);
    let own = Tes3::new().file("textures\\clutter\\bucket.dds", &texture[..]).file("readme.txt", b"read me");
    for archive in ["MyMod.bsa", "1.0/MyMod.bsa", "1.1/MyMod.bsa"] {
        fs::create_dir_all(dir.path("home/work").join(archive).parent().unwrap()).unwrap();
        dir.archive(&format!("home/work/{archive}"), &own.build());
    }
    for file in ["Skyrim.esm", "../SkyrimSE.exe", "MyMod.esp"] {
        fs::write(dir.path(data).join(file), "").unwrap();
    }
    for file in ["home/work/Data/Interface/a.swf", "home/mods/SkyUI/interface/b.swf"] {
        fs::write(dir.path(file), "swf").unwrap();
    }
    let mesh = Nif::SkyrimSe.naming(&["textures\\clutter\\bucket.dds"]);
    for (file, content) in [
        ("MyMod/MyMod.esp", &b""[..]),
        ("MyMod/textures/mine.dds", &texture),
        ("MyMod/meshes/mine.nif", b"mesh"),
        ("../Games/Skyrim Special Edition/Data/meshes/clutter/bucket.nif", &mesh),
        ("Voices/Voices.esm", b""),
        ("Voices/sound/voice/voices.esm/hello.wem", b"sound"),
    ] {
        let path = dir.path("home/work").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    dir.archive("home/work/Old.bsa", &Tes4::new(104).file("meshes", "old.nif", b"old").build());
    instance(&dir.path("home/MO2"), &dir.path("home/Games/Skyrim Special Edition"));
    dir
}

/// An instance of Mod Organizer 2 with two empty profiles.
fn instance(folder: &Path, game: &Path) {
    for profile in ["profiles/Default", "profiles/Old"] {
        fs::create_dir_all(folder.join(profile)).unwrap();
        for list in ["modlist.txt", "plugins.txt", "loadorder.txt"] {
            fs::write(folder.join(profile).join(list), "").unwrap();
        }
    }
    fs::create_dir_all(folder.join("mods")).unwrap();
    let ini = format!(
        "[General]\ngameName=Skyrim Special Edition\nselected_profile=@ByteArray(Default)\n\
         gamePath=@ByteArray(Z:{})\n",
        game.display().to_string().replace('/', "\\\\")
    );
    fs::write(folder.join("ModOrganizer.ini"), ini).unwrap();
}

/// The code blocks of a language in a Markdown text.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<String> {
    let (mut blocks, mut block): (Vec<String>, Option<Vec<&'t str>>) = (Vec::new(), None);
    for line in text.lines() {
        match &mut block {
            Some(lines) if line == "```" => {
                blocks.push(lines.join("\n"));
                block = None;
            }
            Some(lines) => lines.push(line),
            None if line.strip_prefix("```") == Some(language) => block = Some(Vec::new()),
            None => {}
        }
    }
    blocks
}

#[test]
fn the_commands_of_readme_and_of_every_topic_run() {
    let mut documents = vec![Path::new("README.md").to_owned()];
    documents.extend(fs::read_dir("src/cli/topics").unwrap().map(|it| it.unwrap().path()));
    let mut count = 0;
    for document in documents.iter().filter(|path| path.extension().is_some_and(|it| it == "md")) {
        let text = fs::read_to_string(document).unwrap();
        let typed = |block: String| {
            let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
            commands.join("\n")
        };
        let mut scripts = blocks(&text, "sh");
        scripts.extend(blocks(&text, "console").into_iter().map(typed));
        let dir = home();
        for script in scripts {
            count += 1;
            if script.contains("--edit")
                && !is_root()
                && Command::new("fuse-overlayfs").arg("-V").output().is_err()
            {
                eprintln!("SKIPPED: no fuse-overlayfs: the commands about writing were NOT run");
                continue;
            }
            // The archives and the folder of the page's own game are not here.
            let script =
                script.replace("~/skyrim/TEXTURES/Village/IronPlate", "~/skyrim/TEXTURES/Village/Sword");
            let script = script.replace("--of SteelReforged.bsa", "--of Data");
            // `why` exits with 1 if something is not in the game. What the topic about packing compares
            // differs.
            let lines = script.lines().map(|line| {
                let line = line.split_once("  # ").map_or(line, |(command, _)| command);
                if line.starts_with("bsafs why ") {
                    format!("{line} || test $? -eq 1\n")
                } else if line.starts_with("bsafs diff --compare ") {
                    format!("if {line}; then exit 9; else test $? -eq 1; fi\n")
                } else {
                    format!("{line}\n")
                }
            });
            let script: String = lines.collect();
            let mut shell = Command::new("bash");
            shell.args(["-euo", "pipefail", "-c", &script]).current_dir(dir.path("home/work"));
            let program = Path::new(env!("CARGO_BIN_EXE_bsafs")).parent().unwrap();
            let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
            for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"] {
                shell.env_remove(name);
            }
            let ran = run(shell.env("HOME", dir.path("home")).env("PATH", path));
            let home = dir.path("home");
            let below = ["umount", "--all", "--lazy", "--below", home.to_str().unwrap()];
            dir.run(below);
            assert_eq!(ran.code, 0, "{}:\n{script}\n{}{}", document.display(), ran.out, ran.err);
        }
    }
    assert!(count > 10, "the commands were not found");
}
