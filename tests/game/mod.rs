//! What games load, in small worlds that a script outside the project writes: homes with launchers, games and mods.

mod following; // changes of a game under its mount
mod installed; // bsafs games
mod mounts; // bsafs mount
mod orders; // bsafs order
mod planned; // plans of trees of their own
mod profiles; // profiles, for every command
mod rules; // rules that the worlds lack, by the commands
mod titles; // games without a world
mod winners; // bsafs which --in, conflicts, diff
mod worlds;
