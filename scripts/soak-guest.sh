# What `scripts/soak.py --guest` runs in the guest, by busybox's sh, with these set:
#   loads watched over buffer duration every
#
# Loads and watch have a control group each, with equal weights, as two services have: beside two hundred threads that
# all want the one CPU, a watch gets next to nothing otherwise. A line of samples.txt is a look at the watch and all that
# it started: names and numbers. It is copied out while it grows, so a guest that ends early has lost nothing.
groups=/tmp/groups
mkdir "$groups"
mount -t cgroup2 none "$groups"
echo +cpu >"$groups/cgroup.subtree_control"
mkdir "$groups/loads" "$groups/watch"

# Runs a command in a group, in place of this shell.
within() {
    echo 0 >"$groups/$1/cgroup.procs"
    shift
    exec "$@"
}

# The processes that have this one as a parent, or a parent's parent; parents have smaller numbers, and come first.
family() {
    found=" $1 "
    for stat in $(ls /proc | sort -n); do
        line=
        read -r line <"/proc/$stat/stat" || continue
        set -- ${line##*) }
        case $found in *" $2 "*) found="$found$stat " ;; esac
    done 2>/dev/null
    echo $found
}

look() {
    rss=0 anonymous=0 descriptors=0 threads=0
    for process in $(family "$watch"); do
        while read -r name value rest; do
            case $name in
                VmRSS:) rss=$((rss + value)) ;;
                RssAnon:) anonymous=$((anonymous + value)) ;;
                Threads:) threads=$((threads + value)) ;;
            esac
        done <"/proc/$process/status"
        set -- "/proc/$process/fd/"*
        descriptors=$((descriptors + $#))
    done 2>/dev/null
    read -r seconds rest </proc/uptime
    while read -r name value rest; do
        [ "$name" = ctxt ] && switches=$value
    done </proc/stat
    echo "seconds $seconds rss $rss anonymous $anonymous descriptors $descriptors threads $threads switches $switches"
}

(within loads tardy load "$loads" -q) >loads.txt 2>&1 &
loading=$!
(within watch tardy load "$watched" -q) >watched.txt 2>&1 &
late=$!
# Until all of them have begun, they need the CPU for themselves.
sleep 60
# Looks come in time.
renice -n -20 -p $$
(within watch tardy watch -q --json --over "$over" --buffer "$buffer" -D "$duration" -o /tmp/watch) >said.json 2>watch.txt &
watch=$!
while kill -0 "$watch" 2>/dev/null; do
    look >>samples.txt
    [ -f /tmp/watch/watch.json ] && cp /tmp/watch/watch.json so-far.json
    sleep "$every"
done
wait "$watch"
ended=$?
echo "ended $ended" >>samples.txt
kill "$loading" "$late"
cp -r /tmp/watch kept
exit "$ended"
