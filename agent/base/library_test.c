#include "base/library.h"
#include "base/test.h"
#include <errno.h>
#include <stdio.h>

struct table {
    const char *(*version)(void);
    void *untouched;
};

TEST(library_functions)
{
    static const struct library_function found[] = {{"zlibVersion", offsetof(struct table, version)}, {NULL, 0}};
    static const struct library_function missing[] = {{"no_such_function", offsetof(struct table, version)}, {NULL, 0}};
    struct table t = {0};
    CHECK_EQ(library_load("libz.so.1", found, &t), 0);
    CHECK(t.version && !t.untouched);
    CHECK(t.version()[0] == '1');
    CHECK_EQ(library_load("libz.so.1", missing, &t), -ELIBBAD);
    CHECK_EQ(library_load("libnothing.so.1", found, &t), -ELIBACC);
}

/* What children and most commands do not need is not linked. */
TEST(library_not_linked)
{
    char line[256];
    FILE *program = popen("readelf -d \"${XPROF_TESTDATA%/*}/xprof\" 2>/dev/null | grep NEEDED", "r");
    bool linked = false;
    while (program && fgets(line, sizeof(line), program))
        linked |= strstr(line, "libcurl") || strstr(line, "libmicrohttpd");
    CHECK(program && !linked);
    pclose(program);
}
