// libuv's timers, run on a clock that the script moves: libuv asks clock_gettime, and this program's
// own is found first. A tick is a millisecond, libuv's resolution.
//
//     libuv FILE WARM_UPS      prints one line of JSON: ns, operations, bytes
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <uv.h>

enum { INSERT, CANCEL, REARM, POP };

struct record {
    uint64_t head, time;
};

static uint64_t clock_ticks;
static uint32_t fired;

int clock_gettime(clockid_t clock, struct timespec *time) {
    (void)clock;
    time->tv_sec = (time_t)(clock_ticks / 1000);
    time->tv_nsec = (long)(clock_ticks % 1000) * 1000000;
    return 0;
}

static uint64_t real_ns(void) {
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t allocated(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void fail(const char *what, uint64_t number) {
    fprintf(stderr, "libuv: %s (%" PRIu64 ")\n", what, number);
    exit(1);
}

static void count(uv_timer_t *timer) {
    if ((uint64_t)(uintptr_t)timer->data > clock_ticks) {
        fail("a timer fired early", clock_ticks);
    }
    fired++;
}

// The start asks for an interval, which begins at the loop's idea of now.
static void start(uv_loop_t *loop, uv_timer_t *timer, uint64_t expiry) {
    timer->data = (void *)(uintptr_t)expiry;
    uv_timer_start(timer, count, expiry - uv_now(loop), 0);
}

// How many operations on timers there were.
static uint64_t play(uv_loop_t *loop, uv_timer_t *timers, const struct record *record,
                     const struct record *end) {
    uint64_t operations = 0;
    for (; record < end; record++, operations++) {
        uint32_t index = (uint32_t)record->head;
        uv_timer_t *timer = &timers[index];
        switch (record->head >> 32) {
        case INSERT:
            start(loop, timer, record->time);
            break;
        case CANCEL:
            if (!uv_is_active((uv_handle_t *)timer)) {
                fail("a timer is not found", index);
            }
            uv_timer_stop(timer);
            break;
        case REARM:
            if (!uv_is_active((uv_handle_t *)timer)) {
                fail("a timer is not found", index);
            }
            start(loop, timer, record->time);
            break;
        case POP:
            clock_ticks = record->time;
            fired = 0;
            uv_run(loop, UV_RUN_NOWAIT);
            if (fired != index) {
                fail("another number of timers fired than were due", record->time);
            }
            operations += index - 1;
        }
    }
    return operations;
}

struct script {
    uint64_t slots, setup, all;
    struct record *records;
};

static struct script read_script(const char *path) {
    struct script script;
    uint64_t head[4];
    FILE *file = fopen(path, "rb");
    if (!file || fread(head, 8, 4, file) != 4 || memcmp(head, "tardytm1", 8)) {
        fail("no list of timer operations", 0);
    }
    script.slots = head[1], script.setup = head[2], script.all = head[3];
    script.records = malloc(script.all * sizeof(struct record));
    if (!script.records || fread(script.records, sizeof(struct record), script.all, file) != script.all) {
        fail("a file that ends early", script.all);
    }
    fclose(file);
    return script;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: libuv FILE WARM_UPS\n");
        return 2;
    }
    struct script script = read_script(argv[1]);
    struct record *timed = script.records + script.setup, *end = script.records + script.all;
    for (long left = strtol(argv[2], NULL, 10); left >= 0; left--) {
        clock_ticks = 0;
        uint64_t before = allocated();
        uv_loop_t loop;
        uv_timer_t *timers = malloc(script.slots * sizeof(uv_timer_t));
        if (!timers || uv_loop_init(&loop)) {
            fail("no memory", script.slots);
        }
        for (uint64_t slot = 0; slot < script.slots; slot++) {
            uv_timer_init(&loop, &timers[slot]);
        }
        play(&loop, timers, script.records, timed);
        uint64_t bytes = allocated() - before;
        uint64_t start_ns = real_ns();
        uint64_t operations = play(&loop, timers, timed, end);
        uint64_t ns = real_ns() - start_ns;
        if (left == 0) {
            printf("{\"ns\": %" PRIu64 ", \"operations\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n", ns,
                   operations, bytes);
        }
        for (uint64_t slot = 0; slot < script.slots; slot++) {
            uv_close((uv_handle_t *)&timers[slot], NULL);
        }
        uv_run(&loop, UV_RUN_DEFAULT);
        uv_loop_close(&loop);
        free(timers);
    }
    free(script.records);
    return 0;
}
