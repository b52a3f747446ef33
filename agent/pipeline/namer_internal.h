/* Declarations shared by namer.c and namer_files.c. */
#pragma once
#include "base/turns.h"
#include "debug/line_indexes.h"
#include "debug/name_indexes.h"
#include "parser/parser.h"
#include "pipeline/askers.h"
#include "pipeline/frame_names.h"
#include "pipeline/namer.h"
#include "pipeline/private_names.h"
#include "profile/name_cache.h"

struct namer {
    struct namer_config config;
    struct kernel_names *kernel; /* NULL: not needed yet, or not to be had */
    bool kernel_asked;
    struct debug_search_paths places;
    struct line_indexes *lines;
    struct name_indexes *names;
    struct private_names *privates;
    struct turns line_turns, name_turns; /* the time of an interval for indexes of lines, and for looking up names */
    struct askers askers;                /* while an interval is symbolized */
    u64 cut_names, late_names;
    u64 left_out, left_out_ns; /* waits for what is no lock */
    u64 idle, idle_ns;         /* waits of idle threads */
    struct {                   /* what the parser said of the file asked for last */
        u32 id;
        bool known;
        struct facts facts;
    } segments;
    struct runtime_processes *processes; /* whose runtimes make code */
    struct frame_names *frames;          /* of runtimes that are read */
    struct name_cache *kept;             /* from interval to interval; NULL: there is only one */
};

/* ---- namer_files.c: names of files, for struct name_source; `namer` is a struct namer. ---- */
bool namer_file(void *namer, u32 id, const char **path, const char **build_id);
int namer_offsets(void *namer, u32 id, const u64 *offsets, size_t count,
                  void (*use)(void *arg, const struct names *names), void *arg);
u64 namer_plain_address(void *namer, u32 id, u64 offset);
u64 namer_linked_address(void *namer, u32 id, u64 offset);
bool namer_segment(void *namer, u32 id, u64 offset, u64 *first, u64 *last, u64 *first_offset);
