// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What a thread saw, in memory that is there before it begins. Written as lines:
 *
 *	thread TID NAME
 *	wait TID CPU ARMED DUE BACK	a victim: called, should be back, is back
 *	lock TID CPU CALLED CALLED HAS	a victim: wants a lock, has it
 *	WHAT TID CPU BEGIN END AWAY	a culprit: ran, held or was kept from running, and for how many
 *					of these ns it knows that it did not run
 *	missed TID COUNT		entries that had no room
 *
 * All times are CLOCK_MONOTONIC.
 */
#include "inject.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void log_begin(struct log *log, const char *name)
{
	strncpy(log->name, name, sizeof(log->name) - 1);
	prctl(PR_SET_NAME, log->name);
	log->tid = gettid();
	log->random = 0x9e3779b97f4a7c15ULL * (uint64_t)log->tid ^ (uint64_t)now_ns();
	log->entries = malloc(LOG_MAX * sizeof(*log->entries));
	if (!log->entries)
		die("memory for a log");
	/* So that no page is missing later. */
	memset(log->entries, 0, LOG_MAX * sizeof(*log->entries));
}

void log_add(struct log *log, const char *what, int cpu, long long a, long long b, long long c)
{
	if (log->count == LOG_MAX) {
		log->missed++;
		return;
	}
	log->entries[log->count++] = (struct entry){ what, cpu, { a, b, c } };
}

void log_write(const struct log *log, FILE *out)
{
	fprintf(out, "thread %d %s\n", log->tid, log->name);
	for (size_t i = 0; i < log->count; i++) {
		const struct entry *entry = &log->entries[i];

		fprintf(out, "%s %d %d %lld %lld %lld\n", entry->what, log->tid, entry->cpu,
			entry->at[0], entry->at[1], entry->at[2]);
	}
	if (log->missed)
		fprintf(out, "missed %d %zu\n", log->tid, log->missed);
}

/* A number from `low` up to `high`, so that phases are of no period (xorshift). */
long long between(struct log *log, long long low, long long high)
{
	log->random ^= log->random << 13;
	log->random ^= log->random >> 7;
	log->random ^= log->random << 17;
	return low + (long long)(log->random % (uint64_t)(high - low));
}
