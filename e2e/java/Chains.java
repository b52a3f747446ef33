// Runs through known chains of calls, one after the other, and says which: a line per chain, the names of its methods
// from the root on with ";" between them. What the chain's last method does takes most of the time.
//
//   java Chains MILLISECONDS [PREFIX [MICROSECONDS]]    PREFIX: only chains whose name begins with it
//
// A chain is one call that takes all of the time, so that most of it is interpreted, or many calls that take MICROSECONDS,
// so that it is compiled and its methods are inlined.
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.function.LongUnaryOperator;

public class Chains {
    static long until, sink;
    static long milliseconds, part = Long.MAX_VALUE; // part: of a call, in ns
    static String prefix = "";

    interface Chain {
        long run(long x);
    }

    // ---- What takes the time ----

    static long spin(long x) {
        while (System.nanoTime() < until)
            for (int i = 0; i < 200; i++)
                x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    // ---- Supertypes that are not found where the last one was, and arrays of classes that the compiler does not know ----

    interface First {}

    interface Second {}

    static final class Both implements First, Second {}

    static long supertypes(Object o, long x) {
        while (System.nanoTime() < until)
            for (int i = 0; i < 200; i++) {
                if (o instanceof First)
                    x++;
                if (o instanceof Second)
                    x += 2;
            }
        return x;
    }

    static long copies(Object[] from, Object[] to, long x) {
        while (System.nanoTime() < until)
            for (int i = 0; i < 200; i++)
                System.arraycopy(from, 0, to, 0, 1);
        return x;
    }

    // ---- Recursion ----

    static long recurse(int n, long x) {
        return n == 0 ? spin(x) : recurse(n - 1, x) + 1;
    }

    static long even(int n, long x) {
        return n == 0 ? spin(x) : odd(n - 1, x) + 2;
    }

    static long odd(int n, long x) {
        return n == 0 ? spin(x) : even(n - 1, x) + 3;
    }

    // ---- Small methods, which are inlined ----

    static long in1(long x) {
        return in2(x) + 1;
    }

    static long in2(long x) {
        return in3(x) + 1;
    }

    static long in3(long x) {
        return in4(x) + 1;
    }

    static long in4(long x) {
        return in5(x) + 1;
    }

    static long in5(long x) {
        return spin(x) + 1;
    }

    final long viaFinal(long x) {
        return spin(x) + 1;
    }

    private long viaPrivate(long x) {
        return spin(x) + 1;
    }

    long viaVirtual(long x) {
        return spin(x) + 1;
    }

    // ---- Interfaces of one, two and many kinds ----

    interface Shape {
        long area(long x);
    }

    static class Circle implements Shape {
        public long area(long x) {
            return spin(x) + 1;
        }
    }

    static class Square implements Shape {
        public long area(long x) {
            return spin(x) + 2;
        }
    }

    static class Star implements Shape {
        public long area(long x) {
            return spin(x) + 3;
        }
    }

    static class Cube extends Square {
        public long area(long x) {
            return super.area(x) + 1;
        }
    }

    interface Named {
        default long byDefault(long x) {
            return spin(x) + 1;
        }

        static long byStatic(long x) {
            return spin(x) + 1;
        }
    }

    static class Plain implements Named {
    }

    static long one(Shape s, long x) {
        return s.area(x) + 1;
    }

    static long two(Shape s, long x) {
        return s.area(x) + 2;
    }

    static long many(Shape s, long x) {
        return s.area(x) + 3;
    }

    abstract static class Animal {
        abstract long speak(long x);

        long talk(long x) {
            return speak(x) + 1;
        }
    }

    static class Dog extends Animal {
        long speak(long x) {
            return spin(x) + 1;
        }
    }

    static class Cat extends Animal {
        long speak(long x) {
            return spin(x) + 2;
        }
    }

    class Inner {
        long inside(long x) {
            return spin(x) + 1;
        }
    }

    static class Made {
        long x;

        Made(long x) {
            this.x = spin(x);
        }
    }

    static class Derived extends Made {
        Derived(long x) {
            super(x);
            this.x++;
        }
    }

    // ---- Exceptions, locks, control flow ----

    static long thrown(long x) {
        throw new IllegalStateException("thrown");
    }

    static long caught(long x) {
        try {
            return thrown(x);
        } catch (IllegalStateException e) {
            return spin(x) + 1;
        }
    }

    static long atLast(long x) {
        try {
            x++;
        } finally {
            x = spin(x);
        }
        return x;
    }

    static synchronized long locked(long x) {
        return spin(x) + 1;
    }

    static final Object LOCK = new Object();

    static long lockedBlock(long x) {
        synchronized (LOCK) {
            return spin(x) + 1;
        }
    }

    static long loop(long x) {
        while (System.nanoTime() < until)
            for (int i = 0; i < 200; i++)
                x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    static long nested(long x) {
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                x = spin(x + j) + i;
        return x;
    }

    static long switched(String s, long x) {
        switch (s) {
            case "a":
                return spin(x) + 1;
            case "b":
                return spin(x) + 2;
            default:
                return x;
        }
    }

    static long wide(long a, double b, long c, double d, int e, int f, int g, long h, float i, long x) {
        return spin(x + a + c + e + f + g + h) + (long) (b + d + i);
    }

    static double doubles(double a, double b) {
        return spin((long) (a * b)) + a;
    }

    static long arrays(long[] a) {
        a[1] = spin(a[0]);
        return a[1];
    }

    static long variadic(Object... all) {
        return spin((Long) all[0]) + all.length;
    }

    static <T extends Comparable<T>> long generic(T t, long x) {
        return spin(x) + t.compareTo(t);
    }

    enum Kind {
        FIRST {
            long apply(long x) {
                return spin(x) + 1;
            }
        },
        SECOND {
            long apply(long x) {
                return spin(x) + 2;
            }
        };

        abstract long apply(long x);
    }

    // ---- Lambdas and method handles ----

    static long twice(LongUnaryOperator f, long x) {
        return f.applyAsLong(x) + 1;
    }

    static final MethodHandle HANDLE;

    static {
        try {
            HANDLE = MethodHandles.lookup().findStatic(Chains.class, "handled",
                MethodType.methodType(long.class, long.class));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static long handled(long x) {
        return spin(x) + 1;
    }

    static long invokeHandle(long x) {
        try {
            return (long) HANDLE.invokeExact(x) + 1;
        } catch (Throwable t) {
            throw new IllegalStateException(t);
        }
    }

    // ---- Unicode ----

    static long größe(long x) {
        return spin(x) + 1;
    }

    static long размер(long x) {
        return spin(x) + 1;
    }

    // ---- Methods that call back ----

    static int compareSlowly(Integer a, Integer b) {
        sink += spin(a);
        return a.compareTo(b);
    }

    static class Late {
        static long value;

        static {
            value = spin(1);
        }
    }

    // ---- All of them ----

    static void run(String name, Chain c, String frames) {
        if (!name.startsWith(prefix))
            return;
        long end = System.nanoTime() + milliseconds * 1000000;
        long i = 0;
        for (long now; (now = System.nanoTime()) < end;) {
            until = end - now < part ? end : now + part;
            sink += c.run(i++);
        }
        System.out.println(name + " " + frames);
    }

    // A recording that begins with the program has the time to look at its virtual machine. What the library needs for
    // lambdas is made: that takes 50 ms in JDK 8.
    static void warmUp() {
        until = 0;
        sink += twice(Chains::handled, 1);
        until = System.nanoTime() + 400000000;
        while (System.nanoTime() < until)
            sink++;
    }

    static String times(String frame, int n) {
        String[] all = new String[n];
        Arrays.fill(all, frame);
        return String.join(";", all);
    }

    static final class Direct implements Chain { // the frame by which the test finds a chain
        final int number;

        Direct(int number) {
            this.number = number;
        }

        public long run(long x) {
            switch (number) {
                case 0: return c00(x);
                case 1: return c01(x);
                case 2: return c02(x);
                case 3: return c03(x);
                case 4: return c04(x);
                case 5: return c05(x);
                case 6: return c06(x);
                case 7: return c07(x);
                case 8: return c08(x);
                case 9: return c09(x);
                case 10: return c10(x);
                case 11: return c11(x);
                case 12: return c12(x);
                case 13: return c13(x);
                case 14: return c14(x);
                case 15: return c15(x);
                case 16: return c16(x);
                case 17: return c17(x);
                case 18: return c18(x);
                case 19: return c19(x);
                case 20: return c20(x);
                case 21: return c21(x);
                case 22: return c22(x);
                case 23: return c23(x);
                case 24: return c24(x);
                case 25: return c25(x);
                case 26: return c26(x);
                case 27: return c27(x);
                case 28: return c28(x);
                case 29: return c29(x);
                case 30: return c30(x);
                case 31: return c31(x);
                case 32: return c32(x);
                case 33: return c33(x);
                case 34: return c34(x);
                case 35: return c35(x);
                case 36: return c36(x);
                case 37: return c37(x);
                case 38: return c38(x);
                case 39: return c39(x);
                default: return c40(x);
            }
        }
    }

    static final Chains SELF = new Chains();
    static final Shape[] SHAPES = {new Circle(), new Square(), new Star()};

    static long c00(long x) { return spin(x) + 1; }
    static long c01(long x) { return recurse(7, x) + 1; }
    static long c02(long x) { return even(6, x) + 1; }
    static long c03(long x) { return in1(x) + 1; }
    static long c04(long x) { return SELF.viaFinal(x) + 1; }
    static long c05(long x) { return SELF.viaPrivate(x) + 1; }
    static long c06(long x) { return SELF.viaVirtual(x) + 1; }
    static long c07(long x) { return one(SHAPES[0], x) + 1; }
    static long c08(long x) { return two(SHAPES[0], x) + 1; }
    static long c09(long x) { return two(SHAPES[1], x) + 1; }
    static long c10(long x) { return many(SHAPES[0], x) + 1; }
    static long c11(long x) { return many(SHAPES[1], x) + 1; }
    static long c12(long x) { return many(SHAPES[2], x) + 1; }
    static long c13(long x) { return new Cube().area(x) + 1; }
    static long c14(long x) { return new Plain().byDefault(x) + 1; }
    static long c15(long x) { return Named.byStatic(x) + 1; }
    static long c16(long x) { return new Dog().talk(x) + 1; }
    static long c17(long x) { return new Cat().talk(x) + 1; }
    static long c18(long x) { return SELF.new Inner().inside(x) + 1; }
    static long c19(long x) { return new Made(x).x + 1; }
    static long c20(long x) { return new Derived(x).x + 1; }
    static long c21(long x) { return caught(x) + 1; }
    static long c22(long x) { return atLast(x) + 1; }
    static long c23(long x) { return locked(x) + 1; }
    static long c24(long x) { return lockedBlock(x) + 1; }
    static long c25(long x) { return loop(x) + 1; }
    static long c26(long x) { return nested(x) + 1; }
    static long c27(long x) { return switched("b", x) + 1; }
    static long c28(long x) { return wide(1, 2, 3, 4, 5, 6, 7, 8, 9, x) + 1; }
    static long c29(long x) { return (long) doubles(x, 3) + 1; }
    static long c30(long x) { return arrays(new long[] {x, 0}) + 1; }
    static long c31(long x) { return variadic(x, "y", 3) + 1; }
    static long c32(long x) { return generic("t", x) + 1; }
    static long c33(long x) { return Kind.FIRST.apply(x) + 1; }
    static long c34(long x) { return Kind.SECOND.apply(x) + 1; }
    static long c35(long x) { return größe(x) + 1; }
    static long c36(long x) { return размер(x) + 1; }
    static long c37(long x) { return invokeHandle(x) + 1; }
    static long c38(long x) { return twice(y -> spin(y) + 3, x) + 1; }
    static long c39(long x) { return supertypes(new Both(), x) + 1; }
    static long c40(long x) { return copies(new Integer[1], new Number[1], x) + 1; }

    static final String[] FRAMES = {
        "spin",
        times("recurse", 8) + ";spin",
        "even;odd;even;odd;even;odd;even;spin",
        "in1;in2;in3;in4;in5;spin",
        "viaFinal;spin",
        "viaPrivate;spin",
        "viaVirtual;spin",
        "one;$Circle.area;spin",
        "two;$Circle.area;spin",
        "two;$Square.area;spin",
        "many;$Circle.area;spin",
        "many;$Square.area;spin",
        "many;$Star.area;spin",
        "$Cube.area;$Square.area;spin",
        "$Named.byDefault;spin",
        "$Named.byStatic;spin",
        "$Animal.talk;$Dog.speak;spin",
        "$Animal.talk;$Cat.speak;spin",
        "$Inner.inside;spin",
        "$Made.<init>;spin",
        "$Derived.<init>;$Made.<init>;spin",
        "caught;spin",
        "atLast;spin",
        "locked;spin",
        "lockedBlock;spin",
        "loop",
        "nested;spin",
        "switched;spin",
        "wide;spin",
        "doubles;spin",
        "arrays;spin",
        "variadic;spin",
        "generic;spin",
        "$Kind$1.apply;spin",
        "$Kind$2.apply;spin",
        "größe;spin",
        "размер;spin",
        "invokeHandle;*;handled;spin", // "*": frames of the library
        "twice;*;lambda$c38$0;spin",
        "supertypes",
        "copies",
    };

    static String name(int i) {
        return String.format("c%02d", i);
    }

    public static void main(String[] args) throws Exception {
        milliseconds = Long.parseLong(args[0]);
        warmUp();
        if (args.length > 1)
            prefix = args[1];
        if (args.length > 2)
            part = Long.parseLong(args[2]) * 1000;
        for (int i = 0; i < FRAMES.length; i++)
            run(name(i), new Direct(i), FRAMES[i]);
        if ("sort".startsWith(prefix)) {
            Integer[] numbers = {3, 1, 2};
            Comparator<Integer> slowly = Chains::compareSlowly;
            until = System.nanoTime() + milliseconds * 1000000;
            Arrays.sort(numbers, slowly);
            System.out.println("sort compareSlowly;spin");
        }
        if ("reflect".startsWith(prefix)) {
            Method handled = Chains.class.getDeclaredMethod("handled", long.class);
            handled.invoke(null, 5L); // what the library needs for it is made
            until = System.nanoTime() + milliseconds * 1000000;
            handled.invoke(null, 5L);
            System.out.println("reflect handled;spin");
        }
        if ("clinit".startsWith(prefix)) {
            until = System.nanoTime() + milliseconds * 1000000;
            sink += Late.value;
            System.out.println("clinit $Late.<clinit>;spin");
        }
        Thread.sleep(300); // so that there is time to read the last names
    }
}
