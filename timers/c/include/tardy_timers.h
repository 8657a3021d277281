// libtardy_timers: timer queues, a timer service and sleeps that keep their word at microseconds.
//
// Times are nanoseconds of CLOCK_MONOTONIC unless said otherwise. Functions return 0 or more, or a
// negative tardy_error, which tardy_error_text puts into words. A NULL where an object is wanted is an
// error, never a crash. Under "Safety" stands what the caller
// must see to: the library cannot check it.
//
// Made by cbindgen of the Rust sources beside it; do not edit.

#ifndef TARDY_TIMERS_H
#define TARDY_TIMERS_H

#include <stddef.h>
#include <stdint.h>

// Timers that fire.
#define TARDY_QUEUE_PRECISE 0

// The same, where programming a device is dear.
#define TARDY_QUEUE_LAZY 1

// Timers that are moved or cancelled before they fire.
#define TARDY_QUEUE_WHEEL 2

// Whatever it turns out to be.
#define TARDY_QUEUE_AUTO 3

// The most timers that tardy_queue_new makes room for in advance. A queue may grow beyond, to
// 4,294,967,279 timers; where there is no memory for that, the program is aborted.
#define TARDY_QUEUE_CAPACITY_MAX (1 << 24)

// The level of the calling thread's own priority.
#define TARDY_LEVEL_INHERIT -1

// A timer that is there to fire, to the nanosecond.
#define TARDY_TIMER_PRECISE 0

// A timeout, nearly always moved or cancelled before it fires; it may fire a granule late.
#define TARDY_TIMER_COARSE 1

// `CLOCK_MONOTONIC`: it stands still while the system is suspended.
#define TARDY_CLOCK_MONOTONIC 0

// `CLOCK_BOOTTIME`: it goes on.
#define TARDY_CLOCK_BOOTTIME 1

// No spinning: the kernel's own lateness, with the timer slack out of the way.
#define TARDY_PRECISION_CPU 0.0

// Three sleeps of four end on time, for little more CPU time than no spinning.
#define TARDY_PRECISION_BALANCED 0.75

// 99.5 of 100 sleeps end on time. For a thread that has a CPU to itself.
#define TARDY_PRECISION_EXACT 0.995

// What went wrong. Functions return 0 or more where nothing did.
enum tardy_error
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // A pointer is NULL that must not be.
    TARDY_ERROR_NULL = -1,
    // A number is outside of what the function takes.
    TARDY_ERROR_ARGUMENT = -2,
    // The timer has fired, is being fired at this moment, or was cancelled.
    TARDY_ERROR_STALE = -3,
    // No room for another timer.
    TARDY_ERROR_FULL = -4,
    // A sleeper or interval of another thread.
    TARDY_ERROR_THREAD = -5,
    // The service has ended.
    TARDY_ERROR_STOPPED = -6,
    // This process was forked from the one that has the service.
    TARDY_ERROR_FORKED = -7,
    // The timer is another service's.
    TARDY_ERROR_FOREIGN = -8,
    // The system refused a thread or a file descriptor.
    TARDY_ERROR_SYSTEM = -9,
    // A defect of this library; the object must not be used any more, only freed.
    TARDY_ERROR_PANIC = -10,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tardy_error tardy_error;
#else
typedef int32_t tardy_error;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// An eventfd(2) whose counter goes up by one with each timer that fires into it.
typedef struct tardy_eventfd tardy_eventfd;

// Ticks at start + k * period, without drift. It contains a sleeper and so belongs to its thread.
typedef struct tardy_interval tardy_interval;

// A set of armed timers, ordered by hard expiry. Times are nanoseconds of any one clock.
typedef struct tardy_queue tardy_queue;

// A timer service. All functions but tardy_service_stop may be called by any thread at any time.
typedef struct tardy_service tardy_service;

// Sleeps of one thread. While it lives, the thread's timer slack is 1 ns; threads that are started
// meanwhile inherit that.
typedef struct tardy_sleeper tardy_sleeper;

// One tick of an interval.
typedef struct tardy_tick {
    // When it was due, ns.
    uint64_t scheduled_ns;
    // How much later it came, ns.
    uint64_t lateness_ns;
    // How many ticks between this and the next are left out because their time has passed too.
    uint64_t missed;
} tardy_tick;

// What a timer carries: a number or a pointer, whichever was put in. The library does not look at it.
typedef union tardy_payload {
    // As a number.
    uint64_t number;
    // As a pointer.
    void *pointer;
} tardy_payload;

// A timer that fired.
typedef struct tardy_fired {
    // The name it had; stale now.
    uint64_t timer;
    // The earliest time it could fire, ns.
    uint64_t soft_ns;
    // How much later it was allowed to fire, ns.
    uint64_t slack_ns;
    // What it carries.
    union tardy_payload payload;
} tardy_fired;

// A timer that is wanted. tardy_request_at makes one.
typedef struct tardy_request {
    // The earliest time it may fire, ns on the service's clock.
    uint64_t soft_ns;
    // How much later it may fire, ns.
    uint64_t slack_ns;
    // A number that reports name the timer by.
    uint64_t tag;
    // 0 to 3, the most urgent, or `TARDY_LEVEL_INHERIT`.
    int32_t level;
    // `TARDY_TIMER_PRECISE` or `TARDY_TIMER_COARSE`.
    uint32_t kind;
} tardy_request;

// How a service is to be. tardy_service_options_default makes one.
typedef struct tardy_service_options {
    // How many timers can be armed at a time at each level, about 200 bytes each; one more is
    // refused.
    size_t timers;
    // From which duration on a callback is reported as slow, ns.
    uint64_t slow_ns;
    // The most that a thread spins before a precise timer, ns; 0: not at all.
    uint64_t spin_ns;
    // `TARDY_CLOCK_MONOTONIC` or `TARDY_CLOCK_BOOTTIME`.
    uint32_t clock;
    // The `SCHED_FIFO` priorities of the levels' threads, level 0 first; 0: that of the thread which
    // starts the service. Where one is refused the service works without it and a note says so.
    uint8_t priorities[4];
} tardy_service_options;

// What a timer calls, in the thread of its level: the level's other timers wait for it. It may use
// the service, even stop it. It must return; a longjmp or a C++ exception out of it is undefined.
typedef void (*tardy_callback)(void *data);

// Names one timer of one service; may be copied. One that is all zeros names no timer.
typedef struct tardy_timer {
    // The library's.
    uint64_t mark;
    // The library's.
    uint64_t name[3];
} tardy_timer;

// What a level has done so far.
typedef struct tardy_report {
    // Timers fired, counted before what they do begins: who sees its effect sees it counted.
    uint64_t fired;
    // Timers refused because there was no room.
    uint64_t refused;
    // Callbacks that were slow.
    uint64_t slow;
    // The longest callback, ns; 0 where there was none.
    uint64_t longest_ns;
    // The tag of its timer.
    uint64_t longest_tag;
    // Timers whose eventfd could not be written to.
    uint64_t undelivered;
    // How often somebody woke the level's thread with a system call.
    uint64_t woken;
} tardy_report;

// How a sleep went.
typedef struct tardy_slept {
    // How far the deadline was past when the sleep returned, ns.
    uint64_t lateness_ns;
    // How long of it was spun, ns.
    uint64_t spun_ns;
    // How long of it the kernel had, ns.
    uint64_t native_ns;
} tardy_slept;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The time now, in nanoseconds of CLOCK_MONOTONIC: the clock of all times here, unless a service is
// made for another. No system call.
uint64_t tardy_now_ns(void);

// What a code means, in English. Never NULL; lives as long as the program. Any number is allowed.
const char *tardy_error_text(int32_t code);

// Makes one. It does not block and is closed on exec.
//
// Errors: NULL, SYSTEM where there are no more file descriptors.
//
// # Safety
// `eventfd` is NULL or may be written to.
int32_t tardy_eventfd_new(struct tardy_eventfd **eventfd);

// The file descriptor, for poll and epoll: readable when a timer has fired. It must not be closed;
// tardy_eventfd_free does that.
//
// Errors: NULL.
//
// # Safety
// `eventfd` is NULL or from tardy_eventfd_new and not freed.
int32_t tardy_eventfd_fd(const struct tardy_eventfd *eventfd);

// How many timers have fired into it since the last call, in `count`; 0 where none has.
//
// Errors: NULL, SYSTEM.
//
// # Safety
// `eventfd` is NULL or from tardy_eventfd_new and not freed; `count` is NULL or may be written to.
int32_t tardy_eventfd_take(const struct tardy_eventfd *eventfd, uint64_t *count);

// Frees it. Timers that are armed with it keep the descriptor open until they have fired or are
// cancelled. NULL is allowed and does nothing.
//
// # Safety
// `eventfd` is NULL or from tardy_eventfd_new, and is not used after this.
int32_t tardy_eventfd_free(struct tardy_eventfd *eventfd);

// Makes an interval whose grid begins at `start_ns`, past or future; the first tick is due a period
// later. `precision` as for tardy_sleeper_new.
//
// Errors: NULL, ARGUMENT for a period of 0 or a wrong precision.
//
// # Safety
// `interval` is NULL or may be written to.
int32_t tardy_interval_new(uint64_t start_ns,
                           uint64_t period_ns,
                           double precision,
                           struct tardy_interval **interval);

// Waits for the next tick; returns at once where its time has passed. `tick` may be NULL.
//
// Errors: NULL, THREAD where another thread made the interval.
//
// # Safety
// `interval` is NULL or from tardy_interval_new and not freed; `tick` is NULL or may be written to.
int32_t tardy_interval_tick(struct tardy_interval *interval, struct tardy_tick *tick);

// Frees an interval and puts back the thread's timer slack. NULL is allowed and does nothing.
//
// Errors: THREAD where another thread made it; it is not freed then.
//
// # Safety
// `interval` is NULL or from tardy_interval_new, and is not used after this has returned 0.
int32_t tardy_interval_free(struct tardy_interval *interval);

// Makes a queue of a kind (TARDY_QUEUE_…) with room for `capacity` timers; it allocates nothing until
// there are more.
//
// Errors: NULL, ARGUMENT for an unknown kind or a capacity above TARDY_QUEUE_CAPACITY_MAX.
//
// # Safety
// `queue` is NULL or may be written to.
int32_t tardy_queue_new(uint32_t kind,
                        size_t capacity,
                        struct tardy_queue **queue);

// Arms a timer that may fire at `soft_ns` and should have fired `slack_ns` later. `timer` gets its
// name, for tardy_queue_cancel and tardy_queue_rearm, and may be NULL. Names are never used again.
//
// Errors: NULL, FULL.
//
// # Safety
// `queue` is NULL or from tardy_queue_new and not freed, and no other thread uses it now; `timer` is
// NULL or may be written to.
int32_t tardy_queue_insert(struct tardy_queue *queue,
                           uint64_t soft_ns,
                           uint64_t slack_ns,
                           union tardy_payload payload,
                           uint64_t *timer);

// Disarms a timer. `payload` gets what it carried, and may be NULL. Any number is allowed as a timer.
//
// Errors: NULL, STALE.
//
// # Safety
// `queue` as for tardy_queue_insert; `payload` is NULL or may be written to.
int32_t tardy_queue_cancel(struct tardy_queue *queue,
                           uint64_t timer,
                           union tardy_payload *payload);

// Moves an armed timer to another time. Any number is allowed as a timer.
//
// Errors: NULL, STALE.
//
// # Safety
// `queue` as for tardy_queue_insert.
int32_t tardy_queue_rearm(struct tardy_queue *queue,
                          uint64_t timer,
                          uint64_t soft_ns,
                          uint64_t slack_ns);

// When to look next, in `next_ns`; no timer's hard expiry is earlier. Returns 1, or 0 where nothing
// is armed, and `next_ns` is left alone.
//
// Errors: NULL.
//
// # Safety
// `queue` as for tardy_queue_insert; `next_ns` is NULL or may be written to.
int32_t tardy_queue_next_expiry(struct tardy_queue *queue, uint64_t *next_ns);

// Removes the first timer, if it is due at `now_ns`, into `fired`. Returns 1, or 0 where none is due,
// and `fired` is left alone. Called until 0 it yields all that are due, in order.
//
// Errors: NULL.
//
// # Safety
// `queue` as for tardy_queue_insert; `fired` is NULL or may be written to.
int32_t tardy_queue_pop_expired(struct tardy_queue *queue,
                                uint64_t now_ns,
                                struct tardy_fired *fired);

// How many timers are armed, in `count`.
//
// Errors: NULL.
//
// # Safety
// `queue` as for tardy_queue_insert; `count` is NULL or may be written to.
int32_t tardy_queue_len(struct tardy_queue *queue, size_t *count);

// Frees a queue. What its timers carry is the caller's. NULL is allowed and does nothing.
//
// # Safety
// `queue` is NULL or from tardy_queue_new, and is not used after this.
int32_t tardy_queue_free(struct tardy_queue *queue);

// A precise timer of level 0 at `time_ns`, without slack, tag 0: to be changed as needed.
struct tardy_request tardy_request_at(uint64_t time_ns);

// 4096 timers a level, CLOCK_MONOTONIC, SCHED_FIFO 50 to 53, slow from 100 us on, spins 50 us at most.
struct tardy_service_options tardy_service_options_default(void);

// Starts a service; NULL options are the default ones. Needs no rights: without them its threads run
// at the priority of the calling one.
//
// Errors: NULL, ARGUMENT, SYSTEM.
//
// # Safety
// `options` is NULL or may be read; `service` is NULL or may be written to.
int32_t tardy_service_start(const struct tardy_service_options *options,
                            struct tardy_service **service);

// The time on the service's clock, ns, in `now_ns`.
//
// Errors: NULL.
//
// # Safety
// `service` is NULL or from tardy_service_start and not stopped; `now_ns` is NULL or may be written
// to.
int32_t tardy_service_now(const struct tardy_service *service, uint64_t *now_ns);

// What the threads were given and what they were refused, a sentence each; NULL beyond the last, and
// for a NULL service. It lives as long as the service.
//
// # Safety
// `service` is NULL or from tardy_service_start and not stopped.
const char *tardy_service_note(const struct tardy_service *service,
                               size_t index);

// Arms a timer that calls `callback` with `data`, once. `timer` gets its name and may be NULL. A
// timer whose time has passed fires at once, perhaps before this returns.
//
// Errors: NULL, ARGUMENT, FULL, FORKED.
//
// # Safety
// `service` is NULL or from tardy_service_start and not stopped; `request` is NULL or may be read;
// `timer` is NULL or may be written to. `callback` may be called by another thread, and what `data`
// points to lives until it has returned, or the timer was cancelled, or the service is stopped.
int32_t tardy_service_arm(const struct tardy_service *service,
                          const struct tardy_request *request,
                          tardy_callback callback,
                          void *data,
                          struct tardy_timer *timer);

// Arms a timer that adds one to an eventfd; else as tardy_service_arm.
//
// Errors: as tardy_service_arm.
//
// # Safety
// `service`, `request` and `timer` as for tardy_service_arm; `eventfd` is NULL or from
// tardy_eventfd_new and not freed. It may be freed while the timer is armed.
int32_t tardy_service_arm_eventfd(const struct tardy_service *service,
                                  const struct tardy_request *request,
                                  const struct tardy_eventfd *eventfd,
                                  struct tardy_timer *timer);

// Cancels a timer: after 0 it surely does not fire.
//
// Errors: NULL, FOREIGN, FORKED, STALE: it has fired, was cancelled, or is being fired, and what it
// calls may be running still.
//
// # Safety
// `service` is NULL or from tardy_service_start and not stopped; `timer` is NULL, or points to what
// tardy_service_arm or tardy_service_arm_eventfd wrote, a copy of that, or zeros.
int32_t tardy_service_cancel(const struct tardy_service *service, const struct tardy_timer *timer);

// Moves a timer to another time; all else about it stays.
//
// Errors: as tardy_service_cancel.
//
// # Safety
// As tardy_service_cancel.
int32_t tardy_service_rearm(const struct tardy_service *service,
                            const struct tardy_timer *timer,
                            uint64_t soft_ns,
                            uint64_t slack_ns);

// What level 0 to 3 has done so far, in `report`.
//
// Errors: NULL, ARGUMENT.
//
// # Safety
// `service` is NULL or from tardy_service_start and not stopped; `report` is NULL or may be written
// to.
int32_t tardy_service_report(const struct tardy_service *service,
                             int32_t level,
                             struct tardy_report *report);

// Stops a service and frees it: nothing fires any more, callbacks that run come to their end and are
// waited for, except where it is one of them that stops the service. NULL is allowed and does nothing.
//
// # Safety
// `service` is NULL or from tardy_service_start; no other thread uses it now, and nobody after this.
int32_t tardy_service_stop(struct tardy_service *service);

// Makes a sleeper for the calling thread; `precision` is the share of sleeps that are to end on time,
// 0 <= precision < 1: TARDY_PRECISION_CPU, TARDY_PRECISION_BALANCED, TARDY_PRECISION_EXACT or any
// other.
//
// Errors: NULL, ARGUMENT.
//
// # Safety
// `sleeper` is NULL or may be written to.
int32_t tardy_sleeper_new(double precision,
                          struct tardy_sleeper **sleeper);

// Sleeps until `deadline_ns`; returns at once where that is past. Never returns earlier, signals do
// not shorten it. `slept` may be NULL.
//
// Errors: NULL, THREAD where another thread made the sleeper.
//
// # Safety
// `sleeper` is NULL or from tardy_sleeper_new and not freed; `slept` is NULL or may be written to.
int32_t tardy_sleeper_sleep_until(struct tardy_sleeper *sleeper,
                                  uint64_t deadline_ns,
                                  struct tardy_slept *slept);

// Sleeps for `duration_ns` from now, as tardy_sleeper_sleep_until does.
//
// Errors: as tardy_sleeper_sleep_until.
//
// # Safety
// As tardy_sleeper_sleep_until.
int32_t tardy_sleeper_sleep_for(struct tardy_sleeper *sleeper,
                                uint64_t duration_ns,
                                struct tardy_slept *slept);

// Frees a sleeper and puts back the thread's timer slack. NULL is allowed and does nothing.
//
// Errors: THREAD where another thread made it; it is not freed then.
//
// # Safety
// `sleeper` is NULL or from tardy_sleeper_new, and is not used after this has returned 0.
int32_t tardy_sleeper_free(struct tardy_sleeper *sleeper);

// Sleeps until `deadline_ns` without a sleeper, with TARDY_PRECISION_BALANCED: four system calls
// more, and the timer slack is as before when it returns. `slept` may be NULL.
//
// # Safety
// `slept` is NULL or may be written to.
int32_t tardy_sleep_until(uint64_t deadline_ns, struct tardy_slept *slept);

// Sleeps for `duration_ns` from now, as tardy_sleep_until does.
//
// # Safety
// `slept` is NULL or may be written to.
int32_t tardy_sleep_for(uint64_t duration_ns, struct tardy_slept *slept);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TARDY_TIMERS_H */
