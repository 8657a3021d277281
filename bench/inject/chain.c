// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Locks three deep. In each round inj-owner takes the first lock and is busy with it; link-1 has the
 * second and wants the first, link-2 has the third and wants the second, and the victim wants the
 * third. Who keeps the victim waiting is inj-owner, whoever else has a lock.
 */
#include "inject.h"

#include <sched.h>

#define ROUND_NS (6 * NS_PER_MS)
/* From the owner's lock to link-1's, and so on: each must find the one before it in place. */
#define STEP_NS (300 * NS_PER_US)
#define BUSY_MIN_NS (1500 * NS_PER_US)
#define BUSY_MAX_NS (3500 * NS_PER_US)

static pthread_mutex_t locks[3];
static long long first_ns;

static long long round_ns(long round)
{
	return first_ns + round * ROUND_NS;
}

static void owner(struct log *log)
{
	for (long round = 0; !over(); round++) {
		long long begin;

		/* Once beside its victim, once on the other CPU. */
		move_to(round % 2 ? plan.cpu : plan.other_cpu);
		sleep_until(round_ns(round));
		pthread_mutex_lock(&locks[0]);
		begin = now_ns();
		run_for(log, "ran", between(log, BUSY_MIN_NS, BUSY_MAX_NS));
		log_add(log, "held", sched_getcpu(), begin, now_ns(), 0);
		pthread_mutex_unlock(&locks[0]);
	}
}

static void link_at(int number)
{
	for (long round = 0; !over(); round++) {
		sleep_until(round_ns(round) + number * STEP_NS);
		pthread_mutex_lock(&locks[number]);
		pthread_mutex_lock(&locks[number - 1]);
		pthread_mutex_unlock(&locks[number - 1]);
		pthread_mutex_unlock(&locks[number]);
	}
}

static void link_1(struct log *log) { (void)log; link_at(1); }
static void link_2(struct log *log) { (void)log; link_at(2); }

static void victim(struct log *log)
{
	for (long round = 0; !over(); round++) {
		long long called;

		sleep_until(round_ns(round) + 3 * STEP_NS + between(log, 0, STEP_NS));
		called = now_ns();
		pthread_mutex_lock(&locks[2]);
		log_add(log, "lock", plan.cpu, called, called, now_ns());
		pthread_mutex_unlock(&locks[2]);
	}
}

static void start_chain(int protocol)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, protocol);
	for (int i = 0; i < 3; i++)
		pthread_mutex_init(&locks[i], &attr);
	first_ns = now_ns() + 20 * NS_PER_MS;
	start("inj-owner", 10, plan.other_cpu, owner);
	start("link-1", 20, plan.other_cpu, link_1);
	start("link-2", 30, plan.cpu, link_2);
	start("v-lock-40", 40, plan.cpu, victim);
}

static void start_pi(void) { start_chain(PTHREAD_PRIO_INHERIT); }
static void start_plain(void) { start_chain(PTHREAD_PRIO_NONE); }
const struct culprit pi_chain = { "pi", "PI mutexes three deep", start_pi };
const struct culprit plain_chain = { "plain", "plain mutexes three deep", start_plain };
