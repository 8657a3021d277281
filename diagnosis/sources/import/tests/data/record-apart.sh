#!/bin/sh
# Runs `trace-cmd record` with the given arguments apart from everybody else: in a mount namespace of
# its own, in a trace instance of its own, so that neither mounts nor trace settings of the machine
# change. Needs root, trace-cmd, unshare.
#
#   record-apart.sh [--kallsyms FILE] [--cmdlines FILE] ARGUMENTS OF trace-cmd record
#
# What the trace is to hold as /proc/kallsyms and as the kernel's list of names of tasks, which are
# some MB and 100 kB as they are.
set -eu
if [ "${APART:-}" != yes ]; then
    APART=yes exec unshare --mount --propagation private -- sh "$0" "$@"
fi
tracing=/sys/kernel/tracing
# trace-cmd takes the first that it finds.
while read -r _ at kind _; do
    case $kind in tracefs | debugfs) umount -l "$at" 2>/dev/null || true ;; esac
done < /proc/mounts
mount -t tracefs tracefs "$tracing"
instance="$tracing/instances/tardy_test_$$"
mkdir "$instance"
scratch=$(mktemp -d)
# Ends with the last process of this namespace otherwise, instance and scratch files do not.
trap 'cd /; umount -R "$tracing" 2>/dev/null || umount -l "$tracing"
      mount -t tracefs tracefs "$tracing"; rmdir "$instance"; rm -rf "$scratch"' EXIT
while :; do
    case $1 in
        --kallsyms) mount --bind "$2" /proc/kallsyms ;;
        --cmdlines) mount --bind "$2" "$tracing/saved_cmdlines" ;;
        *) break ;;
    esac
    shift 2
done
# What an instance has of its own stands in the place of the whole machine's.
for file in "$instance"/*; do
    mount --bind "$file" "$tracing/${file##*/}"
done
# Function tracing may be forbidden (lockdown), and is not wanted; trace-cmd resets it all the same.
echo 1 > "$scratch/one"
: > "$scratch/empty"
if [ -e /proc/sys/kernel/ftrace_enabled ]; then
    mount --bind "$scratch/one" /proc/sys/kernel/ftrace_enabled
fi
for file in "$tracing"/set_ftrace_* "$tracing"/set_graph_*; do
    [ -e "$file" ] && mount --bind "$scratch/empty" "$file"
done
trace-cmd record "$@"
