#include "cli/toolbox.h"
#include "base/log.h"
#include "cli/record/output.h"
#include "cache/cache.h"
#include "parser/parser.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_BYTES ((size_t)1 << 30)

static const char *from_environment(void *ctx, const struct option_row *row, size_t i, char *where, size_t len)
{
    return strcmp(row->flag, "debug-dir") ? NULL : options_environment.value(ctx, row, i, where, len);
}

int toolbox_parse(const struct command *c, int argc, char **argv, void *out, int *operands, struct buf *message)
{
    struct option_source environment = {from_environment, NULL};
    return options_parse_from(c, argc, argv, &environment, 1, out, operands, message);
}

static void open_cache(struct toolbox *t)
{
    struct debug_sources *debug = &t->config.debug;
    int rc = debug_sources_open_cache(debug, CACHE_BYTES, &t->cache);
    if (rc) {
        log_warn("cannot use the cache in %s: %s; unwind tables and indexes are built again", debug->cache_dir,
                 strerror(-rc));
        debug->cache_dir = NULL;
    }
    t->config.cache = t->cache;
}

int toolbox_open(struct toolbox *t, const struct toolbox_options *o, unsigned patience_ms, char *why, size_t len)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    limits.timeout_ms = patience_ms;
    int rc = parser_new(&t->parser, &limits);
    if (rc) {
        snprintf(why, len, "cannot start the parser process: %s", strerror(-rc));
        return rc;
    }
    const char *dir = o->cache_dir ? o->cache_dir : output_cache_dir(t->place, sizeof(t->place));
    t->config = (struct binaries_config){
        .parser = t->parser,
        .short_names = o->short_names,
        .debug = {.dirs = (const char *const *)o->debug_dirs.v,
                  .ndirs = o->debug_dirs.n,
                  .urls = (const char *const *)o->debuginfod_urls.v,
                  .nurls = o->debuginfod_urls.n,
                  .more_urls = getenv("DEBUGINFOD_URLS"),
                  .cache_dir = o->no_cache ? NULL : dir,
                  .patient = true},
    };
    open_cache(t);
    return 0;
}

void toolbox_free(struct toolbox *t)
{
    cache_free(&t->cache);
    parser_free(&t->parser);
}
