/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The part of the contract (bpf/xprof.h, which includes it) about CPython: where a process has its thread states and
 * frames, and what frames of Python look like in stacks. User space fills this in (agent/runtime/python.h). Everything
 * in it is the container's to choose: it leads to reads of its own process only.
 */
#pragma once

/* ---- Frames --------------------------------------------------------------------------------------------------------
 * A frame has two words, XP_WORD_SCRIPT and, towards the root, XP_WORD_MORE. The address is that of the code object
 * (bpf/script.h). The position is what the frame has of its instruction: a pointer into the code, less the code's
 * start, in bytes; or the index of the instruction (co_lasti) where the frame has that (code_start 0); signed. The
 * cookie tells whether the object at that address is still the same one when the frame gets its name.
 */

/* What tells code objects apart that have the same address, one after the other. The next one often has its names and
 * its table of lines where the one before had them, so that words that lead there are not enough: the mark is
 * co_version, which no two have (since 3.12), or the end of the file's name. A word that is not part of it is 0; all
 * are 0 if they could not be read. */
#define XP_PYTHON_NAMES 4 /* file name, name, (qualified name,) table of lines */
#define XP_PYTHON_WORDS 5 /* and the mark */
#define XP_PYTHON_COOKIE(w, mark)                                                                  \
    ((u32)((((w)[0] ^ (w)[1] << 13 ^ (w)[2] << 26 ^ (w)[3] << 39 ^ (mark)*0xbf58476d1ce4e5b9ull) * \
            0x9e3779b97f4a7c15ull) >>                                                              \
           36))
#define XP_PYTHON_VERSION 20 /* bytes between co_version and the names */

/* The last bytes of a str, by three words of it from its length on: length, hash, state
 * (Include/cpython/unicodeobject.h, up to 3.11). They are at `text` + XP_PYTHON_TAIL; `text` is the address of the
 * length. */
#define XP_PYTHON_BYTES(head) ((head)[0] * ((head)[2] >> 2 & 7))
#define XP_PYTHON_TAIL(head) \
    (((head)[2] >> 6 & 1 ? 32ull : 56ull) + (XP_PYTHON_BYTES(head) > 16 ? XP_PYTHON_BYTES(head) - 16 : 0))
#define XP_PYTHON_MARK(tail) ((tail)[0] * 0x94d049bb133111ebull ^ (tail)[1])

/* ---- A process -----------------------------------------------------------------------------------------------------
 * The interpreter is a loop (_PyEval_EvalFrameDefault). Each call of it runs one or more frames: those of Python
 * functions that were called by Python functions need no call of their own since 3.11. What tells where they end:
 */
enum xp_python_shape {
    XP_PYTHON_EACH,   /* up to 3.9: each call has one frame; they are a list from the thread state on */
    XP_PYTHON_CFRAME, /* 3.10: so it is; and each call has an object on the stack (CFrame), which are a list, too */
    XP_PYTHON_ENTRY,  /* 3.11: the object has the innermost frame of its call; the outermost one has a flag */
    XP_PYTHON_SHIM,   /* since 3.12: the outermost frame is none of Python, but an object on the stack of the call */
};

#define XP_PYTHON_FRAME 128 /* bytes of a frame: those that are read of it are among these */

/* Offsets are in bytes from the start of their structure. */
struct xp_python {
    s64 tls;          /* where a thread has its state (PyThreadState *), from its TLS base on */
    u32 slot;         /* 0: there; else: a pointer is there, and that of the state is `slot` - 1 bytes behind it */
    u8 shape;         /* enum xp_python_shape */
    u8 shim;          /* SHIM: the least value of `frame_owner` of such frames */
    u8 names;         /* how many words from code_names on make the cookie: 3 or 4 */
    u8 tag_bits;      /* low bits of frame_code that are not part of the address: 0 to 3 */
    u16 state_thread; /* PyThreadState.thread_id: the TLS base of its thread */
    u16 state_frame;  /* the current frame; 0: it is in the current cframe */
    u16 state_cframe; /* the current CFrame; 0: there are none */
    u16 cframe_frame, cframe_back;
    u16 frame_code, frame_back;
    u16 frame_position; /* prev_instr, instr_ptr; f_lasti (32 bits) if code_start is 0 */
    u16 frame_owner;    /* SHIM: owner; ENTRY: is_entry; a byte */
    u16 code_start;     /* co_code_adaptive */
    u16 code_names;     /* co_filename: the first of `names` words in a row */
    u16 text;           /* PyASCIIObject.length: the mark is the end of the file's name; 0: it is co_version */
    u16 code_flags;     /* co_flags; 0: no texts are sent */
    u16 str_length;     /* PyASCIIObject.length, in any case; hash and state follow */
    u8 str_ascii;       /* from there on: the characters, if all are ASCII */
    u8 kind_shift;      /* the lowest bit of the state that tells of the characters: see XP_STR_ASCII */
    u8 pad[2];
};
_Static_assert(sizeof(struct xp_python) == 48, "no hidden padding");

/* ---- Texts ---------------------------------------------------------------------------------------------------------
 * The body of a module or a class runs once. Then its code object is freed, mostly before user space can read it: their
 * names are sent ahead of the sample that meets them first.
 */
#define XP_PYTHON_LASTS 1u  /* CO_OPTIMIZED: the code of a function (Include/cpython/code.h) */
#define XP_STR_ASCII    25u /* kind 1, compact, ascii: 5 bits */
#define XP_CODES        8   /* of a sample */
#define XP_CODE_NAME    96
#define XP_CODE_FILE    256
struct xp_code_event { /* texts that are longer, or not ASCII, are not sent */
    u32 type;          /* XP_RECORD_CODE */
    u32 tgid;
    u64 start, cgroup; /* of the process, as in samples */
    u64 word, more;    /* as in stacks, without position */
    u32 name_len, file_len;
    char name[XP_CODE_NAME], file[XP_CODE_FILE]; /* co_qualname, or co_name before 3.11; co_filename */
};
