#include "runtime/go_locks.h"
#include "runtime/gopclntab_internal.h"
#include <string.h>

#define RETURN    0xc3
#define CALL      0xe8 /* rel32 */
#define CALL_LEN  5
#define MAX_RUNS  4096 /* of one function; there are about twenty */
#define MAX_CODE  65536
#define CHECK_LEN 4 /* bytes of the instruction that compares rsp with the end of the stack */

/* Most functions compare rsp with the end of their goroutine's stack first, and then branch (Go's src/cmd/internal/obj/
 * x86/obj6.go: stacksplit). The kernel emulates the branch, and has to step over the comparison, which takes longer.
 * Returns how far behind the beginning the branch is; 0: there is none. */
static u64 branch_in(const u8 *code, size_t len)
{
    static const u8 compare[CHECK_LEN] = {0x49, 0x3b, 0x66, 0x10}; /* cmp rsp, [r14 + 16] */
    if (len < CHECK_LEN + 2 || memcmp(code, compare, sizeof(compare)) != 0)
        return 0;
    const u8 *at = code + CHECK_LEN; /* jbe, near or far */
    return at[0] == 0x76 || (at[0] == 0x0f && at[1] == 0x86) ? CHECK_LEN : 0;
}

/* Places are found in ascending order. */
static void add(struct allocators *out, u64 offset, enum xp_go_place place)
{
    if (out->n == ALLOCATORS_MAX)
        out->left_out++;
    else if (!out->n || out->site[out->n - 1].offset < offset)
        out->site[out->n++] = (struct xp_heap_site){offset, place};
}

/* A function that waits, and the one that it calls when it has waited, just before it returns. */
struct waiting {
    struct go_func f;
    u64 last_call; /* entry of the function that is called; 0: not known */
    const u8 *code;
    u64 len, offset; /* offset: in the file */
};

/* The kernel emulates a call, and has to step over a return, which takes five times as long. Returns where the last
 * call is in [from, end); `end`: there is none. */
static u64 call_in(const struct waiting *w, u64 from, u64 end)
{
    for (u64 at = end; w->last_call && at-- > from;) {
        s32 distance;
        if (w->code[at] != CALL || end - at < CALL_LEN)
            continue;
        memcpy(&distance, w->code + at + 1, sizeof(distance));
        if (w->f.entry + at + CALL_LEN + (u64)(s64)distance == w->last_call)
            return at;
    }
    return end;
}

/* A return is where the depth of the stack becomes 0 again. So does it where the function calls for a larger stack. */
static void add_returns(const struct gopclntab *t, const struct waiting *w, struct allocators *out)
{
    struct go_runs r = go_runs_of(t, w->f.depth, w->f.entry);
    u64 before = 1; /* what is between two returns leads to the second one */
    for (unsigned i = 0; i < MAX_RUNS && go_runs_next(&r) && r.from - w->f.entry < w->len; i++) {
        u64 at = r.from - w->f.entry;
        if (r.value || !at || w->code[at] != RETURN)
            continue;
        add(out, w->offset + call_in(w, before, at), XP_GO_ENDS);
        before = at + 1;
    }
}

/* A function without returns would begin waits that never end. */
static void add_function(const struct gopclntab *t, struct waiting *w, struct allocators *out)
{
    size_t left = 0;
    const struct elf_segment *s = elf_segment_at(t->elf, w->f.entry, PF_X);
    w->code = s && w->f.end > w->f.entry ? elf_at(t->elf, w->f.entry, &left) : NULL;
    w->len = w->code && w->f.end - w->f.entry < left ? w->f.end - w->f.entry : left;
    if (!w->code || w->len > MAX_CODE)
        return;
    w->offset = w->f.entry - s->vaddr + s->offset;
    add(out, w->offset + branch_in(w->code, w->len), XP_GO_WAITS);
    add_returns(t, w, out);
    if (out->n < 2)
        out->n = 0;
}

void go_locks_find(const struct elf_file *e, struct allocators *out)
{
    struct gopclntab t;
    struct go_func f;
    struct waiting w = {0};
    memset(out, 0, sizeof(*out));
    out->magic = ALLOCATORS_MAGIC;
    if (go_open(&t, e) || t.layout < GO_1_18) /* before 1.17, arguments were on the stack */
        return;
    for (u64 i = 0; i < t.nfuncs && !(w.f.entry && w.last_call); i++) {
        struct go_text name = go_func_read(&t, i, &f) ? go_text_at(t.names, f.name) : (struct go_text){0};
        if (go_text_is(name, "runtime.semacquire1"))
            w.f = f;
        else if (go_text_is(name, "runtime.releaseSudog"))
            w.last_call = f.entry;
    }
    if (w.f.entry)
        add_function(&t, &w, out);
}

int go_locks_read(int fd, struct allocators *out)
{
    AUTO_ELF struct elf_file e = {0};
    int err = elf_open(&e, fd);
    if (!err)
        go_locks_find(&e, out);
    return err;
}

bool go_locks_sound(const void *data, size_t len)
{
    struct allocators a;
    if (len != sizeof(a))
        return false;
    memcpy(&a, data, sizeof(a));
    if (a.magic != ALLOCATORS_MAGIC || a.n > ALLOCATORS_MAX)
        return false;
    for (u32 i = 0; i < a.n; i++)
        if ((a.site[i].call != XP_GO_WAITS && a.site[i].call != XP_GO_ENDS) ||
            (i && a.site[i].offset <= a.site[i - 1].offset))
            return false;
    return true;
}
