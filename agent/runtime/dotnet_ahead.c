/* The names of methods that were compiled ahead of time (ReadyToRun), as the framework is: a file says where the code
 * of each one is (dotnet/runtime: docs/design/coreclr/botr/readytorun-format.md; src/coreclr/inc/readytorun.h). They
 * become an index of names like that of any other program.
 */
#include "base/cleanup.h"
#include "dwarf/name_index.h"
#include "runtime/dotnet_internal.h"
#include <errno.h>
#include <sys/stat.h>

#define NATIVE_AT     64 /* in the CLI header: the place and the size of the ReadyToRun header */
#define READY         0x00525452u
#define SECTIONS_AT   16
#define MAX_SECTIONS  64
#define FUNCTION      12 /* bytes: where code begins, ends, and how it is unwound */
#define MAX_FUNCTIONS (1u << 20)
#define MAX_METHODS   (1u << 20)
#define MAX_TEXTS     ((size_t)64 << 20)
#define UNKNOWN       UINT32_MAX

enum { /* its sections */
       SECTION_FUNCTIONS = 102,
       SECTION_METHODS = 103,
       SECTION_INSTANCES = 109,
};

struct ahead {
    struct memory m;
    struct dotnet_pe pe;
    struct dotnet_image image;
    u32 *functions; /* 3 numbers each */
    u32 n;
    u32 *methods; /* of each function: the method whose code begins there, or UNKNOWN; 0: that of the one before goes on
                   */
    u64 instances; /* their section; 0: none */
    bool unread;   /* an instance was not understood: whose code goes on is not known then */
    struct buf texts;
};

static void ahead_free(struct ahead *a)
{
    memory_free(&a->m);
    free(a->functions);
    free(a->methods);
    buf_free(&a->texts);
}

/* ---- Where it all is --------------------------------------------------------------------------------------------- */

/* The place of a section in the file; 0: none. */
static u64 section(struct ahead *a, u64 header, u32 type, u32 *bytes)
{
    bool ok = true;
    u32 n = (u32)memory_u(&a->m, header + SECTIONS_AT - 4, 4, &ok);
    for (u32 i = 0; i < n && i < MAX_SECTIONS && ok; i++) {
        u64 at = header + SECTIONS_AT + 12ull * i;
        u32 own = (u32)memory_u(&a->m, at, 4, &ok), rva = (u32)memory_u(&a->m, at + 4, 4, &ok);
        *bytes = (u32)memory_u(&a->m, at + 8, 4, &ok);
        if (ok && own == type)
            return dotnet_pe_place(&a->pe, rva);
    }
    return 0;
}

/* Returns 0; -ENODATA: nothing was compiled ahead of time in it. */
static int find(struct ahead *a, struct dotnet_array *methods)
{
    bool ok = true;
    u32 bytes = 0, none = 0;
    u64 cli = dotnet_pe_open(&a->m, 0, &a->pe) ? dotnet_pe_place(&a->pe, a->pe.cli) : 0;
    u64 header = cli ? dotnet_pe_place(&a->pe, (u32)memory_u(&a->m, cli + NATIVE_AT, 4, &ok)) : 0;
    if (!header || memory_u(&a->m, header, 4, &ok) != READY || !ok || !dotnet_image_open(&a->m, 0, &a->image))
        return -ENODATA;
    u64 functions = section(a, header, SECTION_FUNCTIONS, &bytes), at = section(a, header, SECTION_METHODS, &none);
    a->n = bytes / FUNCTION;
    if (!functions || !at || !a->n || a->n > MAX_FUNCTIONS || !dotnet_array_open(&a->m, at, methods))
        return -ENODATA;
    a->instances = section(a, header, SECTION_INSTANCES, &none);
    a->functions = calloc(a->n, FUNCTION);
    a->methods = calloc(a->n, sizeof(*a->methods));
    if (!a->functions || !a->methods)
        return -ENOMEM;
    return memory_read(&a->m, functions, a->functions, (size_t)a->n * FUNCTION) ? 0 : -EBADMSG;
}

/* ---- Whose code it is -------------------------------------------------------------------------------------------- */

/* What is at an entry point: the number of a function, and perhaps that something else is to be done before. */
static void note(struct ahead *a, u64 entry, u32 method)
{
    bool ok = true;
    u32 v = dotnet_unsigned(&a->m, &entry, &ok), function = v & 1 ? v >> 2 : v >> 1;
    if (ok && function < a->n)
        a->methods[function] = method && method <= a->image.tables.rows[DOTNET_METHOD] ? method : UNKNOWN;
}

static int note_instance(void *ahead, u64 entry)
{
    struct ahead *a = ahead;
    u32 method;
    if (dotnet_signature(&a->m, &entry, &method))
        note(a, entry, method);
    else
        a->unread = true;
    return a->m.left ? 0 : -EBADMSG;
}

static int note_all(struct ahead *a, const struct dotnet_array *methods)
{
    u32 n = methods->n < MAX_METHODS ? methods->n : MAX_METHODS;
    for (u32 i = 0; i < n; i++) {
        u64 entry = dotnet_array_find(&a->m, methods, i);
        if (entry)
            note(a, entry, i + 1);
    }
    return a->instances ? dotnet_hash_each(&a->m, a->instances, note_instance, a) : 0;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static void spell(struct ahead *a, u32 method, size_t *at, u32 *len)
{
    AUTO_BUF struct buf name = {0};
    u32 type = method == UNKNOWN ? 0 : dotnet_method_type(&a->m, &a->image, method);
    *at = a->texts.len;
    *len = 0;
    if (!type || *at > MAX_TEXTS || !dotnet_method_name(&a->m, &a->image, type, method, &name))
        return;
    buf_add(&a->texts, name.data, name.len);
    *len = (u32)name.len;
}

static int by_start(const void *x, const void *y)
{
    const struct symbol *a = x, *b = y;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* The parts of a method follow each other: its own code, and that of its handlers. */
static size_t list(struct ahead *a, struct symbol *out)
{
    AUTO_FREE size_t *places = calloc(a->n, sizeof(*places));
    size_t n = 0, at = 0;
    u32 len = 0;
    a->texts.failed |= !places;
    for (u32 i = 0; i < a->n && places; i++) {
        const u32 *f = a->functions + 3 * (size_t)i;
        u64 start = dotnet_pe_place(&a->pe, f[0]), end = dotnet_pe_place(&a->pe, f[1] - 1);
        if (a->methods[i])
            spell(a, a->methods[i], &at, &len);
        else if (a->unread)
            len = 0;
        if (!len || !start || end < start)
            continue;
        places[n] = at;
        out[n++] = (struct symbol){.start = start, .end = end + 1, .len = len, .sized = true};
    }
    for (size_t i = 0; i < n && !a->texts.failed; i++)
        out[i].name = a->texts.data + places[i];
    qsort(out, n, sizeof(*out), by_start);
    return a->texts.failed ? 0 : n;
}

static int build(struct ahead *a, size_t bytes, void **out, size_t *len)
{
    struct name_index_segment segments[DOTNET_SECTIONS];
    struct symbol *symbols = calloc(a->n, sizeof(*symbols));
    size_t n = symbols ? list(a, symbols) : 0;
    if (!n) {
        int rc = symbols && !a->texts.failed ? -ENODATA : -ENOMEM;
        free(symbols);
        return rc;
    }
    for (u32 i = 0; i < a->pe.n; i++)
        segments[i] =
            (struct name_index_segment){a->pe.sections[i].place, a->pe.sections[i].rva, a->pe.sections[i].bytes};
    size_t nsegments = a->pe.n < NAME_INDEX_MAX_SEGMENTS ? a->pe.n : NAME_INDEX_MAX_SEGMENTS;
    return name_index_of(symbols, n, segments, nsegments, bytes, out, len);
}

int dotnet_ahead_index(int fd, void **out, size_t *len)
{
    CLEANUP(ahead_free) struct ahead a = {.n = 0};
    struct dotnet_array methods;
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    int rc = memory_open(&a.m, fd, -1);
    if (!rc)
        rc = find(&a, &methods);
    if (!rc)
        rc = note_all(&a, &methods);
    return rc ? rc : build(&a, (size_t)st.st_size, out, len);
}
