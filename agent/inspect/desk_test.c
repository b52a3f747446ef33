#include "inspect/desk_test.h"
#include "base/test.h"
#include "cache/cache.h"
#include "dwarf/names.h"
#include "parser/parser.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void desk_free(struct desk *d)
{
    char command[128];
    binaries_free(&d->binaries);
    cache_free(&d->cache);
    parser_free(&d->parser);
    snprintf(command, sizeof(command), "rm -rf %s", d->dir);
    if (*d->dir && system(command))
        printf("  %s stays\n", d->dir);
}
int desk_new(struct desk *d)
{
    strcpy(d->dir, "/tmp/xprof-test-XXXXXX");
    if (!mkdtemp(d->dir))
        return -errno;
    const char *const dirs[] = {d->dir};
    int rc = parser_new(&d->parser, &(struct parser_limits)PARSER_LIMITS_DEFAULT);
    rc = rc ? rc : cache_open(&d->cache, d->dir, 1 << 30);
    struct binaries_config c = {.parser = d->parser, .cache = d->cache, .debug = {.dirs = dirs, .ndirs = 1}};
    return rc ? rc : binaries_new(&d->binaries, &c);
}

void path_of(const char *name, char path[4096])
{
    char relative[4096];
    snprintf(relative, sizeof(relative), "%s/%s", test_data(), name);
    if (!realpath(relative, path))
        *path = 0;
}

u32 add_fixture(struct desk *d, const char *name)
{
    char path[4096];
    path_of(name, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? 0 : binaries_add(d->binaries, fd, path, 0);
}

void first_name(void *text, const struct names *n)
{
    snprintf(text, 64, "%.63s", n->n ? n->strings + n->frames[0].name : "");
}
