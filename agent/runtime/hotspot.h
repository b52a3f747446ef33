/* Reads HotSpot, the Java virtual machine of OpenJDK, out of the memory of its process, without any help of it.
 *
 * libjvm.so exports tables for debuggers (gHotSpotVMStructs, src/hotspot/share/runtime/vmStructs.hpp) with the fields
 * of its structures: their offsets, and the addresses of static ones. They differ between builds, so that nothing here
 * depends on a version if a structure tells it.
 *
 *   hotspot.c          finds the virtual machine, and what the unwinder must know of it (struct xp_jvm)
 *   hotspot_structs.c  reads the tables
 *   hotspot_layout.c   chooses from them, for all versions since 8
 *   hotspot_threads.c  finds how stacks of virtual threads go on
 *   hotspot_code.c     from a place in compiled code to the methods that are inlined there
 *   hotspot_method.c   from a method to its names, file and lines
 *   hotspot_names.c    from words of a stack (bpf/hotspot.h) to frames
 *   hotspot_about.c    what `inspect` says of it
 *
 * Frames are named "package.Class.method", as jstack, async-profiler and others do, with "<init>" and "<clinit>". The
 * classes of lambdas lose their number and address ("Foo$$Lambda"), as do other hidden classes. The system name has the
 * signature behind that: "java.lang.String.hashCode()I". Code of no method is named like the code that HotSpot has it
 * in:
 * "[jvm: Interpreter]", "[jvm: I2C/C2I adapters]", "[jvm: StubRoutines (compiler stubs)]". A frame whose owner is
 * another one by now is "[java: gone]"; "[java]" is one whose names cannot be read.
 *
 * All of it is the process's to choose: offsets, lengths and steps are bounded, and all reads are of its own memory.
 * Runs in the parser process; hotspot_check runs in its parent, too.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <stddef.h>

/* Offsets in bytes from the start of their structure, like those of struct xp_jvm; 0: the field does not exist, where
 * that is said. */
struct hotspot_layout {
    u16 block_used;                                          /* HeapBlock */
    u16 blob_size, blob_data, blob_mutable, blob_relocation; /* CodeBlob; the last three may be 0 */
    u16 nmethod_method, nmethod_level, nmethod_state;
    u16 metadata;                  /* nmethod; 0: it is behind the relocations in mutable data */
    u16 scopes_data;               /* nmethod */
    u16 scopes_pcs, pcs_end;       /* nmethod; the field that tells where the first one ends */
    u16 immutable, immutable_size; /* nmethod; 0: that data is part of the blob */
    u16 pcdesc_size, pcdesc_pc, pcdesc_scope;
    u16 const_name, const_signature, const_code_size, const_flags; /* ConstMethod */
    u16 pool_size, pool_length, pool_file;                         /* ConstantPool; pool_file 0: klass_file */
    u16 klass_pool, klass_file;                                    /* InstanceKlass */
    u16 symbol_length, symbol_body;
    u16 lines_flag;       /* of const_flags: there is a table of lines */
    u8 metadata_bytes;    /* 2 or 4; it is an offset from the blob, or, if there is immutable data, from its data */
    u8 scopes_is_pointer; /* scopes_data is a pointer, not an offset */
    u8 dead_state;        /* nmethod_state from which on its metadata may be unloaded */
    u8 byte_zero;         /* first byte of numbers: 0, or since 20: 1 (unsigned5.h) */
    u8 pad[2];
};
_Static_assert(sizeof(struct hotspot_layout) == 64, "no hidden padding");

struct hotspot { /* what is known of a process; plain numbers, so that they can be sent and kept */
    struct xp_jvm jvm;
    struct hotspot_layout layout;
    char version[64]; /* as java -version has it: "17.0.15+6-Debian-1deb12u1"; printable, terminated */
};

/* Checks what came from another process: whatever it says, nothing that is computed with it overflows. Returns 0 or
 * -EBADMSG. */
int hotspot_check(const void *data, size_t len);

struct memory;
/* See struct runtime_memory_ops (runtime/runtime.h). */
int hotspot_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out);
