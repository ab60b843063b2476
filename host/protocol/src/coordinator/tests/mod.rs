mod behaviour;
mod interleavings;
