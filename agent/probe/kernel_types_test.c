#include "probe/kernel_types.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "bpf/types.h"
#include <bpf/btf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static void free_btf(struct btf **b)
{
    btf__free(*b);
}

/* struct inner { int a; }; struct other { int b; };
 * struct task { const struct inner in; struct other *other; int list[3]; }; enum calls { CALL = 7 }; enum class64 ...
 */
static struct btf *make_kernel(void)
{
    struct btf *k = btf__new_empty();
    int number = btf__add_int(k, "int", 4, BTF_INT_SIGNED);
    int inner = btf__add_struct(k, "inner", 4);
    btf__add_field(k, "a", number, 0, 0);
    int other = btf__add_struct(k, "other", 4);
    btf__add_field(k, "b", number, 0, 0);
    int fixed = btf__add_const(k, inner), pointer = btf__add_ptr(k, other), list = btf__add_array(k, number, number, 3);
    btf__add_struct(k, "task", 32);
    btf__add_field(k, "in", fixed, 0, 0);
    btf__add_field(k, "other", pointer, 64, 0);
    btf__add_field(k, "list", list, 128, 0);
    btf__add_enum(k, "calls", 4);
    btf__add_enum_value(k, "CALL", 7);
    btf__add_func_proto(k, number);
    btf__add_func_param(k, "arg", number);
    btf__add_enum64(k, "large", 8, false);
    btf__add_enum64_value(k, "LARGE", 1ull << 40);
    return k;
}

static struct btf *make_object(void)
{
    struct btf *o = btf__new_empty();
    btf__add_struct(o, "task___mine", 0);
    btf__add_enum(o, "calls", 4);
    btf__add_enum(o, "large", 4);
    btf__add_struct(o, "not_in_this_kernel", 0);
    return o;
}

static int excerpt(const struct btf *object, const void *all, size_t len, struct btf **out)
{
    static char bytes[4096];
    AUTO_CLOSE int fd = memfd_create("types", MFD_CLOEXEC);
    int rc = kernel_types_excerpt(object, all, len, fd, NULL, 0);
    if (rc)
        return rc;
    ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
    *out = n > 0 ? btf__new(bytes, (u32)n) : NULL;
    return *out ? 0 : -EIO;
}

static const char *name_of(const struct btf *b, u32 off)
{
    return btf__name_by_offset(b, off);
}

TEST(kernel_types_of_an_object)
{
    struct btf *kernel CLEANUP(free_btf) = make_kernel();
    struct btf *object CLEANUP(free_btf) = make_object();
    struct btf *x CLEANUP(free_btf) = NULL;
    u32 len;
    const void *all = btf__raw_data(kernel, &len);
    CHECK_EQ(excerpt(object, all, len, &x), 0);
    int id = btf__find_by_name_kind(x, "task", BTF_KIND_STRUCT);
    CHECK(id > 0);
    const struct btf_type *task = btf__type_by_id(x, (u32)id);
    const struct btf_member *m = btf_members(task);
    CHECK_EQ(btf_vlen(task), 3);
    CHECK_EQ(task->size, 32);
    CHECK_STR(name_of(x, m[1].name_off), "other");
    CHECK_EQ(m[1].offset, 64);
    const struct btf_type *inner = btf__type_by_id(x, btf__type_by_id(x, m[0].type)->type);
    CHECK_STR(name_of(x, inner->name_off), "inner");
    CHECK_STR(name_of(x, btf_members(inner)[0].name_off), "a");
    CHECK_STR(name_of(x, btf__type_by_id(x, btf_members(inner)[0].type)->name_off), "int");
    CHECK(btf_is_ptr(btf__type_by_id(x, m[1].type)));
    CHECK_EQ(btf__type_by_id(x, m[1].type)->type, 0);
    CHECK(btf__find_by_name(x, "other") < 0);
    const struct btf_array *list = btf_array(btf__type_by_id(x, m[2].type));
    CHECK_EQ(list->nelems, 3);
    CHECK_STR(name_of(x, btf__type_by_id(x, list->type)->name_off), "int");
    const struct btf_type *calls = btf__type_by_id(x, (u32)btf__find_by_name_kind(x, "calls", BTF_KIND_ENUM));
    CHECK_STR(name_of(x, btf_enum(calls)->name_off), "CALL");
    CHECK_EQ(btf_enum(calls)->val, 7);
    const struct btf_type *large = btf__type_by_id(x, (u32)btf__find_by_name_kind(x, "large", BTF_KIND_ENUM64));
    CHECK_STR(name_of(x, btf_enum64(large)->name_off), "LARGE");
    CHECK_EQ(btf_enum64_value(btf_enum64(large)), 1ull << 40);
}

TEST(kernel_types_that_break_off)
{
    struct btf *kernel CLEANUP(free_btf) = make_kernel();
    struct btf *object CLEANUP(free_btf) = make_object();
    u32 len;
    const void *all = btf__raw_data(kernel, &len);
    AUTO_FREE u8 *copy = malloc(len);
    for (u32 n = 0; n < len; n++) {
        struct btf *x CLEANUP(free_btf) = NULL;
        AUTO_FREE u8 *part = malloc(n ? n : 1); /* ends where ASan sees it */
        memcpy(part, all, n);
        CHECK_EQ(excerpt(object, part, n, &x), -EBADMSG);
    }
    memcpy(copy, all, len);
    struct btf_header *h = (void *)copy;
    struct btf *x CLEANUP(free_btf) = NULL;
    h->type_len -= 4; /* the last type is cut */
    CHECK_EQ(excerpt(object, copy, len, &x), -EBADMSG);
}

TEST(kernel_types_that_programs_are_attached_to)
{
    struct btf *kernel CLEANUP(free_btf) = make_kernel();
    struct btf *object CLEANUP(free_btf) = make_object();
    u32 len;
    const void *all = btf__raw_data(kernel, &len);
    AUTO_CLOSE int fd = memfd_create("types", MFD_CLOEXEC);
    struct kernel_type asked[] = {
        {BTF_KIND_STRUCT, 0, "other"}, {BTF_KIND_FUNC, 0, "other"}, {BTF_KIND_ENUM, 0, "calls"}};
    CHECK_EQ(kernel_types_excerpt(object, all, len, fd, asked, 3), 0);
    CHECK_EQ(asked[0].number, btf__find_by_name_kind(kernel, "other", BTF_KIND_STRUCT));
    CHECK_EQ(asked[1].number, 0);
    CHECK_EQ(asked[2].number, btf__find_by_name_kind(kernel, "calls", BTF_KIND_ENUM));
}
