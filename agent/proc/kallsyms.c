#include "proc/kallsyms.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include <errno.h>
#include <string.h>

#define MAX_SYMBOLS (4u << 20)   /* a kernel has 100,000 to 300,000 */
#define MAX_NAME    512          /* KSYM_NAME_LEN */
#define READ_BYTES  (256u << 10) /* at once: the file is 7 MB */
#define MAX_REACH   (256u << 10) /* symbols have no size: further than that behind one, it is another's code */
#define KERNEL_LOW  (1ull << 63) /* addresses below are per-CPU offsets */

struct entry { /* 8 bytes: all text lies within 4 GiB of the first symbol */
    u32 at;    /* address - base */
    u32 name;  /* in strings; the module's name follows the symbol's, after its NUL */
};

struct raw {
    u64 address;
    u32 name;
    u8 local;
};

struct kallsyms {
    u64 base;
    const struct entry *entries;
    size_t n;
    const char *strings;
    struct entry *own_entries; /* of a table that was read; NULL and empty for a view of an image */
    struct buf own_strings;
    bool hidden;
};

struct image { /* followed by n entries and the strings */
    u64 base;
    u32 n, nstrings;
};

typedef VEC(struct raw) raws;

/* "ffffffff81000000 T name\t[module]\n" */
static int add_line(struct kallsyms *k, raws *all, char *line, bool *nonzero)
{
    char *end, *save = NULL;
    u64 address = strtoull(line, &end, 16);
    if (end == line || end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ')
        return 0;
    char type = end[1], *name = strtok_r(end + 3, " \t\n", &save), *module = strtok_r(NULL, " \t\n[]", &save);
    if (!name || strlen(name) > MAX_NAME || (module && strlen(module) > MAX_NAME) || all->n == MAX_SYMBOLS)
        return 0;
    *nonzero |= address != 0;
    if (address && address < KERNEL_LOW)
        return 0;
    struct raw *r = VEC_PUSH(all);
    if (!r)
        return -ENOMEM;
    *r = (struct raw){.address = address, .name = (u32)k->own_strings.len, .local = type == 't'};
    buf_add(&k->own_strings, name, strlen(name) + 1);
    module = module ? module : "";
    buf_add(&k->own_strings, module, strlen(module) + 1);
    return k->own_strings.failed ? -ENOMEM : 0;
}

static int by_address(const void *a, const void *b)
{
    const struct raw *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->local != y->local)
        return x->local ? 1 : -1;
    return x->name < y->name ? -1 : x->name > y->name;
}

/* Sorted, one symbol an address: a global one, then the first. */
static int pack(struct kallsyms *k, raws *all)
{
    qsort(all->v, all->n, sizeof(*all->v), by_address);
    k->base = all->v[0].address;
    k->own_entries = reallocarray(NULL, all->n, sizeof(*k->own_entries));
    if (!k->own_entries)
        return -ENOMEM;
    for (size_t i = 0; i < all->n; i++) {
        u64 at = all->v[i].address - k->base;
        if (at > UINT32_MAX || (i && all->v[i - 1].address == all->v[i].address))
            continue;
        k->own_entries[k->n++] = (struct entry){(u32)at, all->v[i].name};
    }
    k->entries = k->own_entries;
    k->strings = k->own_strings.data;
    return 0;
}

static void raws_free(raws *all)
{
    vec_free(all);
}

static int read_all(struct kallsyms *k, FILE *f)
{
    CLEANUP(raws_free) raws all = {0};
    AUTO_FREE char *line = NULL;
    size_t cap = 0;
    bool nonzero = false;
    while (getline(&line, &cap, f) > 0) {
        int err = add_line(k, &all, line, &nonzero);
        if (err)
            return err;
    }
    if (ferror(f))
        return -EIO;
    if (!all.n)
        return -ENODATA;
    k->hidden = !nonzero;
    return k->hidden ? 0 : pack(k, &all);
}

int kallsyms_new_from(struct kallsyms **out, FILE *f)
{
    CLEANUP(kallsyms_free) struct kallsyms *k = calloc(1, sizeof(*k));
    if (!k)
        return -ENOMEM;
    int err = read_all(k, f);
    if (err)
        return err;
    if (k->hidden)
        buf_free(&k->own_strings);
    *out = TAKE_PTR(k);
    return 0;
}

int kallsyms_new(struct kallsyms **out, const char *path)
{
    AUTO_FREE char *buffer = malloc(READ_BYTES); /* freed behind the stream that uses it */
    AUTO_FCLOSE FILE *f = fopen(path, "re");
    if (f && buffer)
        setvbuf(f, buffer, _IOFBF, READ_BYTES);
    return f ? kallsyms_new_from(out, f) : -errno;
}

void kallsyms_free(struct kallsyms **k)
{
    if (!*k)
        return;
    buf_free(&(*k)->own_strings);
    free((*k)->own_entries);
    free(*k);
    *k = NULL;
}

bool kallsyms_hidden(const struct kallsyms *k)
{
    return k->hidden;
}

size_t kallsyms_count(const struct kallsyms *k)
{
    return k->n;
}

/* How many symbols begin at or below the address. */
static size_t count_below(const struct kallsyms *k, u64 address)
{
    size_t lo = 0, hi = k->n;
    u64 at = address - k->base;
    if (address < k->base)
        return 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (k->entries[mid].at <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct kallsym symbol(const struct kallsyms *k, size_t i)
{
    const char *name = k->strings + k->entries[i].name;
    return (struct kallsym){.name = name, .module = name + strlen(name) + 1, .start = k->base + k->entries[i].at};
}

bool kallsyms_find(const struct kallsyms *k, u64 address, struct kallsym *out)
{
    size_t n = count_below(k, address);
    if (!n || address - k->base - k->entries[n - 1].at > MAX_REACH)
        return false;
    *out = symbol(k, n - 1);
    return true;
}

bool kallsyms_find_inside(const struct kallsyms *k, u64 address, struct kallsym *out)
{
    size_t n = count_below(k, address);
    struct kallsym found;
    if (n == k->n || !kallsyms_find(k, address, &found) || strcmp(found.module, symbol(k, n).module) != 0)
        return false;
    *out = found;
    return true;
}

/* ---- Images ------------------------------------------------------------------------------------------------------ */

/* BPF programs and trampolines come and go at any time, and nothing says when. */
static bool is_lasting(const char *module)
{
    return strcmp(module, "bpf") != 0 && strncmp(module, "__builtin__", 11) != 0;
}

static size_t bytes_of(const struct kallsym *s)
{
    return strlen(s->name) + strlen(s->module) + 2;
}

int kallsyms_encode(const struct kallsyms *k, struct buf *out)
{
    struct image head = {.base = k->base, .nstrings = 1};
    for (size_t i = 0; i < k->n; i++) {
        struct kallsym s = symbol(k, i);
        head.n += is_lasting(s.module);
        head.nstrings += is_lasting(s.module) ? (u32)bytes_of(&s) : 0;
    }
    if (!head.n)
        return -ENODATA;
    buf_add(out, &head, sizeof(head));
    u32 name = 0;
    for (size_t i = 0; i < k->n; i++) {
        struct kallsym s = symbol(k, i);
        if (!is_lasting(s.module))
            continue;
        buf_add(out, &(struct entry){k->entries[i].at, name}, sizeof(struct entry));
        name += (u32)bytes_of(&s);
    }
    for (size_t i = 0; i < k->n; i++) {
        struct kallsym s = symbol(k, i);
        if (is_lasting(s.module))
            buf_add(out, s.name, bytes_of(&s)); /* the module's name follows */
    }
    buf_char(out, 0); /* wherever a name begins, two strings end: see is_sound */
    return out->failed ? -ENOMEM : 0;
}

/* Symbols ascend, and each has a name and a module that end within the strings, whose last two bytes are 0. */
static bool is_sound(const struct image *head, const struct entry *entries, const char *strings)
{
    if (head->base < KERNEL_LOW || strings[head->nstrings - 1] || strings[head->nstrings - 2])
        return false;
    for (u32 i = 0; i < head->n; i++)
        if (entries[i].name > head->nstrings - 2 || (i && entries[i].at <= entries[i - 1].at))
            return false;
    return true;
}

int kallsyms_new_view(struct kallsyms **out, const void *image, size_t len)
{
    const struct image *head = image;
    if (len < sizeof(*head) || !head->n || head->n > MAX_SYMBOLS || head->nstrings < 2 ||
        len != sizeof(*head) + (size_t)head->n * sizeof(struct entry) + head->nstrings)
        return -EBADMSG;
    const struct entry *entries = (const void *)(head + 1);
    const char *strings = (const char *)(entries + head->n);
    if (!is_sound(head, entries, strings))
        return -EBADMSG;
    struct kallsyms *k = calloc(1, sizeof(*k));
    if (!k)
        return -ENOMEM;
    *k = (struct kallsyms){.base = head->base, .entries = entries, .n = head->n, .strings = strings};
    *out = k;
    return 0;
}
