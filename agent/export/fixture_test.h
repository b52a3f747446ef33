/* Fixtures for the tests of this room: a temporary directory, a small pprof profile, an item with labels. */
#pragma once
#include "base/buf.h"
#include "export/export.h"

struct test_folder {
    char path[64];
};
int test_folder_new(struct test_folder *f);
void test_folder_free(struct test_folder *f);
#define AUTO_FOLDER __attribute__((cleanup(test_folder_free)))
/* Files below it, of any depth, whose name contains `part`. */
size_t test_folder_count(const struct test_folder *f, const char *part);

/* main -> work -> leaf, two sample types (samples/count, cpu/nanoseconds), one mapping with a build id; the leaf's
 * function has that name. */
void test_pprof(struct buf *out, const char *leaf, u64 time_ns);

/* Two labels and the profile, of now. */
struct export_item test_item(const struct buf *pprof);
