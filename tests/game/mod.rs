//! What games load, in small worlds that a script outside the project writes: homes with launchers, games and mods.

mod caseless;
mod find; // lists of launchers, in small homes
mod following; // changes of a game under its mount
mod installed; // bsafs games
mod mounts; // bsafs mount
mod orders; // bsafs order
mod planned; // plans of trees of their own
mod plugin_headers;
mod profiles; // profiles, for every command
mod rules; // rules that the worlds lack, by the commands
mod settings; // INI, YAML, VDF and others
mod titles; // games without a world
mod winners; // bsafs which --in, conflicts, diff
mod worlds;
