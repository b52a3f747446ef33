/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The contract between the eBPF programs and user space, read by both compilers: fixed-width types, explicit padding,
 * sizes asserted, every limit with its reason. Whoever includes this has u8..u64, s16, s32 (bpf/vmlinux.h or
 * bpf/types.h).
 */
#pragma once

/* ---- Limits --------------------------------------------------------------------------------------------------- */
#define XP_MAX_USER     4096  /* frames of a user stack: garbage collectors recurse; a deeper one is cut and says so */
#define XP_MAX_KERNEL   127   /* the kernel's own default (perf_event_max_stack) */
#define XP_STEP_BATCH   8     /* frames per call of the verified step function */
#define XP_DUMP_BYTES   16384 /* stack copied for a sample whose file has no table yet */
#define XP_DUMP_MAPS    64    /* executable mappings sent with it */
#define XP_MAX_EVENTS   4     /* event kinds recorded at once */
#define XP_CACHE_SLOTS  4096  /* pc -> rule cache entries per CPU: 64 KiB, fits beside the target in L2 */
#define XP_WINDOW       2048  /* bytes of user stack read at once: costs the same as 8 */
#define XP_MAX_FILES    (1u << 13) /* files known to the kernel side at once: 1 MiB */
#define XP_FILE_CGROUPS 2048       /* cgroups whose files are counted */
#define XP_MAX_RULES    (1u << 16) /* a row holds the rule's number in 16 bits; a full disk needs about 7,000 */

/* Rows and block indexes live in identical shards of 64 KiB chunks, so that a look-up is two inlined array look-ups. */
#define XP_CHUNK_SHIFT  14 /* u32 words in a chunk: 64 KiB */
#define XP_CHUNK_WORDS  (1u << XP_CHUNK_SHIFT)
#define XP_SHARD_SHIFT  20 /* u32 words in a shard: 4 MiB, 64 chunks */
#define XP_SHARD_CHUNKS (1u << (XP_SHARD_SHIFT - XP_CHUNK_SHIFT))
#define XP_MAX_SHARDS   256 /* 1 GiB of tables: 30 times a full disk's */

/* ---- Stack words ------------------------------------------------------------------------------------------------
 * A stack is a sequence of u64 words, leaf first. The top four bits say what a word is and how its frame was found.
 * File words: kind(4) exact(1) file id(24) file offset(35). "Exact" pcs (leaf, interrupted by a signal) are looked up
 * as they are; all others are return addresses, looked up at pc - 1. Runtimes will add kinds of two
 * words.
 */
enum xp_word {
    XP_WORD_ANON = 0,     /* address in memory of no file (JIT), exact flag in bit 59, address in bits 0-55 */
    XP_WORD_CFI = 1,      /* file frame, found by the CFI of its callee, or the leaf itself */
    XP_WORD_FP = 2,       /* file frame, found through the frame pointer of its callee: lower confidence */
    XP_WORD_SYNTH = 3,    /* file frame, found through a synthesised row of its callee (XP_RULE_SYNTH) */
    XP_WORD_INFERRED = 4, /* the same, but the row was solved backwards from where the code ends */
    XP_WORD_KERNEL = 15   /* a kernel address, as it is */
};
#define XP_WORD_KIND(w)       ((u32)((w) >> 60))
#define XP_WORD_EXACT         (1ull << 59)
#define XP_WORD_ADDR(w)       ((w) & ((1ull << 56) - 1))
#define XP_OFFSET_BITS        35
#define XP_WORD_OFFSET(w)     ((w) & ((1ull << XP_OFFSET_BITS) - 1))
#define XP_WORD_FILE(w)       ((u32)((w) >> XP_OFFSET_BITS) & 0xffffff)
#define XP_FILE_WORD(k, f, o) ((u64)(k) << 60 | (u64)(f) << XP_OFFSET_BITS | (o))
#define XP_FILE_VDSO          1 /* the file id of the kernel's vdso; its offsets count from its ELF header */
#define XP_FILE_FIRST         2 /* ids from here on are given out at first sight */
#define XP_FILE_IDS           (1u << 24)

/* ---- How a user stack ended --------------------------------------------------------------------------------------
 * X(enum name, slug for output and metrics, class, sentence). Class: 'c' complete, 'n' there is no user stack,
 * 'x' cut: frames towards the root are missing.
 */
#define XP_CAUSES(X)                                                                                         \
    X(END, "end", 'c', "the outermost frame was reached: its return address is undefined")                   \
    X(END_FP, "end-fp", 'c', "the frame pointer chain ended at 0 in code of a file")                         \
    X(KTHREAD, "kernel-thread", 'n', "a kernel thread (or io_uring worker) has no user stack")               \
    X(NO_MM, "no-memory-map", 'n', "the task was starting or exiting and had no user memory")                \
    X(NO_IMAGE, "no-image", 'n', "execve was replacing the program, and the old memory was released")        \
    X(NOT_WANTED, "not-wanted", 'n', "user stacks were switched off")                                        \
    X(COMPAT, "32-bit", 'x', "32-bit processes are not supported")                                           \
    X(PENDING, "table-pending", 'x', "the unwind table of a new file was still being built")                 \
    X(NO_TABLE, "file-failed", 'x', "the file could not be read or its unwind information is malformed")     \
    X(TABLES_FULL, "tables-full", 'x', "no memory was left for the file's unwind table (--table-memory)")    \
    X(SHARE_FULL, "share-full", 'x', "the container's files hold its share of unwind tables or known files") \
    X(RULES_FULL, "too-many-rules", 'x', "the file has more kinds of frames than one file may have")         \
    X(FILES_FULL, "too-many-files", 'x', "the table of known files is full")                                 \
    X(NO_MAPPING, "no-mapping", 'x', "the address is not in an executable mapping")                          \
    X(TREE, "mapping-changed", 'x', "the mappings changed while they were walked")                           \
    X(STACK_READ, "stack-read", 'x', "the stack could not be read (not paged in, or not a stack)")           \
    X(NO_RULE, "no-rule", 'x', "a return address is in code that the unwind information does not cover")     \
    X(UNPROVEN, "unproven", 'x', "the stack layout of hand-written code could not be proven")                \
    X(BAD_RULE, "unsupported-rule", 'x', "the unwind information is of a kind that is not supported")        \
    X(LEAF_RULE, "leaf-rule", 'x', "a caller has an unwind rule that is valid in the innermost frame only")  \
    X(GO_SWITCH, "go-switch", 'x', "Go switched stacks, and the stack of the goroutine could not be read")   \
    X(GO_LAYOUT, "go-layout", 'x', "Go switched stacks, and the layout of its runtime is not known")         \
    X(STUCK, "stuck", 'x', "the stack pointer did not move towards the outermost frame")                     \
    X(FP_BROKEN, "frame-pointer", 'x', "code of a file has neither unwind information nor frame pointers")   \
    X(FP_ANON, "anonymous-code", 'x', "anonymous (JIT) code has no usable frame pointer")                    \
    X(FP_ANON_END, "anonymous-end", 'x', "the frame pointer chain ended at 0 in anonymous (JIT) code")       \
    X(DEPTH, "depth", 'x', "the stack is deeper than the frame limit")                                       \
    X(DUMP_END, "dump-end", 'x', "the stack is deeper than the part that was copied")

enum xp_cause {
#define XP_CAUSE_ENUM(name, slug, cls, text) XP_CAUSE_##name,
    XP_CAUSES(XP_CAUSE_ENUM)
#undef XP_CAUSE_ENUM
        XP_CAUSE_COUNT
};

/* ---- Samples lost before they reached a stack: counters in struct xp_stats --------------------------------------- */
#define XP_LOSSES(X)                                                                             \
    X(RING_FULL, "ring-full", "user space did not drain the ring fast enough")                   \
    X(SCRATCH, "scratch", "the per-CPU scratch memory was missing")                              \
    X(FILE_EVENT, "file-event", "the notification of a new file was dropped: ring full")         \
    X(DUMP, "stack-dump", "a stack dump was dropped: ring full, or rate limit of dumps reached") \
    X(CGROUP_EVENT, "cgroup-event", "the notification of a new cgroup was dropped: ring full")

enum xp_loss {
#define XP_LOSS_ENUM(name, slug, text) XP_LOSS_##name,
    XP_LOSSES(XP_LOSS_ENUM)
#undef XP_LOSS_ENUM
        XP_LOSS_COUNT
};

/* ---- Rules -------------------------------------------------------------------------------------------------------
 * How to get from a frame to its caller: 8 bytes, one dictionary for the machine. `kind` = how the CFA is computed, in
 * the low 5 bits, where the caller's RBP is, in the next 2, and XP_RULE_SYNTH. RA is at CFA - 8 unless the kind says
 * otherwise. RBX is tracked because ld.so's lazy resolver bases its CFA on it.
 */
enum xp_cfa {
    XP_CFA_NONE = 0,  /* no unwind information here: believe the frame pointer, if the file may (see FP_OK) */
    XP_CFA_RSP,       /* CFA = rsp + cfa_off */
    XP_CFA_RBP,       /* CFA = rbp + cfa_off */
    XP_CFA_RBX,       /* CFA = rbx + cfa_off */
    XP_CFA_DEREF_RBP, /* CFA = *(rbp + lo16(cfa_off)) + hi16(cfa_off) */
    XP_CFA_DEREF_RSP, /* CFA = *(rsp + lo16(cfa_off)) + hi16(cfa_off) */
    XP_CFA_PLT,       /* CFA = rsp + 8 + ((rip & 15) >= cfa_off ? 8 : 0) */
    XP_CFA_SIGNAL,    /* rsp + cfa_off is the ucontext of an interrupted frame */
    XP_CFA_REG,       /* CFA = register hi8(cfa_off) (DWARF number) + lo24(cfa_off): known in the leaf only */
    XP_CFA_RA_REG,    /* leaf only: return address in register rbp_off (vfork: rdi); rsp += cfa_off */
    XP_CFA_END,       /* return address undefined: the outermost frame */
    XP_CFA_RSP_EXACT, /* as RSP; the caller did not call but was interrupted: its pc is exact (Go's injected calls) */
    XP_CFA_RBP_HOP,   /* as RBP; the CFA may lie on another stack */
    XP_CFA_GO_G,      /* on a stack of Go's scheduler: on with the goroutine (go.bpf.h) */
    XP_CFA_GO_CALL,   /* in C on Go's scheduler stack, up to Go 1.20: CFA from what asmcgocall left (go.bpf.h) */
    XP_CFA_GO_LOST,   /* as GO_G, but nothing is known of this Go runtime's layout: a named stop */
    XP_CFA_RSP_DEREF, /* CFA = rsp + *(rsp + lo16(cfa_off)) + hi16(cfa_off): the size of the frame is in the frame */
    XP_CFA_INDEXED,   /* CFA = *(rsp + 8 * register hi8 + lo16) + byte 2 of cfa_off (OpenSSL): known in the leaf only */
    XP_CFA_UNPROVEN,  /* as NONE, but somebody has looked at the code and does not know */
    XP_CFA_UNSUPPORTED, /* understood by nobody yet: a named stop */
    XP_CFA_COUNT
};
enum xp_rbp {
    XP_RBP_SAME = 0, /* unchanged */
    XP_RBP_CFA = 1,  /* saved at CFA + rbp_off */
    XP_RBP_RBP = 2,  /* saved at rbp + rbp_off, rbp before the step (DRAP prologues) */
    XP_RBP_RSP = 2,  /* in synthesised rules: saved at rsp + rbp_off */
    XP_RBP_LOST = 3, /* undefined or not supported: XP_RBP_UNKNOWN from here on */
};
#define XP_RULE_CFA(k)                ((k)&31u)
#define XP_RULE_RBP(k)                ((k) >> 5 & 3u)
#define XP_RULE_SYNTH                 0x80u /* in `kind`: synthesised from the instructions (agent/synth) */
#define XP_RULE_KIND(c, b)            ((u8)((c) | (b) << 5))
#define XP_REG_RULE(reg, off)         ((s32)((u32)(reg) << 24 | ((u32)(off)&0xffffff)))
#define XP_REG_NUMBER(cfa_off)        ((u32)(cfa_off) >> 24)
#define XP_REG_OFFSET(cfa_off)        ((s32)((u32)(cfa_off) << 8) >> 8)
#define XP_INDEX_RULE(reg, off, plus) ((s32)((u32)(reg) << 24 | (u32)(plus) << 16 | (u16)(off)))
#define XP_RBX_SAME                   0 /* else saved at CFA - 8 * rbx */
#define XP_RBX_LOST                   255
/* Synthesised rules have a bit less for RBX: */
#define XP_RBX_INFERRED   0x80u /* in `rbx`: solved backwards from where the code ends, not from where it begins */
#define XP_SYNTH_RBX(rbx) ((rbx)&0x7fu)
#define XP_SYNTH_RBX_LOST 127

/* XP_CFA_GO_G: cfa_off = of the thread's g from its TLS base, rbp_off = of m.curg in m, rbx = of sched.bp in g; and in
 * place of xp_rbp these. The other fields have not moved from Go 1.18 to 1.26. */
#define XP_GO_POP      1u /* the goroutine left by a call: its pc is on top of its stack */
#define XP_GO_SLOT     2u /* the offset is in memory (a GOT slot) at cfa_off from file offset 0 */
#define XP_GO_G_M      48 /* of g.m, g.sched.sp, g.sched.pc in g */
#define XP_GO_SCHED_SP 56
#define XP_GO_SCHED_PC 64

struct xp_rule {
    s32 cfa_off;
    s16 rbp_off;
    u8 kind;
    u8 rbx;
};
_Static_assert(sizeof(struct xp_rule) == 8, "a pc cache entry is a tag and a rule in 16 bytes");

/* ---- Table image --------------------------------------------------------------------------------------------------
 * What the parser makes of one file, what the disk cache holds, and what probe/shards.c loads: header, index, rows,
 * rules. Everything is keyed by FILE OFFSET, not by address, so that neither ASLR nor prelinking matter. index[b] (u32,
 * nblocks + 1 of them) = number of the first row with offset >= lo + b * XP_BLOCK rows[i]  (u32) = (offset & (XP_BLOCK
 * - 1)) | rule << 16, rule being an index into rules[] A row holds until the next one. Row 0 is a sentinel "no unwind
 * information" in front of lo; index[0] == 1. After hi no rule holds: the last row is XP_CFA_NONE.
 */
#define XP_BLOCK_SHIFT 10 /* 1 KiB of text a block: at most 1024 rows to search, index 0.4 % of the text */
#define XP_BLOCK       (1u << XP_BLOCK_SHIFT)
#define XP_TABLE_MAGIC 0x31545058u /* "XPT1" */
#define XP_TABLE_FP_OK 1u /* in gaps (XP_CFA_NONE) the frame pointer is believed: no FDE at all, or known code */

/* Where rows come from: X(enum name, slug). */
#define XP_SOURCES(X)             \
    X(EH_FRAME, "eh_frame")       \
    X(DEBUG_FRAME, "debug_frame") \
    X(KNOWN, "known-code")        \
    X(GO, "gopclntab")            \
    X(SYNTH, "synthesised")
enum xp_source {
#define XP_SOURCE_ENUM(name, slug) XP_SOURCE_##name,
    XP_SOURCES(XP_SOURCE_ENUM)
#undef XP_SOURCE_ENUM
        XP_SOURCE_COUNT
};

struct xp_table {
    u32 magic;
    u32 version;  /* XP_TABLE_VERSION of the writer; another one is rebuilt */
    u32 flags;    /* XP_TABLE_FP_OK */
    u32 nblocks;  /* 0: the file has no unwind information */
    u32 nrows;    /* sentinel included */
    u32 nrules;   /* <= 65,535 */
    u64 lo;       /* first file offset of block 0, a multiple of XP_BLOCK */
    u64 checksum; /* hash_bytes of all that follows the header */
    u32 bad_fdes; /* FDEs, or functions of GO, that were malformed: their range is XP_CFA_UNSUPPORTED */
    u32 fdes;
    u32 source_rows[XP_SOURCE_COUNT]; /* how many rows each contributed; gaps and the sentinel have none */
    u8 build_id[20];                  /* GNU build ID, or the SHA-1-sized content key of a file without one */
    u8 build_id_len;                  /* 0..20 */
    u8 pad[7];
};
_Static_assert(sizeof(struct xp_table) == 96, "the disk format");
#define XP_TABLE_VERSION 6

/* ---- Files (value of the `files` map) ---------------------------------------------------------------------------- */
struct xp_file_key { /* safe against inode reuse (generation, ctime) and rewriting in place (ctime, size) */
    u64 ino;
    u64 ctime_sec;
    u64 size;
    u32 dev;
    u32 ctime_nsec;
    u32 generation;
    u32 pad;
};
_Static_assert(sizeof(struct xp_file_key) == 40, "no hidden padding in a hash key");

enum xp_file_state {
    XP_FILE_PENDING = 0, /* announced, no table yet */
    XP_FILE_READY,       /* uid, lo, nblocks, index are valid */
    XP_FILE_FP,          /* no unwind information at all: frame pointers */
    XP_FILE_FAILED,      /* quarantined */
    XP_FILE_NO_ROOM,     /* its table did not fit into the budget */
    XP_FILE_NO_SHARE,    /* it did not fit into the share of the cgroup that brought it */
    XP_FILE_NO_RULES,    /* it has too many rules for one file */
};
/* In `flags`: whether code that the table leaves out gets rows is not decided yet. Until then samples that stop in such
 * code bring along what it takes to unwind them later, as those do that meet a file without table. */
#define XP_FILE_OPEN 2u
struct xp_file {
    u32 id;    /* in stack words; never reused */
    u32 state; /* enum xp_file_state */
    u32 uid;   /* of the table: shared by files of the same content, never reused, so the pc cache needs no flush */
    u32 flags; /* XP_TABLE_FP_OK, XP_FILE_OPEN */
    u32 nblocks;
    u32 index; /* word number of the block index in the shards; its values are word numbers of rows */
    u64 lo;
};
_Static_assert(sizeof(struct xp_file) == 32, "contract");

/* ---- Records in the ring ------------------------------------------------------------------------------------------
 */
enum xp_record { XP_RECORD_SAMPLE = 1, XP_RECORD_FILE = 2, XP_RECORD_DUMP = 3, XP_RECORD_CGROUP = 4 };

#define XP_SAMPLE_KERNEL_MODE 1u /* the sample interrupted the kernel */
#define XP_SAMPLE_DUMP        2u /* an XP_RECORD_DUMP with the same cpu and time went before */
#define XP_SAMPLE_FP_USED     4u /* at least one frame was found through a frame pointer */

struct xp_sample {
    u32 type; /* XP_RECORD_SAMPLE */
    u32 cpu;
    u64 time;   /* CLOCK_MONOTONIC, ns */
    u64 weight; /* the event's period: ns of cpu-clock, or a count */
    u64 start;  /* start of the process, ns since boot: (tgid, start) never repeats */
    u64 cgroup; /* kernfs id in the chosen hierarchy */
    u32 tgid, tid;
    u64 unwind_ns;      /* what the user stack cost; 0 unless measured */
    char comm[16];      /* of the process (its main thread) */
    u16 nkernel, nuser; /* words */
    u8 event;           /* row of the table of event kinds */
    u8 cause;           /* enum xp_cause */
    u8 flags;           /* XP_SAMPLE_* */
    u8 pad;
    u64 words[]; /* kernel words, then user words; each leaf first */
};
_Static_assert(sizeof(struct xp_sample) == 80, "contract");

struct xp_file_event { /* a file was seen for the first time */
    u32 type;          /* XP_RECORD_FILE */
    u32 id;
    u32 tgid;
    u32 pad;
    u64 cgroup;     /* of the process, as in samples */
    u64 start, end; /* the mapping: names /proc/TGID/map_files/START-END */
    u64 pgoff;      /* bytes */
    struct xp_file_key key;
};

struct xp_regs { /* DWARF register numbers 0-16: rax rdx rcx rbx rsi rdi rbp rsp r8-r15 rip */
    u64 r[17];
};

/* An executable mapping: as a line of the iterator (iter/task_vma, Linux 5.12), and in dumps. */
struct xp_mapping {
    u64 start, end;
    u64 pgoff; /* bytes */
    u32 tgid;
    u32 file; /* id; 0 = anonymous */
};
_Static_assert(sizeof(struct xp_mapping) == 32, "contract");

struct xp_dump {
    u32 type; /* XP_RECORD_DUMP */
    u32 cpu;
    u64 time;
    u32 tgid;
    u32 len;   /* bytes of stack, from rsp upwards */
    u32 nmaps; /* the process's executable mappings, as far as there is room */
    u32 pad;
    struct xp_mapping maps[XP_DUMP_MAPS];
    struct xp_regs regs;
    u8 stack[XP_DUMP_BYTES + 4096]; /* the slack lets the verifier see that a page always fits */
};

/* A cgroup was made or removed in the hierarchy that counts (tracepoints cgroup_mkdir and cgroup_rmdir). */
#define XP_CGROUP_PATH 512 /* a pod's, with systemd's long names, is near 250; the end of a longer one is cut off */
struct xp_cgroup_event {
    u32 type;      /* XP_RECORD_CGROUP */
    u32 made;      /* 0: removed */
    u64 id;        /* as in xp_sample.cgroup */
    u32 hierarchy; /* its number: 0 is the unified one, as in /proc/cgroups */
    u32 pad;
    char path[XP_CGROUP_PATH]; /* from the root of its hierarchy; NUL-terminated */
};

/* ---- Settings, constant once loaded --------------------------------------------------------------------------------
 */
enum xp_target { XP_TARGET_ALL, XP_TARGET_PIDS, XP_TARGET_CGROUP };
struct xp_config {
    u32 target;        /* enum xp_target */
    s32 cgroup_subsys; /* index in css_set.subsys of the version 1 hierarchy that counts; -1: the unified one */
    u32 cpus;          /* possible CPUs */
    u32 kernel, user;  /* which stacks are wanted */
    u32 measure;       /* take the time of every unwind */
    u32 ring_bytes;
    u32 cgroup_files; /* so many files may stacks of one cgroup enter into the table of files; 0: any number */
};

/* ---- Who is wanted (XP_TARGET_CGROUP): changes while sampling ------------------------------------------------------
 * A want is: bit e set = event e is sampled; from bit 8 on: one sample of so many is kept, by chance. A cgroup for
 * which none was set has its nearest ancestor's; 0 where no ancestor has one.
 */
#define XP_WANT(events, every) ((u32)(events) | (u32)(every) << 8)
#define XP_WANT_EVENTS(w)      ((w)&0xff)
#define XP_WANT_EVERY(w)       ((w) >> 8)
#define XP_MAX_WANTS           16384 /* cgroups with a want of their own */
#define XP_MAX_DECISIONS       32768 /* cgroups met by samples */

struct xp_live { /* what the kernel side remembers holds as long as these stay the same */
    u32 wants;   /* counts changes of wants */
    u32 files;   /* counts evictions of files */
};

/* ---- Counters, per CPU ---------------------------------------------------------------------------------------------
 */
struct xp_stats {
    u64 samples; /* wanted samples, sent or lost */
    u64 lost[XP_LOSS_COUNT];
    u64 not_wanted; /* dropped by the filter */
    u64 thinned;    /* wanted, but not kept: the rate of their cgroup is lower */
    u64 cause[XP_CAUSE_COUNT];
    u64 frames, fp_frames;
    u64 walks, refills, cache_hits, cache_misses;
    u64 unwind_ns; /* only when measured */
};
