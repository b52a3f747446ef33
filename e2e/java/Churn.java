// Makes classes all the time and throws them away, some as hidden classes, and has their methods compiled, deoptimised and
// redefined. All names of a class have its number, and the last digit of that is the thread's, so that a wrong name in a
// stack is seen: T00000120.run;T00000120.a00000120;...;U00000120.e00000120 below W0.go.
//
//   java -javaagent:CHURN.jar Churn MILLISECONDS    prints how many classes were loaded and unloaded
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandles;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;

public class Churn {
    static final int DIGITS = 8;
    static final byte[][] BYTES = new byte[3][]; // of T, U and V
    static Instrumentation instrumentation;
    static volatile long sink;

    public interface Task {
        long run(long until);
    }

    public static void premain(String options, Instrumentation i) {
        instrumentation = i;
    }

    // ---- Classes with a number ----

    static byte[] numbered(int which, int number) {
        byte[] bytes = BYTES[which].clone();
        byte[] zeros = "0".repeat(DIGITS).getBytes(StandardCharsets.US_ASCII);
        byte[] digits = String.format("%08d", number).getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i + DIGITS <= bytes.length; i++) {
            int k = 0;
            while (k < DIGITS && bytes[i + k] == zeros[k])
                k++;
            if (k == DIGITS)
                System.arraycopy(digits, 0, bytes, i, DIGITS);
        }
        return bytes;
    }

    static class Thrown extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    // A T that calls a U, or a V; both have its number.
    static final class Chain {
        final Class<?>[] classes = new Class<?>[3];
        final Task viaU, viaV;

        Chain(int number, boolean hidden) throws Exception {
            Thrown loader = new Thrown();
            for (int i = 0; i < 3; i++) {
                byte[] bytes = numbered(i, number);
                classes[i] = hidden ? MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass() : loader.define(bytes);
            }
            viaU = make(0, make(1, null));
            viaV = make(0, make(2, null));
        }

        Task make(int which, Task next) throws Exception {
            var constructor = classes[which].getDeclaredConstructor(Task.class);
            constructor.setAccessible(true);
            return (Task) constructor.newInstance(next);
        }
    }

    // ---- Threads ----

    static void runFor(Task task, long ns, long part) {
        for (long now = System.nanoTime(), end = now + ns; now < end; now = System.nanoTime())
            sink += task.run(now + part);
    }

    // Most classes are interpreted and short-lived. Some are compiled; then their calls lead elsewhere than the compiler saw,
    // and they are redefined while they run.
    static void once(int count, int digit) throws Exception {
        int number = count * 10 + digit;
        boolean hidden = count % 3 == 0;
        Chain chain = new Chain(number, hidden);
        if (count % 20 != 0) {
            runFor(chain.viaU, 200000, 20000);
            return;
        }
        runFor(chain.viaU, 15000000, 3000);
        if (!hidden && count % 80 == 20)
            instrumentation.redefineClasses(new ClassDefinition(chain.classes[0], numbered(0, number)));
        runFor(chain.viaV, 5000000, 3000);
    }

    static void loop(int digit, long end) {
        try {
            for (int count = 1; System.nanoTime() < end; count++)
                once(count, digit);
        } catch (Throwable t) {
            t.printStackTrace();
            System.exit(1);
        }
    }

    static class W0 {
        static void go(long end) {
            loop(0, end);
        }
    }

    static class W1 {
        static void go(long end) {
            loop(1, end);
        }
    }

    static class W2 {
        static void go(long end) {
            loop(2, end);
        }
    }

    public static void main(String[] args) throws Exception {
        String[] names = {"T", "U", "V"};
        for (int i = 0; i < names.length; i++)
            BYTES[i] = Churn.class.getResourceAsStream(names[i] + "0".repeat(DIGITS) + ".class").readAllBytes();
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000;
        Thread[] threads = {new Thread(() -> W0.go(end)), new Thread(() -> W1.go(end)), new Thread(() -> W2.go(end))};
        for (Thread t : threads)
            t.start();
        for (Thread t : threads)
            t.join();
        ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
        System.out.println(classes.getTotalLoadedClassCount() + " " + classes.getUnloadedClassCount());
    }
}

class T00000000 implements Churn.Task {
    final Churn.Task next;

    T00000000(Churn.Task next) {
        this.next = next;
    }

    public long run(long until) {
        return a00000000(until) + 1;
    }

    long a00000000(long until) {
        return b00000000(until) + 1;
    }

    long b00000000(long until) {
        return next.run(until) + 1;
    }
}

class U00000000 implements Churn.Task {
    U00000000(Churn.Task next) {
    }

    public long run(long until) {
        return d00000000(until) + 1;
    }

    static long d00000000(long until) {
        return e00000000(until) + 1;
    }

    static long e00000000(long until) {
        long x = until;
        do {
            for (int i = 0; i < 50; i++)
                x = x * 6364136223846793005L + 1442695040888963407L;
        } while (System.nanoTime() < until);
        return x;
    }
}

class V00000000 implements Churn.Task {
    V00000000(Churn.Task next) {
    }

    public long run(long until) {
        return f00000000(until) + 1;
    }

    static synchronized long f00000000(long until) {
        long x = until;
        do {
            for (int i = 0; i < 50; i++)
                x = x * 6364136223846793005L + 1442695040888963407L;
        } while (System.nanoTime() < until);
        return x;
    }
}
