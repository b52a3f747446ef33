class Spin {
    static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] a) {
        long end = System.currentTimeMillis() + 1500, sum = 0;
        while (System.currentTimeMillis() < end) sum += fib(22);
        System.out.println(sum);
    }
}
