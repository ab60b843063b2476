mod laws;
mod table;
mod types;
