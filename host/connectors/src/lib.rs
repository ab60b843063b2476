//! Sources and sinks, one folder per external system.
