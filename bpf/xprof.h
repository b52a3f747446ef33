/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The contract between the eBPF programs and user space, read by both compilers: fixed-width types, explicit padding,
 * asserted sizes, and a reason for every limit. Include bpf/vmlinux.h or bpf/types.h first, for u8..u64, s16 and s32.
 */
#pragma once

/* ---- Limits --------------------------------------------------------------------------------------------------- */
#define XP_MAX_USER     4096       /* frames of a user stack: garbage collectors recurse; deeper stacks are truncated */
#define XP_MAX_KERNEL   127        /* the kernel's own default (perf_event_max_stack) */
#define XP_STEP_BATCH   2          /* frames per call of the verified step function: each takes the verifier a while */
#define XP_DUMP_BYTES   16384      /* stack copied for a sample whose file has no table yet */
#define XP_DUMP_REACH   16         /* pages of the stack that are tried for that */
#define XP_DUMP_MAPS    256        /* executable mappings sent with it: a power of two; a browser has 110 */
#define XP_MAX_EVENTS   32         /* event kinds recorded at once: their bits in a want */
#define XP_MAX_PERF     8          /* of these, kinds that perf counts: a program for each */
#define XP_MAX_VALUES   4          /* values that a stack may have of one kind */
#define XP_LEVELS       3          /* programs of kinds that interrupt each other: task, soft and hard interrupts */
#define XP_CACHE_SLOTS  4096       /* pc -> rule cache entries per CPU: 64 KiB, fits beside the target in L2 */
#define XP_WINDOW       2048       /* bytes of user stack read at once: costs the same as 8 */
#define XP_MAX_FILES    (1u << 13) /* files known to the kernel side at once: 1 MiB */
#define XP_FILE_CGROUPS 2048       /* cgroups for which files are counted */
#define XP_MAX_RULES    (1u << 16) /* a row has a 16-bit rule number; all files of a full disk need about 7,000 */

/* Rows and block indexes live in identical shards of 64 KiB chunks, so that a look-up is two inlined array look-ups. */
#define XP_CHUNK_SHIFT  14 /* u32 words in a chunk: 64 KiB */
#define XP_CHUNK_WORDS  (1u << XP_CHUNK_SHIFT)
#define XP_SHARD_SHIFT  20 /* u32 words in a shard: 4 MiB, 64 chunks */
#define XP_SHARD_CHUNKS (1u << (XP_SHARD_SHIFT - XP_CHUNK_SHIFT))
#define XP_MAX_SHARDS   256 /* 1 GiB of tables: 30 times those of a full disk */

#include "bpf/words.h"

/* ---- How a user stack ended --------------------------------------------------------------------------------------
 * X(enum name, slug for output and metrics, class, sentence). Class: 'c' complete, 'n' no user stack, 'x' cut: frames
 * towards the root are missing.
 */
#define XP_CAUSES(X)                                                                                          \
    X(END, "end", 'c', "the outermost frame was reached: its return address is undefined")                    \
    X(END_FP, "end-fp", 'c', "the frame pointer chain ended at 0 in code of a file")                          \
    X(KTHREAD, "kernel-thread", 'n', "a kernel thread (or io_uring worker) has no user stack")                \
    X(NO_MM, "no-memory-map", 'n', "the task was starting or exiting and had no user memory")                 \
    X(NO_IMAGE, "no-image", 'n', "execve was replacing the program, and the old memory was released")         \
    X(NOT_WANTED, "not-wanted", 'n', "user stacks were switched off")                                         \
    X(NOT_TAKEN, "not-taken", 'n', "the stack of a wait was not taken: it was too short, or it began before") \
    X(COMPAT, "32-bit", 'x', "32-bit processes are not supported")                                            \
    X(PENDING, "table-pending", 'x', "the unwind table of a new file was still being built")                  \
    X(NO_TABLE, "file-failed", 'x', "the file could not be read or its unwind information is malformed")      \
    X(TABLES_FULL, "tables-full", 'x', "no memory was left for the file's unwind table (--table-memory)")     \
    X(SHARE_FULL, "share-full", 'x', "the container's files hold its share of unwind tables or known files")  \
    X(RULES_FULL, "too-many-rules", 'x', "the file has more kinds of frames than one file may have")          \
    X(FILE_HUNG, "file-hung", 'x', "the file system of the file did not answer")                              \
    X(FILES_FULL, "too-many-files", 'x', "the table of known files is full")                                  \
    X(NO_MAPPING, "no-mapping", 'x', "the address is not in an executable mapping")                           \
    X(TREE, "mapping-changed", 'x', "the mappings changed while they were walked")                            \
    X(STACK_READ, "stack-read", 'x', "the stack could not be read (not paged in, or not a stack)")            \
    X(NO_RULE, "no-rule", 'x', "a return address is in code that the unwind information does not cover")      \
    X(UNPROVEN, "unproven", 'x', "the stack layout of hand-written code could not be proven")                 \
    X(BAD_RULE, "unsupported-rule", 'x', "the unwind information is of a kind that is not supported")         \
    X(LEAF_RULE, "leaf-rule", 'x', "a caller has an unwind rule that is valid in the innermost frame only")   \
    X(GO_SWITCH, "go-switch", 'x', "Go switched stacks, and the stack of the goroutine could not be read")    \
    X(GO_LAYOUT, "go-layout", 'x', "Go switched stacks, and the layout of its runtime is not known")          \
    X(JAVA_FRAME, "java-frame", 'x', "the frame of Java code was not recognised")                             \
    X(BEAM_STACK, "erlang-stack", 'x', "the stack of an Erlang process was not found or is not understood")   \
    X(STUCK, "stuck", 'x', "the stack pointer did not move towards the outermost frame")                      \
    X(FP_BROKEN, "frame-pointer", 'x', "code of a file has neither unwind information nor frame pointers")    \
    X(FP_ANON, "anonymous-code", 'x', "anonymous (JIT) code has no usable frame pointer")                     \
    X(FP_ANON_END, "anonymous-end", 'x', "the frame pointer chain ended at 0 in anonymous (JIT) code")        \
    X(DEPTH, "depth", 'x', "the stack is deeper than the frame limit")                                        \
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
    X(WAIT, "wait", "a wait was not counted: too many threads or too many distinct waits")       \
    X(SUM, "sum", "an event was not counted: too many distinct stacks")                          \
    X(BLOCK, "block", "a block of memory was not followed: too many at once")                    \
    X(PAGE, "page", "a page of a file was not followed: too many at once")                       \
    X(REQUEST, "request", "a request of a disk or io_uring was not followed: too many at once")  \
    X(LABEL, "label", "an event was counted with the label [other]: too many files or peers")    \
    X(FIELD, "field", "whether an event counts is not known: a text was not in memory")          \
    X(CALL, "call", "the time of a call was not counted: too many calls at once, or too deep")   \
    X(CGROUP_EVENT, "cgroup-event", "the notification of a new cgroup was dropped: ring full")

enum xp_loss {
#define XP_LOSS_ENUM(name, slug, text) XP_LOSS_##name,
    XP_LOSSES(XP_LOSS_ENUM)
#undef XP_LOSS_ENUM
        XP_LOSS_COUNT
};

#include "bpf/rules.h"

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
    XP_FILE_NO_ROOM,     /* its table did not fit into the memory budget */
    XP_FILE_NO_SHARE,    /* its table exceeded the share of its cgroup */
    XP_FILE_NO_RULES,    /* it has too many rules for one file */
    XP_FILE_HUNG,        /* its file system does not answer */
    XP_FILE_JVM,         /* no file: code of a Java virtual machine (bpf/hotspot.h) */
};
/* OPEN: it is not decided yet whether code without rows gets derived rows; until then, samples that stop in such code
 * carry a dump, like samples that meet a file without table. NO_ELF: without a name, it is memory that looks like a
 * file (memfd). GENERATED: a region (below); this bit keeps its rules from those that xp_step knows by itself. */
#define XP_FILE_OPEN      2u
#define XP_FILE_NO_ELF    4u
#define XP_FILE_GENERATED 0x80u
struct xp_file {
    u32 id;    /* in stack words; never reused */
    u32 state; /* enum xp_file_state */
    u32 uid;   /* of the table: shared by files with the same content, never reused, so the pc cache needs no flush */
    u16 flags; /* XP_TABLE_*, XP_FILE_* */
    u16 asked; /* user space wants to know who maps it: the next sight is announced, under the same ID */
    u32 nblocks;
    u32 index; /* word number of the block index in the shards; its values are word numbers of rows */
    u64 lo;
};
_Static_assert(sizeof(struct xp_file) == 32, "contract");

/* ---- Generated code (the `regions` map) ---------------------------------------------------------------------------
 * An executable mapping of no file, whose unwind information user space has found in the memory of its process. The
 * value is a struct xp_file with ID 0; file offsets count from the start of the mapping. Code without row is unwound by
 * frame pointer.
 */
#define XP_MAX_REGIONS 2048 /* of all processes: 250 KB; a large JIT has 20 */
struct xp_region_key {
    u64 process; /* start of the process, as in samples */
    u64 stack;   /* address of its first stack: execve changes it */
    u64 start;   /* of the mapping */
    u32 tgid;
    u32 pad;
};
_Static_assert(sizeof(struct xp_region_key) == 32, "no hidden padding in a hash key");

/* ---- Records in the ring ------------------------------------------------------------------------------------------
 */
enum xp_record {
    XP_RECORD_NONE, /* not in the ring: see deferred_use_stacks in agent/files/deferred.h */
    XP_RECORD_SAMPLE = 1,
    XP_RECORD_FILE = 2,
    XP_RECORD_DUMP = 3,
    XP_RECORD_CGROUP = 4,
    /* A struct xp_sample without value, to which rows of `waits` refer by the key in `weight`: the user stack of a
     * process, or a kernel stack (process and user words missing). */
    XP_RECORD_STACK = 5,
    XP_RECORD_MAPPED = 6, /* bpf/heap.h */
    XP_RECORD_TAG = 7,    /* bpf/sums.h */
    XP_RECORD_CODE = 8,   /* bpf/python.h */
};

#define XP_SAMPLE_KERNEL_MODE 1u  /* the sample interrupted the kernel */
#define XP_SAMPLE_DUMP        2u  /* it follows an XP_RECORD_DUMP with the same cpu and time */
#define XP_SAMPLE_FP_USED     4u  /* at least one frame was found through a frame pointer */
#define XP_SAMPLE_KEPT        8u  /* of a stack: others may refer to it at any time */
#define XP_SAMPLE_RUNTIME     16u /* it met the loop of an interpreter of which nothing is known */
#define XP_SAMPLE_RETURNED    32u /* its first user word is a function that has returned to where its registers are */

struct xp_sample {
    u32 type; /* XP_RECORD_SAMPLE, XP_RECORD_STACK */
    u32 cpu;
    u64 time;   /* CLOCK_MONOTONIC, ns */
    u64 weight; /* period of the event: ns of cpu-clock, or a count */
    u64 start;  /* start of the process, ns since boot: (tgid, start) never repeats */
    u64 cgroup; /* kernfs id in the chosen hierarchy */
    u32 tgid, tid;
    u32 unwind_ns;      /* time for the user stack; 0 unless measured */
    u32 count;          /* occurrences that it stands for; `weight` is their sum */
    char comm[16];      /* of the process (its main thread) */
    char thread[16];    /* name of the thread, if xp_config.thread_labels is set; "": not known */
    u16 nkernel, nuser; /* words */
    u8 event;           /* row of the table of event kinds */
    u8 cause;           /* enum xp_cause */
    u8 flags;           /* XP_SAMPLE_* */
    u8 pad;
    u32 nstid; /* number of the thread in its own namespace of PIDs, if xp_config.thread_ids is set; or 0 */
    u32 pad2;
    u64 words[]; /* kernel words, then user words; each leaf first */
};
_Static_assert(sizeof(struct xp_sample) == 104, "contract");

struct xp_file_event { /* a file was seen for the first time, or again (xp_file.asked) */
    u32 type;          /* XP_RECORD_FILE */
    u32 id;
    u32 tgid;
    u32 magic; /* of its file system: f_type in statfs(2) */
    u32 again; /* 1: not for the first time */
    u32 pad;
    u64 cgroup;     /* of the process, as in samples */
    u64 start, end; /* the mapping: /proc/TGID/map_files/START-END */
    u64 pgoff;      /* bytes */
    struct xp_file_key key;
};

struct xp_regs { /* DWARF register numbers 0-16: rax rdx rcx rbx rsi rdi rbp rsp r8-r15 rip */
    u64 r[17];
};

/* An executable mapping, as listed by the iterator (iter/task_vma, Linux 5.12) and in dumps. */
struct xp_mapping {
    u64 start, end;
    u64 pgoff; /* bytes */
    u32 tgid;
    u32 file; /* id; 0 = anonymous */
};
_Static_assert(sizeof(struct xp_mapping) == 32, "contract");
struct xp_listed { /* as the iterator lists it */
    struct xp_mapping at;
    u32 magic, pad; /* magic: as in struct xp_file_event; 0: anonymous */
    u64 start;      /* of the process, as in samples */
    u64 cgroup;     /* the same */
};

struct xp_dump {
    u32 type; /* XP_RECORD_DUMP */
    u32 cpu;
    u64 time;
    u32 tgid;
    u32 len;      /* bytes of stack, from rsp upwards */
    u32 nmaps;    /* the executable mappings of the process that fit */
    u32 switches; /* of the thread so far: one that sleeps, and still has this number, has not run since */
    u32 absent;   /* bit n: the n-th page after that of rsp is left out of these bytes */
    u32 pad;
    struct xp_mapping maps[XP_DUMP_MAPS];
    struct xp_regs regs;
    u64 tls;                        /* TLS base of the thread */
    u8 stack[XP_DUMP_BYTES + 4096]; /* the slack lets the verifier see that a page always fits */
};

/* A cgroup was created or removed in the chosen hierarchy (tracepoints cgroup_mkdir and cgroup_rmdir). */
#define XP_CGROUP_PATH 512 /* a pod's path with long names by systemd has about 250; longer paths are truncated */
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
    s32 cgroup_subsys; /* index in css_set.subsys of the chosen version 1 hierarchy; -1: the unified one */
    u32 cpus;          /* possible CPUs */
    u32 kernel, user;  /* which stacks to record */
    u32 measure;       /* measure the time of every unwind */
    u32 ring_bytes;
    u32 perf_event[XP_MAX_PERF]; /* the number of the event that a program of perf events samples */
    u32 thread_names;            /* xp_sample.comm is the name of the thread, not of the process */
    u32 thread_labels;           /* xp_sample.thread is to be set */
    u32 cgroup_files;            /* maximum number of files that stacks of one cgroup may add to `files`; 0: no limit */
    /* Of waits (bpf/waits.bpf.h): */
    u32 offcpu, runqueue; /* bits of these events: 1 << event; 0: not recorded */
    u32 lock;             /* the same */
    u32 prev_state;       /* sched_switch has the state of the previous task as fourth argument (Linux 5.18) */
    u32 wait_shares;      /* a cgroup gets only its share of threads, waits and stacks */
    u32 kernel_threads;   /* follow those, too */
    u32 wakeup;           /* the bit of that event, as above */
    u32 late;             /* enum xp_late_stacks */
    u32 late_work;        /* they are taken by task work, to be called for */
    u64 wait_min;         /* ns; of shorter waits, the user stack need not be taken */
    u64 since;            /* CLOCK_MONOTONIC: earlier waits do not count */
    u32 event;            /* of a kind in sums (bpf/kind.bpf.h): its number */
    u32 preempted;        /* programs on tracepoints may be preempted */
    u64 seed;             /* of keys of stacks: random, so that nobody can make two stacks have one key */
    u32 thread_ids, pad;  /* xp_sample.nstid is to be set: stacks of threads are told apart by their numbers */
    u32 tags, ring_cqe;   /* sums have tags (bpf/tags.bpf.h); io_uring_complete has its result in a struct */
};

/* ---- Who is wanted (XP_TARGET_CGROUP): changes while sampling ------------------------------------------------------
 * A want consists of a bit e for each recorded event e; from bit 32 on, a number N: one of N samples is kept, chosen at
 * random; from bit 42 on, the code of a time in place of xp_config.wait_min, or 0; from bit 48 on, the same of waits
 * for locks; and from bit 54 on, the number of a row of `parts` that has the N of single events, or 0. A cgroup without
 * a want has that of its nearest ancestor; 0 if no ancestor has one.
 */
#define XP_WANT(events, every) ((u32)(events) | (u64)(every) << 32)
#define XP_WANT_EVENTS(w)      ((u32)(w))
#define XP_WANT_EVERY(w)       ((u32)((w) >> 32) & XP_WANT_EVERY_MAX)
#define XP_WANT_EVERY_MAX      1023
#define XP_WANT_MIN(code)      ((u64)(code) << 42)
#define XP_WANT_MIN_CODE(w)    ((u32)((w) >> 42) & (XP_WANT_MIN_CODES - 1))
#define XP_WANT_LOCK(code)     ((u64)(code) << 48)
#define XP_WANT_LOCK_CODE(w)   ((u32)((w) >> 48) & (XP_WANT_MIN_CODES - 1))
#define XP_WANT_MIN_CODES      64
#define XP_WANT_PARTS(row)     ((u64)(row) << 54)
#define XP_WANT_PARTS_ROW(w)   ((u32)((w) >> 54))
#define XP_MAX_PARTS           256 /* rows, 1024 at most; the first one is not used */
/* ns: four steps per power of two, 1 us to 50 ms. */
#define XP_WANT_MIN_NS(code) ((4ull + (((code)-1) & 3)) << (((code)-1) >> 2) << 8)
#define XP_MAX_WANTS         16384 /* cgroups with a want of their own */
#define XP_MAX_DECISIONS     32768 /* cgroups met by samples */

struct xp_parts { /* of the samples, by event: one of so many is kept; 0: as many as the want says */
    u16 every[XP_MAX_EVENTS];
};

struct xp_live { /* changes while sampling; what eBPF programs have cached is valid until one of the counters changes */
    u32 wants;   /* number of changes of wants */
    u32 files;   /* number of evictions of files */
    u32 interval; /* its number; the lowest bit chooses the map of waits */
    u32 ends;     /* nobody follows threads any more: this interval is the last one */
    /* Of events that are clocks, in ns; 0: what the kernel says. It goes on saying the period that a clock began with
     * (hw.last_period; kernel/events/core.c: perf_swevent_hrtimer). */
    u64 period[XP_MAX_EVENTS];
};

/* ---- What is counted of an event: one value of its kind -----------------------------------------------------------
 */
struct xp_amount {
    u64 count, value;
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
