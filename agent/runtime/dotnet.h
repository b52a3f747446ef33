/* Reads .NET (CoreCLR, from 9 on) out of the memory of its process, without any help of it.
 *
 * The runtime exports a description of its structures for debuggers, DotNetRuntimeContractDescriptor (dotnet/runtime:
 * docs/design/datacontracts): offsets are those of the process at hand. Code that was compiled at run time keeps frame
 * pointers, so that stacks need nothing; a frame is an address, and the method that it is in is found when it gets its
 * name: in front of the code of each method there is a pointer to what is known of it, which leads to the method, its
 * type, and the metadata of their module (ECMA-335, II.22 to II.25), which has the names.
 *
 *   dotnet.c           finds the runtime
 *   dotnet_layout.c    its description
 *   dotnet_code.c      from an address to a method (src/coreclr/vm/codeman.h, method.hpp)
 *   dotnet_image.c     the metadata of a module
 *   dotnet_tables.c    where tables of metadata have what
 *   dotnet_names.c     from words of a stack (bpf/script.h) to frames
 *   dotnet_ahead.c     files with code that was compiled ahead of time: their methods; with dotnet_native.c and
 *                      dotnet_signature.c, what their tables are made of, and dotnet_pe.c, their headers
 *
 * Frames are named as stack traces of .NET name them: "Namespace.Type.Method", nested types with a dot between; what
 * runs in the state machine of an asynchronous method or of an iterator has the name of that. "[dotnet]" is code that
 * no method was found for, and "[dotnet: gone]" is that of a method that was unloaded.
 *
 * All of it is the process's to choose: offsets, lengths and steps are bounded, and all reads are of its own memory.
 * Runs in the parser process; dotnet_check runs in its parent, too.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <stddef.h>

/* Offsets in bytes from the start of their structure. */
struct dotnet_layout {
    u16 code_method, code_parts, code_part;       /* RealCodeHeader: phdrMDesc, nUnwindInfos, unwindInfos */
    u16 method_index, method_flags, method_token; /* MethodDesc */
    u16 method_unit;                              /* bytes: of which method_index counts */
    u16 method_name;                              /* DynamicMethodDesc */
    u16 chunk_bytes, chunk_table, chunk_token;    /* MethodDescChunk: its size; MethodTable; FlagsAndTokenRange */
    u16 table_token, table_class, table_module;   /* MethodTable */
    u16 class_table;                              /* EEClass.MethodTable */
    u16 module_base;                              /* Module.Base: its image in memory */
    u16 token_bits;                               /* of a token, that are in method_token */
    u16 pad[3];
};
_Static_assert(sizeof(struct dotnet_layout) == 40, "no hidden padding");

struct dotnet { /* what is known of a process; plain numbers, so that they can be sent and kept */
    struct xp_script machine;
    struct dotnet_layout layout;
};

/* Checks what came from another process: whatever it says, nothing that is computed with it overflows. Returns 0 or
 * -EBADMSG. */
int dotnet_check(const void *data, size_t len);

/* Builds the name index (dwarf/name_index.h) of an image file with code that was compiled ahead of time: malloc'ed,
 * owned by the caller. Returns 0; -ENODATA: it is none; -EBADMSG; -ENOSPC: it is beyond a limit; -ENOMEM. */
int dotnet_ahead_index(int fd, void **out, size_t *len);

struct memory;
/* See struct runtime_memory_ops (runtime/runtime.h). */
int dotnet_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out);
