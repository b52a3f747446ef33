/* The runner of all unit tests; linked only into build/unit. */
#include "base/test.h"
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

int main(int argc, char **argv)
{
    int count[3] = {0}; /* passed, failed, skipped */
    for (struct test_case *t = cases; t; t = t->next) {
        if (argc > 1 && !strstr(t->name, argv[1]) && !strstr(t->file, argv[1]))
            continue;
        failed = skipped = false;
        t->run();
        count[failed ? 1 : skipped ? 2 : 0]++;
        printf("%s %s\n", failed ? "FAIL" : skipped ? "skip" : "ok  ", t->name);
    }
    printf("%d passed, %d failed, %d skipped\n", count[0], count[1], count[2]);
    return count[1] || !(count[0] + count[2]);
}
