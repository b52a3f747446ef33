// For a JIT compiler: main;outer x 6;middle;leaf, which takes nearly all of the time, about four seconds.
volatile long sink;

__attribute__((noinline)) long leaf(long n)
{
    long a = n;
    for (long i = 0; i < 20000; i++)
        a = a * 31 + (i ^ a);
    return a;
}

__attribute__((noinline)) long middle(long n)
{
    volatile char room[128];
    long r = leaf(n);
    room[r & 127] = 1;
    return r + room[n & 127];
}

__attribute__((noinline)) long outer(long n, int depth)
{
    return depth ? outer(n, depth - 1) * 3 + 1 : middle(n) ^ 5;
}

int main(void)
{
    for (long i = 0; i < 200000; i++)
        sink += outer(i, 5);
    return 0;
}
