/* What parent and child say to each other: one fixed-size packet each way (SOCK_SEQPACKET) and descriptors beside it.
 *
 *   parent: request + the file's fd and those of other slots (enum parser_slot)
 *   child:  reply   + a sealed memfd of `len` bytes, for all but IDENTIFY and SYNTH_IDENTIFY with status 0
 *
 * During LINES the child may want a file that the debug information names (a split unit): a reply with PARSER_WANTS and
 * a memfd of two texts, directory and name. The parent answers with GIVE, and the file's fd or the reason (n = errno).
 *
 * IDENTIFY leaves the child with what the file's table is made of, until the next request: TABLE with that key makes it
 * of that, any other one of the file as it is then, if it has the key.
 *
 * The child starts with a greeting, a reply with id 0 whose status says whether it could lock itself in. The parent
 * trusts no byte of a reply; the child trusts its parent, but not what it finds in the files.
 */
#pragma once
#include "elf/debug_links.h"
#include "dwarf/dwarf.h"
#include "parser/parser.h"

#define PARSER_MAX_REPLY ((size_t)256 << 20) /* 3 times the largest table image that table_limits allow */
#define PARSER_MAX_WANT  ((size_t)16 << 10)  /* bytes of both texts */
#define PARSER_MAX_WANTS (1u << 16)          /* of one request */

enum parser_op {
    PARSER_IDENTIFY = 1,
    PARSER_TABLE,
    PARSER_NAMES,
    PARSER_LINES,
    PARSER_JIT,
    PARSER_LINKS,
    PARSER_FACTS,
    PARSER_SYNTH_IDENTIFY,
    PARSER_SYNTH,
    PARSER_GIVE,
};

/* Descriptors of a request; those that are there come in this order. */
enum parser_slot {
    SLOT_FILE, /* what runs; GIVE: what was wanted */
    SLOT_OFFSETS,
    SLOT_INDEX,
    SLOT_SYMBOLS,
    SLOT_DEBUG,
    SLOT_ALT,
    SLOT_DWP,
    PARSER_MAX_FDS,
};
struct parser_slots {
    int fd[PARSER_MAX_FDS]; /* -1: empty */
};
#define PARSER_SLOTS_NONE                         \
    {                                             \
        .fd = { [0 ... PARSER_MAX_FDS - 1] = -1 } \
    }

struct parser_request {
    u32 id; /* never 0; comes back in the reply */
    u32 op;
    u64 n; /* NAMES, JIT: offsets in the memfd; LINKS: 1: with the CRC; SYNTH: 1: by key; GIVE: errno, 0: a file came */
    u8 secret[16];
    u32 slots;            /* bit i: slot i is there */
    u32 short_names;      /* NAMES */
    struct table_key key; /* TABLE, SYNTH: that the file has to have, or else -ESTALE */
};
_Static_assert(sizeof(struct parser_request) == 80, "the wire format has no hidden padding");

#define PARSER_LAST  1u /* the child is worn out (time, memory, requests) and leaves after this reply */
#define PARSER_WANTS 2u /* this is no reply yet: see above */

struct parser_answer {
    u32 id;
    s32 status; /* 0 or -errno */
    u64 len;
    u32 flags;
    struct table_key key; /* IDENTIFY, SYNTH_IDENTIFY */
    u8 pad[4];
};
_Static_assert(sizeof(struct parser_answer) == 64, "the wire format has no hidden padding");

/* Sends one packet with descriptors beside it. 0, -EPIPE (nobody there), -errno. */
int packet_send(int sock, const void *data, size_t len, const int *fds, unsigned nfds);
/* Receives one packet of exactly `len` bytes and 0..PARSER_MAX_FDS owned descriptors; unused slots are -1. 0, -EPIPE
 * (the other side is gone), -EPROTO (another size, too many descriptors; all are closed), -errno. */
int packet_recv(int sock, void *data, size_t len, int fds[PARSER_MAX_FDS]);

/* The parent's judgement of an answer: 0 (for all but those two with *out mapped and, for NAMES, *view checked), the
 * child's status, or -EPROTO. fd is borrowed, -1 when none came. */
int answer_check(const struct parser_request *rq, const struct parser_answer *a, int fd, struct parser_reply *out,
                 struct names *view);

/* The same of a reply with PARSER_WANTS: 0 and both texts, in *out; or -EPROTO. */
struct parser_want {
    struct parser_reply bytes; /* owned: parser_reply_free */
    const char *dir, *name;
};
int want_check(const struct parser_request *rq, const struct parser_answer *a, int fd, struct parser_want *out);

struct merged_table;
/* What the child does with a file; the real one calls the libraries, tests have others. */
struct parser_work {
    int (*identify)(int fd, const u8 secret[16], struct table_key *key, struct merged_table **out);
    int (*table)(struct merged_table *m, const struct table_limits *limits, struct xp_table **out, size_t *len);
    int (*names)(const struct names_fds *f, const u64 *offsets, size_t n, struct buf *out);
    int (*jit)(int fd, const u64 *addresses, size_t n, struct buf *out);
    int (*lines)(const struct dwarf_fds *f, void **out, size_t *len);
    int (*links)(int fd, bool crc, struct debug_links *out);
    int (*facts)(int fd, struct facts *out);
    int (*synth_identify)(int fd, const u8 secret[16], struct table_key *out);
    int (*synth)(int fd, const u8 secret[16], const struct table_key *key, const struct table_limits *limits,
                 struct buf *out);
};
/* The life of a child: lock in, greet, serve until the socket closes. The exit status. */
int parser_child_run(int argc, char **argv, const struct parser_work *work);
/* parser_new with another hidden first argument, so that tests can put liars in the child's place. */
int parser_new_as(struct parser **out, const struct parser_limits *limits, const char *role);
