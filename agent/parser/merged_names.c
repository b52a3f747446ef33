#include "parser/merged_names.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "dwarf/demangle.h"
#include "dwarf/names_elf.h"
#include "runtime/dotnet.h"
#include "runtime/file.h"
#include <errno.h>
#include <string.h>

/* Real programs need a tenth; beyond, functions are without inlined callers, and names are empty. */
#define MAX_FRAMES  (2u << 20)
#define MAX_STRINGS ((size_t)32 << 20)

struct merger {
    struct runtime_file runtime;
    struct map texts; /* bytes of the file that are a text -> its place in strings */
    struct buf strings;
    VEC(struct names_frame) frames; /* the runtime's */
    VEC(u64) rest;                  /* offsets that are not the runtime's */
    u32 *n;                         /* the runtime's frames of each offset; 0: one of the rest */
};

static void merger_free(struct merger *m)
{
    runtime_file_close(&m->runtime);
    map_free(&m->texts);
    buf_free(&m->strings);
    vec_free(&m->frames);
    vec_free(&m->rest);
    free(m->n);
}

/* Place of the text, or of its two parts with "[...]" between; the same bytes of the file are written once. */
static u32 add_text(struct merger *m, struct runtime_text t, const struct runtime_text *tail)
{
    if (!t.len || m->strings.len > MAX_STRINGS)
        return 0;
    u64 *known = map_put(&m->texts, (u64)(uintptr_t)t.data << 1 | (tail != NULL));
    if (!known) {
        m->strings.failed = true;
        return 0;
    }
    if (*known)
        return (u32)*known;
    *known = m->strings.len;
    append_utf8(&m->strings, t.data, t.len);
    if (tail) {
        buf_str(&m->strings, "[...]");
        append_utf8(&m->strings, tail->data, tail->len);
    }
    buf_char(&m->strings, 0);
    return (u32)*known;
}

/* As people see it. */
static u32 add_shown(struct merger *m, const struct runtime_frame *f)
{
    return f->shown[0].len ? add_text(m, f->shown[0], &f->shown[1]) : add_text(m, f->name, NULL);
}

static int add_frames(struct merger *m, const struct runtime_frames *f, u32 *n)
{
    u32 from = m->frames.n < MAX_FRAMES ? 0 : f->n - 1; /* the last one is the function itself */
    for (u32 i = from; i < f->n; i++) {
        struct names_frame *place = VEC_PUSH(&m->frames);
        if (!place)
            return -ENOMEM;
        *place = (struct names_frame){
            .start = f->start,
            .name = add_shown(m, &f->v[i]),
            .system_name = add_text(m, f->v[i].name, NULL),
            .file = add_text(m, f->v[i].file, NULL),
            .line = f->v[i].line,
        };
    }
    *n = f->n - from;
    return m->strings.failed ? -ENOMEM : 0;
}

/* Sorts the offsets into the runtime's, which are named, and others. */
static int name_own(struct merger *m, const u64 *offsets, size_t n)
{
    struct runtime_frames f;
    int err = 0;
    buf_char(&m->strings, 0); /* string 0 is the empty one */
    m->n = calloc(n + 1, sizeof(*m->n));
    if (!m->n || VEC_RESERVE(&m->rest, n + 1))
        return -ENOMEM;
    for (size_t i = 0; i < n && !err; i++) {
        if (!(offsets[i] & NAMES_DATA) && m->runtime.ops->frames(m->runtime.file, offsets[i], &f))
            err = add_frames(m, &f, &m->n[i]);
        else
            *VEC_PUSH(&m->rest) = offsets[i];
    }
    return err;
}

/* Appends the frames of the rest's offset i; their strings will stand behind ours. */
static void add_rest(const struct merger *m, const struct names *rest, size_t i, struct buf *out)
{
    for (u32 k = rest->first[i]; k < rest->first[i + 1]; k++) {
        struct names_frame f = rest->frames[k];
        f.name += (u32)m->strings.len;
        f.system_name += (u32)m->strings.len;
        f.file += (u32)m->strings.len;
        buf_add(out, &f, sizeof(f));
    }
}

/* In the order of the question: its offsets, with the runtime's frames or those of the next one of the rest. */
static int write_reply(const struct merger *m, const struct names *rest, size_t n, u32 rest_strings, struct buf *out)
{
    struct names_header h = {.magic = NAMES_MAGIC,
                             .n = (u32)n,
                             .nframes = (u32)m->frames.n + rest->first[rest->n],
                             .strings = (u32)m->strings.len + rest_strings,
                             .cut = m->runtime.ops->truncated(m->runtime.file) || m->frames.n >= MAX_FRAMES ||
                                    m->strings.len > MAX_STRINGS};
    size_t at = out->len, r = 0, own = 0;
    u32 first = 0;
    buf_add(out, &h, sizeof(h));
    buf_add(out, &first, sizeof(first));
    for (size_t i = 0; i < n; i++) {
        first += m->n[i] ? m->n[i] : rest->first[r + 1] - rest->first[r];
        r += !m->n[i];
        buf_add(out, &first, sizeof(first));
    }
    while (!out->failed && out->len - at < names_frames_at(n))
        buf_char(out, 0);
    r = 0;
    for (size_t i = 0; i < n; own += m->n[i++]) {
        if (m->n[i])
            buf_add(out, m->frames.v + own, m->n[i] * sizeof(*m->frames.v));
        else
            add_rest(m, rest, r++, out);
    }
    buf_add(out, m->strings.data, m->strings.len);
    buf_add(out, rest->strings, rest_strings);
    return out->failed ? -ENOMEM : 0;
}

/* Names of a file that is no program, but has code that a runtime compiled ahead of time. */
static int name_ahead(const struct names_fds *f, const u64 *offsets, size_t n, struct buf *out)
{
    AUTO_FREE void *data = NULL;
    struct name_index index;
    size_t len;
    int rc = dotnet_ahead_index(f->file, &data, &len);
    if (!rc)
        rc = name_index_open(&index, data, len);
    return rc ? rc : names_resolve_index(&index, NULL, DEMANGLE_FULL, offsets, n, out);
}

int merged_names(const struct names_fds *f, const u64 *offsets, size_t n, struct buf *out)
{
    AUTO_ELF struct elf_file e = {0};
    CLEANUP(merger_free) struct merger m = {0};
    AUTO_BUF struct buf reply = {0};
    struct names rest;
    struct names_header h;
    if (!names_in_runtime(f->names))
        return names_resolve(f, offsets, n, out);
    int err = elf_open(&e, f->file);
    if (err)
        return err == -ENOEXEC && !name_ahead(f, offsets, n, out) ? 0 : err;
    if (runtime_file_open(&m.runtime, &e)) /* no runtime's, or not as it should be */
        return names_resolve(f, offsets, n, out);
    err = name_own(&m, offsets, n);
    if (!err)
        err = names_resolve(f, m.rest.v, m.rest.n, &reply);
    if (!err)
        err = names_view(reply.data, reply.len, m.rest.n, &rest);
    if (err)
        return err;
    memcpy(&h, reply.data, sizeof(h));
    return write_reply(&m, &rest, n, h.strings, out);
}

int merged_name_index(const struct names_fds *f, void **out, size_t *len)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_RUNTIME_FILE struct runtime_file own = {0};
    int rc = elf_open(&e, f->file);
    bool runtime = !rc && !runtime_file_open(&own, &e);
    if (rc == -ENOEXEC) {
        int ahead = dotnet_ahead_index(f->file, out, len);
        return ahead == -ENODATA ? rc : ahead;
    }
    if (runtime && own.ops->is_all(own.file))
        return -ENODATA;
    return names_index_fds(f, runtime, out, len);
}

int merged_lines(const struct dwarf_fds *f, void **out, size_t *len)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_RUNTIME_FILE struct runtime_file own = {0};
    if (!elf_open(&e, f->file) && !runtime_file_open(&own, &e) && own.ops->is_all(own.file))
        return -ENODATA;
    return dwarf_index_build_fds(f, out, len);
}
