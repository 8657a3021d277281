import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The JDK's: a heap whose tasks know their places, so that cancelling takes them out. */
final class Executor implements Timers {
    private static final Runnable NOTHING = () -> {};

    private final ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1);
    private final Future<?>[] timers;

    Executor(int slots) {
        executor.setRemoveOnCancelPolicy(true);
        timers = new Future<?>[slots];
    }

    @Override
    public void arm(int slot, long ticks) {
        timers[slot] = executor.schedule(NOTHING, FAR_MS + ticks, TimeUnit.MILLISECONDS);
    }

    @Override
    public boolean cancel(int slot) {
        return timers[slot].cancel(false);
    }

    @Override
    public void close() {
        executor.shutdownNow();
    }
}
