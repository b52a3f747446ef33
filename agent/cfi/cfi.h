/* Reads DWARF call frame information (DWARF 5, 6.4; LSB 5, 10.6 for .eh_frame), which describes how to find the caller
 * of a function.
 *
 * An FDE covers a range of code with a program: "from here on, the CFA (canonical frame address: what rsp was before
 * the call) is rsp + 16, and the caller's RBP is saved at CFA - 16". Many FDEs share a CIE: factors, pointer encoding,
 * and the initial instructions of every program. Reading takes two steps: cfi_read lists the FDEs of .eh_frame and
 * .debug_frame by file offset; cfi_run executes one and writes its rows.
 *
 * A malformed FDE does not affect others. Work and memory are linear in the size of the sections, whatever their
 * contents.
 */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "cfi/rows.h"

/* DWARF register numbers (psABI x86-64, figure 3.36). */
enum { DW_RBX = 3, DW_RDI = 5, DW_RBP = 6, DW_RSP = 7, DW_RA = 16 };

#define CFI_MAX_REMEMBER 64   /* DW_CFA_remember_state; compilers nest 2 deep */
#define CFI_MAX_CIE      1024 /* bytes; real ones have 30. Limits the cost of overlapping CIEs */
#define CFI_MAX_CIES     (1u << 20)
#define CFI_MAX_FDES     (16u << 20)
#define CFI_MAX_SECTION  UINT32_MAX /* bytes; the rest is not read */

/* The row being built. `word` is a struct xp_rule, stored as one number, because processors are slow at writing single
 * fields and then reading all of them at once. It is complete when CFI_ODD(extra) is 0. */
struct cfi_state {
    u64 word;
    u64 extra; /* the CFA's register | enum cfi_odd << 8 | enum cfi_ra << 16 | the return address's register << 24 |
                * the CFA's offset before an expression took its place << 32 */
};
enum cfi_odd { /* computation of the CFA, if not by a plain kind of struct xp_rule */
               CFI_PLAIN = 0,
               CFI_NO_CFA,   /* none, or a rule cannot represent it */
               CFI_REGISTER, /* a register that is not tracked */
               CFI_SIGNAL,   /* of a signal trampoline: *(rsp + cfa_off + 160) */
};
enum cfi_ra { CFI_RA_CFA8 = 0, CFI_RA_UNDEFINED, CFI_RA_REGISTER, CFI_RA_OTHER };
#define CFI_EXPRESSION 255ull /* instead of the CFA's register */
#define CFI_NOTHING    254ull
#define CFI_ODD(x)     ((x)&0xffff00ull)

struct cfi_section {
    const u8 *data;
    size_t len;
    u64 vaddr;
    bool debug;      /* .debug_frame: absolute addresses; CIE pointers are offsets from the start */
    bool open_ended; /* found through PT_GNU_EH_FRAME: ends at its terminator */
};

struct cfi_cie {
    const u8 *ins, *end; /* initial instructions */
    u64 code_factor;
    s64 data_factor;
    u8 encoding; /* DW_EH_PE_* of the FDEs' addresses */
    u8 section;
    bool usable, sized, signal; /* sized: 'z', FDEs have augmentation data with a length */
    struct cfi_state init;
};

struct cfi_fde {    /* 16 bytes, because big libraries have 100,000 */
    u64 start : 40; /* file offset */
    u64 cie : 24;
    u32 len; /* bytes of code, > 0, inside one executable segment */
    u32 at;  /* offset of the entry, in the section of its CIE */
};
_Static_assert(CFI_MAX_CIES <= 1u << 24 && XP_OFFSET_BITS <= 40, "the fields of struct cfi_fde");

struct cfi {
    const struct elf_file *elf;
    struct cfi_section section[2];
    size_t nsections;
    struct elf_bytes inflated; /* .debug_frame, if it is compressed */
    VEC(struct cfi_cie) cies;
    VEC(struct cfi_fde) fdes; /* ascending, without overlaps */
    struct map by_offset;     /* section << 63 | offset -> CIE */
    size_t ins_bytes;         /* of all FDEs, at least: one byte of instructions makes at most one row */
    u32 bad;                  /* FDEs with unknown range: CIE or address malformed */
};

/* Finds the sections and lists the FDEs. `e` is borrowed until cfi_free. Returns 0, also without any FDE; -ENOSPC: more
 * than max_fdes; -ENOMEM. */
int cfi_read(struct cfi *c, const struct elf_file *e, size_t max_fdes);
/* The two halves of cfi_read: cfi_find only finds the sections (release with cfi_free); cfi_list lists their FDEs. */
void cfi_find(struct cfi *c, const struct elf_file *e);
int cfi_list(struct cfi *c, size_t max_fdes);
void cfi_free(struct cfi *c);
#define AUTO_CFI __attribute__((cleanup(cfi_free))) /* initialise to {0} */

/* Writes the rows of f. Returns 0; -EBADMSG: malformed, the caller must rewind; -ENOSPC: they might not fit. */
int cfi_run(const struct cfi *c, const struct cfi_fde *f, struct rows *out);
/* Executes the initial instructions of a CIE and stores the result in cie->init. Returns 0 or -EBADMSG. */
int cfi_run_initial(const struct cfi *c, struct cfi_cie *cie);

/* Returns the instructions of an FDE; false: malformed. */
bool cfi_program(const struct cfi *c, const struct cfi_fde *f, const u8 **ins, const u8 **end);

/* Finds the FDE that covers a file offset by binary search; NULL: none. */
const struct cfi_fde *cfi_fde_at(const struct cfi *c, u64 offset);

/* Reads a pointer of `encoding` at *p (below end) in section s and advances *p. False: malformed or not supported. */
bool cfi_pointer(const struct cfi_section *s, u8 encoding, const u8 **p, const u8 *end, u64 *out);
