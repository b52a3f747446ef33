// Works in five calls that are inlined into each other, and says how much it got done:
//   java Work SECONDS    a line "DONE" per second
public class Work {
    static long done;

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
        for (int i = 0; i < 500; i++)
            x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    static long part(long x, long end) {
        while (System.nanoTime() < end) {
            x += in1(x);
            done++;
        }
        return x;
    }

    public static void main(String[] args) {
        long x = 1, start = System.nanoTime();
        for (int second = 1; second <= Integer.parseInt(args[0]); second++) {
            done = 0;
            x = part(x, start + second * 1000000000L);
            System.out.println(done + (x == 0 ? " " : ""));
        }
    }
}
