/* Finds functions of a file by their names in .symtab and .dynsym, for probes. The result is sent from the parser
 * process to its parent.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

struct elf_file;

#define FUNCTIONS_MAGIC 0x31464C58u /* "XLF1" */
#define FUNCTIONS_MAX   1000        /* what is beyond is left out */
#define FUNCTIONS_NEAR  256
#define FUNCTIONS_NAME  255 /* characters of a pattern */

struct functions {
    u32 magic;
    u32 n;
    u32 left_out;
    u32 all;                   /* functions that the file names */
    u32 indirect;              /* of that name, but only chosen from when the program starts (STT_GNU_IFUNC) */
    u32 stepped;               /* places where a probe is not cheap */
    u64 offset[FUNCTIONS_MAX]; /* file offsets, ascending, each one once: where probes are cheapest (cheap_place.h) */
    char near[FUNCTIONS_NEAR]; /* of none: names that are like it, with blanks between them */
};

/* Reads the file behind fd (borrowed). `pattern`: a name as in the file, in which * and ? stand for anything. Returns 0
 * (there may be none), -ENOEXEC, -EBADMSG, -ENOMEM or another -errno. Runs in the parser process. */
int functions_find(int fd, const char *pattern, struct functions *out);
void functions_find_elf(const struct elf_file *e, const char *pattern, struct functions *out);
/* Checks a struct from another process. */
bool functions_sound(const void *data, size_t len);
