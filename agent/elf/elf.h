/* Reads an ELF file of this machine (ELF64, x86-64) from a mapping. The content is not trusted.
 *
 * Whatever is handed out lies inside the file: offsets and sizes are checked against the size that fstat saw, with
 * arithmetic that cannot overflow. (A file cut short while it is mapped kills the reader with SIGBUS; that is what the
 * parser process is for.) Section headers are optional: program headers are enough for the build ID, the unwind
 * information and the dynamic symbols.
 */
#pragma once
#include "bpf/types.h"
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

struct elf_segment { /* the part of a PT_LOAD that the file backs */
    u64 offset, vaddr, filesz;
    u32 flags; /* PF_X ... */
};

struct elf_file {
    const u8 *map;
    size_t size;
    bool owned; /* map is ours to unmap */
    u16 type;   /* ET_* */
    u64 entry;
    u64 phoff, shoff;
    u32 phnum, shnum; /* checked: that many headers are inside the file */
    u32 shstr;        /* section of the section names, < shnum, or 0 */
    struct elf_segment *loads;
    size_t nloads;
    u8 build_id[20]; /* a longer one is cut */
    u8 build_id_len; /* 0: none */
};

struct elf_section {
    const u8 *data; /* as stored: maybe compressed */
    size_t len;     /* 0 for SHT_NOBITS */
    u64 memory;     /* its size when it is loaded, also of SHT_NOBITS */
    u64 addr, flags, entsize;
    u32 type, link;
    bool zdebug; /* compressed as .zdebug_* are: "ZLIB", the size as a big-endian u64, a zlib stream */
};

struct elf_bytes { /* a section's content: borrowed from the map, or inflated and owned */
    const u8 *data;
    size_t len;
    u8 *owned;
};

/* fd is borrowed and mapped read-only until elf_close. 0, -ENOEXEC (not ELF64 x86-64), -EBADMSG, -ENOMEM, -errno. */
int elf_open(struct elf_file *e, int fd);
/* The same over borrowed memory. */
int elf_open_memory(struct elf_file *e, const void *data, size_t len);
void elf_close(struct elf_file *e);
/* Lets go of the file's bytes and headers; segments and build ID stay. */
void elf_unmap(struct elf_file *e);
#define AUTO_ELF __attribute__((cleanup(elf_close))) /* initialise to {0} */

/* Header i < phnum / shnum. A section that leaves the file is refused (false). */
Elf64_Phdr elf_phdr(const struct elf_file *e, u32 i);
bool elf_section_at(const struct elf_file *e, u32 i, struct elf_section *out);
/* The first section with this name; false when there is none (or no section headers). */
bool elf_section(const struct elf_file *e, const char *name, struct elf_section *out);
/* .debug_NAME, or the older .zdebug_NAME, which is then marked SHF_COMPRESSED. */
bool elf_debug_section(const struct elf_file *e, const char *name, struct elf_section *out);
bool elf_find_phdr(const struct elf_file *e, u32 type, Elf64_Phdr *out);

/* Content of a section, inflated when SHF_COMPRESSED (zlib, zstd). 0, -EBADMSG, -ENOSPC (above cap), -ENOMEM. */
int elf_section_bytes(const struct elf_section *s, size_t cap, struct elf_bytes *out);
void elf_bytes_free(struct elf_bytes *b);
#define AUTO_BYTES __attribute__((cleanup(elf_bytes_free))) /* initialise to {0} */

/* A copy of n bytes of the file behind fd, which no writer to the file can change; to be freed. 0, -ESTALE (it was cut
 * short), -ENOMEM, -errno. */
int elf_read(int fd, u64 offset, size_t n, u8 **out);

/* A hint: all of this is about to be read. */
void elf_will_read(const struct elf_file *e, const u8 *data, size_t len);
/* Another: it has been read, and need not stay in this process's memory. */
void elf_have_read(const struct elf_file *e, const u8 *data, size_t len);

/* The segment whose file-backed part holds vaddr; `flags` must all be set in it. NULL: none. */
const struct elf_segment *elf_segment_at(const struct elf_file *e, u64 vaddr, u32 flags);
/* The same by file offset. */
const struct elf_segment *elf_segment_of(const struct elf_file *e, u64 offset, u32 flags);
/* The bytes from vaddr to the end of its segment, or NULL. */
const u8 *elf_at(const struct elf_file *e, u64 vaddr, size_t *left);
