/* BTF (Documentation/bpf/btf.rst): a header, a list of types of different lengths, which are numbered from 1, and
 * strings. 0 is void.
 */
#include "probe/kernel_types.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "bpf/types.h"
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define MAX_BYTES    ((size_t)64 << 20)

struct excerpt {
    const struct btf_header *head;
    const char *types, *strings;
    VEC(u32) at;       /* where each type begins; that of 0 is of no use */
    VEC(u32) kept;     /* numbers of those in the excerpt, in its order */
    struct map number; /* kernel's -> excerpt's */
    struct map wanted; /* hashes of names */
    struct kernel_type *asked;
    size_t nasked;
    struct buf out, names;
};

static void excerpt_free(struct excerpt *x)
{
    vec_free(&x->at);
    vec_free(&x->kept);
    map_free(&x->number);
    map_free(&x->wanted);
    buf_free(&x->out);
    buf_free(&x->names);
}

static const struct btf_type *type_of(const struct excerpt *x, u32 number)
{
    return (const void *)(x->types + x->at.v[number]);
}

/* Without the "___FLAVOR" that tells apart an object's types of one name. */
static u64 hash_name(const char *name)
{
    const char *flavor = strstr(name, "___");
    return hash_bytes(name, flavor && flavor != name ? (size_t)(flavor - name) : strlen(name), 0);
}

static bool has_relevant_name(const struct btf_type *t)
{
    switch (btf_kind(t)) {
    case BTF_KIND_INT:
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
    case BTF_KIND_ENUM:
    case BTF_KIND_ENUM64:
    case BTF_KIND_FWD:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_FLOAT:
        return t->name_off != 0;
    default:
        return false;
    }
}

static int note_wanted(struct excerpt *x, const struct btf *object)
{
    for (u32 i = 1; i < btf__type_cnt(object); i++) {
        const struct btf_type *t = btf__type_by_id(object, i);
        if (has_relevant_name(t) && !map_put(&x->wanted, hash_name(btf__name_by_offset(object, t->name_off))))
            return -ENOMEM;
    }
    return 0;
}

/* Bytes behind the common part of a type; SIZE_MAX: of a kind that came later. */
static size_t rest_of(const struct btf_type *t)
{
    static const struct {
        u8 fixed, each;
    } sizes[] = {[BTF_KIND_INT] = {4, 0},      [BTF_KIND_ARRAY] = {sizeof(struct btf_array), 0},
                 [BTF_KIND_STRUCT] = {0, 12},  [BTF_KIND_UNION] = {0, 12},
                 [BTF_KIND_ENUM] = {0, 8},     [BTF_KIND_FUNC_PROTO] = {0, 8},
                 [BTF_KIND_VAR] = {4, 0},      [BTF_KIND_DATASEC] = {0, 12},
                 [BTF_KIND_DECL_TAG] = {4, 0}, [BTF_KIND_ENUM64] = {0, 12}};
    u32 kind = btf_kind(t);
    if (kind >= sizeof(sizes) / sizeof(*sizes))
        return SIZE_MAX;
    return sizes[kind].fixed + (size_t)sizes[kind].each * btf_vlen(t);
}

/* The number that a type has in the excerpt, which it becomes part of. 0: void, or no memory. */
static u32 keep(struct excerpt *x, u32 number)
{
    u64 *mine = number && number < x->at.n ? map_put(&x->number, number) : NULL;
    if (!mine || *mine)
        return mine ? (u32)*mine : 0;
    u32 *place = VEC_PUSH(&x->kept);
    if (!place)
        return 0;
    *place = number;
    return (u32)(*mine = x->kept.n);
}

static void answer(struct excerpt *x, const struct btf_type *t, u32 number)
{
    for (size_t i = 0; i < x->nasked; i++)
        if (btf_kind(t) == x->asked[i].kind && !strcmp(x->strings + t->name_off, x->asked[i].name))
            x->asked[i].number = number;
}

static int list(struct excerpt *x)
{
    size_t at = 0, len = x->head->type_len;
    u32 *none = VEC_PUSH(&x->at);
    if (!none)
        return -ENOMEM;
    *none = 0;
    while (len - at >= sizeof(struct btf_type)) {
        const struct btf_type *t = (const void *)(x->types + at);
        size_t rest = rest_of(t);
        u32 *place = VEC_PUSH(&x->at);
        if (!place)
            return -ENOMEM;
        if (rest > len - at - sizeof(*t) || t->name_off >= x->head->str_len)
            return -EBADMSG;
        *place = (u32)at;
        at += sizeof(*t) + rest;
        answer(x, t, (u32)x->at.n - 1);
        if (has_relevant_name(t) && map_get(&x->wanted, hash_name(x->strings + t->name_off)))
            keep(x, (u32)x->at.n - 1);
    }
    return at == len ? 0 : -EBADMSG;
}

static u32 add_name(struct excerpt *x, u32 off)
{
    if (!off || off >= x->head->str_len)
        return 0;
    u32 at = (u32)x->names.len;
    buf_add(&x->names, x->strings + off, strlen(x->strings + off) + 1);
    return at;
}

static void add_members(struct excerpt *x, const struct btf_type *t)
{
    const struct btf_member *m = btf_members(t);
    for (u32 i = 0; i < btf_vlen(t); i++) {
        struct btf_member mine = m[i];
        mine.name_off = add_name(x, m[i].name_off);
        mine.type = keep(x, m[i].type);
        buf_add(&x->out, &mine, sizeof(mine));
    }
}

/* Names of values come first in an entry of either kind of enum. */
static void add_values(struct excerpt *x, const struct btf_type *t, size_t size)
{
    const char *p = (const char *)(t + 1);
    for (u32 i = 0; i < btf_vlen(t); i++, p += size) {
        u32 name;
        memcpy(&name, p, sizeof(name));
        name = add_name(x, name);
        buf_add(&x->out, &name, sizeof(name));
        buf_add(&x->out, p + sizeof(name), size - sizeof(name));
    }
}

static void add_type(struct excerpt *x, const struct btf_type *t)
{
    struct btf_type mine = *t;
    mine.name_off = add_name(x, t->name_off);
    if (btf_is_ptr(t))
        mine.type = 0;
    else if (btf_is_mod(t) || btf_is_typedef(t) || btf_kind(t) == BTF_KIND_TYPE_TAG)
        mine.type = keep(x, t->type);
    buf_add(&x->out, &mine, sizeof(mine));
    if (btf_is_composite(t)) {
        add_members(x, t);
    } else if (btf_is_enum(t)) {
        add_values(x, t, sizeof(struct btf_enum));
    } else if (btf_kind(t) == BTF_KIND_ENUM64) {
        add_values(x, t, 12);
    } else if (btf_is_array(t)) {
        struct btf_array a = *btf_array(t);
        a.type = keep(x, a.type);
        a.index_type = keep(x, a.index_type);
        buf_add(&x->out, &a, sizeof(a));
    } else {
        buf_add(&x->out, t + 1, rest_of(t));
    }
}

static int write_out(struct excerpt *x, int fd)
{
    struct btf_header head = *x->head;
    buf_char(&x->names, 0);
    buf_add(&x->out, &head, sizeof(head));
    for (size_t i = 0; i < x->kept.n; i++) /* grows on the way */
        add_type(x, type_of(x, x->kept.v[i]));
    head.hdr_len = sizeof(head);
    head.type_off = 0;
    head.type_len = head.str_off = (u32)(x->out.len - sizeof(head));
    head.str_len = (u32)x->names.len;
    buf_add(&x->out, x->names.data, x->names.len);
    if (x->out.failed || x->names.failed)
        return -ENOMEM;
    memcpy(x->out.data, &head, sizeof(head));
    return fs_write_all(fd, x->out.data, x->out.len);
}

int kernel_types_excerpt(const struct btf *object, const void *all, size_t len, int fd, struct kernel_type *asked,
                         size_t n)
{
    CLEANUP(excerpt_free) struct excerpt x = {.head = all, .asked = asked, .nasked = n};
    const struct btf_header *h = all;
    if (len < sizeof(*h) || h->magic != BTF_MAGIC || h->hdr_len < sizeof(*h) || h->hdr_len > len || h->type_off & 3 ||
        h->type_off > len - h->hdr_len || h->type_len > len - h->hdr_len - h->type_off ||
        h->str_off > len - h->hdr_len || h->str_len > len - h->hdr_len - h->str_off || !h->str_len)
        return -EBADMSG;
    x.types = (const char *)all + h->hdr_len + h->type_off;
    x.strings = (const char *)all + h->hdr_len + h->str_off;
    if (x.strings[h->str_len - 1])
        return -EBADMSG;
    int rc = note_wanted(&x, object);
    rc = rc ? rc : list(&x);
    return rc ? rc : write_out(&x, fd);
}

/* Mapped (Linux 6.16), or else read. */
static void *map_types(size_t *len)
{
    struct stat st;
    AUTO_CLOSE int fd = open(KERNEL_TYPES, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) || st.st_size <= 0)
        return NULL;
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    *len = (size_t)st.st_size;
    return map == MAP_FAILED ? NULL : map;
}

int kernel_types_write(const struct btf *object, int fd, struct kernel_type *asked, size_t n)
{
    AUTO_FREE char *all = NULL;
    size_t len;
    void *map = map_types(&len);
    int rc = map ? 0 : fs_read_file(KERNEL_TYPES, MAX_BYTES, &all, &len);
    if (!rc)
        rc = kernel_types_excerpt(object, map ? map : all, len, fd, asked, n);
    if (map)
        munmap(map, len);
    return rc;
}
