/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A ring of 32-byte records per CPU, in memory that the recorder maps. Writing a record is a claim
 * (one compare-and-swap, contended only by interrupts of the same CPU), the record's stores, and a
 * publishing store of its time: no lock, no wakeup of the reader, no copy.
 *
 * A slot whose time is 0 is claimed but not written yet; the reader stops at it. The reader zeroes
 * the time of what it has read before it gives the slot back.
 *
 * The claim comes before the clock is read. So when the reader finds a CPU's ring empty at T, every
 * record of that CPU that comes later has a time after T, and what is older can be released in
 * order. (With the clock read first, an interrupt or a hypervisor between the two could slip an
 * older record in behind the reader's back.)
 */
#pragma once

struct record {
	__u64 time_ns;
	__u32 task;
	__u16 cpu;
	__u8 tag;
	__u8 flags;
	__u64 a;
	__u32 b;
	__u32 c;
};

struct ring {
	/* Written here: records claimed since the start. */
	__u64 head;
	/* Records dropped since the last one written, and the time of the first of them. */
	__u64 lost;
	__u64 lost_since_ns;
	/* Records dropped since the start. */
	__u64 lost_total;
	__u64 pad0[4];
	/* Written by the reader: records given back since the start. */
	__u64 tail;
	__u64 pad1[7];
};

/* Set by the loader, as are the sizes of both maps, which follow from it. */
const volatile __u32 slots_shift = 16;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ring);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct record);
} slots SEC(".maps");

/* A claim: where its records go and the time they all carry. */
struct claim {
	__u64 time_ns;
	__u64 at;
	__u32 cpu;
};

/* An interrupt may win the race for a slot this often in a row before the record counts as lost. */
#define CLAIM_TRIES 4

static __always_inline struct record *slot(const struct claim *claim, __u32 i)
{
	__u32 mask = (1U << slots_shift) - 1;
	__u32 index = (claim->cpu << slots_shift) + ((__u32)(claim->at + i) & mask);

	return bpf_map_lookup_elem(&slots, &index);
}

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

/*
 * Claims n slots. Where records were dropped since the last one written, a loss record goes in
 * first. Returns 0 where the ring is full; the loss is counted.
 */
static __always_inline int claim_slots(struct claim *claim, __u32 n)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct ring *ring = bpf_map_lookup_elem(&rings, &cpu);
	__u64 head, tail;
	__u32 need;
	int i;

	if (!ring)
		return 0;
	claim->cpu = cpu;
	for (i = 0; i < CLAIM_TRIES; i++) {
		need = n + (ring->lost ? 1 : 0);
		head = *(volatile __u64 *)&ring->head;
		tail = *(volatile __u64 *)&ring->tail;
		if (head + need - tail > (1U << slots_shift))
			break;
		if (__sync_val_compare_and_swap(&ring->head, head, head + need) != head)
			continue;
		claim->at = head;
		claim->time_ns = bpf_ktime_get_ns();
		if (need > n) {
			struct record *loss = slot(claim, 0);

			claim->at++;
			if (!loss)
				return 0;
			loss->task = 0;
			loss->cpu = cpu;
			loss->tag = TAG_LOSS;
			loss->flags = 0;
			loss->a = ring->lost_since_ns;
			loss->b = (__u32)__sync_lock_test_and_set(&ring->lost, 0);
			loss->c = 0;
			publish(loss, claim->time_ns);
		}
		return 1;
	}
	if (!__sync_fetch_and_add(&ring->lost, 1))
		ring->lost_since_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&ring->lost_total, 1);
	return 0;
}

/* The task that is current, by thread id. */
static __always_inline __u32 current_task(void)
{
	return (__u32)bpf_get_current_pid_tgid();
}

/* Fills the i-th record of a claim and publishes it. */
static __always_inline void put(const struct claim *claim, __u32 i, __u32 task, __u8 tag,
				__u8 flags, __u64 a, __u32 b, __u32 c)
{
	struct record *record = slot(claim, i);

	if (!record)
		return;
	record->task = task;
	record->cpu = claim->cpu;
	record->tag = tag;
	record->flags = flags;
	record->a = a;
	record->b = b;
	record->c = c;
	publish(record, claim->time_ns);
}

/* One record about the current task: what most hooks write. */
static __always_inline int emit(__u8 tag, __u8 flags, __u64 a, __u32 b, __u32 c)
{
	struct claim claim;

	if (claim_slots(&claim, 1))
		put(&claim, 0, current_task(), tag, flags, a, b, c);
	return 0;
}

static __always_inline __u32 halves(__u16 low, __u16 high)
{
	return (__u32)low | (__u32)high << 16;
}
