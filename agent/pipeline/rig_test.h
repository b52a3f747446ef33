/* A pipeline with the fake kernel side of probe/fake_test.h. It profiles this program itself, with its own file and
 * mappings.
 */
#pragma once
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_internal.h"
#include "probe/fake_test.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_ID 7
#define HZ      100

struct rig {
    struct pipeline *pipeline;
    struct probe *probe;
    struct xp_mapping text; /* of this program's file */
    struct xp_file_key key;
    struct pipeline_config config;
    unsigned profiles; /* atomic: number passed to the sink */
    unsigned holds;    /* atomic: the sink does not return before this is 0 */
    u64 samples, hz_period;
    char leaf[64];
    unsigned cgroups;
};

/* 0; 1: this machine does not let us open what we have mapped; -1. What the config has before stays: cache_dir,
 * raw, neighbours, aggregate_bytes.
 */
int rig_begin(struct rig *r, bool intervals);
void rig_end(struct rig *r);
#define AUTO_RIG CLEANUP(rig_end) struct rig
#define BEGIN(r, intervals)                                           \
    do {                                                              \
        int rc_ = rig_begin(&(r), intervals);                         \
        if (rc_ > 0)                                                  \
            SKIP("mapped files cannot be opened without privileges"); \
        CHECK_EQ(rc_, 0);                                             \
    } while (0)

/* Returns the key of a file as the kernel side sees it. */
struct xp_file_key rig_key(const struct stat *st);
/* Finds the mapping of this program that contains an address; false: there is none. */
bool mapping_of(u64 address, struct xp_mapping *out);
/* Found by name in profiles. */
int pipeline_leaf(int x);
/* Returns the stack word of an address in this program's code. */
u64 word_of(const struct rig *r, u64 address);
const char *name_at(const struct profile *p, const struct prof_stack *s, u32 frame);

struct one_word {
    struct xp_sample s;
    u64 word;
};
struct one_word sample_of(const struct rig *r, u64 word, u8 cause);
/* Push into the ring: the announcement of this program's file; a complete stack of one frame in pipeline_leaf. */
void push_file(struct rig *r);
void push_leaf(struct rig *r);

/* Returns the number of intervals passed to the sink. */
unsigned profiles(struct rig *r);

/* Polls until the condition holds, for at most ten seconds. */
#define POLL_UNTIL(r, condition)                                                      \
    for (u64 until_ = now_ns() + 10 * NS_PER_SEC; !(condition) && now_ns() < until_;) \
    pipeline_poll((r).pipeline, 5)
