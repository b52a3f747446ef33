/* Opens the resources shared by the commands without sampling: a parser, a cache, and the search paths of debug
 * files. */
#pragma once
#include "inspect/binaries.h"
#include "cli/options/options.h"

struct toolbox_options {
    bool no_cache, short_names;
    const char *cache_dir;
    struct option_list debug_dirs, debuginfod_urls;
};
/* The rows of these options, for a command whose struct has them as the member `tools`. */
#define TOOLBOX_ROWS(type)                                                                                         \
    {"debug-dir",                                                                                                  \
     0,                                                                                                            \
     OPTION_LIST,                                                                                                  \
     "DIR,...",                                                                                                    \
     offsetof(type, tools.debug_dirs),                                                                             \
     .most = 16,                                                                                                   \
     .hint = HINT_DIRECTORY,                                                                                       \
     .help = "additional directories with debug files (also: $XPROF_DEBUG_DIR)"},                                  \
        {"debuginfod-urls",                                                                                        \
         0,                                                                                                        \
         OPTION_LIST,                                                                                              \
         "URL,...",                                                                                                \
         offsetof(type, tools.debuginfod_urls),                                                                    \
         .most = 8,                                                                                                \
         .help = "debuginfod servers to fetch debug files from (default: $DEBUGINFOD_URLS)"},                      \
        {"short-names",                                                                                            \
         0,                                                                                                        \
         OPTION_BOOL,                                                                                              \
         NULL,                                                                                                     \
         offsetof(type, tools.short_names),                                                                        \
         .help = "show C++ functions without argument lists"},                                                     \
        {"cache-dir",                                                                                              \
         0,                                                                                                        \
         OPTION_TEXT,                                                                                              \
         "DIR",                                                                                                    \
         offsetof(type, tools.cache_dir),                                                                          \
         .hint = HINT_DIRECTORY,                                                                                   \
         .help = "cache directory for unwind tables and indexes of lines and names"},                              \
    {                                                                                                              \
        "no-cache", 0, OPTION_BOOL, NULL, offsetof(type, tools.no_cache), .help = "do not use the cache directory" \
    }

/* Like options_parse, but the location of debug files can also come from the environment, because it is a property of
 * the machine. */
int toolbox_parse(const struct command *c, int argc, char **argv, void *out, int *operands, struct buf *message);

struct toolbox {
    struct parser *parser;
    struct cache *cache;
    char place[512];               /* directory of the cache */
    struct binaries_config config; /* refers to the members above */
};
/* `patience_ms` is the time limit for one file. Returns 0, or -errno and a line in why[]. Call toolbox_free in every
 * case. */
int toolbox_open(struct toolbox *t, const struct toolbox_options *o, unsigned patience_ms, char *why, size_t len);
void toolbox_free(struct toolbox *t);
