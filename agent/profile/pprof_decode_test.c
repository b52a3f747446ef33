#include "profile/pprof_decode_test.h"
#include "base/gz.h"
#include "profile/encode.h"

static bool next_field(struct cursor *c, struct field *f)
{
    if (c->bad || !cursor_left(c))
        return false;
    u64 tag = cursor_uleb(c);
    *f = (struct field){.number = (unsigned)(tag >> 3)};
    if ((tag & 7) == 2)
        f->sub = cursor_sub(c, cursor_uleb(c));
    else if ((tag & 7) == 0)
        f->value = cursor_uleb(c);
    else
        c->bad = true;
    return !c->bad;
}

void pprof_decode(const struct profile *p, struct decoded *d)
{
    AUTO_BUF struct buf packed = {0};
    *d = (struct decoded){0};
    d->bad = encoder_by_name("pprof")->encode(p, &packed) || gz_expand(packed.data, packed.len, 1 << 30, &d->raw);
    struct cursor c = cursor_of(d->raw.data, d->raw.len);
    for (struct field f; next_field(&c, &f);) {
        *VEC_PUSH(&d->fields) = f;
        if (f.number == 6)
            *VEC_PUSH(&d->strings) = f.sub;
    }
    d->bad |= c.bad;
}

void decoded_free(struct decoded *d)
{
    buf_free(&d->raw);
    vec_free(&d->fields);
    vec_free(&d->strings);
}

u64 pprof_number(struct cursor message, unsigned field)
{
    for (struct field f; next_field(&message, &f);)
        if (f.number == field)
            return f.value;
    return 0;
}

void pprof_add_text(const struct decoded *d, u64 string, struct buf *out)
{
    if (string < d->strings.n)
        buf_add(out, d->strings.v[string].base, d->strings.v[string].len);
    else
        buf_str(out, "(no such string)");
}

bool pprof_by_id(const struct decoded *d, unsigned kind, u64 id, struct cursor *out)
{
    for (size_t i = 0; i < d->fields.n; i++)
        if (d->fields.v[i].number == kind && pprof_number(d->fields.v[i].sub, 1) == id) {
            *out = d->fields.v[i].sub;
            return true;
        }
    return false;
}

static void location_text(struct decoded *d, u64 id, struct buf *out)
{
    struct cursor location, function;
    if (!pprof_by_id(d, 4, id, &location)) {
        d->bad = true;
        return;
    }
    for (struct field f; next_field(&location, &f);) {
        if (f.number != 4)
            continue;
        buf_char(out, ' ');
        d->bad |= !pprof_by_id(d, 5, pprof_number(f.sub, 1), &function);
        if (!d->bad)
            pprof_add_text(d, pprof_number(function, 2), out);
        if (pprof_number(f.sub, 2))
            buf_printf(out, ":%u", (unsigned)pprof_number(f.sub, 2));
    }
}

static void label_text(const struct decoded *d, struct cursor label, struct buf *out)
{
    buf_str(out, " {");
    pprof_add_text(d, pprof_number(label, 1), out);
    buf_char(out, '=');
    if (pprof_number(label, 2))
        pprof_add_text(d, pprof_number(label, 2), out);
    else
        buf_printf(out, "%u", (unsigned)pprof_number(label, 3));
    buf_char(out, '}');
}

void pprof_samples_text(struct decoded *d, struct buf *out)
{
    for (size_t i = 0; i < d->fields.n; i++) {
        if (d->fields.v[i].number != 2)
            continue;
        AUTO_BUF struct buf values = {0}, names = {0};
        struct cursor s = d->fields.v[i].sub;
        for (struct field f; next_field(&s, &f);) {
            while (f.number == 1 && cursor_left(&f.sub))
                location_text(d, cursor_uleb(&f.sub), &names);
            while (f.number == 2 && cursor_left(&f.sub))
                buf_printf(&values, "%llu ", (unsigned long long)cursor_uleb(&f.sub));
            if (f.number == 3)
                label_text(d, f.sub, &names);
        }
        buf_printf(out, "%s:%s\n", values.data, names.data);
    }
}

void pprof_types_text(const struct decoded *d, unsigned kind, struct buf *out)
{
    for (size_t i = 0; i < d->fields.n; i++) {
        if (d->fields.v[i].number != kind)
            continue;
        pprof_add_text(d, pprof_number(d->fields.v[i].sub, 1), out);
        buf_char(out, '/');
        pprof_add_text(d, pprof_number(d->fields.v[i].sub, 2), out);
        buf_char(out, ' ');
    }
}

u64 pprof_top_number(const struct decoded *d, unsigned field)
{
    for (size_t i = 0; i < d->fields.n; i++)
        if (d->fields.v[i].number == field)
            return d->fields.v[i].value;
    return 0;
}
