import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.function.IntFunction;

/**
 * Runs a script of timer operations on one of Java's timers. They run in real time only, so what the
 * script lets fire is cancelled; and none can be moved, so it is cancelled and armed anew.
 *
 * <p>{@code Replay executor|netty FILE WARM_UPS} prints one line of JSON: ns, operations, bytes.
 */
final class Replay {
    private static final int INSERT = 0, CANCEL = 1, REARM = 2, POP = 3;
    private static final int CHUNK = 1 << 20;

    private final int slots;
    private final int setup;
    private final long[] heads;
    private final long[] times;
    private final boolean[] armed;

    private Replay(Path path) throws IOException {
        try (FileChannel file = FileChannel.open(path)) {
            ByteBuffer head = words(file, 4);
            if (head.getLong() != 0x316d_7479_6472_6174L) { // "tardytm1"
                throw new IOException(path + " is no list of timer operations");
            }
            slots = Math.toIntExact(head.getLong());
            setup = Math.toIntExact(head.getLong());
            int all = Math.toIntExact(head.getLong());
            heads = new long[all];
            times = new long[all];
            armed = new boolean[slots];
            for (int at = 0; at < all; ) {
                int records = Math.min(CHUNK, all - at);
                ByteBuffer chunk = words(file, 2 * records);
                for (int end = at + records; at < end; at++) {
                    heads[at] = chunk.getLong();
                    times[at] = chunk.getLong();
                }
            }
        }
    }

    private static ByteBuffer words(FileChannel file, int count) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(8 * count).order(ByteOrder.LITTLE_ENDIAN);
        while (buffer.hasRemaining()) {
            if (file.read(buffer) < 0) {
                throw new IOException("a file that ends early");
            }
        }
        return buffer.flip();
    }

    /** How many operations on timers there were. */
    private long play(Timers timers, int from, int to) {
        long operations = 0;
        for (int at = from; at < to; at++) {
            int index = (int) heads[at];
            switch ((int) (heads[at] >>> 32)) {
                case INSERT -> {
                    if (armed[index]) {
                        cancel(timers, index);
                    }
                    timers.arm(index, times[at]);
                    armed[index] = true;
                    operations++;
                }
                case CANCEL -> {
                    cancel(timers, index);
                    armed[index] = false;
                    operations++;
                }
                case REARM -> {
                    cancel(timers, index);
                    timers.arm(index, times[at]);
                    operations++;
                }
                // Cancelled when they are inserted again.
                case POP -> operations += index;
                default -> throw new IllegalStateException("record " + at + " is no operation");
            }
        }
        return operations;
    }

    private static void cancel(Timers timers, int slot) {
        if (!timers.cancel(slot)) {
            throw new IllegalStateException("timer " + slot + " was armed, and is not found");
        }
    }

    private static long allocated() {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    public static void main(String[] args) throws IOException {
        IntFunction<Timers> make = args[0].equals("netty") ? NettyWheel::new : Executor::new;
        Replay script = new Replay(Path.of(args[1]));
        // Of the first run: in later ones the collector takes back what earlier ones left.
        long bytes = -1;
        for (int left = Integer.parseInt(args[2]); left >= 0; left--) {
            java.util.Arrays.fill(script.armed, false);
            try (Timers timers = make.apply(script.slots)) {
                long before = allocated();
                script.play(timers, 0, script.setup);
                if (bytes < 0) {
                    bytes = Math.max(0, allocated() - before);
                }
                long start = System.nanoTime();
                long operations = script.play(timers, script.setup, script.heads.length);
                long ns = System.nanoTime() - start;
                if (left == 0) {
                    System.out.printf(
                            "{\"ns\": %d, \"operations\": %d, \"bytes\": %d}%n", ns, operations, bytes);
                }
            }
        }
    }
}
