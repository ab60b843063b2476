//! Motion: subtasks, exchange, backpressure, operators, supervision.
