// Threads that wait in known chains of calls, until the program is ended. Prints "ready" when all of them do.
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntUnaryOperator;

public class Parked {
    static final Object MONITOR = new Object(), CONTENDED = new Object();
    static final CountDownLatch HELD = new CountDownLatch(1);
    static int sink;

    interface Body {
        void run() throws Exception;
    }

    static void park() {
        while (true)
            LockSupport.park(MONITOR);
    }

    static void await() throws InterruptedException {
        synchronized (MONITOR) {
            while (true)
                MONITOR.wait();
        }
    }

    static void sleep() throws InterruptedException {
        Thread.sleep(1000000);
    }

    static void accept() throws Exception {
        try (ServerSocket s = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            s.accept();
        }
    }

    static void hold() throws InterruptedException {
        synchronized (CONTENDED) {
            HELD.countDown();
            sleep();
        }
    }

    static void contend() throws InterruptedException {
        HELD.await();
        synchronized (CONTENDED) {
            sink++;
        }
    }

    static synchronized void enter() {
        park();
    }

    static int deep(int n) {
        if (n == 0)
            park();
        return deep(n - 1) + 1;
    }

    static int shallow(int n) {
        return n == 0 ? 1 : shallow(n - 1) + 1;
    }

    // Long enough for it to be compiled while it runs.
    static long loop(IntUnaryOperator f) {
        long sum = 0;
        for (int i = 0; i < 300000; i++)
            sum += f.applyAsInt(i);
        return sum;
    }

    static int last(int i) {
        if (i == 299999)
            park();
        return i + 1;
    }

    static void lambda() {
        Runnable inner = () -> park();
        inner.run();
    }

    static void reflect() throws Exception {
        Parked.class.getDeclaredMethod("park").invoke(null);
    }

    static void start(String name, Body body) {
        Thread t = new Thread(null, () -> {
            try {
                body.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name, 16 << 20);
        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 20000; i++)
            sink += shallow(30);
        start("park", Parked::park);
        start("wait", Parked::await);
        start("sleep", Parked::sleep);
        start("accept", Parked::accept);
        start("hold", Parked::hold);
        start("contend", Parked::contend);
        start("enter", Parked::enter);
        start("join", () -> new CompletableFuture<Integer>().join());
        start("take", () -> new LinkedBlockingQueue<Integer>().take());
        start("deep", () -> sink += deep(300));
        start("loop", () -> sink += (int) loop(Parked::last));
        start("lambda", Parked::lambda);
        start("reflect", Parked::reflect);
        Thread.sleep(Long.parseLong(args[0])); // all of them wait by then
        System.out.println("ready");
        Thread.sleep(1000000);
    }
}
