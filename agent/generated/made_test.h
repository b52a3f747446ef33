/* Generated code for tests, in the memory of this process: a page of it, and what a JIT compiler would write about it.
 */
#pragma once
#include "base/buf.h"
#include "base/cleanup.h"
#include "bpf/types.h"

#define MADE_PAGE 4096

struct made {
    u8 *code; /* executable, no file */
    u8 *data; /* readable, right behind it */
};
/* 0 or -errno. */
int made_new(struct made *m);
void made_free(struct made *m);
#define AUTO_MADE CLEANUP(made_free) struct made

/* Appends a CIE (augmentation "zR", relative addresses) or an FDE of code [start, end) that refers to the CIE at offset
 * `cie`. The section will be at address `at`. The FDE says: CFA = rsp + 8, and `push` bytes from its start on + 16. */
void made_cie(struct buf *b);
void made_fde(struct buf *b, u64 at, size_t cie, u64 start, u64 end, u8 push);
/* A section with one CIE and one FDE for 64 bytes of code from `from` on. */
void made_section(struct buf *b, u64 at, const u8 *code, size_t from);

/* An object (ET_REL, loaded): a function `name` of 64 bytes at `code`, and a .eh_frame that was loaded to `cfi`. */
void made_object(struct buf *b, const char *name, const u8 *code, const void *cfi, size_t cfi_len);
