/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The state of an unwind. It lives in a per-CPU scratch value, because the BPF stack is 512 bytes shared by all nested
 * calls; verified functions find it by xp_state_get() instead of passing it around.
 */
#pragma once

#define XP_VMA_CACHE 8     /* remembered mappings per process: stacks rarely cross more */
#define XP_VMA_SETS  8     /* processes remembered per CPU */
#define XP_REG_REACH 65536 /* maximum distance of an unproven CFA above the stack pointer */

struct xp_vma { /* one executable mapping, as the unwinder uses it */
    u64 start, end;
    u64 bias;            /* pc - bias = file offset */
    struct xp_file file; /* id 0: anonymous memory */
};

#define XP_JVM_KNOWN    1u  /* `jvm` is that of the sample */
#define XP_RUNTIME_NEWS 2u  /* it has frames that were not met on this CPU before */
#define XP_JVM_UNREADY  4u  /* frames of the interpreter that follow are being made */
#define XP_PYTHON_KNOWN 8u  /* `python` is that of the sample, and so is `py` */
#define XP_PYTHON_OVER  16u /* nothing more is to be had of it */
#define XP_V8_KNOWN     32u /* `v8` is that of the sample */
#define XP_V8_OVER      64u /* it is no process with V8, or nothing is known of it: */
#define XP_V8_MISSED    128u
#define XP_SCRIPT_KNOWN 256u /* `script` is that of the sample, and so are `py` and `sc` */
#define XP_SCRIPT_OVER  512u
#define XP_SCANNED      1024u /* it ran through generated code that had no other way (scan.bpf.h) */
#define XP_HAS_SCRIPT   2048u /* `script` is that of the sample, whatever `py` and `sc` are */
#define XP_NO_SCRIPT    4096u /* the process has no such runtime */
#define XP_PYTHON_MET   (XP_PYTHON_KNOWN | XP_PYTHON_OVER)
#define XP_RUNTIME_MET  1024 /* frames that are remembered */
#define XP_JAVA_PLACES  512  /* return addresses that are remembered, a power of two */
#define XP_BLOB_BYTES   512  /* room for the start of a blob of Java code */
#define XP_BLOB_READ    384  /* of these: all fields that are read are there (hotspot_check) */

#define XP_RBP_UNKNOWN 1 /* not an address: using it fails; not 0, because 0 would end a stack */

enum xp_leaf {                /* what is known about the position in the current frame */
               XP_LEAF_NO,    /* ip is a return address */
               XP_LEAF_EXACT, /* ip is the interrupted instruction itself */
               XP_LEAF_REGS,  /* and regs are its registers */
};

#define XP_WAITS_TABLE 1u /* the stack met a file without table */
#define XP_WAITS_ROWS  2u /* the stack stopped in code that may get rows soon */
#define XP_WAITS_CODE  4u /* it stopped in generated code of a process that is new */

struct xp_who { /* the interrupted task: kernel addresses */
    u64 task, mm, vdso, exe, stack;
    u64 start; /* of the process, ns since boot */
    u32 kthread, pad;
};

struct xp_area { /* any mapping, whatever is in it (area.bpf.h) */
    u64 start, end, flags, file, offset;
    u64 unsure; /* what was found out about it may not last */
};

#define XP_DECIDED 4 /* cgroups whose want is remembered by each CPU */
struct xp_decided {
    u64 cgroup;
    u64 want;
    u32 valid; /* xp_live.wants */
    u32 pad[3];
};

struct xp_range {
    u64 start, end;
};
struct xp_vma_kept { /* a remembered mapping, but for its range: one cache line */
    u64 bias;
    struct xp_file file;
    u32 seq;    /* mm_lock_seq when it was last known to be there */
    u32 walked; /* when it was found in the tree, in units of 2^24 ns */
    u64 vma;    /* kernel address */
    u64 lock;   /* of the VMA: xp_vma_lock */
};
_Static_assert(sizeof(struct xp_vma_kept) == 64, "one cache line for each change of mapping");
struct xp_vma_origin { /* what else a VMA has: kernel addresses; file 0: it is of none */
    u64 file, inode, pgoff;
};

/* Mappings from earlier samples of a process. They are valid until its mmap lock is taken for writing, which
 * mm_lock_seq shows (Linux 6.4), and then if their VMA is still the same (mapping.bpf.h): programs map memory all the
 * time, and seldom code. The other fields identify the process, in case another one has its mm at the same address. */
struct xp_vma_set {
    u64 mm, seq, exe, stack, start;
    u32 n, files; /* xp_live.files: tables of evicted files may be gone */
    u64 pad[2];   /* all parts are whole cache lines */
    struct xp_range range[XP_VMA_CACHE];
    struct xp_vma_kept kept[XP_VMA_CACHE];
    struct xp_vma_origin origin[XP_VMA_CACHE];
};

struct xp_found { /* where a mapping was found: kernel addresses */
    struct xp_vma_origin origin;
    u64 vma, lock;
};

struct xp_cache_entry {
    u64 tag; /* table uid << XP_OFFSET_BITS | offset; 0 = empty */
    struct xp_rule rule;
};
struct xp_cache {
    struct xp_cache_entry slot[XP_CACHE_SLOTS];
};

#define XP_PY_WINDOW 1024
struct xp_py {       /* how far the frames of Python are (python.bpf.h) */
    u64 frame;       /* the next one */
    u64 cframe;      /* that of the next call of the loop; 0: there are none */
    u64 call;        /* the object of the call whose frames were taken last; ~0: it is not known */
    u64 bytes;       /* of a frame that are read */
    u64 window, len; /* what of memory is in py_window */
    u64 at;          /* where the frame is in it */
    u64 low;         /* the stack pointer of the loop's frame */
    u64 last;        /* where its word is */
    u64 exact;       /* XP_WORD_EXACT, if the next one is where the thread was interrupted */
    u64 file, mark;  /* the file name that was read last, and what it adds to cookies */
    u64 fresh;       /* the frame that was put last was not met before */
};

struct xp_codes { /* what texts are to be sent of (python.bpf.h) */
    u64 n;
    u64 pad[7];
    struct {
        u64 word, more;
    } at[XP_CODES];
};

struct xp_sc {    /* how far the frames of a script are, beside what `py` has (script.bpf.h) */
    u64 language; /* of the loop's frame */
    u64 left;     /* Ruby: where the control frames end; Perl: how many contexts are left of the stackinfo */
    u64 info;     /* Perl: the stackinfo; PHP: the generator whose frame was the last one */
    u64 cop;      /* Perl: where the next frame is */
    u64 main;     /* Perl: the CV of the program; 0: it was taken */
    u64 opline;   /* PHP: what may be the current instruction of the next frame */
    u64 after;    /* how many words there were behind the frames of the last loop */
    u64 type;     /* Perl: of the last context */
};

struct xp_js {      /* a frame that may be one of JavaScript (v8.bpf.h) */
    u64 sp, bp, ip; /* its stack and frame pointers, and where it is */
    u64 leaf;       /* enum xp_leaf */
    u64 file;       /* where its code is from; 0: generated */
    u64 last;       /* where its word is */
    u64 map;        /* that of arrays of bytecode; 0: none was met */
    u64 pad;        /* whole cache lines */
};

/* Whether frames of this language were found in the stack. */
#define XP_HAS_FRAMES_OF(s, language_) ((s)->runtime & XP_HAS_SCRIPT && (s)->script.language == (language_))

struct xp_seek { /* a frame that may be that of a caller (scan.bpf.h) */
    u64 ra, sp, bp;
    u64 word, at; /* the return address of the first of these frames, and where it is */
    u64 pad[3];   /* whole cache lines */
};

struct xp_java_place { /* a return address in code of HotSpot */
    u64 tag;           /* of it and its process: xp_java_tag */
    u64 blob;
    u32 position; /* in its code */
    u32 bytes;    /* of its frame; 0: the interpreter's */
    u32 id;       /* of its method: another one may take its place */
    u32 seen;     /* when it was last seen to be there, in units of 2^24 ns */
};

struct xp_state {
    /* the current frame */
    u64 ip, sp, bp, bx;
    u32 leaf;     /* enum xp_leaf */
    u32 found_by; /* enum xp_word: how this frame was found */
    u32 cause;    /* enum xp_cause, once stopped */
    u32 pending;  /* XP_WAITS_*: what deferred unwinding waits for */
    u64 depth;    /* frames since the last leaf, this one included */
    u64 callee;   /* the return address of the previous frame; 0 if that one was exact */
    struct xp_vma cur;
    struct xp_regs regs; /* of the last leaf: rules for leaves may use any register */

    /* of the sample */
    struct xp_who who;
    struct xp_regs first; /* registers of the sample, for a dump: signal frames overwrite regs */
    u32 kernel_mode, set; /* number of the process's xp_vma_set */
    u32 walks, refills, hits, misses, fp_frames;
    u16 hops;               /* between stacks of Go */
    u16 runtime;            /* XP_JVM_*, XP_PYTHON_*, XP_RUNTIME_* */
    u32 holder;             /* of the lock that the thread waits for (lock.bpf.h) */
    u64 dump_second, dumps; /* rate limit; kept between samples */
    u64 pad1;               /* what follows begins with a cache line */
    struct xp_decided decided[XP_DECIDED];
    struct xp_vma_set sets[XP_VMA_SETS];
    u64 node[32];                /* one maple tree node */
    u64 walked;                  /* the last address for which the walk would have had the same result */
    u64 leaf_last;               /* the last address of that, if it is a leaf; 0: it is none */
    u8 object[256];              /* one kernel object */
    u64 loaded;                  /* what xp_load_slow read */
    u64 window_at, window_words; /* user stack copied to window[] */
    u64 window[XP_WINDOW / 8];
    struct xp_sample sample; /* the record: header and words in one piece */
    u64 words[XP_MAX_KERNEL + XP_MAX_USER + 2];
    u32 nmaps, pad;
    struct xp_mapping maps[XP_DUMP_MAPS];

    /* Of events other than samples. At the end: what samples use would move to other cache lines, which costs them 2 %
     * (bench/before.sh). */
    u64 hash;                                /* of words (waits.bpf.h) */
    struct xp_amount amounts[XP_MAX_VALUES]; /* that are to be counted (kind.bpf.h) */
    u64 listed;                              /* interval << 32 | process (tgid) whose mappings these are; 0: unknown */
    struct xp_area area;
    u64 saved; /* where the kernel has the user registers of the thread that waits */

    struct xp_found found; /* by the last walk */

    /* Java (hotspot.bpf.h): the virtual machine, and the blob of the current frame; Python (python.bpf.h),
     * V8 (v8.bpf.h), Ruby, PHP and Perl (script.bpf.h). */
    union {
        struct xp_jvm jvm;
        struct xp_python python;
        struct xp_v8 v8;
        struct xp_script script;
    };
    struct xp_py py;
    struct xp_codes codes;
    struct xp_js js;
    struct xp_sc sc;
    struct xp_seek seek;
    u64 noted[8];   /* what is read of a function (script.bpf.h) */
    u64 blob_kind;  /* enum xp_blob_kind: of the blob found last */
    u64 frame_blob; /* that of the frame (xp_keep_place) */
    u8 blob[XP_BLOB_BYTES];
    u32 met[XP_RUNTIME_MET]; /* hashes */
    u64 pad2[5];
    u64 returned; /* the function that has returned (unwind.bpf.h: XP_AFTER_CALLS) */
    u64 py_window[XP_PY_WINDOW / 8];
    struct xp_java_place java_places[XP_JAVA_PLACES]; /* two in a cache line */
};
_Static_assert(__builtin_offsetof(struct xp_state, sets) % 64 == 0 && sizeof(struct xp_state) % 64 == 0,
               "whole cache lines");
_Static_assert(__builtin_offsetof(struct xp_state, java_places) % 64 == 0 && sizeof(struct xp_java_place) == 32,
               "none in two cache lines");
_Static_assert(sizeof(struct xp_vma_set) % 64 == 0 && __builtin_offsetof(struct xp_vma_set, range) % 64 == 0,
               "the same");
