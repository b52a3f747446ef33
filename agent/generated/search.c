/* Finds .eh_frame by its structure (LSB 5, 10.6.1): a CIE, with an ID of 0, a known version and augmentation, followed
 * by FDEs that refer to it and whose code is generated code, up to a terminator or to what is no entry.
 */
#include "base/cleanup.h"
#include "cfi/cfi.h"
#include "cfi/entry.h"
#include "generated/sections.h"
#include <string.h>

#define MAX_BYTES   ((u64)16 << 20) /* searched of read-only memory */
#define SOME_BYTES  ((u64)4 << 20)  /* of other memory, and of the code itself */
#define PIECE_BYTES ((size_t)256 << 10)
#define LAP_BYTES   ((size_t)4096) /* a CIE and an FDE behind it, which may begin in one piece and end in the next */
#define MAX_ENTRY   (1u << 20)
#define MIN_CIE     9              /* ID, version, augmentation "", factors, register */
#define LAST_CIES   8              /* that FDEs may refer to; compilers write one or two per object */
#define MAX_STEPS   ((u64)4 << 20) /* entries of all chains that are followed; chains may overlap */

bool sections_add(struct sections *s, u64 at, const void *bytes, size_t len, bool debug)
{
    if (s->list.n == SECTIONS_MAX || len > SECTIONS_MAX_BYTES - s->bytes || len > CFI_MAX_SECTION)
        return false;
    AUTO_FREE u8 *copy = malloc(len ? len : 1);
    struct section *to = copy ? VEC_PUSH(&s->list) : NULL;
    if (!to)
        return false;
    memcpy(copy, bytes, len);
    *to = (struct section){.at = at, .bytes = TAKE_PTR(copy), .len = len, .debug = debug};
    s->bytes += len;
    return true;
}

void sections_free(struct sections *s)
{
    for (size_t i = 0; i < s->list.n; i++)
        free(s->list.v[i].bytes);
    vec_free(&s->list);
    *s = (struct sections){0};
}

/* ---- Structure -------------------------------------------------------------------------------------------------- */

struct chain {
    struct cfi c;         /* of the bytes searched, as one section */
    u64 cies[LAST_CIES];  /* offset + 1 of each */
    struct cfi_cie known; /* the CIE of `cie` */
    u64 cie;
    unsigned ncies, fdes, strays;
};

/* The cheap test, for every 4 bytes of memory: a length, and an ID of 0 as the upper half of the same word. */
static bool looks_like_cie(const u8 *p)
{
    u64 word;
    memcpy(&word, p, 8);
    return word - MIN_CIE <= CFI_MAX_CIE - MIN_CIE && (p[8] == 1 || p[8] == 3) && (!p[9] || p[9] == 'z');
}

static bool parse_cie(struct chain *ch, u64 offset)
{
    ch->known = (struct cfi_cie){.encoding = DW_EH_PE_absptr};
    cfi_parse_cie(&ch->c, offset, &ch->known);
    ch->cie = offset;
    return ch->known.usable;
}

static bool add_cie(struct chain *ch, u64 offset)
{
    if (!parse_cie(ch, offset))
        return false;
    ch->cies[ch->ncies++ % LAST_CIES] = offset + 1;
    return true;
}

static bool knows_cie(const struct chain *ch, u64 offset)
{
    for (unsigned i = 0; i < LAST_CIES; i++)
        if (ch->cies[i] == offset + 1)
            return true;
    return false;
}

/* False: it is no FDE. One that is about other code (a function that was discarded, say) only counts. */
static bool add_fde(struct chain *ch, const struct memory *m, const struct cfi_entry *e)
{
    const struct cfi_section *s = &ch->c.section[0];
    u64 start, len, cie = (u64)(e->id - s->data) - e->value;
    const u8 *p = e->body;
    if (e->value > (u64)(e->id - s->data) || !knows_cie(ch, cie) || (cie != ch->cie && !parse_cie(ch, cie)) ||
        !cfi_fde_range(s, &ch->known, &p, e->next, &start, &len))
        return false;
    const struct mapping *code = memory_mapping(m, start);
    bool ours = code && mapping_is_code(code) && len && len <= code->end - start;
    ch->fdes += ours;
    ch->strays += !ours;
    return true;
}

/* The length of the chain of entries at `offset`; 0: none. *steps: how many may still be followed. */
static size_t chain_length(const struct memory *m, struct chain *ch, size_t offset, u64 *steps)
{
    const struct cfi_section *s = &ch->c.section[0];
    const u8 *p = s->data + offset, *end = s->data + s->len;
    struct cfi_entry e;
    while (p < end && *steps && cfi_read_entry(p, end, false, &e) == 1 && e.next - p <= MAX_ENTRY) {
        --*steps;
        bool sound = e.value ? add_fde(ch, m, &e) : add_cie(ch, (u64)(p - s->data));
        if (!sound)
            break;
        p = e.next;
    }
    return ch->fdes > ch->strays ? (size_t)(p - s->data) - offset : 0;
}

size_t sections_next(const struct memory *m, u64 at, const u8 *bytes, size_t len, size_t *pos, u64 *steps)
{
    static const struct elf_file none; /* instructions may refer to segments */
    size_t i = (*pos + 3) & ~(size_t)3;
    for (; i + 12 <= len && *steps; i += 4) {
        if (!looks_like_cie(bytes + i))
            continue;
        struct chain ch = {.c = {.section = {{.data = bytes, .len = len, .vaddr = at, .open_ended = true}}}};
        ch.c.nsections = 1;
        ch.c.elf = &none;
        size_t n = chain_length(m, &ch, i, steps);
        if (n) {
            *pos = i;
            return n;
        }
    }
    *pos = len;
    return 0;
}

/* ---- Places ----------------------------------------------------------------------------------------------------- */

struct place {
    u64 start, len, distance; /* from generated code */
    unsigned rank;
};

static int by_rank(const void *x, const void *y)
{
    const struct place *a = x, *b = y;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->distance < b->distance ? -1 : a->distance > b->distance;
}

/* JIT compilers write CFI to memory beside the code, and then protect it against writing, most of them. */
static unsigned rank_of(const struct mapping *m)
{
    return m->exec ? 2 : m->write ? 1 : 0;
}

/* How far each mapping is from the code below it, and then, if that is nearer, from the code above. */
static void measure(const struct memory *m, u64 *distance)
{
    u64 code = 0;
    bool any = false;
    for (size_t i = 0; i < m->maps.n; i++) {
        distance[i] = any ? m->maps.v[i].start - code : UINT64_MAX;
        if (mapping_is_code(&m->maps.v[i])) {
            any = true;
            code = m->maps.v[i].end;
            distance[i] = 0;
        }
    }
    any = false;
    for (size_t i = m->maps.n; i--;) {
        if (mapping_is_code(&m->maps.v[i])) {
            any = true;
            code = m->maps.v[i].start;
        } else if (any && code - m->maps.v[i].end < distance[i]) {
            distance[i] = code - m->maps.v[i].end;
        }
    }
}

/* The mappings to be searched, in this order. The caller frees them. */
static struct place *find_places(const struct memory *m, size_t *n)
{
    struct place *p = calloc(m->maps.n + 1, sizeof(*p));
    AUTO_FREE u64 *distance = calloc(m->maps.n + 1, sizeof(*distance));
    *n = 0;
    if (!p || !distance)
        return p;
    measure(m, distance);
    for (size_t i = 0; i < m->maps.n; i++) {
        const struct mapping *v = &m->maps.v[i];
        if (v->plain && v->read && (v->exec || !v->shared))
            p[(*n)++] = (struct place){v->start, v->end - v->start, distance[i], rank_of(v)};
    }
    qsort(p, *n, sizeof(*p), by_rank);
    return p;
}

static void search_bytes(struct sections *s, const struct memory *m, u64 at, const u8 *bytes, size_t len, u64 *steps)
{
    size_t n;
    for (size_t pos = 0; (n = sections_next(m, at, bytes, len, &pos, steps)); pos += n)
        if (!sections_add(s, at + pos, bytes + pos, n, false))
            return;
}

/* Most memory holds nothing: it is looked through in pieces that stay in the CPU's cache. `piece` has room for one. */
static bool has_section(struct memory *m, u64 start, size_t len, u8 *piece, u64 *steps)
{
    for (size_t at = 0; at < len; at += PIECE_BYTES) {
        size_t left = len - at, n = left < PIECE_BYTES + LAP_BYTES ? left : PIECE_BYTES + LAP_BYTES, pos = 0;
        if (!memory_read(m, start + at, piece, n))
            return false;
        if (sections_next(m, start + at, piece, n, &pos, steps))
            return true;
    }
    return false;
}

void sections_search(struct sections *s, struct memory *m)
{
    size_t n;
    AUTO_FREE struct place *places = find_places(m, &n);
    u64 left[3] = {MAX_BYTES, SOME_BYTES, SOME_BYTES}, steps = MAX_STEPS;
    AUTO_FREE u8 *bytes = malloc(MAX_BYTES); /* its pages are touched as needed */
    AUTO_FREE u8 *piece = malloc(PIECE_BYTES + LAP_BYTES);
    for (size_t i = 0; bytes && piece && places && i < n; i++) {
        u64 *may = &left[places[i].rank];
        size_t len = places[i].len < *may ? places[i].len : *may;
        *may -= len;
        if (has_section(m, places[i].start, len, piece, &steps) && memory_read(m, places[i].start, bytes, len))
            search_bytes(s, m, places[i].start, bytes, len, &steps);
    }
}
