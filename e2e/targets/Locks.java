import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The same as locks.c, with a monitor and a ReentrantLock. All of it runs once before the program waits for a byte or
 * the end of its input, so that the code is compiled then. A thread waits to be notified, which is no lock.
 */
public class Locks {
    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();

    interface Lock {
        long take();

        void hold(CyclicBarrier at, long ms) throws Exception;
    }

    static class Monitor implements Lock {
        public long take() {
            long from = System.nanoTime();
            synchronized (monitor) {
                return System.nanoTime() - from;
            }
        }

        public void hold(CyclicBarrier at, long ms) throws Exception {
            synchronized (monitor) {
                at.await();
                Thread.sleep(ms);
            }
        }
    }

    static class Reentrant implements Lock {
        public long take() {
            long from = System.nanoTime();
            lock.lock();
            try {
                return System.nanoTime() - from;
            } finally {
                lock.unlock();
            }
        }

        public void hold(CyclicBarrier at, long ms) throws Exception {
            lock.lock();
            try {
                at.await();
                Thread.sleep(ms);
            } finally {
                lock.unlock();
            }
        }
    }

    static long contend(Lock lock, long ms, long rounds) throws Exception {
        CyclicBarrier at = new CyclicBarrier(2);
        Thread holder = new Thread(() -> {
            try {
                for (long i = 0; i < rounds; i++) {
                    lock.hold(at, ms);
                    at.await();
                }
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        });
        holder.start();
        long ns = 0;
        for (long i = 0; i < rounds; i++) {
            at.await();
            ns += lock.take();
            at.await();
        }
        holder.join();
        return ns;
    }

    public static void main(String[] args) throws Exception {
        long rounds = Long.parseLong(args[0]);
        Object never = new Object();
        Thread idle = new Thread(() -> {
            synchronized (never) {
                try {
                    never.wait();
                } catch (InterruptedException e) {
                }
            }
        });
        idle.setDaemon(true);
        idle.start();
        contend(new Monitor(), 1, 3);
        contend(new Reentrant(), 1, 3);
        System.err.println("ready");
        System.in.read();
        System.out.println("monitor " + rounds + " " + contend(new Monitor(), 40, rounds));
        System.out.println("reentrant " + rounds + " " + contend(new Reentrant(), 40, rounds));
    }
}
