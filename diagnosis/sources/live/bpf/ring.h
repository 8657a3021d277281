/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A ring of 32-byte records per CPU, in memory that the recorder maps. Writing a record is a claim
 * (one atomic addition: only interrupts of the same CPU come between), the record's stores, and a
 * publishing store of its time: no lock, no loop, no wakeup of the reader, no copy. What runs here
 * makes late whom it watches, so every instruction counts.
 *
 * A record of two slots has them side by side: the ring ends with one slot more than its size, into
 * which the second half of a record in the last one goes. The first slot is left out that time.
 *
 * There are two ways to use a ring.
 *
 * A stream: the reader takes what is published, zeroes its time, and gives the slots back. A slot
 * whose time is 0 is claimed but not written yet; the reader stops at it. Whether there is room is
 * asked before the claim. An interrupt between the two may take the room that was seen, so some slots
 * are kept in reserve: for the claim itself, a loss, and one claim of each context that a CPU nests.
 *
 * A flight recorder: there is always room (the loader sets a limit that no head reaches), so that the
 * newest takes the place of the oldest. The reader copies what is there while the programs go on: he
 * reads the head, waits until claims before it are written, copies, and reads the head again; what was
 * claimed meanwhile may have taken the oldest slots, which he leaves out. A claim zeroes its slot's time
 * at once, so that one that never came to its end is no older record. Who was current is told by
 * switches: with all of a CPU's records before him, the reader knows it for each.
 *
 * The claim comes before the clock is read. So when the reader finds a CPU's ring empty at T, every
 * record of that CPU that comes later has a time after T, and what is older can be released in
 * order. (With the clock read first, an interrupt or a hypervisor between the two could slip an
 * older record in behind the reader's back.) Only the first expiry of a loop has a time before its
 * claim, the loop's own reading of the clock: the reader allows for some hundred instructions.
 */
#pragma once

struct record {
	__u64 time_ns;
	/* The task in 32 bits, 16 bits of nothing (the ring tells the CPU), the tag, the flags. */
	__u64 what;
	__u64 a;
	/* Two numbers of 32 bits, the lower half first. */
	__u64 bc;
};

struct ring {
	/* Written here: slots claimed since the start. */
	__u64 head;
	/* Up to where the reader is known to have made room; 0 while a loss is to be told of. */
	__u64 limit;
	/* Records dropped since the last one written, and the time of the first of them. */
	__u64 lost;
	__u64 lost_since_ns;
	/* Records dropped since the start. */
	__u64 lost_total;
	/* In a stream: the task (its address) whose waking is told with its timer if it comes next, and the
	   head then. */
	__u64 expected;
	__u64 expected_head;
	/* The clock that the last expiry loop went by. */
	__u64 loop_ns;
	/* This CPU's hrtimer_clock_base of CLOCK_MONOTONIC for timers that expire in the interrupt, once
	   one has. */
	__u64 monotonic_base;
	/* Written by the reader: slots given back since the start. */
	__u64 tail;
	/* Written here: what the hypervisor had stolen from this CPU since its start when that was looked at
	   last, and 1; 0 before. */
	__u64 stolen;
	/* In a flight recorder: who came to run at the last switch, and its priority above that; 0 before the
	   first. */
	__u64 current;
	__u64 pad1[4];
	/* Then the slots. */
};

/* Set by the loader, as is the size of the map's values, which follows from it. */
const volatile __u32 slots_mask = 63;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct ring) + 65 * sizeof(struct record));
} rings SEC(".maps");

/* A claim: where its first record goes, how many slots were claimed before, and its time. */
struct claim {
	struct record *record;
	__u64 at;
	__u64 time_ns;
};

static __always_inline void publish(struct record *record, __u64 time_ns)
{
#if defined(__TARGET_ARCH_x86)
	/* Stores are seen in order here; the volatile keeps the compiler from moving this one. */
	asm volatile("" ::: "memory");
	*(volatile __u64 *)&record->time_ns = time_ns;
#else
	/* An exchange is the one full barrier that every BPF JIT has. */
	__sync_lock_test_and_set(&record->time_ns, time_ns);
#endif
}

static __always_inline __u64 both(__u32 low, __u32 high)
{
	return (__u64)low | (__u64)high << 32;
}

static __always_inline __u32 halves(__u16 low, __u16 high)
{
	return (__u32)low | (__u32)high << 16;
}

static __always_inline __u64 what(__u32 task, __u8 tag, __u8 flags)
{
	return (__u64)task | (__u64)tag << 48 | (__u64)flags << 56;
}

/* The slot that was the `at`-th to be claimed. */
static __always_inline struct record *slot_at(struct ring *ring, __u64 at)
{
	return (void *)(ring + 1) + (at & slots_mask) * sizeof(struct record);
}

/* The slots at the head are the caller's from now on, and not written yet. */
static __always_inline void take_slots(struct claim *claim, struct ring *ring, __u32 n)
{
	claim->at = __sync_fetch_and_add(&ring->head, (__u64)n);
	claim->record = slot_at(ring, claim->at);
	*(volatile __u64 *)&claim->record->time_ns = 0;
}

/* Fills the record of a claim and publishes it. */
static __always_inline void put(const struct claim *claim, __u32 task, __u8 tag, __u8 flags,
				__u64 a, __u64 bc)
{
	claim->record->what = what(task, tag, flags);
	claim->record->a = a;
	claim->record->bc = bc;
	publish(claim->record, claim->time_ns);
}

/*
 * The way of a claim that finds no room known. Looks at how far the reader is; where records were
 * dropped since the last one written, a loss record goes in first. Returns 0 where the ring is full.
 */
static __noinline int make_room(struct ring *ring)
{
	__u64 limit = *(volatile __u64 *)&ring->tail + slots_mask + 1 - RESERVED_SLOTS;
	__u64 lost;

	if (ring->head > limit) {
		ring->limit = 0;
		if (!__sync_fetch_and_add(&ring->lost, 1))
			ring->lost_since_ns = bpf_ktime_get_ns();
		__sync_fetch_and_add(&ring->lost_total, 1);
		return 0;
	}
	ring->limit = limit;
	lost = __sync_lock_test_and_set(&ring->lost, 0);
	if (lost) {
		__u64 since_ns = ring->lost_since_ns;
		struct claim claim;

		take_slots(&claim, ring, 1);
		claim.time_ns = bpf_ktime_get_ns();
		put(&claim, 0, TAG_LOSS, 0, since_ns, (__u32)lost);
	}
	return 1;
}

/* The ring of this CPU. Programs are not moved to another while they run. */
static __always_inline struct ring *own_ring(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

/* Claims n slots, one or two, without a time. Returns 0 where the ring is full; the loss is counted. */
static __always_inline int claim_room(struct claim *claim, struct ring *ring, __u32 n)
{
	if (!ring)
		return 0;
	if (ring->head > ring->limit && !make_room(ring))
		return 0;
	take_slots(claim, ring, n);
	return 1;
}

/* Claims n slots, and reads the clock. */
static __always_inline int claim_slots(struct claim *claim, __u32 n)
{
	if (!claim_room(claim, own_ring(), n))
		return 0;
	claim->time_ns = bpf_ktime_get_ns();
	return 1;
}

/* Enumerators are looked up by name, whatever numbers they have here. */
enum bpf_func_id___current {
	BPF_FUNC_get_current_task_btf___current = 1,
};

/* The thread id of the task that is current. */
static __always_inline __u32 own_id(void)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id___current,
				       BPF_FUNC_get_current_task_btf___current))
		return bpf_get_current_task_btf()->pid;
	return (__u32)bpf_get_current_pid_tgid();
}

/* A timer's expiry was claimed whose task, if it is woken next, is told with that. */
static __always_inline void expect_waking(struct ring *ring, const struct claim *claim, __u64 task)
{
	ring->expected = task;
	ring->expected_head = claim->at + 2;
}

/* Whether a waking is the expected one. With something told in between it may be another. */
static __always_inline bool is_expected(struct ring *ring, __u64 head, const void *task)
{
	return ring->expected == (__u64)task && ring->expected_head == head;
}

/* One record about a task: what most hooks write about the current one. */
static __always_inline int emit_of(__u32 task, __u8 tag, __u8 flags, __u64 a, __u64 bc)
{
	struct claim claim;

	if (claim_slots(&claim, 1))
		put(&claim, task, tag, flags, a, bc);
	return 0;
}

static __always_inline int emit(__u8 tag, __u8 flags, __u64 a, __u32 b, __u32 c)
{
	return emit_of(own_id(), tag, flags, a, both(b, c));
}
