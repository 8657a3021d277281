#!/bin/sh
# Tests setup.sh against machines made of fake commands. Installs nothing, needs no rights.
set -eu
unset TARDY_TEST_VM # whoever runs this may have it

here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# A new machine: Debian with Rust 1.95 and all packages, used by root.
machine() {
    rm -rf "$folder/bin" "$folder/log" "$folder/armv7"
    mkdir "$folder/bin"
    : >"$folder/log"
    : >"$folder/not-installed"
    for tool in sh sed grep head dirname env cat; do
        ln -s "$(command -v "$tool")" "$folder/bin/$tool"
    done
    mkdir "$folder/armv7"
    fake rustc "case \$1 in
        --version) echo 'rustc 1.95.0 (59807616e 2026-04-14)' ;;
        --print) echo $folder/armv7 ;; esac"
    fake cargo 'echo "cargo 1.95.0 (f2d3ce0bd 2026-03-21)"'
    fake curl ''
    fake id 'echo 0'
    fake apt-get "echo \"apt-get \$*\" >>$folder/log"
    fake dpkg-query "shift 3; status=0
        for package in \"\$@\"; do
            if grep -qx \"\$package\" $folder/not-installed; then
                echo \"dpkg-query: no packages found matching \$package\" >&2; status=1
            else echo \"installed \$package\"; fi
        done; exit \$status"
}

fake() {
    printf '#!/bin/sh\n%s\n' "$2" >"$folder/bin/$1"
    chmod +x "$folder/bin/$1"
}

without() { rm "$folder/bin/$1"; }

not_installed() { printf '%s\n' "$@" >"$folder/not-installed"; }

# expect WHAT STATUS TEXT [MODE]: setup.sh ends with STATUS; TEXT is in what it says or does, or is
# empty where it must say and do nothing.
expect() {
    status=0
    said=$(PATH=$folder/bin HOME=$folder sh "$here/setup.sh" "${4:-run}" 2>&1) || status=$?
    all="$said
$(cat "$folder/log")"
    if [ "$status" -ne "$2" ]; then
        good=no
    elif [ -z "$3" ]; then
        [ -z "$said" ] && [ ! -s "$folder/log" ] && good=yes || good=no
    else
        case "$all" in *"$3"*) good=yes ;; *) good=no ;; esac
    fi
    if [ "$good" = yes ]; then
        echo "ok      $1"
    else
        failed=1
        printf 'FAILED  %s\nwanted %s and "%s", got %s and:\n%s\n' "$1" "$2" "$3" "$status" "$all"
    fi
}

machine
expect "all there: silent, no apt" 0 ""
expect "all there for the tests too" 0 "" test
expect "all there for guests too" 0 "" vm
expect "an unknown mode is wrong usage" 2 "usage:" install

machine
fake rustc 'echo "rustc 1.70.0 (90c541806 2023-05-31)"'
expect "an old rustc is named" 1 "rustc is 1.70 ($folder/bin/rustc)"
expect "and what brings a new one" 1 "https://sh.rustup.rs | sh -s -- -y"
fake rustup ''
expect "rustup where it is there" 1 "rustup update stable"

machine
minimum=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$here/../Cargo.toml")
fake rustc "echo 'rustc $minimum.0'"
expect "the minimum, $minimum, is enough" 0 ""
fake rustc "echo 'rustc 1.$((${minimum#*.} - 1)).9'"
expect "the version before it is not" 1 "rustc is 1.$((${minimum#*.} - 1))"
fake rustc 'echo "rustc 2.0.0"'
expect "a later major version is fine" 0 ""

machine
fake rustc 'exit 1'
expect "a broken rustc is named" 1 "rustc is of an unknown version"

machine
without cargo
expect "no cargo is named" 1 "cargo is not there"
without rustc
expect "no rustc is named" 1 "rustc is not there"
without curl
expect "without curl that comes first" 1 "apt-get install -y curl ca-certificates && curl"

machine
not_installed clang-19 libelf-dev rt-tests
expect "root installs what is missing" 0 "apt-get update -q
apt-get install -q -y --no-install-recommends clang-19 libelf-dev"
machine
not_installed clang-19 libelf-dev rt-tests
expect "the tests' packages too for tests" 0 "clang-19 libelf-dev rt-tests" test

machine
not_installed clang-19 qemu-system-arm dwarves
expect "what guests are made with too, for guests" 0 "clang-19 qemu-system-arm dwarves" vm

machine
rmdir "$folder/armv7"
expect "only guests need Rust's library for theirs" 0 "" test
expect "without rustup it is not to be had" 1 "rustup target add armv7-unknown-linux-gnueabihf" vm
fake rustup "echo \"rustup \$*\" >>$folder/log"
expect "rustup brings it" 0 "rustup target add armv7-unknown-linux-gnueabihf" vm
fake rustup 'echo "error: could not download"; exit 1'
expect "rustup's failure is passed on" 1 "error: could not download" vm
fake rustc 'case $1 in --version) echo "rustc 1.95.0" ;; *) exit 1 ;; esac'
expect "a rustc that does not know it is told" 1 "By hand:" vm

machine
not_installed qemu-system-x86
expect "without guests no QEMU" 0 "" test
TARDY_TEST_VM=1
export TARDY_TEST_VM
machine
not_installed qemu-system-x86
expect "for guests QEMU" 0 "apt-get install -q -y --no-install-recommends qemu-system-x86" test
machine
not_installed qemu-system-x86
fake apt-get 'exit 100'
expect "where it cannot be had they are skipped" 0 "tests that boot guests are skipped" test
unset TARDY_TEST_VM

machine
not_installed gcc
fake id 'echo 1000'
expect "a user without sudo is told" 1 "apt-get update && apt-get install -y --no-install-recommends gcc"
# shellcheck disable=SC2016  # for the fake command
fake sudo "echo \"sudo \$*\" >>$folder/log; exec \"\$@\""
expect "with sudo it is used" 0 "sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y"
fake sudo 'exit 1'
expect "a sudo that refuses is told" 1 "By hand, as root:"

machine
not_installed clang-19
fake apt-get 'echo "E: Unable to locate package clang-19"; exit 100'
expect "apt's failure is passed on" 1 "E: Unable to locate package clang-19"
expect "and where clang-19 is to be had" 1 "https://apt.llvm.org"

machine
without dpkg-query
expect "elsewhere the tools are named" 1 "Missing: clang(19) llvm-strip(19) gcc make pkg-config"
expect "and by Debian's names" 1 "libelf-dev zlib1g-dev"
for tool in clang llvm-strip gcc make; do fake "$tool" ''; done
# shellcheck disable=SC2016  # for the fake command
fake pkg-config '[ "$2" = zlib ]'
expect "a library without headers is named" 1 "Missing: libelf-headers"
fake pkg-config ''
expect "elsewhere with all tools: silent" 0 ""
expect "the tests' tools are asked for" 1 "Missing: cyclictest trace-cmd strace" test
for tool in cyclictest trace-cmd strace; do fake "$tool" ''; done
expect "and those that guests are made with" 1 "Missing: qemu-system-x86_64 qemu-system-arm" vm

exit $failed
