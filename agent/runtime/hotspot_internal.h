/* Shared by the files that read HotSpot (runtime/hotspot.h): the tables that it exports, its code, its methods. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "proc/memory.h"
#include "proc/module.h"
#include "runtime/frame_reply.h"
#include "runtime/hotspot.h"

/* ---- Tables: hotspot_structs.c ---- */

/* Fields that are looked up: type and name. Not each version has all of them. */
#define HOTSPOT_FIELDS(X)                                             \
    X(CACHE_HEAP, "CodeCache", "_heap")                               \
    X(CACHE_HEAPS, "CodeCache", "_heaps")                             \
    X(ARRAY_LEN, "GrowableArrayBase", "_len")                         \
    X(ARRAY_LEN_9, "GenericGrowableArray", "_len")                    \
    X(ARRAY_DATA, "GrowableArray<int>", "_data")                      \
    X(HEAP_MEMORY, "CodeHeap", "_memory")                             \
    X(HEAP_SEGMAP, "CodeHeap", "_segmap")                             \
    X(HEAP_SHIFT, "CodeHeap", "_log2_segment_size")                   \
    X(SPACE_LOW_BOUNDARY, "VirtualSpace", "_low_boundary")            \
    X(SPACE_HIGH_BOUNDARY, "VirtualSpace", "_high_boundary")          \
    X(SPACE_LOW, "VirtualSpace", "_low")                              \
    X(SPACE_HIGH, "VirtualSpace", "_high")                            \
    X(BLOCK_HEADER, "HeapBlock", "_header")                           \
    X(BLOCK_USED, "HeapBlock::Header", "_used")                       \
    X(BLOB_NAME, "CodeBlob", "_name")                                 \
    X(BLOB_SIZE, "CodeBlob", "_size")                                 \
    X(BLOB_FRAME_SIZE, "CodeBlob", "_frame_size")                     \
    X(BLOB_FRAME_COMPLETE, "CodeBlob", "_frame_complete_offset")      \
    X(BLOB_CODE_BEGIN, "CodeBlob", "_code_begin")                     \
    X(BLOB_CODE_OFFSET, "CodeBlob", "_code_offset")                   \
    X(BLOB_DATA_OFFSET, "CodeBlob", "_data_offset")                   \
    X(BLOB_MUTABLE, "CodeBlob", "_mutable_data")                      \
    X(BLOB_RELOCATION, "CodeBlob", "_relocation_size")                \
    X(COMPILED_METHOD, "CompiledMethod", "_method")                   \
    X(COMPILED_SCOPES, "CompiledMethod", "_scopes_data_begin")        \
    X(COMPILED_DEOPT, "CompiledMethod", "_deopt_handler_begin")       \
    X(COMPILED_DEOPT_MH, "CompiledMethod", "_deopt_mh_handler_begin") \
    X(NMETHOD_METHOD, "nmethod", "_method")                           \
    X(NMETHOD_ID, "nmethod", "_compile_id")                           \
    X(NMETHOD_LEVEL, "nmethod", "_comp_level")                        \
    X(NMETHOD_STATE, "nmethod", "_state")                             \
    X(NMETHOD_ORIG_PC, "nmethod", "_orig_pc_offset")                  \
    X(NMETHOD_DEOPT_8, "nmethod", "_deoptimize_offset")               \
    X(NMETHOD_DEOPT, "nmethod", "_deopt_handler_offset")              \
    X(NMETHOD_DEOPT_26, "nmethod", "_deopt_handler_entry_offset")     \
    X(NMETHOD_DEOPT_MH, "nmethod", "_deopt_mh_handler_offset")        \
    X(NMETHOD_DEOPT_MH_8, "nmethod", "_deoptimize_mh_offset")         \
    X(NMETHOD_METADATA, "nmethod", "_metadata_offset")                \
    X(NMETHOD_SCOPES, "nmethod", "_scopes_data_offset")               \
    X(NMETHOD_PCS, "nmethod", "_scopes_pcs_offset")                   \
    X(NMETHOD_DEPENDENCIES, "nmethod", "_dependencies_offset")        \
    X(NMETHOD_IMMUTABLE, "nmethod", "_immutable_data")                \
    X(NMETHOD_IMMUTABLE_SIZE, "nmethod", "_immutable_data_size")      \
    X(PCDESC_PC, "PcDesc", "_pc_offset")                              \
    X(PCDESC_SCOPE, "PcDesc", "_scope_decode_offset")                 \
    X(METHOD_CONST, "Method", "_constMethod")                         \
    X(CONST_POOL, "ConstMethod", "_constants")                        \
    X(CONST_NAME, "ConstMethod", "_name_index")                       \
    X(CONST_SIGNATURE, "ConstMethod", "_signature_index")             \
    X(CONST_CODE_SIZE, "ConstMethod", "_code_size")                   \
    X(CONST_FLAGS_8, "ConstMethod", "_flags")                         \
    X(CONST_FLAGS, "ConstMethod", "_flags._flags")                    \
    X(POOL_HOLDER, "ConstantPool", "_pool_holder")                    \
    X(POOL_LENGTH, "ConstantPool", "_length")                         \
    X(KLASS_POOL, "InstanceKlass", "_constants")                      \
    X(POOL_FILE, "ConstantPool", "_source_file_name_index")           \
    X(KLASS_FILE, "InstanceKlass", "_source_file_name_index")         \
    X(KLASS_NAME, "Klass", "_name")                                   \
    X(SYMBOL_LENGTH, "Symbol", "_length")                             \
    X(SYMBOL_LENGTH_12, "Symbol", "_length_and_refcount")             \
    X(SYMBOL_HASH, "Symbol", "_hash_and_refcount")                    \
    X(SYMBOL_HASH_8, "Symbol", "_identity_hash")                      \
    X(SYMBOL_BODY, "Symbol", "_body")                                 \
    X(SYMBOL_BODY_0, "Symbol", "_body[0]")                            \
    X(VM_RELEASE, "Abstract_VM_Version", "_s_vm_release")             \
    X(VM_MAJOR, "Abstract_VM_Version", "_vm_major_version")           \
    X(INTERPRETER, "AbstractInterpreter", "_code")                    \
    X(THREAD_ENTRY, "JavaThread", "_cont_entry")                      \
    X(ENTRY_RETURN, "ContinuationEntry", "_return_pc")                \
    X(BLOCK_LENGTH, "HeapBlock::Header", "_length")                   \
    X(FLAGS, "JVMFlag", "flags")                                      \
    X(FLAGS_8, "Flag", "flags")                                       \
    X(FLAG_COUNT, "JVMFlag", "numFlags")                              \
    X(FLAG_COUNT_8, "Flag", "numFlags")                               \
    X(FLAG_NAME, "JVMFlag", "_name")                                  \
    X(FLAG_NAME_8, "Flag", "_name")                                   \
    X(FLAG_ADDRESS, "JVMFlag", "_addr")                               \
    X(FLAG_ADDRESS_8, "Flag", "_addr")
#define HOTSPOT_TYPES(X)           \
    X(BLOCK, "HeapBlock")          \
    X(PCDESC, "PcDesc")            \
    X(CONST_METHOD, "ConstMethod") \
    X(POOL, "ConstantPool")        \
    X(ENTRY, "ContinuationEntry")  \
    X(FLAG, "JVMFlag")             \
    X(FLAG_8, "Flag")
#define HOTSPOT_CONSTANTS(X)                              \
    X(LINES_FLAG_8, "ConstMethod::_has_linenumber_table") \
    X(LINES_FLAG, "ConstMethodFlags::_misc_has_linenumber_table")

#define HOTSPOT_ENUM_FIELD(id, type, name) FIELD_##id,
#define HOTSPOT_ENUM_TYPE(id, name)        TYPE_##id,
#define HOTSPOT_ENUM_CONSTANT(id, name)    CONSTANT_##id,
enum hotspot_field_id { HOTSPOT_FIELDS(HOTSPOT_ENUM_FIELD) FIELDS };
enum hotspot_type_id { HOTSPOT_TYPES(HOTSPOT_ENUM_TYPE) TYPES };
enum hotspot_constant_id { HOTSPOT_CONSTANTS(HOTSPOT_ENUM_CONSTANT) CONSTANTS };

struct hotspot_field {
    bool found, is_static;
    bool is_short; /* its type has 16 bits */
    u64 value;     /* offset; static: address */
};
struct hotspot_structs {
    struct hotspot_field fields[FIELDS];
    u64 sizes[TYPES];         /* 0: no such type */
    u64 constants[CONSTANTS]; /* 0: no such constant */
};

/* Reads the tables of a module that exports gHotSpotVMStructs. 0; -EAGAIN: they are not there yet; -ENOTSUP. */
int hotspot_structs_read(struct memory *m, const struct module *mod, struct hotspot_structs *out);

/* ---- The choice: hotspot_layout.c ---- */

/* Fills in everything but the heaps. 0; -ENOTSUP: something is missing. */
int hotspot_layout(struct memory *m, const struct hotspot_structs *s, struct hotspot *out);

/* ---- Methods: hotspot_method.c ---- */

struct hotspot_method {
    u64 constmethod;
    u32 name, system_name, file; /* offsets in texts; name 0: it cannot be read */
    u32 code_size;               /* 0: a native method */
    bool lines;
};

struct hotspot_query { /* one request */
    struct memory *m;
    const struct hotspot *h;
    struct frame_reply reply;
    struct map methods; /* address of a Method -> 1 + index of `known` */
    VEC(struct hotspot_method) known;
};

/* The names of a method, read once; NULL: out of memory. Valid until the next call. */
const struct hotspot_method *hotspot_method(struct hotspot_query *q, u64 method);
/* The line of a bytecode; 0: unknown. */
u32 hotspot_line(struct hotspot_query *q, const struct hotspot_method *m, u32 bci);

/* Appends the spelling of a class's name, which is modified UTF-8. */
void hotspot_spell_class(struct buf *out, const char *s, size_t len);
/* The same of other names: as they are. */
void hotspot_spell(struct buf *out, const char *s, size_t len);

/* ---- Compiled code: hotspot_code.c ---- */

#define HOTSPOT_MAX_SCOPES 128
struct hotspot_scope {
    u64 method;
    u32 bci; /* XP_JAVA_NO_BCI: unknown */
};
struct hotspot_scopes {
    struct hotspot_scope v[HOTSPOT_MAX_SCOPES]; /* innermost first; the last one is that of the nmethod itself */
    u32 n;
    u8 level; /* of its compiler: 1 to 3: C1, 4: C2 */
    bool native;
};
/* Finds the methods at a place of an nmethod. False: it cannot be read at all. */
bool hotspot_scopes(struct hotspot_query *q, u64 nmethod, u32 position, bool exact, struct hotspot_scopes *out);

enum hotspot_blob { HOTSPOT_NONE, HOTSPOT_NMETHOD, HOTSPOT_NATIVE, HOTSPOT_STUB };
#define HOTSPOT_BLOB_NAME 128
/* What kind of code is at an address, and how it is called. */
enum hotspot_blob hotspot_blob(struct hotspot_query *q, u64 at, char name[HOTSPOT_BLOB_NAME]);

/* ---- The process: hotspot.c ---- */

struct hotspot_found {
    struct hotspot_structs structs;
    struct hotspot h;       /* without what hotspot_threads fills in */
    u64 ends[XP_JVM_HEAPS]; /* of the memory that is in use, for each heap */
};
/* Finds the virtual machine of a process. Returns what runtime_memory_ops.attach does. */
int hotspot_find(struct memory *m, struct hotspot_found *out);

/* ---- What inspect says: hotspot_about.c ---- */

/* See runtime_memory_ops.about. */
int hotspot_about(struct memory *m, struct buf *out);

/* ---- Virtual threads: hotspot_threads.c ---- */

/* Fills in what is missing of return_barrier, entry_return, thread_entry and entry_size. `ends`: of the memory that is
 * in use, for each heap. */
void hotspot_threads(struct memory *m, const u64 ends[XP_JVM_HEAPS], struct hotspot *h);
