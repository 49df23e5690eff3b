//! The table of topics.

#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    /// What the topic is about, from its title.
    pub(crate) about: &'static str,
    /// The text, in Markdown.
    pub(crate) text: &'static str,
}

/// The row of a topic in [`TOPICS`], whose text is in the file of its name.
macro_rules! topic {
    ($name:literal, $about:literal) => {
        Topic { name: $name, about: $about, text: include_str!(concat!($name, ".md")) }
    };
}

/// All topics, in the order in which help lists them.
pub(crate) const TOPICS: [Topic; 15] = [
    topic!("sources", "what can be mounted, listed and compared"),
    topic!("load-order", "which games are found, and what they load"),
    topic!("textures", "which programs open them"),
    topic!("meshes", "which texture a mesh lacks"),
    topic!("pages", "pictures of conflicts and differences"),
    topic!("formats", "which archives bsafs reads"),
    topic!("writing", "changes go to a folder of yours"),
    topic!("packing", "archives from your files"),
    topic!("profiles", "saved mounts, systemd and fstab"),
    topic!("network", "shares and backups"),
    topic!("desktop", "double clicks, menus and thumbnails"),
    topic!("speed", "what to expect"),
    topic!("limits", "what bsafs does not do"),
    topic!("troubleshooting", "from the symptom to the cause"),
    topic!("scripting", "output for programs"),
];

pub(crate) fn topic(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name.eq_ignore_ascii_case(name))
}

/// The list of topics, as help shows it.
pub(crate) fn list() -> String {
    let line = |topic: &Topic| format!("\n  {:<16} {}", topic.name, topic.about);
    format!("Topics of `bsafs help TOPIC`:{}", TOPICS.iter().map(line).collect::<String>())
}
