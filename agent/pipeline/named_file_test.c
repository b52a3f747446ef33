#include "pipeline/named_file.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

TEST(named_files_are_those_of_the_name)
{
    static const struct {
        const char *file, *path;
        bool is;
    } rows[] = {
        {"libssl.so.3", "/usr/lib/x86_64-linux-gnu/libssl.so.3", true},
        {"libssl.so.3", "/libssl.so.3", true},
        {"ssl.so.3", "/usr/lib/libssl.so.3", false},
        {"libssl.so", "/usr/lib/libssl.so.3", false},
        {"libssl.so.3", "so.3", false},
        {"/usr/bin/x", "/usr/bin/x", true},
        {"/bin/x", "/usr/bin/x", false},
        {"x", NULL, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *file = strdup(rows[i].file);
        const struct probe_places places = {.fd = -1, .file = file};
        if (named_file_is(&places, rows[i].path) != rows[i].is)
            test_fail(__FILE__, __LINE__, "%s: %s", rows[i].file, rows[i].path ? rows[i].path : "nothing");
        free(file);
    }
}

TEST(named_files_are_read_for_functions)
{
    char file[] = "unit", all[] = "named_file_*", none[] = "no_such_function";
    struct probe_places places = {.fd = -1, .file = file, .function = all};
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct allocators out;
    struct named_usdt *usdt;
    CHECK_EQ(parser_new(&p, &limits), 0);
    CHECK_EQ(named_file_read(p, fd, &places, &out, &usdt), 0);
    CHECK(out.n >= 2 && out.site[0].call == XP_PLACE_CALLED && out.site[0].offset < out.site[1].offset);
    places.when = PROBE_RETURNS;
    CHECK_EQ(named_file_read(p, fd, &places, &out, &usdt), 0);
    CHECK(out.n >= 2 && out.site[0].call == XP_PLACE_RETURNS);
    places.function = none;
    CHECK_EQ(named_file_read(p, fd, &places, &out, &usdt), -ENOENT);
}
