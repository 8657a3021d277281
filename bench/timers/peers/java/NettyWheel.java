import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.util.concurrent.TimeUnit;

/**
 * Netty's, as its default constructor makes it. A thread of its own enters new timers into the wheel
 * and takes out cancelled ones every 100 ms; what the caller pays is a queue for it.
 */
final class NettyWheel implements Timers {
    private static final TimerTask NOTHING = timeout -> {};

    private final HashedWheelTimer wheel = new HashedWheelTimer();
    private final Timeout[] timers;

    NettyWheel(int slots) {
        timers = new Timeout[slots];
        wheel.start();
    }

    @Override
    public void arm(int slot, long ticks) {
        timers[slot] = wheel.newTimeout(NOTHING, FAR_MS + ticks, TimeUnit.MILLISECONDS);
    }

    @Override
    public boolean cancel(int slot) {
        return timers[slot].cancel();
    }

    @Override
    public void close() {
        wheel.stop();
    }
}
