/* What tests of the spool share. Records are numbered; the reader is called "a". */
#pragma once
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/test.h"
#include "export/fixture_test.h"
#include "export/spool.h"

#define AUTO_SPOOL __attribute__((cleanup(spool_free)))
#define HOUR       (3600 * NS_PER_SEC)
#define T0         (1000 * HOUR)

enum { FIRST = 16, RECORD = 40 + 1024 }; /* header of the segment; head and body */

struct spool_config config_of(const char *dir);
int put_number(struct spool *s, unsigned n, u64 wall_ns);
/* Returns the number of the next record; -1: none, -2: damaged, -3: else. */
int next_number(struct spool *s, struct spool_reader *r);
/* Opens, puts 0 to n - 1, and closes again without reading. */
int fill(const char *dir, unsigned n);
int reopen(struct spool **s, struct spool_reader **r, const char *dir);
/* Returns how many records were lost to damage since the last call; 1000: some were lost for other reasons. */
u64 lost_corrupt(struct spool *s, struct spool_reader *r);

/* The start of most tests: a folder with three records, to be opened as `s` and read as `r`. */
#define FILLED_FOLDER                       \
    AUTO_FOLDER struct test_folder f = {0}; \
    AUTO_SPOOL struct spool *s = NULL;      \
    struct spool_reader *r;                 \
    CHECK_EQ(test_folder_new(&f), 0);       \
    CHECK_EQ(fill(f.path, 3), 0)
