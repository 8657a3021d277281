/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Victims that wait and know when they should have been back, culprits that keep them from it and know
 * when they did. What each saw is written when all is over; nothing is printed while they run.
 */
#ifndef INJECT_H
#define INJECT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define NS_PER_SEC 1000000000LL
#define NS_PER_US 1000LL
#define NS_PER_MS 1000000LL

/* Entries of a log; what comes after is counted, not kept. */
#define LOG_MAX 200000

/* Between two readings of the clock that are further apart the thread did not run. */
#define AWAY_NS (20 * NS_PER_US)

/* One time that a thread saw: a wait, a run, a held lock. What the numbers are is in log.c. */
struct entry {
	const char *what;
	int cpu;
	long long at[3];
};

struct log {
	char name[16];
	pid_t tid;
	uint64_t random;
	size_t count, missed;
	struct entry *entries;
};

/* What all threads go by; set before they start. */
struct plan {
	int cpu, other_cpu;
	long long begin_ns, end_ns;
	const char *group;
	volatile bool stop;
};
extern struct plan plan;

long long now_ns(void);
void sleep_until(long long ns);
void die(const char *what) __attribute__((noreturn));

/* log.c */
void log_begin(struct log *log, const char *name);
void log_add(struct log *log, const char *what, int cpu, long long a, long long b, long long c);
void log_write(const struct log *log, FILE *out);
long long between(struct log *log, long long low, long long high);

/* thread.c: what a thread is, and the calls that the C library has no name for. */
typedef void body(struct log *log);
enum { ORDINARY = 0 };
void start(const char *name, int prio, int cpu, body *run);
void finish(FILE *out);
void move_to(int cpu);
void be_deadline(long long runtime_ns, long long period_ns);
void enter_group(void);
bool over(void);

/* ran.c: a thread that writes down when it ran. */
void run_for(struct log *log, const char *what, long long ns);

/* The victims, and the culprits by name. */
void start_victims(bool real_time);
struct culprit {
	const char *name, *summary;
	void (*start)(void);
};
extern const struct culprit spin, deadline, budget, contend, unmap, call, membarriers, tlb, remote_membarriers,
	remote_tlb, quota, pi_chain, plain_chain, fault, asleep, asleep_plain;

#endif
