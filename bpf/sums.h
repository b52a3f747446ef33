/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The contract of kinds that are counted in sums per distinct stack (bpf/kind.bpf.h), as bpf/waits.h is that of waits.
 * Include bpf/xprof.h first.
 */
#pragma once

#define XP_MAX_STACKS  (1u << 15) /* distinct stacks of an interval that sums and waits refer to */
#define XP_WAIT_SHARE  4          /* with neighbours, a cgroup may have one part in so many */
#define XP_WAIT_GROUPS 4096       /* cgroups that have something of it */
#define XP_MAX_SUMS    (1u << 14) /* distinct stacks of a kind in an interval: twice 2.5 MB */

/* Of stacks, beside the flags in bpf/xprof.h: whose it is, is not known, except for the cgroup. */
#define XP_SAMPLE_NOBODY 16u

struct xp_sum_key {
    u64 stack; /* key of a stack (XP_RECORD_STACK), kernel words and user words together */
    u64 label; /* what else tells sums apart: an XP_WORD_LABEL, which becomes the first of the stack; 0: nothing */
    u64 tag;   /* key of a file or peer (XP_RECORD_TAG), which becomes a label of the sample; 0: none */
};
struct xp_sum { /* as the values of the kind (struct event_kind) */
    struct xp_amount of[XP_MAX_VALUES];
};

/* ---- Tags: what calls were about -----------------------------------------------------------------------------------
 */
#define XP_MAX_TAGS  (1u << 13) /* distinct ones of a kind in an interval */
#define XP_TAG_OTHER 1          /* the key of all for which there is no room */
#define XP_TAG_TEXT  256
#define XP_TAG_WORDS 40 /* of a stack, for the text and what is added to it */

enum xp_tag {
    XP_TAG_PATH,    /* of a file */
    XP_TAG_NAME,    /* of a file that has no path: of memory, or of the file system, in brackets */
    XP_TAG_INET,    /* the text is a struct xp_peer */
    XP_TAG_UNIX,    /* the path of a socket; if its first byte is 0, its abstract name follows */
    XP_TAG_DELETED, /* as XP_TAG_PATH: where the file was */
};

struct xp_tag_event { /* each distinct tag is sent once per interval, before sums refer to it */
    u32 type;         /* XP_RECORD_TAG */
    u32 what;         /* enum xp_tag */
    u64 key, cgroup;
    u32 len; /* of the text: the last bytes of `text` */
    u32 cut; /* there was no room for the beginning */
    char text[XP_TAG_TEXT];
};
_Static_assert(sizeof(struct xp_tag_event) == 32 + XP_TAG_TEXT, "contract");

struct xp_peer {
    u32 v6;
    u16 port;  /* of the peer; 0: not known, or of no interest */
    u16 local; /* ours, if we are the server; otherwise 0 */
    u8 address[16];
};
