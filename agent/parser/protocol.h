/* The protocol between parent and child: one fixed-size packet in each direction (SOCK_SEQPACKET), with descriptors.
 *
 *   parent: request + the file's fd and those of other slots (enum parser_slot)
 *   child:  reply   + a sealed memfd of `len` bytes, for all but IDENTIFY and SYNTH_IDENTIFY with status 0
 *
 * During LINES the child may request a file that is named in the debug information (a split unit): it sends a reply
 * with PARSER_WANTS and a memfd with two texts, directory and name. The parent answers with GIVE and the file's fd, or
 * an error (n = errno).
 *
 * After IDENTIFY the child keeps the data for building the file's table until the next request: TABLE with that key
 * uses it. Any other TABLE request reads the file again and checks that it has the key.
 *
 * The child starts with a greeting: a reply with ID 0 whose status tells whether the sandbox could be entered. The
 * parent does not trust replies; the child trusts its parent, but not the contents of files.
 */
#pragma once
#include "base/packet.h"
#include "elf/debug_links.h"
#include "dwarf/dwarf.h"
#include "parser/parser.h"

#define PARSER_MAX_REPLY ((size_t)256 << 20) /* 3 times the maximum size of a table image (table_limits) */
#define PARSER_MAX_WANT  ((size_t)16 << 10)  /* bytes of both texts */
#define PARSER_MAX_WANTS (1u << 16)          /* per request */

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
    PARSER_NAME_INDEX,
    PARSER_STRETCHES,
    PARSER_GENERATED,
    PARSER_ALLOCATORS,
    PARSER_GO_LOCKS,
    PARSER_GO_HEAP,
    PARSER_ATTACH,
    PARSER_RUNTIME_NAMES,
    PARSER_ABOUT,
    PARSER_FUNCTIONS,
    PARSER_USDT,
    PARSER_GIVE,
};

/* Descriptors of a request; those present are sent in this order. */
enum parser_slot {
    SLOT_FILE,    /* the program; GIVE: the requested file; of GENERATED and the requests about runtimes: a process's
                     memory */
    SLOT_OFFSETS, /* RUNTIME_NAMES: words; FUNCTIONS, USDT: the pattern */
    SLOT_INDEX,   /* RUNTIME_NAMES: the reply of ATTACH */
    SLOT_NAMES,
    SLOT_SYMBOLS, /* GENERATED, ATTACH, ABOUT: the mappings; JIT: symbols from memory */
    SLOT_DEBUG,   /* GENERATED: the program; FUNCTIONS: the debug file */
    SLOT_ALT,
    SLOT_DWP,
    PARSER_MAX_FDS,
};
_Static_assert((int)PARSER_MAX_FDS < PACKET_MAX_FDS,
               "all fit into a packet, with the socket that it is sent to (opener)");
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
    u64 n; /* NAMES, JIT: offsets in the memfd; RUNTIME_NAMES: words in it; STRETCHES: numbers in it; FUNCTIONS,
              USDT: characters in it; LINKS: 1: with the CRC; SYNTH: 1: by key; GIVE: errno, 0: a file came */
    u8 secret[16];
    u32 slots;            /* bit i: slot i is there */
    u32 short_names;      /* NAMES */
    struct table_key key; /* TABLE, SYNTH: required key of the file, else -ESTALE */
};
_Static_assert(sizeof(struct parser_request) == 80, "the wire format has no hidden padding; opener_send takes it");

#define PARSER_LAST  1u /* the child has used up its limits (time, memory, requests) and exits after this reply */
#define PARSER_WANTS 2u /* not the reply yet: see above */

struct parser_answer {
    u32 id;
    s32 status; /* 0 or -errno */
    u64 len;
    u32 flags;
    struct table_key key; /* IDENTIFY, SYNTH_IDENTIFY */
    u8 pad[4];
};
_Static_assert(sizeof(struct parser_answer) == 64, "the wire format has no hidden padding");

/* Checks an answer in the parent. Returns 0 (with *out mapped, except for the two IDENTIFY requests, and *view checked,
 * for NAMES, JIT and RUNTIME_NAMES), the child's status, or -EPROTO. fd is borrowed; -1: there is none. */
int answer_check(const struct parser_request *rq, const struct parser_answer *a, int fd, struct parser_reply *out,
                 struct names *view);

/* The same for a reply with PARSER_WANTS. Returns 0 and both texts in *out; or -EPROTO. */
struct parser_want {
    struct parser_reply bytes; /* owned: parser_reply_free */
    const char *dir, *name;
};
int want_check(const struct parser_request *rq, const struct parser_answer *a, int fd, struct parser_want *out);

struct merged_table;
struct synth_kept;
/* The operations of the child. The real child calls the libraries; tests substitute them. */
struct parser_work {
    int (*identify)(int fd, const u8 secret[16], struct table_key *key, struct merged_table **out);
    int (*table)(struct merged_table *m, const struct table_limits *limits, struct xp_table **out, size_t *len);
    int (*names)(const struct names_fds *f, const u64 *offsets, size_t n, struct buf *out);
    int (*jit)(int fd, int symbols, const u64 *addresses, size_t n, struct buf *out);
    int (*name_index)(const struct names_fds *f, void **out, size_t *len);
    int (*lines)(const struct dwarf_fds *f, void **out, size_t *len);
    int (*links)(int fd, bool crc, struct debug_links *out);
    int (*facts)(int fd, struct facts *out);
    int (*allocators)(int fd, struct allocators *out);
    int (*go_locks)(int fd, struct allocators *out);
    int (*go_heap)(int fd, struct go_heap *out);
    int (*functions)(int fd, int debug, const char *pattern, struct buf *out);
    int (*usdt)(int fd, const char *pattern, struct buf *out);
    int (*synth_identify)(int fd, const u8 secret[16], struct table_key *out);
    int (*synth)(int fd, const u8 secret[16], const struct table_key *key, const struct table_limits *limits,
                 struct buf *out);
    int (*generated)(int mem, int maps, int program, struct buf *out);
    int (*attach)(int mem, int maps, struct buf *out);
    int (*about)(int mem, int maps, struct buf *out);
    int (*runtime_names)(int mem, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out);
    int (*stretches)(int fd, int image, const u32 *wanted, size_t n, const struct table_limits *limits,
                     struct synth_kept **kept, struct buf *out);
};
/* Runs a child: enter the sandbox, send the greeting, serve requests until the socket closes. Returns the exit
 * status. */
int parser_child_run(int argc, char **argv, const struct parser_work *work);
/* Like parser_new, but with another hidden first argument, so that tests can use a misbehaving child. */
int parser_new_as(struct parser **out, const struct parser_limits *limits, const char *role);
