#!/bin/sh
# Sees to it that tardy can be built here: Rust, and packages through apt.
#
#   scripts/setup.sh [run|test|vm]  test adds what only the tests use, vm what guests and their
#                                   kernels are made with
#
# Quick and silent where everything is there; installs only what is missing. Works as root or by
# sudo. Where it cannot go on it names the command that helps and exits with 1.
set -eu

# Major versions in the names keep a later distribution from changing the compiler for eBPF.
build_packages="clang-19 llvm-19 libelf-dev zlib1g-dev pkg-config make gcc"
test_packages="rt-tests trace-cmd strace python3 python3-venv"
# For tests that boot guests, and what the kernel for some of them and kernel/check are compiled with; they run where
# they are asked for, and are skipped where it cannot be had.
guest_packages="qemu-system-x86 flex bison bc perl patch dwarves xz-utils"
vm_packages="qemu-system-x86 qemu-system-arm gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross flex bison bc perl patch dwarves xz-utils busybox-static
    rt-tests trace-cmd"
# Rust's own library for guests that are no x86-64.
vm_targets="armv7-unknown-linux-gnueabihf aarch64-unknown-linux-gnu"

root=$(cd "$(dirname "$0")/.." && pwd)
# rustup's own place, for a shell that was started before rustup came.
PATH=$PATH:${HOME:-}/.cargo/bin
export PATH

say() { printf '%s\n' "setup: $*" >&2; }

has() { command -v "$1" >/dev/null 2>&1; }

rustup_command() {
    if has rustup; then
        echo "rustup update stable && rustup default stable"
    else
        has curl || printf '%s' "apt-get install -y curl ca-certificates && "
        echo "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . \"\$HOME/.cargo/env\""
    fi
}

check_rust() {
    wanted=$(sed -n 's/^rust-version *= *"\([0-9]*\.[0-9]*\).*/\1/p' "$root/Cargo.toml" | head -n 1)
    for tool in rustc cargo; do
        if ! has "$tool"; then
            say "$tool is not there. tardy needs Rust $wanted or later:"
            say "    $(rustup_command)"
            exit 1
        fi
        version=$("$tool" --version 2>/dev/null | sed -n 's/^[a-z]* \([0-9]*\.[0-9]*\).*/\1/p')
        if ! is_at_least "${version:-0.0}" "$wanted"; then
            say "$tool is ${version:-of an unknown version} ($(command -v "$tool")). tardy needs Rust $wanted or later:"
            say "    $(rustup_command)"
            exit 1
        fi
    done
}

# Whether version $1 is $2 or later, by major and minor number.
is_at_least() {
    [ "${1%%.*}" -gt "${2%%.*}" ] ||
        { [ "${1%%.*}" -eq "${2%%.*}" ] && [ "${1#*.}" -ge "${2#*.}" ]; }
}

# Those of the packages given that are not installed.
missing_of() {
    # Names that dpkg does not know go to stderr and make it fail; they are missing too.
    # shellcheck disable=SC2016  # the format is dpkg-query's, not the shell's
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
        sed -n 's/^installed //p') || true
    for package in "$@"; do
        printf '%s\n' "$installed" | grep -qx "$package" || printf '%s ' "$package"
    done
}

install() {
    command="apt-get update && apt-get install -y --no-install-recommends $*"
    if [ "$(id -u)" -eq 0 ]; then
        as_root=""
    elif has sudo; then
        as_root="sudo"
    else
        say "packages are missing, and this is neither root nor is there sudo. As root:"
        say "    $command"
        exit 1
    fi
    say "installing $*"
    # shellcheck disable=SC2086  # an empty prefix is to vanish
    if ! { $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"; } >&2
    then
        say "that failed (apt's own words stand above). By hand, as root:"
        say "    $command"
        case "$*" in
        *-19*) say "Debian 12 and 13 and Ubuntu 24.04 have clang-19 and llvm-19; for older ones see https://apt.llvm.org" ;;
        esac
        exit 1
    fi
}

# Rust's library for guests of another architecture.
check_target() {
    vm_target=$1
    library=$(rustc --print target-libdir --target "$vm_target" 2>/dev/null) || library=""
    [ -z "$library" ] || [ ! -d "$library" ] || return 0
    if ! has rustup; then
        say "Rust's library for $vm_target is not there, and without rustup it is not to be had. With:"
        say "    $(rustup_command) && rustup target add $vm_target"
        exit 1
    fi
    say "adding Rust's library for $vm_target"
    if ! rustup target add "$vm_target" >&2; then
        say "that failed (rustup's own words stand above). By hand:"
        say "    rustup target add $vm_target"
        exit 1
    fi
}

# Without dpkg: whether the tools themselves are there.
check_tools() {
    absent=""
    has clang-19 || has clang || absent="$absent clang(19)"
    has llvm-strip-19 || has llvm-strip || absent="$absent llvm-strip(19)"
    for tool in gcc make pkg-config; do
        has "$tool" || absent="$absent $tool"
    done
    for library in libelf zlib; do
        ! has pkg-config || pkg-config --exists "$library" || absent="$absent $library-headers"
    done
    if [ "$1" = test ]; then
        for tool in cyclictest trace-cmd strace; do
            has "$tool" || absent="$absent $tool"
        done
    fi
    if [ "$1" = vm ]; then
        for tool in qemu-system-x86_64 qemu-system-arm qemu-system-aarch64 arm-linux-gnueabihf-gcc \
            aarch64-linux-gnu-gcc flex bison bc patch pahole xz; do
            has "$tool" || absent="$absent $tool"
        done
        ! has pkg-config || pkg-config --exists libcrypto || absent="$absent libcrypto-headers"
    fi
    [ -z "$absent" ] && return
    say "this is no Debian, so nothing is installed from here. Missing:$absent"
    say "Debian calls them: $2"
    exit 1
}

mode=${1:-run}
case "$mode" in
run) packages=$build_packages ;;
test) packages="$build_packages $test_packages" ;;
vm) packages="$build_packages $vm_packages" ;;
*)
    say "usage: scripts/setup.sh [run|test|vm]"
    exit 2
    ;;
esac

check_rust
if has dpkg-query && has apt-get; then
    # shellcheck disable=SC2086  # lists of names
    missing=$(missing_of $packages)
    # shellcheck disable=SC2086
    [ -z "$missing" ] || install $missing
    # shellcheck disable=SC2086
    if [ "$mode" = test ] && [ -n "${TARDY_TEST_VM:-}" ] && [ -n "$(missing_of $guest_packages)" ]; then
        # shellcheck disable=SC2086
        (install $guest_packages) || say "without it tests that boot guests are skipped"
    fi
else
    check_tools "$mode" "$packages"
fi
[ "$mode" != vm ] || for target in $vm_targets; do check_target "$target"; done
