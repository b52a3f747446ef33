/* The packets between an opener and its child, and what the child does. It trusts its parent. */
#pragma once
#include "base/packet.h"
#include "bpf/types.h"

#define OPENER_MAX_PATH 4096
#define OPENER_MAX_DATA 128

enum opener_op {
    OPENER_MAPPING = 1, /* tgid, start, end */
    OPENER_ROOT,        /* tgid */
    OPENER_FILE,        /* path; with a descriptor: below it */
    OPENER_DIRECTORY,   /* the same */
    OPENER_MEMORY,      /* tgid, start, len: a copy, in a file of its own */
    OPENER_SEND, /* data; descriptors: the socket, then those to be sent; no descriptor comes back from here on */
    OPENER_READ, /* start, len; the file */
};

struct opener_request {
    u32 id; /* never 0; comes back in the answer */
    u32 op; /* enum opener_op */
    u32 tgid;
    u32 len; /* of data */
    u64 start, end;
    union {
        char path[OPENER_MAX_PATH]; /* NUL-terminated */
        u8 data[OPENER_MAX_DATA];
    };
};

struct opener_answer { /* with the descriptor */
    u32 id;
    s32 status; /* 0 or -errno */
    union {
        char path[OPENER_MAX_PATH]; /* MAPPING */
        u8 data[OPENER_MAX_DATA];   /* READ */
    };
};

/* Does what is requested, in this process; the nfds descriptors are borrowed. Fills in the answer except its id.
 * Returns an owned descriptor, or -1 if there is none. */
int opener_perform(const struct opener_request *rq, const int *fds, unsigned nfds, struct opener_answer *a);
