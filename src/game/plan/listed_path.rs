//! Archive names in lists that are paths, below the data folder or out of it.

/// The path below the data folder that a listed name means, with `/` between names. `None` if it
/// has a drive, starts at a root or leads out. `..` is resolved lexically, as on Windows.
pub(crate) fn below_data(name: &str) -> Option<String> {
    if name.contains(':') || name.starts_with(['/', '\\']) {
        return None;
    }
    let mut path: Vec<&str> = Vec::new();
    for part in name.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => drop(path.pop()?),
            part => path.push(part),
        }
    }
    Some(path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::below_data;

    #[test]
    fn a_listed_path_never_leads_out_of_the_data_folder() {
        for (name, path) in [
            ("Mod.bsa", "Mod.bsa"),
            (".\\Mod.bsa", "Mod.bsa"),
            ("Sub\\\\More/Mod.bsa", "Sub/More/Mod.bsa"),
            ("Sub\\..\\Mod.bsa", "Mod.bsa"),
            ("", ""),
        ] {
            assert_eq!(below_data(name).as_deref(), Some(path), "{name}");
        }
        for name in
            ["..\\Mod.bsa", "Sub\\..\\..\\Data\\Mod.bsa", "C:\\Mod.bsa", "C:Mod.bsa", "/etc/x", "\\\\host\\x"]
        {
            assert_eq!(below_data(name), None, "{name}");
        }
    }
}
