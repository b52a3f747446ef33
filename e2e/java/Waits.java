// Threads that wait in known chains of calls: one that has parked before and is woken up at the end, one that parks time
// and again, and two that contend for a monitor and for a lock.
//
//   java Waits    prints "ready" when the first one is parked, and ends a second after a line of standard input
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

public class Waits {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static volatile boolean over;
    static long sink;

    static void longPark() {
        while (!over)
            LockSupport.park();
    }

    static void outerLong() {
        longPark();
    }

    static void shortPark() {
        LockSupport.parkNanos(5000000);
    }

    static void outerShort() {
        while (!over)
            shortPark();
    }

    static void hold() {
        for (long end = System.nanoTime() + 3000000; System.nanoTime() < end;)
            sink++;
    }

    static void enterMonitor() {
        synchronized (MONITOR) {
            hold();
        }
    }

    static void outerMonitor() {
        while (!over)
            enterMonitor();
    }

    static void enterLock() {
        LOCK.lock();
        try {
            hold();
        } finally {
            LOCK.unlock();
        }
    }

    static void outerLock() {
        while (!over)
            enterLock();
    }

    static Thread start(String name, Runnable body) {
        Thread t = new Thread(body, name);
        t.start();
        return t;
    }

    public static void main(String[] args) throws Exception {
        Thread parked = start("long", Waits::outerLong);
        while (parked.getState() != Thread.State.WAITING)
            Thread.sleep(10);
        System.out.println("ready");
        System.in.read();
        start("short", Waits::outerShort);
        for (int i = 0; i < 2; i++) {
            start("monitor" + i, Waits::outerMonitor);
            start("lock" + i, Waits::outerLock);
        }
        Thread.sleep(1000);
        over = true;
        LockSupport.unpark(parked);
        Thread.sleep(300);
    }
}
