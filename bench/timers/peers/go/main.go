// Go's runtime timers, by time.AfterFunc, Reset and Stop. They run in real time only, so none fires
// here: all are due hours from now, and what the script lets fire is stopped.
//
//	timers FILE WARM_UPS      prints one line of JSON: ns, operations, bytes
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"
)

const (
	insert = iota
	cancel
	rearm
	pop
)

// Beyond the end of any benchmark.
const far = 24 * time.Hour

type record struct{ head, time uint64 }

type script struct {
	slots          uint64
	filling, timed []record
}

func check(err error) {
	if err != nil {
		fail(err)
	}
}

func fail(why any) {
	fmt.Fprintln(os.Stderr, "go:", why)
	os.Exit(1)
}

func read(path string) script {
	file, err := os.Open(path)
	check(err)
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<20)
	var bytes [32]byte
	_, err = io.ReadFull(in, bytes[:])
	check(err)
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(bytes[at*8:]) }
	if string(bytes[:8]) != "tardytm1" {
		fail("no list of timer operations")
	}
	slots, setup, all := word(1), word(2), word(3)
	records := make([]record, all)
	for at := range records {
		_, err = io.ReadFull(in, bytes[:16])
		check(err)
		records[at] = record{word(0), word(1)}
	}
	return script{slots, records[:setup], records[setup:]}
}

func after(ticks uint64) time.Duration { return far + time.Duration(ticks)*time.Millisecond }

func nothing() {}

// How many operations on timers there were.
func play(timers []*time.Timer, records []record) (operations uint64) {
	for _, record := range records {
		index := uint32(record.head)
		switch record.head >> 32 {
		case insert:
			if old := timers[index]; old != nil {
				stop(old)
			}
			timers[index] = time.AfterFunc(after(record.time), nothing)
			operations++
		case cancel:
			stop(timers[index])
			timers[index] = nil
			operations++
		case rearm:
			if !timers[index].Reset(after(record.time)) {
				fail("a timer is not found")
			}
			operations++
		case pop:
			// Stopped when it is inserted again.
			operations += uint64(index)
		}
	}
	return operations
}

func stop(timer *time.Timer) {
	if !timer.Stop() {
		fail("a timer is not found")
	}
}

func allocated() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: timers FILE WARM_UPS")
		os.Exit(2)
	}
	script := read(os.Args[1])
	warmUps, err := strconv.Atoi(os.Args[2])
	check(err)
	// Of the first run: in later ones the collector takes back what earlier ones left.
	var bytes uint64
	for first := true; warmUps >= 0; warmUps-- {
		timers := make([]*time.Timer, script.slots)
		before := allocated()
		play(timers, script.filling)
		if first {
			bytes, first = allocated()-before, false
		}
		start := time.Now()
		operations := play(timers, script.timed)
		ns := time.Since(start).Nanoseconds()
		if warmUps == 0 {
			fmt.Printf("{\"ns\": %d, \"operations\": %d, \"bytes\": %d, \"version\": %q}\n", ns, operations, bytes, runtime.Version())
		}
		for _, timer := range timers {
			timer.Stop()
		}
	}
}
