/* Finds functions of a file by their names in .symtab and .dynsym, for probes. The result is sent from the parser
 * process to its parent.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include "elf/near.h"
#include <stdbool.h>
#include <stddef.h>

struct elf_file;

/* Appends the form of a name that people read, with or without the parameters, not terminated. False: it has none. */
typedef bool functions_readable(const char *name, bool parameters, struct buf *out);

#define FUNCTIONS_MAGIC 0x33464C58u        /* "XLF3" */
#define FUNCTIONS_MAX   100000             /* what is beyond is left out */
#define FUNCTIONS_BYTES ((size_t)16 << 20) /* the same, of all names together */
#define FUNCTIONS_NAME  255                /* characters of a pattern */

enum {
    FUNCTION_CHEAP = 1,    /* a probe there is cheap (cheap_place.h) */
    FUNCTION_INDIRECT = 2, /* which code it is, is chosen when the program starts (STT_GNU_IFUNC): it has no offset */
    FUNCTION_KEEPS_RETURN =
        4,                 /* a return probe would harm (function_names.h), or there is no return address: the entry */
    FUNCTION_EXACT = 8,    /* the pattern is its name, character by character */
    FUNCTION_BETWEEN = 16, /* no instruction of it begins where a probe is wanted (parser/readable_functions.h) */
};
struct function {
    u64 offset;   /* in the file */
    u32 name;     /* functions_name */
    u32 size;     /* in bytes; 0: it is not known */
    u16 flags;    /* FUNCTION_CHEAP etc. */
    u16 ahead;    /* so much behind its beginning, a probe is cheapest, and sees the same */
    u32 readable; /* its name in the language that it is written in, with parameters: as `name`; 0: it has none */
};
struct functions {
    u32 magic;
    u32 n;
    u32 left_out;         /* beyond the limits */
    u32 all;              /* functions that the file names */
    u32 bytes;            /* of names, each with its end */
    u32 code;             /* of a bare offset: whether there is code */
    char near[NEAR_TEXT]; /* of none: names that are like it, with blanks between them */
    struct function v[];  /* by name and offset; the names are behind them */
};

/* What a user names: NAME, NAME+OFFSET, or 0xOFFSET, a place in the file. */
struct functions_spot {
    char name[FUNCTIONS_NAME + 1]; /* "" if it is bare */
    u64 offset;
    bool bare, within; /* 0xOFFSET; +OFFSET, also +0 */
};
/* Returns 0; -EINVAL: nothing, too long, or a number that is too large. operator+ has none behind it. */
int functions_split(const char *text, struct functions_spot *out);

/* Reads the file behind fd (borrowed). `pattern`: a name as in the file or, if `readable` is given, as people read it,
 * in which * and ? stand for anything (function_name_fits); if that is the name of some, the others are not meant.
 * Appends a struct functions to *out, which is empty, and may have none. Returns 0, -ENOEXEC, -EBADMSG, -ENOMEM or
 * another -errno. Runs in the parser process. */
int functions_find(int fd, const char *pattern, functions_readable *readable, struct buf *out);
/* The same in an open file, and in the .symtab of another one with the same addresses, or NULL. */
void functions_find_elf(const struct elf_file *e, const struct elf_file *more, const char *pattern,
                        functions_readable *readable, struct buf *out);
/* Puts places of probes into out[f->n], ascending and each one once, whatever number of names it has: `*more` bytes
 * behind the beginnings of the functions; NULL: where a probe is cheapest. Of `returns`, those
 * are left out that would be harmed. Returns how many there are. */
size_t functions_places(const struct functions *f, const u64 *more, bool returns, u64 *out);
/* How many of them would be harmed by return probes. */
size_t functions_kept_off(const struct functions *f);
/* Checks a reply from another process. */
bool functions_sound(const void *data, size_t len);
/* The readable name of one, or NULL. */
static inline const char *functions_readable_name(const struct functions *f, size_t i)
{
    return f->v[i].readable ? (const char *)&f->v[f->n] + f->v[i].readable : NULL;
}
/* The name of one. Characters that are not printable are question marks, which stand for them in patterns. */
static inline const char *functions_name(const struct functions *f, size_t i)
{
    return (const char *)&f->v[f->n] + f->v[i].name;
}
