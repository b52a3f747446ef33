/* Builds the unwind table image of an ELF file (struct xp_table in bpf/xprof.h): the rows of .eh_frame and
 * .debug_frame, and rows from the tables of a language runtime for its code. Rows are keyed by file offset, adjacent
 * rows with equal rules are merged, and rules are numbered per file. The input is not trusted: everything in this
 * header except table_check and table_key_equal runs in the parser process.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Identifies a file for its table: equal keys have equal tables. The digest covers the positions of segments, the
 * stored bytes of the CFI, and everything else that table_build reads. It is keyed with a secret of this machine, so
 * that a container cannot obtain the table of another file. */
struct table_key {
    u8 digest[16];
    u8 build_id[20];
    u8 build_id_len; /* 0: the file has none */
    u8 pad[3];
};

/* Code whose rows come from another source. They take precedence over FDEs. */
struct table_row {
    u64 offset; /* in the file */
    u64 word;   /* rule_word (rows.h) of the rule that applies from there on */
};
struct table_code {
    u64 start, end;               /* file offsets */
    const struct table_row *rows; /* borrowed; ascending, the first one at start, all below end */
    size_t n;                     /* 0: no such code */
    u32 bad;                      /* functions without rows because they were malformed */
    enum xp_source source;
};

struct table_limits {
    size_t max_rows;  /* more: -ENOSPC */
    size_t max_rules; /* <= 65,535 */
};
#define TABLE_LIMITS_DEFAULT                      \
    {                                             \
        .max_rows = 16u << 20, .max_rules = 65535 \
    }

/* Computes the key of the file behind fd (borrowed; mapped read-only for the call). `secret` keys the digest. Returns
 * 0; -ENOEXEC: not an ELF file for this machine; -EBADMSG: malformed; or another -errno. */
int table_identify(int fd, const u8 secret[16], struct table_key *out);

/* Builds the image; *out is malloc'ed and owned by the caller. A file without CFI gives an image with nblocks == 0. A
 * malformed FDE only loses its own range (bad_fdes). Returns 0; -ENOEXEC; -EBADMSG; -ENOSPC: a limit was exceeded;
 * -ENOMEM. */
int table_build(int fd, const struct table_limits *limits, struct xp_table **out, size_t *len);

/* Checks an untrusted image (from the parser process or from disk): sizes, index monotonic and inside the rows, rows
 * ascending within blocks, rule numbers below nrules, known kinds of rules, checksum. Returns 0 or -EBADMSG. */
int table_check(const void *image, size_t len);

/* The slug of a source of rows (struct xp_table's source_rows). */
const char *table_source_name(enum xp_source s);

/* The parts of an image that has passed table_check. */
static inline const u32 *table_index(const struct xp_table *t)
{
    return (const u32 *)(t + 1);
}
static inline const u32 *table_rows(const struct xp_table *t)
{
    return table_index(t) + t->nblocks + 1;
}
static inline const struct xp_rule *table_rules(const struct xp_table *t)
{
    return (const struct xp_rule *)(table_rows(t) + t->nrows);
}
static inline bool table_key_equal(const struct table_key *a, const struct table_key *b)
{
    return !memcmp(a, b, sizeof(*a));
}
/* Returns the rule at a file offset; kind XP_CFA_NONE outside of all blocks. The image must be valid. */
struct xp_rule table_rule_at(const struct xp_table *t, u64 offset);
