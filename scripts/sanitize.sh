#!/bin/sh
# Runs the timer crate's tests under sanitizers: threads (data races), then addresses and leaks.
#
#   scripts/sanitize.sh [TOOLCHAIN]      default: the one in use; needs its component rust-src
#
# Sanitizers are unstable flags of the stable compiler, so this is no part of make test. Left out are
# tests that fork, as the thread sanitizer cannot follow that, and those that cover no shared memory.
set -eu
cd "$(dirname "$0")/.."

toolchain=${1:+"+$1"}
target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1

# shellcheck disable=SC2086  # an empty toolchain is to vanish
RUSTFLAGS=-Zsanitizer=thread CARGO_TARGET_DIR=target/sanitize-thread \
    cargo $toolchain test -Zbuild-std --target "$target" -p tardy-timers \
    --test service --test poller --test sleep
# shellcheck disable=SC2086
RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/sanitize-address \
    cargo $toolchain test --target "$target" -p tardy-timers \
    --test service --test model --test policies --test poller
