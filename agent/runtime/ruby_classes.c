/* From a class to its name. Since 3.2 classes have it in a field, before in their table of variables, by an ID that
 * nobody else can have ("__classpath__"). The same is true of the object that a singleton class belongs to. Both places
 * are found by the class Object, which is there from the beginning on.
 */
#include "base/cleanup.h"
#include "runtime/ruby_internal.h"
#include <string.h>

#define OBJECT      "Object"
#define CLASS_BYTES 0x110 /* of a class that are searched */
#define CLASS_EXT   24    /* RClass.ptr, up to 3.1 */
#define EXT_BYTES   0x60
#define MAX_ENTRIES 256 /* of a table of variables */

/* ---- Tables of variables (include/ruby/st.h): entries are hash, key, value ---- */

struct table {
    u64 at;
    u64 n;
};

static bool read_table(struct memory *m, u64 table, struct table *out)
{
    bool ok = ruby_may_point(table);
    out->n = memory_u(m, table + 40, sizeof(u64), &ok);
    out->at = memory_u(m, table + 48, sizeof(u64), &ok);
    return ok && out->n <= MAX_ENTRIES && ruby_may_point(out->at);
}

/* The value of a key; or with `id` 0, sets it to the first key whose value is wanted. */
static u64 lookup(struct memory *m, u64 table, u64 *id, bool (*wanted)(void *arg, u64 value), void *arg)
{
    struct table t;
    u64 entry[3];
    for (u64 i = 0; read_table(m, table, &t) && i < t.n; i++) {
        if (!memory_near(m, t.at + 24 * i, entry, sizeof(entry)))
            return 0;
        if (*id ? entry[1] == *id : entry[1] && wanted(arg, entry[2])) {
            *id = entry[1];
            return entry[2];
        }
    }
    return 0;
}

/* ---- Fields ----------------------------------------------------------------------------------------------------- */

static u64 field(struct memory *m, const struct ruby_layout *l, u64 class, u16 offset, u64 id)
{
    bool ok = offset != 0;
    u64 from = l->class_ext ? memory_u(m, class + l->class_ext, sizeof(u64), &ok) : class;
    u64 value = memory_u(m, from + offset, sizeof(u64), &ok);
    return !ok ? 0 : id ? lookup(m, value, &id, NULL, NULL) : value;
}

struct search {
    struct memory *m;
    const struct ruby_layout *l;
    u64 object; /* the class */
};

static bool is_name(void *arg, u64 value)
{
    const struct search *s = arg;
    AUTO_BUF struct buf text = {0};
    return ruby_may_point(value) && ruby_text(s->m, s->l, value, &text) && text.len == strlen(OBJECT) &&
           !memcmp(text.data, OBJECT, text.len);
}

static bool is_object(void *arg, u64 value)
{
    const struct search *s = arg;
    return value == s->object;
}

/* Where something that is wanted is found from an address on: in a word, or in a table. */
static bool find(struct search *s, u64 from, u32 bytes, bool in_tables, bool (*wanted)(void *arg, u64 value),
                 u16 *offset, u64 *id)
{
    bool ok = true;
    for (u32 i = 0; i < bytes; i += 8) {
        u64 value = memory_u(s->m, from + i, sizeof(u64), &ok);
        if (!ok)
            return false;
        *id = 0;
        if (in_tables ? lookup(s->m, value, id, wanted, s) != 0 : i >= 24 && wanted(s, value)) {
            *offset = (u16)i;
            return true;
        }
    }
    return false;
}

void ruby_find_classes(struct memory *m, const struct module *mod, struct ruby_layout *l)
{
    bool ok = true;
    u64 at = module_symbol(m, mod, "rb_cObject"), object = at ? memory_u(m, at, sizeof(u64), &ok) : 0;
    u64 singleton = object ? memory_u(m, object + 8, sizeof(u64), &ok) : 0;
    struct search s = {m, l, object};
    if (!ok || !ruby_may_point(object) || !ruby_may_point(singleton))
        return;
    if (find(&s, object, CLASS_BYTES, false, is_name, &l->classpath, &l->classpath_id)) {
        find(&s, singleton, CLASS_BYTES, false, is_object, &l->attached, &l->attached_id);
        return;
    }
    u64 ext = memory_u(m, object + CLASS_EXT, sizeof(u64), &ok),
        singleton_ext = memory_u(m, singleton + CLASS_EXT, sizeof(u64), &ok);
    if (ok && find(&s, ext, EXT_BYTES, true, is_name, &l->classpath, &l->classpath_id)) {
        l->class_ext = CLASS_EXT;
        find(&s, singleton_ext, EXT_BYTES, true, is_object, &l->attached, &l->attached_id);
    }
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

static bool is_class(struct memory *m, u64 value)
{
    u64 flags;
    return ruby_is_a(m, value, RUBY_CLASS, &flags) || ruby_is_a(m, value, RUBY_MODULE, &flags);
}

/* The object of a singleton class, which is the only object of that class; 0: it is no such class. */
static u64 object_of(struct memory *m, const struct ruby_layout *l, u64 class)
{
    bool ok = true;
    u64 object = field(m, l, class, l->attached, l->attached_id);
    return ruby_may_point(object) && memory_u(m, object + 8, sizeof(u64), &ok) == class && ok ? object : 0;
}

void ruby_class_prefix(struct memory *m, const struct ruby_layout *l, u64 class, struct buf *out)
{
    AUTO_BUF struct buf name = {0};
    u64 flags;
    if (ruby_is_a(m, class, RUBY_ICLASS, &flags)) {
        bool ok = true;
        class = memory_u(m, class + 8, sizeof(u64), &ok);
    }
    u64 object = is_class(m, class) ? object_of(m, l, class) : 0, named = object ? object : class;
    if (!is_class(m, named) || !ruby_text(m, l, field(m, l, named, l->classpath, l->classpath_id), &name) ||
        !name.len || name.data[0] == '#')
        return;
    buf_add(out, name.data, name.len);
    buf_char(out, object ? '.' : '#');
}
