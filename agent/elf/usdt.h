/* Finds USDT probes: places that a program or library offers to tracers, by notes in .note.stapsdt, which sys/sdt.h of
 * SystemTap and its like make (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation). A probe may have
 * many sites, each with a note. The result is sent from the parser process to its parent.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include "bpf/usdt.h"
#include "elf/near.h"
#include <stdbool.h>

struct elf_file;

#define USDT_MAGIC 0x31545358u /* "XST1" */
#define USDT_MAX   16384       /* sites: what is beyond is left out */
#define USDT_NAME  128         /* of a probe, with its end */
#define USDT_TEXT  256         /* of the arguments, with its end: the rest is cut off */

struct usdt_site {
    u64 offset;    /* in the file */
    u64 semaphore; /* the same, of a counter of those that look at the probe: the program skips it at 0; 0: none */
    struct xp_usdt_site at;
    u32 narguments;
    char name[USDT_NAME]; /* PROVIDER:NAME */
    char text[USDT_TEXT]; /* the arguments, as the note has them */
    u32 pad;
};
struct usdt { /* a reply: its sites are behind it, by name and offset */
    u32 magic;
    u32 n;
    u32 left_out; /* beyond the limit */
    u32 unusable; /* sites that are in no code of the file, or whose semaphore is not in its data */
    u32 all;      /* notes of probes that the file has */
    u32 pad;
    char near[NEAR_TEXT]; /* of none: names that are like it, with blanks between them */
    struct usdt_site sites[];
};

/* Reads the file behind fd (borrowed). `pattern`: PROVIDER:NAME, in which * and ? stand for anything. Appends a struct
 * usdt to *out, which may have none. Returns 0 or the errors of elf_open. Runs in the parser process. */
int usdt_find(int fd, const char *pattern, struct buf *out);
void usdt_find_elf(const struct elf_file *e, const char *pattern, struct buf *out);
/* Checks a reply from another process. */
bool usdt_sound(const void *data, size_t len);

/* Writes the sites to out, which has room for found->n: by offset, each place once, whatever number of notes it has.
 * Those that lack one of `arguments` (bits, from that of arg1 on) are left out. Returns their number. */
size_t usdt_places(const struct usdt *found, u32 arguments, const struct usdt_site **out);

/* Reads one argument of a note, such as "-4@16(%rsp)". Returns false: it is not understood. */
bool usdt_argument(const char *text, size_t len, struct xp_usdt_argument *out);
