/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The part of the contract (bpf/xprof.h, which includes it) about HotSpot, the Java virtual machine of OpenJDK: where a
 * process has its code and how the structures there are laid out, as the virtual machine itself says in
 * gHotSpotVMStructs (src/hotspot/share/runtime/vmStructs.hpp); and what frames of Java look like in stacks. User space
 * fills this in (agent/runtime/hotspot.h). Everything in it is the container's to choose: it leads to reads of its own
 * process only.
 */
#pragma once

/* ---- Frames --------------------------------------------------------------------------------------------------------
 * A frame has two words: XP_WORD_JAVA and, towards the root, XP_WORD_MORE.
 *
 *   JAVA   kind(4) exact(1) form(3) address(56)
 *   MORE   kind(4) cookie(28) position(32)
 *
 * The cookie tells whether the owner of the address is still the same one when the frame gets its name.
 */
enum xp_java_form {
    XP_JAVA_COMPILED,    /* address of an nmethod; position: pc - code_begin; cookie: its compile ID */
    XP_JAVA_INTERPRETED, /* address of a Method; position: index of the bytecode (bci); cookie: XP_JAVA_COOKIE */
    XP_JAVA_STUB,        /* address of any other CodeBlob; position: pc - address; cookie: 0 */
    XP_JAVA_FROZEN       /* callers of a virtual thread that are not on the stack; position and cookie: 0 */
};
#define XP_JAVA_WORD(form, at) ((u64)XP_WORD_JAVA << 60 | (u64)(form) << 56 | XP_JAVA_ADDRESS(at))
#define XP_JAVA_FORM(w)        ((u32)((w) >> 56) & 7)
#define XP_JAVA_ADDRESS(w)     ((w) & ((1ull << 56) - 1))
#define XP_JAVA_NO_BCI         0xffffffffu /* position: not known */

/* What tells methods apart that have the same address, one after the other. The next class that is loaded may have all
 * of its parts where one of the same shape had them that was unloaded; but symbols, its name among them, get a random
 * number each. `name` and `hash`: of that symbol; both are 0 if they could not be read. */
#define XP_JAVA_COOKIE(constmethod, name, hash) \
    ((u32)((((u64)(constmethod) ^ (u64)(name) << 20 ^ (u64)(hash) << 44) * 0x9e3779b97f4a7c15ull) >> 36))

/* ---- A process -----------------------------------------------------------------------------------------------------
 */
#define XP_JVM_HEAPS 8 /* code heaps: three if segmented, else one */

/* Tells whether a mapping (struct xp_vma) holds code of a virtual machine (struct xp_jvm). */
#define XP_JVM_MEETS(jvm, vma) ((vma)->start < (jvm)->high && (vma)->end > (jvm)->low)

struct xp_jvm_heap {
    u64 low, high; /* addresses reserved for it */
    u64 segmap;    /* address of its segment map: a byte for each segment from `low` on */
    u32 shift;     /* log2 of the bytes of a segment */
    u32 pad;
};

/* Offsets are in bytes from the start of their structure. */
struct xp_jvm {
    u64 low, high; /* of all heaps; those that are missing have low = high = 0 */
    struct xp_jvm_heap heap[XP_JVM_HEAPS];
    u64 return_barrier; /* a return address: callers of a virtual thread are frozen; 0: there are no virtual threads */
    u64 entry_return;   /* a return address in the frame that a virtual thread was mounted by; 0: until 24 it is known
                           only once there was a virtual thread: look again when a stack meets the barrier */
    u16 block_header;   /* sizeof(HeapBlock): from a segment to its CodeBlob */
    u16 blob_name, blob_frame_size, blob_frame_complete, blob_code; /* CodeBlob */
    u16 method_id, method_orig_pc, method_deopt, method_deopt_mh;   /* nmethod; deopt: 0: there is none */
    u16 constmethod, bytecodes; /* Method._constMethod; sizeof(ConstMethod), behind which the bytecodes are */
    u16 const_pool, pool_holder, klass_name; /* ConstMethod._constants, ConstantPool._pool_holder, Klass._name */
    u16 symbol_hash;                         /* Symbol: 16 random bits */
    u16 thread_entry, entry_size;            /* JavaThread._cont_entry, sizeof(ContinuationEntry); 0: as entry_return */
    u8 frame_complete_bytes;                 /* 2 or 4 */
    u8 code_is_offset;                       /* blob_code is an s32 from the blob, not a pointer */
    u8 deopt_is_offset;                      /* the same of method_deopt and method_deopt_mh, from the blob */
    u8 bcp_slot; /* of the interpreter's frame: the pointer to the bytecode is at rbp - 8 * bcp_slot */
    u8 pad[2];
};
_Static_assert(sizeof(struct xp_jvm) == 32 + 32 * XP_JVM_HEAPS + 40, "no hidden padding");
