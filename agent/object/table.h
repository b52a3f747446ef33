/* From an ELF file to its unwind table image (struct xp_table in bpf/xprof.h): the rows of .eh_frame and .debug_frame,
 * keyed by file offset, neighbours with equal rules merged, rules numbered per file.
 * Hostile input is normal here: everything in this header but table_check and table_key_equal runs in the parser
 * process.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stddef.h>

/* Who a file is, as far as its table is concerned: equal keys have equal tables. The digest covers the executable
 * segments and the bytes of the CFI, under a secret of this machine, so that no container can claim another's table. */
struct table_key {
    u8 digest[16];
    u8 build_id[20];
    u8 build_id_len; /* 0: the file has none */
    u8 pad[3];
};

struct table_limits {
    size_t max_rows;  /* more: -ENOSPC */
    size_t max_rules; /* <= 65,535 */
};
#define TABLE_LIMITS_DEFAULT                      \
    {                                             \
        .max_rows = 16u << 20, .max_rules = 65535 \
    }

/* Reads what identifies the file behind fd (borrowed; mapped read-only for the call). `secret` keys the digest.
 * 0; -ENOEXEC not an ELF file for this machine; -EBADMSG malformed; -errno. */
int table_identify(int fd, const u8 secret[16], struct table_key *out);

/* Builds the image; *out is malloc'ed and owned by the caller. A file without CFI gives an image with nblocks == 0.
 * A malformed FDE costs its own range only (bad_fdes). 0, -ENOEXEC, -EBADMSG, -ENOSPC (limits), -ENOMEM. */
int table_build(int fd, const struct table_limits *limits, struct xp_table **out, size_t *len);

/* Every index of an image that somebody else made (the parser process, the disk): sizes, index monotonic and inside the
 * rows, rows ascending within blocks, rule numbers below nrules, rule kinds known, checksum. 0 or -EBADMSG. */
int table_check(const void *image, size_t len);
