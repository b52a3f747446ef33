/* Fixtures for the tests of this room: hand-made samples, and a source of names in which each file is a special case.
 *
 *   file 2  /usr/bin/demo            0x1000 main, 0x2000 outer (from 0x2100 on: inner inlined into it), 0x3000 leaf
 *                                    0x4000 pthread_cond_wait, 0x5000 take_gil; data: 0x9000 counter_lock, 0x9100 table
 *   file 3  /usr/lib/libplain.so.1   no symbols: FDEs every 0x1000
 *   file 4  /tmp/broken              names cannot be read
 *   file 5  not known to the source
 *   file 6  /opt/hostile;dir/a"b</script>   names with quotes, newlines, bytes that are not UTF-8, and 100 KB long
 *
 * The kernel has a function every 0x1000: the way of a system call from 0 on, a file system at 0x100000, where threads
 * wait from 0x200000 on: schedule, anon_pipe_read, folio_wait_bit.isra.0, some_driver_wait.part.0
 */
#pragma once
#include "base/test.h"
#include "profile/aggregate.h"
#include "profile/profile.h"
#include "profile/symbolize.h"

#define W(file, offset)      XP_FILE_WORD(XP_WORD_CFI, file, offset)
#define W_LEAF(file, offset) (W(file, offset) | XP_WORD_EXACT)
#define W_ANON(address)      ((u64)(address))
#define W_WAIT(flags)        XP_WAIT_WORD(flags, 1)
#define W_LOCKED(words)      XP_WAIT_WORD(XP_WAIT_LOCKED, words) /* then the words of the reason */
#define W_LOCK(file, offset) (XP_FILE_WORD(XP_WORD_LOCK, file, offset) | XP_LOCK_IN_FILE)
#define W_LOCK_AT(place, a)  ((u64)XP_WORD_LOCK << 60 | (u64)(place) << 56 | (a))
#define W_KERNEL(offset)     (0xffffffff81000000ull + (offset))

struct fixture_sample {
    const char *comm; /* with the name of the thread, if it has one: "demo@pool-1" */
    u32 tgid;
    u8 event, cause;
    u64 weight;
    unsigned nkernel, nuser;
    u64 words[32];
};
/* 0 or what aggregate_add says. */
int fixture_add(struct aggregate *a, const struct fixture_sample *s);

struct fixture_source {
    struct name_source source;
    unsigned asked[8]; /* calls of names, by file */
    size_t offsets;    /* total number requested */
    bool descending;   /* offsets were not ascending and distinct */
};
void fixture_source(struct fixture_source *f);

/* Converts samples to a profile with one cpu event at 100 Hz and a duration of 2 s, recorded at a fixed time. */
int fixture_profile(const struct fixture_sample *s, size_t n, struct profile *out);
/* Builds a profile with everything that the formats have to handle. */
int fixture_hostile(struct profile *out);
