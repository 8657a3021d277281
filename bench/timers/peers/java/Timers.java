import java.util.concurrent.TimeUnit;

/** Timers of some library, by slot. None fires: all are due hours from now. */
interface Timers extends AutoCloseable {
    /** Beyond the end of any benchmark. */
    long FAR_MS = TimeUnit.HOURS.toMillis(24);

    void arm(int slot, long ticks);

    /** False where it was not armed. */
    boolean cancel(int slot);

    @Override
    void close();
}
