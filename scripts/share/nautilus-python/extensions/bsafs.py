"""Adds the entries of bsafs to the menus of Nautilus 43 and later, if python3-nautilus is installed."""

import subprocess
import threading

from gi.repository import GObject, Nautilus

# The name of an entry, its label, the command, and whether it is for an item.
ENTRIES = [
    ("Which", "Which mod is this from?", ["which", "--notify", "--"], lambda item: not item.is_directory()),
    ("Png", "Convert to PNG…", ["open", "--as-png"], lambda item: item.is_mime_type("image/x-dds")),
    ("Pack", "Pack as archive…", ["open", "--pack"], lambda item: item.is_directory()),
    ("Unmount", "Unmount Bethesda Archive", ["umount", "--notify", "--"], lambda item: item.is_directory()),
]


class BsafsMenu(GObject.GObject, Nautilus.MenuProvider):
    """The menu of selected files and folders."""

    # Nautilus 42 and earlier also pass the window.
    def get_file_items(self, *arguments):
        items = arguments[-1]
        paths = [item.get_location().get_path() for item in items]
        if not paths or None in paths:
            return []
        found = []
        for name, label, command, is_for in ENTRIES:
            if all(is_for(item) for item in items):
                entry = Nautilus.MenuItem(name=f"Bsafs::{name}", label=label, icon="org.bsafs.bsafs")
                entry.connect("activate", self.run, command, paths)
                found.append(entry)
        return found

    def run(self, _entry, command, paths):
        def run_each():
            for path in paths:
                # Not in the folder that Nautilus shows: a mount would be busy.
                subprocess.run(["bsafs", *command, path], cwd="/", stdin=subprocess.DEVNULL, check=False)

        # One window at a time, while Nautilus goes on.
        threading.Thread(target=run_each, daemon=True).start()
