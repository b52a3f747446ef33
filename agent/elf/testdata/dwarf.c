/* Inlined calls at known lines, a cold part, and a function in another section. */
static int sink;

static inline __attribute__((always_inline)) int leaf(int x)
{
    sink += x; /* line 6 */
    return sink;
}

static inline __attribute__((always_inline)) int middle(int x)
{
    return leaf(x) * 3; /* line 12 */
}

__attribute__((noinline, used)) int outer(int x)
{
    return middle(x) + 1; /* line 17 */
}

__attribute__((cold, noinline)) void never(void)
{
    sink = 0; /* line 22 */
}

__attribute__((noinline)) int split(int x)
{
    if (x > 1000000) {
        never();
        sink = middle(x) + 5; /* line 29: in the cold part */
        never();
    }
    return x;
}

void _start(void)
{
    outer(1);
    split(2);
    for (;;)
        ;
}
