/* Reads an ELF file of this machine (ELF64, x86-64) from a mapping. The content is not trusted.
 *
 * All returned data is inside the file: offsets and sizes are checked against the size from fstat, without integer
 * overflow. (If a file is truncated while it is mapped, the reader is killed by SIGBUS; for this reason it runs in the
 * parser process.) Section headers are optional: program headers are sufficient for the build ID, the unwind
 * information and the dynamic symbols.
 */
#pragma once
#include "bpf/types.h"
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

struct elf_segment { /* the file-backed part of a PT_LOAD */
    u64 offset, vaddr, filesz;
    u32 flags; /* PF_X ... */
};

struct elf_file {
    const u8 *map;
    size_t size;
    bool owned; /* map is unmapped by elf_close */
    u16 type;   /* ET_* */
    u64 entry;
    u64 phoff, shoff;
    u32 phnum, shnum; /* checked: all headers are inside the file */
    u32 shstr;        /* section of the section names, < shnum, or 0 */
    struct elf_segment *loads;
    size_t nloads;
    u8 build_id[20]; /* longer ones are truncated */
    u8 build_id_len; /* 0: none */
};

struct elf_section {
    const u8 *data; /* as stored, possibly compressed */
    size_t len;     /* 0 for SHT_NOBITS */
    u64 memory;     /* size in memory, also of SHT_NOBITS */
    u64 addr, flags, entsize;
    u32 type, link;
    bool zdebug; /* compressed as .zdebug_* are: "ZLIB", the size as a big-endian u64, a zlib stream */
};

struct elf_bytes { /* a section's content: borrowed from the map, or inflated and owned */
    const u8 *data;
    size_t len;
    u8 *owned;
};

/* Opens a file; fd is borrowed and mapped read-only until elf_close. Returns 0; -ENOEXEC: not ELF64 x86-64; -EBADMSG;
 * -ENOMEM; or another -errno. */
int elf_open(struct elf_file *e, int fd);
/* The same over borrowed memory. */
int elf_open_memory(struct elf_file *e, const void *data, size_t len);
void elf_close(struct elf_file *e);
/* Unmaps the file; segments and build ID stay valid. */
void elf_unmap(struct elf_file *e);
#define AUTO_ELF __attribute__((cleanup(elf_close))) /* initialise to {0} */

/* Return header i < phnum or shnum. False: the section is not inside the file. */
Elf64_Phdr elf_phdr(const struct elf_file *e, u32 i);
bool elf_section_at(const struct elf_file *e, u32 i, struct elf_section *out);
/* Finds the first section with this name; false: there is none (or there are no section headers). */
bool elf_section(const struct elf_file *e, const char *name, struct elf_section *out);
/* Finds .debug_NAME, or the older .zdebug_NAME, which is marked SHF_COMPRESSED. */
bool elf_debug_section(const struct elf_file *e, const char *name, struct elf_section *out);
bool elf_find_phdr(const struct elf_file *e, u32 type, Elf64_Phdr *out);

/* Reads the content of a section, uncompressed if SHF_COMPRESSED (zlib, zstd). Returns 0; -EBADMSG; -ENOSPC: larger
 * than cap; -ENOMEM. */
int elf_section_bytes(const struct elf_section *s, size_t cap, struct elf_bytes *out);
void elf_bytes_free(struct elf_bytes *b);
#define AUTO_BYTES __attribute__((cleanup(elf_bytes_free))) /* initialise to {0} */

/* Copies n bytes of the file behind fd to memory that writers to the file cannot change; free it after use. Returns 0;
 * -ESTALE: the file was truncated; -ENOMEM; or another -errno. */
int elf_read(int fd, u64 offset, size_t n, u8 **out);

/* Hint: all of this will be read soon. */
void elf_will_read(const struct elf_file *e, const u8 *data, size_t len);
/* Hint: this has been read and need not stay in memory. */
void elf_have_read(const struct elf_file *e, const u8 *data, size_t len);

/* Finds the segment whose file-backed part contains vaddr and which has all `flags`. NULL: none. */
const struct elf_segment *elf_segment_at(const struct elf_file *e, u64 vaddr, u32 flags);
/* The same by file offset. */
const struct elf_segment *elf_segment_of(const struct elf_file *e, u64 offset, u32 flags);
/* Finds the link-time address of data by its offset, which counts on beyond what the file has of a writable segment:
 * in .bss. False: no such segment has it. */
bool elf_data_address(const struct elf_file *e, u64 offset, u64 *vaddr);
/* Returns the bytes from vaddr to the end of its segment, or NULL. */
const u8 *elf_at(const struct elf_file *e, u64 vaddr, size_t *left);
