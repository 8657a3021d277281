#!/bin/sh
# Fuzzes one target after the other, and prints a row of the table in fuzz/README.md for each as it ends.
#
#   fuzz/campaign.sh EXECUTIONS [TARGET…]
#
# A fifth of the executions with comparisons watched, the rest without (run.sh); inputs are short, which is fast. What
# it says otherwise goes to fuzz/found/TARGET.log. Stopped by what breaks a target, it goes on with the next; exits
# with 1 then.
set -eu
executions=${1:?usage: fuzz/campaign.sh EXECUTIONS [TARGET…]}
shift
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- $(ls corpus)
mkdir -p found
failed=0
for target in "$@"; do
    case $target in
        event-format) longest=700 ;; # a format and its record
        explain) longest=120 ;;      # some fifteen events
        *) longest=300 ;;
    esac
    log=found/$target.log
    : >"$log"
    # The most edges come first from what watches comparisons.
    if ! { ./run.sh "$target" $((executions / 5)) -max_len=$longest -print_final_stats=1 >>"$log" 2>&1 &&
        TARDY_FUZZ_FAST=1 ./run.sh "$target" $((executions - executions / 5)) -max_len=$longest \
            -print_final_stats=1 >>"$log" 2>&1; }; then
        echo "$target breaks: see fuzz/$log, and what is new in fuzz/found/$target" >&2
        failed=1
    fi
    done=$(awk -F': *' '/stat::number_of_executed_units/ { sum += $2 } END { print sum + 0 }' "$log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    echo "| \`$target\` | $done | $(date -u +%Y-%m-%d) | $edges |"
done
exit $failed
