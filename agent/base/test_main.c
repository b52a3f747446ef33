/* The runner of all unit tests; linked only into build/unit.
 *   build/unit [-x] [SUBSTRING...]   runs the tests whose FILE:NAME contains one of them, in their order
 *   build/unit -s K/N [SUBSTRING...] runs every Nth test, from the Kth: N processes run all of them
 *   build/unit -l                    lists FILE:NAME of all tests
 * With -x, it stops at the first failure. */
#include "base/test.h"
#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>

static struct test_case *cases;
static bool failed, skipped;

void test_register(struct test_case *t)
{
    struct test_case **at = &cases;
    while (*at && (strcmp((*at)->file, t->file) < 0 || ((*at)->file == t->file)))
        at = &(*at)->next;
    t->next = *at;
    *at = t;
}

void test_fail(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    failed = true;
    printf("%s:%d: ", file, line);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

void test_skip(const char *why)
{
    skipped = true;
    printf("  skip: %s\n", why);
}

const char *test_data(void)
{
    const char *dir = getenv("XPROF_TESTDATA");
    return dir ? dir : "build/testdata";
}

static bool selected(const struct test_case *t, const char *pattern)
{
    char name[256];
    snprintf(name, sizeof(name), "%s:%s", t->file, t->name);
    return !pattern || strstr(name, pattern);
}

int test_descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* Files that are mapped, the program and its libraries aside. */
static int mapped_files(void)
{
    int n = 0;
    char line[512];
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && fgets(line, sizeof(line), f))
        n += strstr(line, " /memfd:") || strstr(line, " /tmp/");
    if (f)
        fclose(f);
    return n;
}

/* What a test leaves open or mapped is left by the code that it tests, as memory is (which the sanitizer reports at the
 * end). */
static void run(struct test_case *t, int count[3])
{
    int fds = test_descriptors(), files = mapped_files();
    failed = skipped = false;
    t->run();
    fds = test_descriptors() - fds;
    files = mapped_files() - files;
    if ((fds > 0 || files > 0) && !failed && !skipped)
        test_fail(t->file, 0, "%s leaves %d descriptors open and %d files mapped", t->name, fds, files);
    t->run = NULL; /* once, although several patterns may name it */
    count[failed ? 1 : skipped ? 2 : 0]++;
    printf("%s %s\n", failed ? "FAIL" : skipped ? "skip" : "ok  ", t->name);
}

static int list(void)
{
    for (struct test_case *t = cases; t; t = t->next)
        printf("%s:%s\n", t->file, t->name);
    return 0;
}

/* Leaves every Nth test, from the Kth. */
static int keep_share(const char *share)
{
    int k, n, i = 0;
    if (!share || sscanf(share, "%d/%d", &k, &n) != 2 || k < 1 || k > n) {
        fprintf(stderr, "unit: -s takes K/N, 1 <= K <= N\n");
        return -1;
    }
    for (struct test_case *t = cases; t; t = t->next, i++)
        t->run = i % n == k - 1 ? t->run : NULL;
    return 0;
}

int main(int argc, char **argv)
{
    int count[3] = {0}; /* passed, failed, skipped */
    if (argc > 1 && !strcmp(argv[1], "-s")) {
        if (keep_share(argv[2]))
            return 2;
        argc -= 2;
        argv += 2;
    }
    bool stop = argc > 1 && !strcmp(argv[1], "-x");
    char *all[] = {NULL}, **patterns = argc > 1 + stop ? argv + 1 + stop : all;
    if (argc > 1 && !strcmp(argv[1], "-l"))
        return list();
    /* Tests fork: whatever is still in the buffer would be printed by the children, too. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    do {
        for (struct test_case *t = cases; t && !(stop && count[1]); t = t->next) {
            if (t->run && selected(t, *patterns))
                run(t, count);
        }
    } while (*patterns && *++patterns);
    printf("%d passed, %d failed, %d skipped\n", count[0], count[1], count[2]);
    return count[1] || !(count[0] + count[2]);
}
