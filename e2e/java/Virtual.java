// Virtual threads that are busy in a known chain of calls, some of them without ever having been unmounted (work), others
// after that, so that their callers stay frozen (again), and whose callers run again (back). Before them, there is none,
// so that a recording may know the virtual machine, and then a single one (early).
//
//   java Virtual MILLISECONDS    prints "ready" when all of them are at work
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;

public class Virtual {
    static final CountDownLatch READY = new CountDownLatch(3);
    static volatile long sink;
    static long until;

    static long spin(long x) {
        while (System.nanoTime() < until)
            for (int i = 0; i < 200; i++)
                x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    static long slice(long x) { // 2 ms: the others have the carriers in between
        long end = System.nanoTime() + 2000000;
        while (System.nanoTime() < end)
            for (int i = 0; i < 200; i++)
                x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    static void early(long end) throws InterruptedException {
        while (System.nanoTime() < end) {
            rest();
            sink += slice(4);
        }
    }

    // Never unmounted: all callers are on the stack.
    static void work() {
        READY.countDown();
        work1();
    }

    static void work1() {
        sink += spin(1);
    }

    // Mounted again in rest(), which returns to again3(); nobody else of the callers has run since.
    static void again() throws InterruptedException {
        READY.countDown();
        again1();
    }

    static void again1() throws InterruptedException {
        again2();
    }

    static void again2() throws InterruptedException {
        while (System.nanoTime() < until)
            again3();
    }

    static void again3() throws InterruptedException {
        rest();
        sink += slice(2);
    }

    static void rest() throws InterruptedException {
        if ((sink & 1) == 0)
            Thread.sleep(1);
        else
            LockSupport.parkNanos(1000000);
    }

    // Callers run again after they were frozen.
    static void back() throws InterruptedException {
        READY.countDown();
        while (System.nanoTime() < until) {
            back1(5);
            sink += slice(3);
        }
    }

    static void back1(int n) throws InterruptedException {
        if (n == 0)
            rest();
        else
            back1(n - 1);
    }

    public static void main(String[] args) throws Exception {
        until = System.nanoTime() + 500000000;
        sink += spin(0);
        long end = System.nanoTime() + 700000000;
        try (ExecutorService one = Executors.newVirtualThreadPerTaskExecutor()) {
            one.submit(() -> {
                early(end);
                return null;
            });
        }
        until = System.nanoTime() + Long.parseLong(args[0]) * 1000000;
        try (ExecutorService all = Executors.newVirtualThreadPerTaskExecutor()) {
            all.submit(Virtual::work);
            for (int i = 0; i < 3; i++) {
                all.submit(() -> {
                    again();
                    return null;
                });
                all.submit(() -> {
                    back();
                    return null;
                });
            }
            READY.await();
            System.out.println("ready");
        }
        Thread.sleep(300); // so that there is time to read the last names
    }
}
