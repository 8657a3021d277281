// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Culprits that do nothing but run, and know when: their clock tells. Where two readings are far apart,
 * the thread was kept from running: that ends a run and begins another, and the time between is a line of
 * its own. It was "away" where the kernel counts a switch meanwhile, and "stopped" on its CPU, by an interrupt
 * or the hypervisor, where it counts none.
 */
#include "inject.h"

#include <sched.h>
#include <sys/resource.h>

/* How often the thread has left its CPU. */
static long switches(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		die("getrusage");
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Is busy for so long on the clock, and writes down each time that it ran through. */
void run_for(struct log *log, const char *what, long long ns)
{
	long long begin = now_ns(), last = begin, end = begin + ns;
	int cpu = sched_getcpu();
	long left = switches();

	while (last < end) {
		int cpu_now = sched_getcpu();
		long long now = now_ns();

		if (now - last > AWAY_NS || cpu_now != cpu) {
			long left_now = switches();

			log_add(log, what, cpu, begin, last, 0);
			log_add(log, left_now != left ? "away" : "stopped", cpu, last, now, 0);
			left = left_now;
			begin = now;
			cpu = cpu_now;
		}
		last = now;
	}
	log_add(log, what, cpu, begin, last, 0);
}

#define BUSY_MIN_NS (300 * NS_PER_US)
#define BUSY_MAX_NS (1500 * NS_PER_US)

static void busy_at_random_phases(struct log *log)
{
	while (!over()) {
		sleep_until(now_ns() + between(log, 3 * NS_PER_MS, 8 * NS_PER_MS));
		run_for(log, "ran", between(log, BUSY_MIN_NS, BUSY_MAX_NS));
	}
}

static void start_spin(void)
{
	start_victims(true);
	start("inj-spin", 60, plan.cpu, busy_at_random_phases);
}
const struct culprit spin = { "spin", "a spinner at SCHED_FIFO 60", start_spin };

/*
 * A deadline thread has to be allowed on all CPUs. There are two, busy at the same times, so that
 * one of them is on the victims' where there are two CPUs; each writes down where it ran.
 */
#define DEADLINES 2

static void deadline_thread(struct log *log)
{
	long long next = plan.begin_ns;

	be_deadline(4 * NS_PER_MS, 16 * NS_PER_MS);
	/* The same phases in each. */
	log->random = (uint64_t)plan.begin_ns | 1;
	while (!over()) {
		long long busy = between(log, BUSY_MIN_NS, BUSY_MAX_NS);

		next += between(log, 3 * NS_PER_MS, 8 * NS_PER_MS) + busy;
		sleep_until(next);
		run_for(log, "ran", busy);
	}
}

static void start_deadline(void)
{
	start_victims(true);
	for (int i = 0; i < DEADLINES; i++)
		start("inj-deadline", ORDINARY, -1, deadline_thread);
}
const struct culprit deadline = { "deadline", "a hog at SCHED_DEADLINE", start_deadline };

/* A thread whose own budget keeps it from running: the culprit is its budget, the record its clock. */
#define BUDGET_NS NS_PER_MS
#define BUDGET_PERIOD_NS (4 * NS_PER_MS)

static void budget_thread(struct log *log)
{
	be_deadline(BUDGET_NS, BUDGET_PERIOD_NS);
	while (!over()) {
		sleep_until(now_ns() + between(log, NS_PER_MS, 8 * NS_PER_MS));
		run_for(log, "ran", 2 * BUDGET_PERIOD_NS);
	}
}

static void start_budget(void)
{
	start("v-budget", ORDINARY, -1, budget_thread);
}
const struct culprit budget = { "budget", "a deadline thread beyond its own budget", start_budget };

static void contender(struct log *log)
{
	while (!over()) {
		run_for(log, "ran", between(log, BUSY_MIN_NS, 6 * NS_PER_MS));
		sleep_until(now_ns() + between(log, NS_PER_MS, 5 * NS_PER_MS));
	}
}

static void start_contend(void)
{
	start_victims(true);
	start("inj-contend", ORDINARY, plan.cpu, contender);
}
const struct culprit contend = { "contend", "an ordinary thread that is busy", start_contend };

/* In the victims' control group, whose quota it uses up: it is away until the next period. */
static void group_hog(struct log *log)
{
	run_for(log, "ran", plan.end_ns - now_ns());
}

static void start_quota(void)
{
	enter_group();
	start_victims(false);
	start("inj-hog", ORDINARY, plan.cpu, group_hog);
}
const struct culprit quota = { "quota", "a control group's cpu.max", start_quota };
