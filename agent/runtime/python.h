/* Reads CPython out of the memory of its process, without any help of it.
 *
 * Since 3.13 the runtime begins with a table of offsets for debuggers (_Py_DebugOffsets,
 * Include/internal/pycore_debug_offsets.h, in 3.13 Include/internal/pycore_runtime.h). Offsets of older versions do not
 * depend on the build, so they are constants here. In both cases the process is checked: its threads must have frames
 * whose code objects and names are what they should be.
 *
 *   python.c          finds the interpreter, and what the unwinder must know of it (struct xp_python)
 *   python_layout.c   which version it is, and its offsets
 *   python_threads.c  its thread states, and where a thread has its own
 *   python_code.c     from a code object to its names (Include/cpython/code.h, unicodeobject.h)
 *   python_lines.c    from an instruction to its line (Objects/lnotab_notes.txt, Objects/locations.md)
 *   python_names.c    from words of a stack (bpf/python.h) to frames
 *   python_about.c    what `inspect` says of it
 *
 * Frames are named by co_qualname ("Class.method", "outer.<locals>.inner", "<module>"), which exists since 3.11; before
 * that by co_name. "[python: gone]" is a frame whose code object is another object by now; "[python]" is one whose name
 * cannot be read.
 *
 * All of it is the process's to choose: offsets, lengths and steps are bounded, and all reads are of its own memory.
 * Runs in the parser process; python_check runs in its parent, too.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <stddef.h>

enum python_lines {
    PYTHON_LINES_PAIRS,     /* up to 3.9: co_lnotab */
    PYTHON_LINES_RANGES,    /* 3.10: co_linetable, pairs */
    PYTHON_LINES_LOCATIONS, /* since 3.11: co_linetable */
};

/* Offsets in bytes from the start of their structure, like those of struct xp_python. */
struct python_layout {
    u64 code_type, str_type, bytes_type; /* addresses of PyCode_Type, PyUnicode_Type and PyBytes_Type */
    u16 type;                            /* PyObject.ob_type */
    u16 bytes_size, bytes_data;          /* PyBytesObject */
    u16 str_length, str_state;           /* PyASCIIObject */
    u16 str_ascii, str_compact;          /* where the text is: sizes of PyASCIIObject and PyCompactUnicodeObject */
    u16 code_first;                      /* co_firstlineno */
    u16 code_size;                       /* ob_size: instructions of 2 bytes; 0: `code_bytes` tells it */
    u16 code_bytes;                      /* co_code, up to 3.10 */
    u16 code_copies;                     /* co_tlbc: threads have copies of the code; 0: they have not */
    u8 kind_shift;                       /* the number of the lowest bit of `kind` in str_state */
    u8 lines;                            /* enum python_lines */
    u8 unit;                             /* of the position of frames: 1 or 2 bytes */
    u8 free_threaded;                    /* there is no GIL */
    u8 by_offsets;                       /* the runtime told its offsets */
    u8 pad[5];
};
_Static_assert(sizeof(struct python_layout) == 56, "no hidden padding");

struct python { /* what is known of a process; plain numbers, so that they can be sent and kept */
    struct xp_python machine;
    struct python_layout layout;
    char version[16]; /* "3.12.1", "3.14.0rc2", "3.9"; printable, terminated */
};

/* Checks what came from another process: whatever it says, nothing that is computed with it overflows. Returns 0 or
 * -EBADMSG. */
int python_check(const void *data, size_t len);

struct memory;
/* See struct runtime_memory_ops (runtime/runtime.h). */
int python_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out);
