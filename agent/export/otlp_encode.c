/* Field numbers: opentelemetry/proto/profiles/v1development/profiles.proto, .../collector/.../profiles_service.proto
 * and common.proto of opentelemetry-proto 1.10. Element 0 of every table is the zero value.
 */
#include "base/hash.h"
#include "base/pb.h"
#include "base/utf8.h"
#include "export/otlp.h"
#include <errno.h>
#include <string.h>

struct writer {
    const struct pprof *p;
    const struct otlp_about *about;
    struct buf *b;
    bool bad; /* an index points nowhere */
};

/* Attribute and string of the build id are told by place: behind pprof's own strings stands the key. */
static u64 build_id_key(const struct writer *w)
{
    return w->p->strings.n;
}

static u64 string_index(struct writer *w, u64 i)
{
    w->bad |= i >= w->p->strings.n;
    return i;
}

/* A proto3 string must be UTF-8, or the server refuses everything: other bytes become U+FFFD. */
static void add_text(struct buf *b, unsigned field, struct cursor text)
{
    const char *s = (const char *)text.base;
    size_t m = pb_begin(b, field);
    for (size_t i = 0; i < text.len;) {
        size_t n = utf8_len(s + i, text.len - i);
        buf_add(b, n ? s + i : "\xef\xbf\xbd", n ? n : 3);
        i += n ? n : 1;
    }
    pb_end(b, m);
}

static void zero_element(struct buf *b, unsigned field)
{
    pb_bytes(b, field, "", 0);
}

/* ---- The dictionary ---------------------------------------------------------------------------------------------- */

static u64 build_id_of(const struct writer *w, size_t i)
{
    return pb_number(w->p->mappings.v[i], 6);
}

static void mappings(struct writer *w)
{
    u64 attribute = 1;
    zero_element(w->b, 1);
    for (size_t i = 0; i < w->p->mappings.n; i++) {
        struct cursor from = w->p->mappings.v[i];
        size_t m = pb_begin(w->b, 1);
        for (unsigned field = 2; field <= 4; field++)
            pb_uint(w->b, field - 1, pb_number(from, field));
        pb_uint(w->b, 4, string_index(w, pb_number(from, 5)));
        if (build_id_of(w, i)) {
            size_t list = pb_begin(w->b, 5);
            pb_varint(w->b, attribute++);
            pb_end(w->b, list);
        }
        pb_end(w->b, m);
    }
}

static void line(struct writer *w, struct cursor from)
{
    u64 function = pb_number(from, 1), place = pprof_place(&w->p->function_ids, function);
    w->bad |= !place;
    size_t m = pb_begin(w->b, 3);
    pb_uint(w->b, 1, place);
    pb_uint(w->b, 2, pb_number(from, 2));
    pb_uint(w->b, 3, pb_number(from, 3));
    pb_end(w->b, m);
}

static void locations(struct writer *w)
{
    zero_element(w->b, 2);
    for (size_t i = 0; i < w->p->locations.n; i++) {
        struct cursor from = w->p->locations.v[i];
        u64 mapping = pb_number(from, 2), place = pprof_place(&w->p->mapping_ids, mapping);
        w->bad |= mapping && !place;
        size_t m = pb_begin(w->b, 2);
        pb_uint(w->b, 1, place);
        pb_uint(w->b, 2, pb_number(from, 3));
        for (struct pb_field f; pb_next(&from, &f);)
            if (f.number == 4 && f.wire == PB_BYTES)
                line(w, f.bytes);
        w->bad |= from.bad;
        pb_end(w->b, m);
    }
}

static void functions(struct writer *w)
{
    zero_element(w->b, 3);
    for (size_t i = 0; i < w->p->functions.n; i++) {
        struct cursor from = w->p->functions.v[i];
        size_t m = pb_begin(w->b, 3);
        for (unsigned field = 2; field <= 4; field++)
            pb_uint(w->b, field - 1, string_index(w, pb_number(from, field)));
        pb_uint(w->b, 4, pb_number(from, 5));
        pb_end(w->b, m);
    }
}

static void strings(struct writer *w)
{
    for (size_t i = 0; i < w->p->strings.n; i++)
        add_text(w->b, 5, w->p->strings.v[i]);
    pb_string(w->b, 5, "process.executable.build_id.gnu");
}

/* One for each mapping with a build id, in their order. */
static void attributes(struct writer *w)
{
    zero_element(w->b, 6);
    for (size_t i = 0; i < w->p->mappings.n; i++) {
        u64 id = build_id_of(w, i);
        if (!id || string_index(w, id) >= w->p->strings.n)
            continue;
        size_t m = pb_begin(w->b, 6);
        pb_uint(w->b, 1, build_id_key(w));
        size_t value = pb_begin(w->b, 2);
        add_text(w->b, 1, w->p->strings.v[id]);
        pb_end(w->b, value);
        pb_end(w->b, m);
    }
}

/* Sample i has stack i + 1. */
static void stacks(struct writer *w)
{
    zero_element(w->b, 7);
    for (size_t i = 0; i < w->p->samples.n; i++) {
        struct cursor from = w->p->samples.v[i];
        size_t m = pb_begin(w->b, 7), list = pb_begin(w->b, 1);
        for (struct pb_field f; pb_next(&from, &f);)
            for (u64 id; f.number == 1 && pb_repeated(&f, &id);) {
                u64 place = pprof_place(&w->p->location_ids, id);
                w->bad |= !place;
                pb_varint(w->b, place);
            }
        w->bad |= from.bad;
        pb_end(w->b, list);
        pb_end(w->b, m);
    }
}

static void dictionary(struct writer *w)
{
    size_t m = pb_begin(w->b, 2);
    mappings(w);
    locations(w);
    functions(w);
    zero_element(w->b, 4); /* links: none */
    strings(w);
    attributes(w);
    stacks(w);
    pb_end(w->b, m);
}

/* ---- Profiles ---------------------------------------------------------------------------------------------------- */

/* The value of sample type `type`, 0 when there is none. */
static u64 value_of(struct cursor sample, size_t type)
{
    size_t n = 0;
    for (struct pb_field f; pb_next(&sample, &f);)
        for (u64 v; f.number == 2 && pb_repeated(&f, &v);)
            if (n++ == type)
                return v;
    return 0;
}

static void value_type(struct writer *w, unsigned field, struct cursor from)
{
    size_t m = pb_begin(w->b, field);
    pb_uint(w->b, 1, string_index(w, pb_number(from, 1)));
    pb_uint(w->b, 2, string_index(w, pb_number(from, 2)));
    pb_end(w->b, m);
}

static void samples(struct writer *w, size_t type)
{
    for (size_t i = 0; i < w->p->samples.n; i++) {
        u64 value = value_of(w->p->samples.v[i], type);
        if (!value)
            continue;
        size_t m = pb_begin(w->b, 2);
        pb_uint(w->b, 1, i + 1);
        size_t values = pb_begin(w->b, 4);
        pb_varint(w->b, value);
        pb_end(w->b, values);
        pb_end(w->b, m);
    }
}

static void profile(struct writer *w, size_t type)
{
    const struct pprof *p = w->p;
    u64 time_ns = p->time_ns ? p->time_ns : w->about->time_ns;
    u64 id[2] = {hash_u64(time_ns), hash_u64(type)};
    for (size_t i = 0; i < w->about->nlabels; i++) {
        const char *value = w->about->labels[i].value;
        id[i % 2] = hash_bytes(value, strlen(value), id[i % 2]);
    }
    size_t m = pb_begin(w->b, 2);
    value_type(w, 1, p->sample_types.v[type]);
    samples(w, type);
    pb_fixed64(w->b, 3, time_ns);
    pb_uint(w->b, 4, p->duration_ns ? p->duration_ns : w->about->duration_ns);
    if (p->period_type.len)
        value_type(w, 5, p->period_type);
    pb_uint(w->b, 6, p->period);
    pb_bytes(w->b, 7, id, sizeof(id));
    pb_end(w->b, m);
}

/* ---- The resource ------------------------------------------------------------------------------------------------ */

static const char *attribute_name(const char *label)
{
    static const char *const names[][2] = {
        {"service_name", "service.name"},
        {"service_namespace", "service.namespace"},
        {"service_instance_id", "service.instance.id"},
        {"namespace", "k8s.namespace.name"},
        {"pod", "k8s.pod.name"},
        {"container", "k8s.container.name"},
        {"node", "k8s.node.name"},
        {"container_id", "container.id"},
        {"image", "container.image.name"},
        {"comm", "process.executable.name"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(label, names[i][0]) == 0)
            return names[i][1];
    return label;
}

static void resource(struct writer *w)
{
    size_t m = pb_begin(w->b, 1);
    for (size_t i = 0; i < w->about->nlabels; i++) {
        const struct export_label *l = &w->about->labels[i];
        if (strcmp(l->name, "__name__") == 0)
            continue;
        size_t attribute = pb_begin(w->b, 1);
        pb_string(w->b, 1, attribute_name(l->name));
        size_t value = pb_begin(w->b, 2);
        add_text(w->b, 1, cursor_of(l->value, strlen(l->value)));
        pb_end(w->b, value);
        pb_end(w->b, attribute);
    }
    pb_end(w->b, m);
}

static void scope(struct writer *w)
{
    size_t m = pb_begin(w->b, 1);
    pb_string(w->b, 1, "xprof");
    pb_string(w->b, 2, XPROF_VERSION);
    pb_end(w->b, m);
}

int otlp_encode(const struct pprof *p, const struct otlp_about *about, struct buf *out)
{
    struct writer w = {.p = p, .about = about, .b = out};
    size_t resources = pb_begin(out, 1);
    resource(&w);
    size_t scopes = pb_begin(out, 2);
    scope(&w);
    for (size_t i = 0; i < p->sample_types.n; i++)
        profile(&w, i);
    pb_end(out, scopes);
    pb_end(out, resources);
    dictionary(&w);
    return out->failed ? -ENOMEM : w.bad ? -EBADMSG : 0;
}

u64 otlp_rejected(const void *answer, size_t len, struct cursor *why)
{
    struct cursor c = cursor_of(answer, len);
    u64 n = 0;
    *why = cursor_of("", 0);
    for (struct pb_field f; pb_next(&c, &f);) {
        if (f.number != 1 || f.wire != PB_BYTES)
            continue;
        n = pb_number(f.bytes, 1);
        for (struct pb_field part; pb_next(&f.bytes, &part);)
            if (part.number == 2 && part.wire == PB_BYTES)
                *why = part.bytes;
    }
    return n;
}
