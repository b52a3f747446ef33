// Java for bench/jvm.sh.
//   java Deep frames DEPTH SECONDS          works at the end of a stack of so many frames, each of a method of its own class
//   java Deep methods COUNT QUIET SECONDS   has so many methods compiled, says "ready", works in none of them for QUIET
//                                           seconds, then at the end of chains of 250 of them, one after the other
// Their classes are made here: each has 250 methods, which call the next one.
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

public class Deep {
    static final int METHODS = 250;
    static volatile long until;

    // What the last method of a chain calls.
    public static long work(long x) {
        while (System.nanoTime() < until)
            for (int i = 0; i < 200; i++)
                x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    static final class Pool {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        final DataOutputStream out = new DataOutputStream(bytes);
        int n = 1;

        int text(String s) throws IOException {
            out.writeByte(1);
            out.writeUTF(s);
            return n++;
        }

        int one(int tag, int a) throws IOException { // 7: class
            out.writeByte(tag);
            out.writeShort(a);
            return n++;
        }

        int two(int tag, int a, int b) throws IOException { // 10: method, 12: its name and type
            out.writeByte(tag);
            out.writeShort(a);
            out.writeShort(b);
            return n++;
        }
    }

    // A class whose method I returns what method I + 1 does, plus 1: lload_0, invokestatic, lconst_1, ladd, lreturn.
    static byte[] made(String name, int methods) throws IOException {
        Pool pool = new Pool();
        int type = pool.text("(J)J"), code = pool.text("Code"), self = pool.one(7, pool.text(name));
        int top = pool.one(7, pool.text("java/lang/Object"));
        int[] names = new int[methods], calls = new int[methods + 1];
        for (int i = 0; i < methods; i++) {
            names[i] = pool.text("method" + i);
            calls[i] = pool.two(10, self, pool.two(12, names[i], type));
        }
        calls[methods] = pool.two(10, pool.one(7, pool.text("Deep")), pool.two(12, pool.text("work"), type));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(52);
        out.writeShort(pool.n);
        pool.bytes.writeTo(out);
        out.writeShort(1);
        out.writeShort(self);
        out.writeShort(top);
        out.writeInt(0); // no interfaces, no fields
        out.writeShort(methods);
        for (int i = 0; i < methods; i++) {
            out.writeShort(9); // public static
            out.writeShort(names[i]);
            out.writeShort(type);
            out.writeShort(1);
            out.writeShort(code);
            out.writeInt(19);
            out.writeShort(4); // words of its stack
            out.writeShort(2); // words of its variables
            out.writeInt(7);
            out.writeByte(0x1e);
            out.writeByte(0xb8);
            out.writeShort(calls[i + 1]);
            out.writeByte(0x0a);
            out.writeByte(0x61);
            out.writeByte(0xad);
            out.writeInt(0); // no handlers, no attributes
        }
        out.writeShort(0);
        return bytes.toByteArray();
    }

    static MethodHandle chain(int number, int methods) throws Exception {
        Class<?> made = MethodHandles.lookup().defineClass(made("Made" + number, methods));
        return MethodHandles.lookup().findStatic(made, "method0", MethodType.methodType(long.class, long.class));
    }

    static long run(MethodHandle chain, long x, long nanoseconds) throws Throwable {
        until = System.nanoTime() + nanoseconds;
        return (long) chain.invokeExact(x);
    }

    static void frames(int depth, long seconds) throws Throwable {
        MethodHandle chain = chain(0, depth);
        long x = 0;
        for (int i = 0; i < 50000; i++)
            x = run(chain, x, 0);
        System.out.println("ready");
        run(chain, x, seconds * 1000000000L);
    }

    static void methods(int count, long quiet, long seconds) throws Throwable {
        MethodHandle[] chains = new MethodHandle[count / METHODS];
        long x = 0;
        for (int i = 0; i < chains.length; i++)
            chains[i] = chain(i, METHODS);
        for (int i = 0; i < 3000; i++)
            for (MethodHandle chain : chains)
                x = run(chain, x, 0);
        Thread.sleep(3000); // the compilers have a queue
        System.out.println("ready");
        until = System.nanoTime() + quiet * 1000000000L;
        x = work(x);
        for (long end = System.nanoTime() + seconds * 1000000000L; System.nanoTime() < end;)
            for (MethodHandle chain : chains)
                x = run(chain, x, 1000000000L / chains.length); // all of them in a second
        System.out.println(x);
    }

    public static void main(String[] args) throws Throwable {
        if (args[0].equals("frames"))
            frames(Integer.parseInt(args[1]), Long.parseLong(args[2]));
        else
            methods(Integer.parseInt(args[1]), Long.parseLong(args[2]), Long.parseLong(args[3]));
    }
}
