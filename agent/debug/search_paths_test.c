/* What is kept of what the user said. */
#include "debug/search_paths.h"
#include "base/test.h"
#include <stdlib.h>
#include <string.h>

TEST(debug_search_paths_outlive_the_options)
{
    struct debug_search_paths p;
    char *dir = strdup("/there"), **list = calloc(1, sizeof(*list));
    CHECK(dir && list);
    list[0] = dir;
    const struct debug_sources s = {.dirs = (const char *const *)list, .ndirs = 1};
    debug_search_paths_open(&p, &s, NULL);
    memset(dir, 'x', strlen(dir)); /* as when an agent reads its configuration again */
    free(dir);
    free(list);
    CHECK_EQ(p.ndirs, 1);
    CHECK_STR(p.dirs[0], "/there");
    debug_search_paths_close(&p);
    CHECK(!p.own_dirs);
}
