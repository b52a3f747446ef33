/* The threads of a process, and where a thread has its execution context: since 3.0 in a variable of its own
 * (ruby_current_ec), whose place from the TLS base on is found by looking for the contexts of known threads behind
 * their TLS bases; until 2.7 a thread has itself by pthread_getspecific (ruby_native_thread_key), and its context in
 * that.
 *
 * The virtual machine has a symbol up to 3.2 only, so that it is looked for among the variables of the module: it is
 * what leads to a thread that leads back to it, and whose context leads back to the thread.
 */
#include "runtime/ruby_internal.h"
#include "runtime/sound.h"
#include "runtime/thread_block.h"
#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_VARIABLES (4u << 20) /* bytes of a module's variables that are looked at */
#define MAX_THREADS   4096
#define MAX_KNOWN     64         /* threads that are looked at */
#define MAX_STACK     (1u << 27) /* words */
#define MAX_FRAMES    64         /* of a thread, until one has instructions */
#define THREAD_BYTES  0x400      /* of a thread that are searched for its TLS base */
#define NATIVE_BYTES  0x40
#define TRIES         3 /* threads change while they are read */

struct thread {
    u64 at, ec;
};
struct threads {
    struct thread v[MAX_KNOWN];
    u32 n;
};

/* ---- Variables -------------------------------------------------------------------------------------------------- */

static bool search_segment(struct memory *m, u64 from, u64 bytes, bool (*use)(void *arg, u64 at, u64 value), void *arg)
{
    u64 words[512];
    for (u64 done = 0; done + 8 <= bytes;) {
        u64 some = bytes - done < sizeof(words) ? (bytes - done) & ~7ull : sizeof(words);
        if (!memory_read(m, from + done, words, (size_t)some))
            return false;
        for (u64 i = 0; i < some / 8; i++)
            if (words[i] && use(arg, from + done + 8 * i, words[i]))
                return true;
        done += some;
    }
    return false;
}

bool ruby_each_variable(struct memory *m, const struct module *mod, bool (*use)(void *arg, u64 at, u64 value),
                        void *arg)
{
    for (unsigned i = 0; i < mod->nphdrs; i++) {
        Elf64_Phdr h;
        memcpy(&h, mod->phdrs + i * sizeof(h), sizeof(h));
        u64 from = (mod->bias + h.p_vaddr + 7) & ~7ull;
        u64 bytes = h.p_memsz < MAX_VARIABLES ? h.p_memsz : MAX_VARIABLES;
        if (h.p_type == PT_LOAD && h.p_flags & PF_W && search_segment(m, from, bytes, use, arg))
            return true;
    }
    return false;
}

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

static bool frames_sound(struct memory *m, const struct xp_ruby *x, u64 ec)
{
    bool ok = true;
    u64 stack = memory_u(m, ec + x->stack, sizeof(u64), &ok), words = memory_u(m, ec + x->stack_size, sizeof(u64), &ok),
        frame = memory_u(m, ec + x->frame, sizeof(u64), &ok);
    return ok && ruby_may_point(stack) && words && words <= MAX_STACK && frame >= stack && frame <= stack + 8 * words &&
           (stack + 8 * words - frame) % x->frame_bytes == 0;
}

static bool thread_sound(struct memory *m, const struct ruby_found *f, u64 vm, u64 at, u64 *ec)
{
    bool ok = ruby_may_point(at) && memory_u(m, at + f->lists.thread_vm, sizeof(u64), &(bool){true}) == vm;
    *ec = memory_u(m, at + f->lists.thread_ec, sizeof(u64), &ok);
    return ok && ruby_may_point(*ec) && memory_u(m, *ec + f->lists.ec_thread, sizeof(u64), &ok) == at && ok &&
           frames_sound(m, &f->r.machine.ruby, *ec);
}

struct vm_search {
    struct memory *m;
    struct ruby_found *f;
    const struct module *mod;
    u64 main;
};

static bool is_vm(void *arg, u64 at, u64 value)
{
    struct vm_search *s = arg;
    bool ok = ruby_may_point(value);
    u64 ec, thread = memory_u(s->m, value + s->f->lists.vm_main, sizeof(u64), &ok);
    (void)at;
    if (!ok || !thread_sound(s->m, s->f, value, thread, &ec))
        return false;
    s->f->vm = value;
    s->main = thread;
    return true;
}

/* All threads of a ractor are a ring, which its head is part of, too. */
static void list_threads(struct memory *m, struct ruby_found *f, u64 first, struct threads *out)
{
    bool ok = true;
    u64 at = first, ec;
    *out = (struct threads){0};
    f->threads = 0;
    for (unsigned i = 0; i < MAX_THREADS && ok && ruby_may_point(at); i++) {
        if (thread_sound(m, f, f->vm, at, &ec)) {
            f->threads++;
            if (out->n < MAX_KNOWN)
                out->v[out->n++] = (struct thread){at, ec};
        }
        at = memory_u(m, at, sizeof(u64), &ok);
        if (at == first)
            break;
    }
}

/* ---- Frames ----------------------------------------------------------------------------------------------------- */

enum verdict { NOTHING, SOUND, UNSOUND };

static enum verdict check_thread(struct memory *m, const struct ruby_found *f, u64 ec)
{
    const struct xp_ruby *x = &f->r.machine.ruby;
    bool ok = true;
    u64 stack = memory_u(m, ec + x->stack, sizeof(u64), &ok), words = memory_u(m, ec + x->stack_size, sizeof(u64), &ok),
        frame = memory_u(m, ec + x->frame, sizeof(u64), &ok);
    for (unsigned i = 0; i < MAX_FRAMES && ok && frame < stack + 8 * words; i++, frame += x->frame_bytes) {
        u64 iseq = memory_u(m, frame + x->frame_iseq, sizeof(u64), &ok),
            pc = memory_u(m, frame + x->frame_pc, sizeof(u64), &ok);
        if (iseq && pc && ok) /* without pc, it is a function in C in the place of a block */
            return ruby_iseq_sound(m, &f->r, iseq) ? SOUND : UNSOUND;
    }
    return ok ? NOTHING : UNSOUND;
}

/* One thread is enough: all others may have changed their frames meanwhile. */
static int check_all(struct memory *m, const struct ruby_found *f, const struct threads *t)
{
    int rc = -EAGAIN;
    for (u32 i = 0; i < t->n; i++) {
        enum verdict v = check_thread(m, f, t->v[i].ec);
        if (v == SOUND)
            return 0;
        rc = v == UNSOUND ? -ENOTSUP : rc;
    }
    return rc;
}

/* ---- Places of contexts ----------------------------------------------------------------------------------------- */

/* What a place must hold, and how many threads hold it there; of equal ones, the first is taken. */
struct places {
    struct memory *m;
    const struct ruby_found *f;
    const struct threads *t;
    u64 bytes; /* of the module's thread-local variables */
    s64 best;
    u32 count;
};

static u64 wanted_of(const struct places *p, const struct thread *t)
{
    return p->f->lists.by_key ? t->at : t->ec;
}

/* Calls `use` with each TLS base that a thread may have. */
static bool each_base(const struct places *p, const struct thread *t, bool (*use)(void *arg, u64 tls, u64 wanted),
                      void *arg)
{
    bool ok = true;
    u16 native = p->f->lists.thread_native;
    u64 from = native ? memory_u(p->m, t->at + native, sizeof(u64), &ok) : t->at;
    for (u32 i = 0; ok && i < (native ? NATIVE_BYTES : THREAD_BYTES); i += 8) {
        u64 tls = memory_u(p->m, from + i, sizeof(u64), &ok);
        if (ok && thread_block_is(p->m, tls) && use(arg, tls, wanted_of(p, t)))
            return true;
    }
    return false;
}

struct one_place {
    const struct places *p;
    s64 offset;
};

static bool holds(void *arg, u64 tls, u64 wanted)
{
    const struct one_place *o = arg;
    bool ok = true;
    return memory_u(o->p->m, tls + (u64)o->offset, sizeof(u64), &ok) == wanted && ok;
}

static bool consider(void *arg, s64 offset)
{
    struct places *p = arg;
    struct one_place o = {p, offset};
    u32 count = 0;
    for (u32 i = 0; i < p->t->n; i++)
        count += each_base(p, &p->t->v[i], holds, &o);
    if (count > p->count) {
        p->count = count;
        p->best = offset;
    }
    return p->count == p->t->n;
}

static bool search_base(void *arg, u64 tls, u64 wanted)
{
    struct places *p = arg;
    return p->f->lists.by_key ? thread_block_keys(p->m, tls, wanted, consider, p)
                              : thread_block_variables(p->m, tls, p->bytes, wanted, consider, p);
}

static u64 tls_bytes(const struct module *mod)
{
    for (unsigned i = 0; i < mod->nphdrs; i++) {
        Elf64_Phdr h;
        memcpy(&h, mod->phdrs + i * sizeof(h), sizeof(h));
        if (h.p_type == PT_TLS)
            return h.p_memsz;
    }
    return 0;
}

/* ---- All of it -------------------------------------------------------------------------------------------------- */

static int find_places(struct memory *m, const struct module *mod, struct ruby_found *f, const struct threads *t)
{
    struct places p = {.m = m, .f = f, .t = t, .bytes = tls_bytes(mod)};
    for (u32 i = 0; i < t->n; i++)
        if (each_base(&p, &t->v[i], search_base, &p))
            break;
    f->r.machine.tls = p.best;
    f->r.machine.slot = f->lists.by_key ? f->lists.thread_ec + 1u : 0;
    return p.count ? 0 : -ENOTSUP;
}

int ruby_threads(struct memory *m, const struct module *mod, struct ruby_found *f)
{
    struct threads t;
    struct vm_search s = {.m = m, .f = f, .mod = mod};
    int rc = -ENOTSUP;
    if (!ruby_each_variable(m, mod, is_vm, &s))
        return -EAGAIN;
    for (unsigned i = 0; i < TRIES && rc == -ENOTSUP; i++) {
        if (i)
            memory_forget(m);
        list_threads(m, f, s.main, &t);
        rc = check_all(m, f, &t);
        rc = rc ? rc : find_places(m, mod, f, &t);
    }
    return rc;
}
