// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Victims: each sleeps a random while in its own way, and writes down when it called, when it should
 * have been back, and when it was. One of each at SCHED_FIFO 40 and one ordinary.
 */
#include "inject.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define VICTIM_PRIO 40

static struct timespec timespec_of(long long ns)
{
	return (struct timespec){ ns / NS_PER_SEC, ns % NS_PER_SEC };
}

/*
 * A way to wait for a time. `due` is absolute; the ways that have no such thing subtract `called`, which
 * is as short before the call as can be. They return at once where it is too late to call.
 */
struct way {
	int fd, epoll;
	timer_t timer;
	long long called;
};

static bool is_late(struct way *way, long long due)
{
	way->called = now_ns();
	return way->called >= due;
}

static void by_sleep(struct way *way, long long due)
{
	if (!is_late(way, due))
		sleep_until(due);
}

static void by_ppoll(struct way *way, long long due)
{
	struct timespec left;

	if (is_late(way, due))
		return;
	left = timespec_of(due - way->called);
	ppoll(NULL, 0, &left, NULL);
}

static void open_timerfd(struct way *way)
{
	way->fd = timerfd_create(CLOCK_MONOTONIC, 0);
	if (way->fd < 0)
		die("a timerfd");
}

static void by_timerfd(struct way *way, long long due)
{
	struct itimerspec at = { .it_value = timespec_of(due) };
	uint64_t count;

	if (is_late(way, due))
		return;
	timerfd_settime(way->fd, TFD_TIMER_ABSTIME, &at, NULL);
	if (read(way->fd, &count, sizeof(count)) != sizeof(count))
		die("an expiry of a timerfd");
}

static void open_epoll(struct way *way)
{
	way->epoll = epoll_create1(0);
	if (way->epoll < 0)
		die("an epoll");
}

static void by_epoll(struct way *way, long long due)
{
	struct epoll_event event;
	struct timespec left;

	if (is_late(way, due))
		return;
	left = timespec_of(due - way->called);
	syscall(SYS_epoll_pwait2, way->epoll, &event, 1, &left, NULL, 0);
}

static void open_timer(struct way *way)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN };

	event._sigev_un._tid = gettid();
	if (timer_create(CLOCK_MONOTONIC, &event, &way->timer))
		die("a POSIX timer");
}

static void by_timer(struct way *way, long long due)
{
	struct itimerspec at = { .it_value = timespec_of(due) };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	if (is_late(way, due))
		return;
	timer_settime(way->timer, TIMER_ABSTIME, &at, NULL);
	while (sigwaitinfo(&set, NULL) < 0 && errno == EINTR)
		;
}

static void wait_in(struct log *log, void (*open)(struct way *),
		    void (*wait)(struct way *, long long))
{
	struct way way;

	memset(&way, 0, sizeof(way));
	if (open)
		open(&way);
	while (!over()) {
		long long due = now_ns() + between(log, NS_PER_MS, 4 * NS_PER_MS);

		wait(&way, due);
		log_add(log, "wait", plan.cpu, way.called, due, now_ns());
	}
}

static void sleeper(struct log *log) { wait_in(log, NULL, by_sleep); }
static void poller(struct log *log) { wait_in(log, NULL, by_ppoll); }
static void timerfd(struct log *log) { wait_in(log, open_timerfd, by_timerfd); }
static void epoller(struct log *log) { wait_in(log, open_epoll, by_epoll); }
static void timer(struct log *log) { wait_in(log, open_timer, by_timer); }

void start_victims(bool real_time)
{
	sigset_t set;

	/* Inherited by every thread: the signal is taken by sigwaitinfo() alone. */
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (real_time) {
		start("v-sleep-40", VICTIM_PRIO, plan.cpu, sleeper);
		start("v-ppoll-40", VICTIM_PRIO, plan.cpu, poller);
		start("v-timerfd-40", VICTIM_PRIO, plan.cpu, timerfd);
		start("v-epoll-40", VICTIM_PRIO, plan.cpu, epoller);
		start("v-timer-40", VICTIM_PRIO, plan.cpu, timer);
	}
	start("v-sleep-ts", ORDINARY, plan.cpu, sleeper);
	start("v-ppoll-ts", ORDINARY, plan.cpu, poller);
	start("v-timerfd-ts", ORDINARY, plan.cpu, timerfd);
	start("v-epoll-ts", ORDINARY, plan.cpu, epoller);
	start("v-timer-ts", ORDINARY, plan.cpu, timer);
}
