// Ten ticks of a metronome, a timer that calls, a timer for poll, and a queue without a clock.
//
//     cc metronome.c $(pkg-config --cflags --libs tardy_timers) && ./a.out

#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <tardy_timers.h>

// Ends the program where something went wrong.
static int32_t check(int32_t code, const char *what)
{
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", what, tardy_error_text(code));
        exit(1);
    }
    return code;
}

static void metronome(void)
{
    const uint64_t period_ns = 1000000;
    tardy_interval *interval = NULL;
    check(tardy_interval_new(tardy_now_ns(), period_ns, TARDY_PRECISION_BALANCED, &interval),
          "interval");
    for (int i = 0; i < 10; i++) {
        tardy_tick tick;
        check(tardy_interval_tick(interval, &tick), "tick");
        if (tardy_now_ns() < tick.scheduled_ns) {
            fprintf(stderr, "a tick came early\n");
            exit(1);
        }
        printf("tick %d: %" PRIu64 " ns late, %" PRIu64 " missed\n", i, tick.lateness_ns,
               tick.missed);
    }
    check(tardy_interval_free(interval), "free");
}

static void ring(void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
}

static void timers(void)
{
    tardy_service *service = NULL;
    check(tardy_service_start(NULL, &service), "service");
    for (size_t i = 0; tardy_service_note(service, i) != NULL; i++) {
        printf("%s\n", tardy_service_note(service, i));
    }

    atomic_int rung = 0;
    tardy_request request = tardy_request_at(tardy_now_ns() + 2000000);
    request.level = 3;
    check(tardy_service_arm(service, &request, ring, &rung, NULL), "arm");

    // A timeout that does not come about.
    tardy_timer timeout;
    tardy_request later = tardy_request_at(tardy_now_ns() + UINT64_C(3600000000000));
    later.kind = TARDY_TIMER_COARSE;
    check(tardy_service_arm(service, &later, ring, &rung, &timeout), "arm");
    check(tardy_service_cancel(service, &timeout), "cancel");

    tardy_eventfd *eventfd = NULL;
    check(tardy_eventfd_new(&eventfd), "eventfd");
    request.soft_ns += 1000000;
    check(tardy_service_arm_eventfd(service, &request, eventfd, NULL), "arm");
    struct pollfd ready = {.fd = check(tardy_eventfd_fd(eventfd), "fd"), .events = POLLIN};
    while (poll(&ready, 1, -1) != 1) {
    }
    uint64_t fired = 0;
    check(tardy_eventfd_take(eventfd, &fired), "take");
    check(tardy_eventfd_free(eventfd), "free");

    // It was due a millisecond earlier at the same level, so it has been called.
    check(tardy_service_stop(service), "stop");
    printf("rung %d, fired %" PRIu64 "\n", atomic_load(&rung), fired);
}

static void queue(void)
{
    tardy_queue *queue = NULL;
    check(tardy_queue_new(TARDY_QUEUE_AUTO, 16, &queue), "queue");
    uint64_t tea = 0;
    check(tardy_queue_insert(queue, 3000, 0, (tardy_payload){.number = 1}, &tea), "insert");
    check(tardy_queue_insert(queue, 1000, 0, (tardy_payload){.number = 2}, NULL), "insert");
    check(tardy_queue_rearm(queue, tea, 4000, 0), "rearm");
    tardy_fired fired;
    while (check(tardy_queue_pop_expired(queue, 5000, &fired), "pop") == 1) {
        printf("popped %" PRIu64 " of %" PRIu64 " ns\n", fired.payload.number, fired.soft_ns);
    }
    check(tardy_queue_free(queue), "free");
}

int main(void)
{
    metronome();
    timers();
    queue();
    return 0;
}
