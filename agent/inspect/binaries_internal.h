/* Declarations shared by binaries.c and binary_names.c. */
#pragma once
#include "base/buf.h"
#include "base/vec.h"
#include "cache/cache.h"
#include "debug/line_indexes.h"
#include "elf/facts.h"
#include "inspect/binaries.h"
#include "inspect/binary_stretches.h"
#include "inspect/kernel_reader.h"
#include "parser/parser.h"
#include "parser/synth_table.h"

struct entry {
    struct binary binary;
    struct table_key table_key;
    struct cache_image cached; /* the table: one of these two */
    struct parser_reply made;
    struct cache_image whole; /* the table with all rows, if it was kept */
    struct parser_synth synth;
    struct binary_stretches stretches;
    bool table_tried, synth_tried, facts_tried;
    int table_error, synth_error, facts_error;
    struct facts facts;
};
struct binaries {
    struct parser *parser;
    struct cache *cache;
    struct debug_search_paths places;
    bool short_names;
    struct line_indexes *lines;
    struct name_cache *named;
    VEC(struct entry *) list; /* entries stay where they are */
    struct kernel_reader kernel;
    struct runtime_processes *processes;
    struct buf symbols; /* of its generated code */
    int attached;       /* what there is of its runtime: a sealed memfd; -1: none */
    u32 tgid;           /* of the process in it */
    u64 start;
};
