/* Rows of the profile that naming makes: functions, mappings and lines, each once. */
#include "profile/strings.h"
#include "profile/symbolize_internal.h"

static u32 add_function(struct naming *n, const struct prof_function *f)
{
    u64 key[2] = {(u64)f->name << 32 | f->system_name, f->file};
    u64 hash = lookup_hash(key, 2, 0);
    u32 row;
    for (struct probe p = lookup_start(&n->functions, hash); lookup_next(&n->functions, &p, &row);) {
        const struct prof_function *have = &n->out->functions.v[row];
        if (have->name == f->name && have->system_name == f->system_name && have->file == f->file)
            return row;
    }
    struct prof_function *place = VEC_PUSH(&n->out->functions);
    row = (u32)(n->out->functions.n - 1);
    if (!place || lookup_put(&n->functions, hash, row)) {
        n->failed = true;
        return 0;
    }
    *place = *f;
    return row;
}

/* `locks`: a file's row of its own for these, whose addresses are offsets. */
u32 naming_mapping(struct naming *n, const char *name, const char *build_id, bool locks)
{
    struct prof_mapping m = {.name = profile_string(n->out, name),
                             .build_id = profile_string(n->out, build_id),
                             .lo = UINT64_MAX,
                             .locks = locks};
    u64 hash = hash_u64((u64)m.name << 32 | m.build_id);
    u32 row;
    for (struct probe p = lookup_start(&n->mappings, hash); lookup_next(&n->mappings, &p, &row);) {
        const struct prof_mapping *have = &n->out->mappings.v[row];
        if (have->name == m.name && have->build_id == m.build_id && have->locks == locks)
            return row;
    }
    struct prof_mapping *place = VEC_PUSH(&n->out->mappings);
    row = (u32)(n->out->mappings.n - 1);
    if (!place || lookup_put(&n->mappings, hash, row)) {
        n->failed = true;
        return 0;
    }
    *place = m;
    return row;
}

/* The location's next line, from the inside out. */
void naming_line(struct naming *n, struct prof_location *l, const struct prof_function *f, u32 line)
{
    if (n->failed)
        return;
    if (!l->nlines)
        l->first_line = (u32)n->out->lines.n;
    u32 function = add_function(n, f);
    struct prof_line *place = VEC_PUSH(&n->out->lines);
    if (!place) {
        n->failed = true;
        return;
    }
    *place = (struct prof_line){.function = function, .line = line};
    l->nlines++;
}

void naming_plain_line(struct naming *n, struct prof_location *l, const char *name)
{
    u32 s = profile_string(n->out, name);
    naming_line(n, l, &(struct prof_function){.name = s, .system_name = s}, 0);
}

void naming_put(struct naming *n, struct prof_location *l, u32 mapping, u64 address, u64 offset)
{
    l->mapping = mapping;
    l->address = address;
    if (n->failed)
        return;
    struct prof_mapping *m = &n->out->mappings.v[mapping];
    if (address < m->lo) {
        m->lo = address;
        m->lo_offset = offset;
    }
    m->hi = address > m->hi ? address : m->hi;
}

/* Callers were looked up by the byte before the one where they go on. */
void naming_distance(struct prof_location *l, u64 word, u64 looked_up, u64 entry)
{
    if (looked_up >= entry)
        l->into = looked_up - entry + !word_exact(word);
}
