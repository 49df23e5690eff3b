//! What games load. Most tests use the small worlds that a script outside the project writes: homes
//! with launchers, games and mods.

mod caseless;
mod deployed; // games whose files limo or the Nexus Mods App deployed
mod explained; // notes that explain, and sources that mean a game
mod extenders; // plugins of script extenders, mods in the wrong place, odd games
mod fates; // what became of each copy, and which game a question means
mod find; // finding games from the lists of launchers
mod following; // changes of a game while it is mounted
mod game_rules; // rules of games, in homes that the tests write
mod hostile_lists; // lists that a stranger wrote to fill memory
mod installed; // bsafs games
mod load_orders; // load orders of small trees that the tests write
mod manager_rules; // rules of mod managers and OpenMW, in homes that the tests write
mod many_names; // links to one archive, endings of hidden names, spellings of one folder
mod mounts; // bsafs mount
mod order_command; // bsafs order
mod places; // places of launchers, mod managers and users, and their prefixes
mod plugin_headers;
mod plugins; // which plugins are active, their order, and their archives
mod prefixes; // the folders of a Wine prefix that have a game's settings
mod profiles; // profiles, with every command
mod rules; // rules that no world covers, through commands
mod settings; // readers of INI, YAML, VDF and other files
mod small_world; // a home with one game, for deployed, game_rules and manager_rules
mod titles; // games without a world
mod why; // bsafs why
mod winners; // bsafs which --in, conflicts, diff
mod worlds;
