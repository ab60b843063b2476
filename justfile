# The menu over `cargo xtask`; each recipe is one command.

# List the recipes.
default:
    @just --list

# Install what is missing to build functions.
setup:
    cargo xtask setup

# Build everything and run a real job, checked.
demo:
    cargo xtask demo

# Fast checks while working: compiles every room and its tests.
check:
    cargo check --workspace --no-default-features --all-targets

# Every test.
test *args:
    cargo xtask test {{args}}

# Everything that CI runs.
verify:
    cargo xtask verify

# What CI runs, without the tests.
lint:
    cargo xtask verify --fast

# Format every workspace.
fmt:
    cargo fmt --all
    cd examples && cargo fmt --all
    cd tests/guests && cargo fmt --all

# Measure.
bench *args:
    cargo xtask bench -- {{args}}

# Build the documentation of every room.
doc:
    cargo xtask doc

# Build every guest and print its size.
guests:
    cargo xtask guests
