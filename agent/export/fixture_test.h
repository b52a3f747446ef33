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
/* Counts the files below it, at any depth, whose name contains `part`. */
size_t test_folder_count(const struct test_folder *f, const char *part);

/* A profile with main -> work -> leaf, two sample types (samples/count, cpu/nanoseconds) and one mapping with a build
 * ID. The name of the leaf function is given. */
void test_pprof(struct buf *out, const char *leaf, u64 time_ns);

/* An item with two labels and the profile, with the current time. */
struct export_item test_item(const struct buf *pprof);
