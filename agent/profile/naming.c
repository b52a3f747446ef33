#include "profile/symbolize_internal.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "parser/parser.h"
#include "profile/locks.h"
#include "profile/strings.h"
#include "profile/sum_label.h"
#include "profile/wait_frames.h"
#include <stdio.h>
#include <string.h>

/* ---- Files, and the anonymous memory of processes ---------------------------------------------------------------- */

#define VSYSCALL XP_WORD_ADDR(0xffffffffff600000ull) /* the page is the same in every process */

struct file_job { /* the locations of one file or of one process's anonymous memory, ascending */
    struct naming *n;
    const u32 *rows;
    size_t nrows;
    u64 *offsets; /* to look up, or addresses: ascending, each once */
    size_t noffsets;
    u32 mapping;
    const char *base; /* of the path; NULL: anonymous memory */
    bool named;
    bool locks; /* their offsets have NAMES_DATA */
};

static u64 place_of(u64 word)
{
    return word_in_file(word) ? XP_WORD_OFFSET(word) : XP_WORD_ADDR(word);
}

/* A return address belongs to the call in front of it. */
static u64 lookup_offset(u64 word)
{
    u64 offset = place_of(word);
    if (XP_WORD_KIND(word) == XP_WORD_LOCK)
        return offset | NAMES_DATA;
    return word_exact(word) || !offset ? offset : offset - 1;
}

static void add_unnamed_line(struct file_job *j, struct prof_location *l, u64 offset)
{
    AUTO_FREE char *text = NULL;
    if (!j->base)
        naming_plain_line(j->n, l, offset == VSYSCALL ? "[vsyscall]" : "[anonymous]");
    else if (asprintf(&text, "[%s+0x%llx]", j->base, (unsigned long long)offset) < 0)
        j->n->failed = true;
    else
        naming_plain_line(j->n, l, text);
}

static void add_lock_line(struct file_job *j, struct prof_location *l, const char *name, u64 offset)
{
    AUTO_BUF struct buf text = {0};
    lock_text(&text, j->base, name, offset);
    j->n->failed |= text.failed;
    if (!text.failed)
        naming_plain_line(j->n, l, text.data);
}

static void add_named_line(struct file_job *j, struct prof_location *l, const struct names *names,
                           const struct names_frame *f)
{
    struct profile *p = j->n->out;
    const char *name = names->strings + f->name;
    if (j->locks) {
        add_lock_line(j, l, name[0] ? name : NULL, f->start);
        p->mappings.v[j->mapping].has_functions |= name[0] != 0;
        return;
    }
    if (!name[0]) {
        add_unnamed_line(j, l, f->start);
        return;
    }
    struct prof_function function = {
        .name = profile_string(p, name),
        .system_name = profile_string(p, names->strings + f->system_name),
        .file = profile_string(p, names->strings + f->file),
    };
    naming_line(j->n, l, &function, f->line);
    p->mappings.v[j->mapping].has_functions = true;
}

static void use_names(void *arg, const struct names *names)
{
    struct file_job *j = arg;
    if (j->named || names->n != j->noffsets || j->n->failed)
        return;
    j->named = true;
    size_t at = 0;
    for (size_t i = 0; i < j->nrows; i++) {
        u64 offset = lookup_offset(j->n->words.v[j->rows[i]]);
        while (j->offsets[at] != offset)
            at++;
        u32 first = names->first[at], n = names->first[at + 1] - first;
        if (n > 1 && j->n->out->locations.v[j->rows[i]].word_kind == XP_WORD_TOLD)
            n = 1; /* the callers have words of their own */
        if (n && !j->locks)
            naming_distance(&j->n->out->locations.v[j->rows[i]], j->n->words.v[j->rows[i]], offset,
                            names->frames[first].start);
        for (u32 f = first; f < first + n; f++)
            add_named_line(j, &j->n->out->locations.v[j->rows[i]], names, &names->frames[f]);
    }
}

/* Widens the mapping to the whole segment. */
static void widen_to_segment(struct file_job *j, u32 file)
{
    const struct name_source *src = j->n->src;
    u64 first, last, offset;
    if (!src->segment || j->locks || j->n->failed ||
        !src->segment(src->ctx, file, j->offsets[0], &first, &last, &offset))
        return;
    struct prof_mapping *m = &j->n->out->mappings.v[j->mapping];
    if (first <= m->lo) {
        m->lo = first;
        m->lo_offset = offset;
    }
    m->hi = last > m->hi ? last : m->hi;
}

static void place_in_file(struct file_job *j, u32 file)
{
    const struct name_source *src = j->n->src;
    for (size_t i = 0; i < j->nrows; i++) {
        struct prof_location *l = &j->n->out->locations.v[j->rows[i]];
        u64 offset = lookup_offset(j->n->words.v[j->rows[i]]) & ~NAMES_DATA;
        u64 address = src->address && !j->locks ? src->address(src->ctx, file, offset) : offset;
        naming_put(j->n, l, j->mapping, address, offset);
        if (j->locks)
            l->origin = FRAME_WAIT;
    }
}

static void place_in_memory(struct file_job *j)
{
    for (size_t i = 0; i < j->nrows; i++) {
        struct prof_location *l = &j->n->out->locations.v[j->rows[i]];
        naming_put(j->n, l, j->mapping, lookup_offset(j->n->words.v[j->rows[i]]), 0);
        l->origin = FRAME_JIT;
    }
}

static void collect_offsets(struct file_job *j)
{
    for (size_t i = 0; i < j->nrows; i++) {
        u64 offset = lookup_offset(j->n->words.v[j->rows[i]]);
        if (!j->noffsets || j->offsets[j->noffsets - 1] != offset)
            j->offsets[j->noffsets++] = offset;
    }
}

/* "/usr/lib/libc.so.6" -> "libc.so.6"; "[vdso]" -> "vdso", as it will stand in brackets. Copied into `out`. */
static void base_name(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    snprintf(out, size, "%s", slash && slash[1] ? slash + 1 : path);
    size_t len = strlen(out);
    if (len > 2 && out[0] == '[' && out[len - 1] == ']') {
        memmove(out, out + 1, len - 2);
        out[len - 2] = 0;
    }
}

static void add_unnamed_lines(struct file_job *j)
{
    struct naming *n = j->n;
    bool raw = n->src->raw && j->base;
    for (size_t i = 0; i < j->nrows && !n->failed; i++) {
        struct prof_location *l = &n->out->locations.v[j->rows[i]];
        u64 place = place_of(n->words.v[j->rows[i]]);
        if (l->nlines)
            continue;
        if (j->locks && raw)
            naming_plain_line(n, l, LOCK_UNNAMED);
        else if (j->locks)
            add_lock_line(j, l, NULL, place);
        else if (!raw)
            add_unnamed_line(j, l, place);
    }
}

static void name_file(struct naming *n, u32 file, u32 names_id, bool locks, const u32 *rows, size_t nrows)
{
    const struct name_source *src = n->src;
    const char *path = "", *build_id = "";
    bool known = src->file && src->file(src->ctx, file, &path, &build_id);
    if (!known || !path[0])
        path = file == XP_FILE_VDSO ? "[vdso]" : "[unknown]";
    char base[256]; /* what the kernel allows a name to have */
    base_name(path, base, sizeof(base));
    AUTO_FREE u64 *offsets = calloc(nrows, sizeof(*offsets));
    struct file_job j = {.n = n, .rows = rows, .nrows = nrows, .offsets = offsets, .base = base, .locks = locks};
    j.mapping = naming_mapping(n, path, known ? build_id : "", locks);
    n->failed |= !offsets;
    if (n->failed)
        return;
    collect_offsets(&j);
    place_in_file(&j, file);
    widen_to_segment(&j, file);
    int error = -ENODATA;
    if (src->names)
        error = src->names(src->ctx, names_id ? names_id : file, offsets, j.noffsets, use_names, &j);
    if (!n->failed)
        n->out->mappings.v[j.mapping].error = error;
    add_unnamed_lines(&j);
}

static void name_memory(struct naming *n, u32 owner, const u32 *rows, size_t nrows)
{
    AUTO_FREE u64 *addresses = calloc(nrows, sizeof(*addresses));
    struct file_job j = {.n = n, .rows = rows, .nrows = nrows, .offsets = addresses};
    j.mapping = naming_mapping(n, "[anon]", "", false);
    n->failed |= !addresses;
    if (n->failed)
        return;
    collect_offsets(&j);
    place_in_memory(&j);
    if (n->src->anonymous && owner != NOBODYS) {
        const struct prof_process *who = &n->out->processes.v[owner];
        n->src->anonymous(n->src->ctx, who->tgid, who->start, addresses, j.noffsets, use_names, &j);
    }
    add_unnamed_lines(&j);
}

#define ANONYMOUS (1ull << 63)
#define LOCKS     (1ull << 62)
#define RUNTIME   (3ull << 62)

/* What a row belongs to: a file and whose names it has, its locks apart; or the anonymous memory of a process, or its
 * runtime. */
static u64 group_of(const struct naming *n, u32 row)
{
    u64 word = n->words.v[row];
    if (XP_IS_RUNTIME(word))
        return RUNTIME | n->owners.v[row];
    u64 locks = XP_WORD_KIND(word) == XP_WORD_LOCK ? LOCKS : 0;
    return (word_in_file(word) ? (u64)XP_WORD_FILE(word) << 32 | locks : ANONYMOUS) | n->owners.v[row];
}

/* Rows that belong together. */
struct group {
    u64 key, rank;
    size_t first, end;
};

static int by_rank(const void *x, const void *y)
{
    const struct group *a = x, *b = y;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static int by_group_and_offset(const void *x, const void *y, void *arg)
{
    const struct naming *n = arg;
    u64 fa = group_of(n, *(const u32 *)x), fb = group_of(n, *(const u32 *)y);
    if (fa != fb)
        return fa < fb ? -1 : 1;
    u64 a = n->words.v[*(const u32 *)x], b = n->words.v[*(const u32 *)y];
    u64 oa = lookup_offset(a), ob = lookup_offset(b);
    if (fa >= RUNTIME) {
        oa = a;
        ob = b;
        a = n->more.v[*(const u32 *)x];
        b = n->more.v[*(const u32 *)y];
    }
    if (oa != ob)
        return oa < ob ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void name_group(struct naming *n, const struct group *g, const u32 *rows)
{
    if (g->key >= RUNTIME)
        naming_runtime(n, (u32)g->key, rows + g->first, g->end - g->first);
    else if (g->key & ANONYMOUS)
        name_memory(n, (u32)g->key, rows + g->first, g->end - g->first);
    else
        name_file(n, (u32)((g->key & ~LOCKS) >> 32), (u32)g->key, g->key & LOCKS, rows + g->first, g->end - g->first);
}

/* Each group of sorted rows, those of the lowest rank first. */
static void name_groups(struct naming *n, const u32 *rows, size_t nrows)
{
    const struct name_source *src = n->src;
    VEC(struct group) groups = {0};
    for (size_t i = 0, end; i < nrows && !n->failed; i = end) {
        u64 key = group_of(n, rows[i]);
        for (end = i + 1; end < nrows && group_of(n, rows[end]) == key;)
            end++;
        struct group *g = VEC_PUSH(&groups);
        n->failed = !g;
        if (g)
            *g = (struct group){key, 0, i, end};
        if (g && src->rank && !(key & ANONYMOUS))
            g->rank = src->rank(src->ctx, (u32)((key & ~LOCKS) >> 32));
    }
    if (groups.n)
        qsort(groups.v, groups.n, sizeof(*groups.v), by_rank);
    for (size_t i = 0; i < groups.n && !n->failed; i++)
        name_group(n, &groups.v[i], rows);
    vec_free(&groups);
}

static void name_user(struct naming *n)
{
    VEC(u32) rows = {0};
    if (VEC_RESERVE(&rows, n->words.n)) {
        n->failed = true;
        return;
    }
    for (u32 i = 0; i < n->words.n; i++) {
        u64 word = n->words.v[i];
        bool memory = XP_WORD_KIND(word) == XP_WORD_ANON || XP_IS_RUNTIME(word);
        if ((word_in_file(word) || memory) && !n->out->locations.v[i].nlines)
            rows.v[rows.n++] = i;
    }
    if (n->words.n)
        qsort_r(rows.v, rows.n, sizeof(*rows.v), by_group_and_offset, n);
    name_groups(n, rows.v, rows.n);
    vec_free(&rows);
}

/* ---- The kernel -------------------------------------------------------------------------------------------------- */

static void name_kernel(struct naming *n, struct prof_location *l, u64 word)
{
    u64 address = word | XP_WORD_EXACT, start = 0;
    const char *module = "", *name = NULL;
    if (n->src->kernel)
        name = n->src->kernel(n->src->ctx, address - !word_exact(word), &start, &module);
    char text[128];
    snprintf(text, sizeof(text), module[0] == '[' ? "%s" : "[%s]", module);
    u32 mapping = naming_mapping(n, name && module[0] ? text : KERNEL_MAPPING, "", false);
    naming_put(n, l, mapping, address - !word_exact(word), 0);
    l->origin = FRAME_KERNEL;
    naming_plain_line(n, l, name && name[0] ? name : "[kernel]");
    if (name && start)
        naming_distance(l, word, address - !word_exact(word), start);
    if (!n->failed && name)
        n->out->mappings.v[mapping].has_functions = true;
}

/* A lock that is in no file. Its frame does not say where it is, so that recordings can be compared; its address does.
 */
static void name_lock(struct naming *n, struct prof_location *l, u64 word)
{
    static const char *const places[] = {
        [XP_LOCK_HEAP] = "[lock: heap]",           [XP_LOCK_STACK] = "[lock: stack]",
        [XP_LOCK_SHARED] = "[lock: shared]",       [XP_LOCK_MUTEX] = "[lock: mutex]",
        [XP_LOCK_RWSEM] = "[lock: rwsem]",         [XP_LOCK_MMAP] = LOCK_MMAP,
        [XP_LOCK_PERCPU] = "[lock: percpu-rwsem]", [XP_LOCK_KERNEL] = "[lock: kernel]"};
    u32 place = XP_LOCK_PLACE(word);
    bool kernel = XP_LOCK_IN_KERNEL(place);
    u64 address = XP_WORD_ADDR(word) | (kernel ? ~XP_WORD_ADDR(~0ull) : 0);
    u32 mapping = naming_mapping(n, kernel ? KERNEL_MAPPING : LOCK_MAPPING, "", true);
    naming_put(n, l, mapping, address, 0);
    l->origin = FRAME_WAIT;
    naming_plain_line(n, l, place < sizeof(places) / sizeof(places[0]) ? places[place] : LOCK_UNNAMED);
    if (!n->failed)
        n->out->mappings.v[mapping].has_functions = true;
}

static void name_label(struct naming *n, struct prof_location *l, u64 word)
{
    char text[SUM_LABEL_TEXT];
    u32 mapping = naming_mapping(n, LABEL_MAPPING, "", false);
    naming_put(n, l, mapping, 0, 0);
    l->origin = FRAME_WAIT;
    naming_plain_line(n, l, sum_label_text(word, text));
    if (!n->failed)
        n->out->mappings.v[mapping].has_functions = true;
}

void naming_run(struct naming *n)
{
    name_user(n);
    for (size_t i = 0; i < n->words.n && !n->failed; i++) {
        u32 kind = n->out->locations.v[i].nlines ? XP_WORD_ANON : XP_WORD_KIND(n->words.v[i]);
        if (kind == XP_WORD_KERNEL)
            name_kernel(n, &n->out->locations.v[i], n->words.v[i]);
        else if (kind == XP_WORD_LOCK && !word_in_file(n->words.v[i]))
            name_lock(n, &n->out->locations.v[i], n->words.v[i]);
        else if (kind == XP_WORD_LABEL)
            name_label(n, &n->out->locations.v[i], n->words.v[i]);
    }
}

void naming_free(struct naming *n)
{
    vec_free(&n->words);
    vec_free(&n->more);
    vec_free(&n->owners);
    lookup_free(&n->functions);
    lookup_free(&n->mappings);
}
