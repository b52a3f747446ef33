#include "cache/kernel_asked.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "probe/address.h"
#include <errno.h>
#include <string.h>

#define MAX_TEXT    1024
#define MAX_RECENT  4096       /* addresses, which are forgotten together */
#define MAX_SYMBOLS (1u << 20) /* ever seen: more than a kernel has; programs that come and go have their own */

struct symbol {
    u64 start;
    const char *module;
    char name[]; /* owned, with the module's behind it */
};

struct kernel_asked {
    struct kernel_oracle oracle;
    VEC(struct symbol *) symbols;
    struct map by_name;    /* hash of symbol -> number + 1 */
    struct map by_address; /* of the kernel itself: -> number + 1 */
};

int kernel_asked_new(struct kernel_asked **out, const struct kernel_oracle *oracle)
{
    struct kernel_asked *k = calloc(1, sizeof(*k));
    if (!k)
        return -ENOMEM;
    k->oracle = *oracle;
    *out = k;
    return 0;
}

static int ask_kernel(void *ctx, u64 address, char *text, size_t len)
{
    return address_namer_find(ctx, address, text, len);
}

static void free_kernel(void *ctx)
{
    struct address_namer *a = ctx;
    address_namer_free(&a);
}

int kernel_asked_open(struct kernel_asked **out)
{
    CLEANUP(address_namer_free) struct address_namer *a = NULL;
    int rc = address_namer_new(&a);
    if (!rc)
        rc = kernel_asked_new(out, &(struct kernel_oracle){a, ask_kernel, free_kernel});
    if (!rc)
        TAKE_PTR(a);
    return rc;
}

void kernel_asked_free(struct kernel_asked **kk)
{
    struct kernel_asked *k = *kk;
    if (!k)
        return;
    if (k->oracle.free)
        k->oracle.free(k->oracle.ctx);
    for (size_t i = 0; i < k->symbols.n; i++)
        free(k->symbols.v[i]);
    vec_free(&k->symbols);
    map_free(&k->by_name);
    map_free(&k->by_address);
    free(TAKE_PTR(*kk));
}

/* The kernel does not say whose code in no module is (bpf_address_lookup, ftrace_mod_address_lookup); these are the
 * names that it gives there, and what /proc/kallsyms says of them. */
static const char *maker_of(const char *name)
{
    static const char *const makers[][2] = {{"bpf_prog_", "bpf"},
                                            {"bpf_trampoline_", "bpf"},
                                            {"bpf_dispatcher_", "bpf"},
                                            {"ftrace_trampoline", "__builtin__ftrace"},
                                            {"kprobe_insn_page", "__builtin__kprobes"},
                                            {"kprobe_optinsn_page", "__builtin__kprobes"}};
    for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++)
        if (!strncmp(name, makers[i][0], strlen(makers[i][0])))
            return makers[i][1];
    return "";
}

/* "NAME+0xOFFSET/0xSIZE [MODULE]" */
static bool split(char *text, u64 address, const char **name, const char **module, u64 *start)
{
    char *plus = strrchr(text, '+'), *end, *bracket = plus ? strchr(plus, '[') : NULL;
    if (!plus || plus == text)
        return false;
    u64 offset = strtoull(plus + 1, &end, 16);
    if (end == plus + 1 || *end != '/' || offset > address)
        return false;
    *plus = 0;
    *name = text;
    *module = bracket ? strtok_r(bracket, "[] \n", &end) : maker_of(text);
    *start = address - offset;
    return *module != NULL;
}

static struct symbol *symbol_new(const char *name, const char *module, u64 start)
{
    size_t nname = strlen(name) + 1, nmodule = strlen(module) + 1;
    struct symbol *s = malloc(sizeof(*s) + nname + nmodule);
    if (!s)
        return NULL;
    memcpy(s->name, name, nname);
    s->module = memcpy(s->name + nname, module, nmodule);
    s->start = start;
    return s;
}

static bool is_same(const struct symbol *s, const char *name, const char *module, u64 start)
{
    return s->start == start && !strcmp(s->name, name) && !strcmp(s->module, module);
}

/* The number + 1 of the symbol, which is kept once; 0: no memory, or too many. */
static u64 intern(struct kernel_asked *k, const char *name, const char *module, u64 start)
{
    u64 key = hash_bytes(module, strlen(module), hash_bytes(name, strlen(name), start)), *number;
    for (; (number = map_put(&k->by_name, key)) && *number; key++)
        if (is_same(k->symbols.v[*number - 1], name, module, start))
            return *number;
    struct symbol *s = number && k->symbols.n < MAX_SYMBOLS ? symbol_new(name, module, start) : NULL;
    struct symbol **place = s ? VEC_PUSH(&k->symbols) : NULL;
    if (!place) {
        free(s);
        if (number)
            map_remove(&k->by_name, key);
        return 0;
    }
    *place = s;
    return *number = k->symbols.n;
}

static u64 ask(struct kernel_asked *k, u64 address)
{
    char text[MAX_TEXT];
    const char *name, *module;
    u64 start, *kept;
    if (k->oracle.ask(k->oracle.ctx, address, text, sizeof(text)) || !split(text, address, &name, &module, &start))
        return 0;
    u64 number = intern(k, name, module, start);
    /* A module may go, and another one come to lie there: it is asked for again. */
    if (number && !*module) {
        if (k->by_address.n >= MAX_RECENT)
            map_free(&k->by_address);
        kept = map_put(&k->by_address, address);
        if (kept)
            *kept = number;
    }
    return number;
}

bool kernel_asked_find(struct kernel_asked *k, u64 address, struct kallsym *out)
{
    const u64 *kept = map_get(&k->by_address, address);
    u64 number = kept ? *kept : ask(k, address);
    if (!number)
        return false;
    const struct symbol *s = k->symbols.v[number - 1];
    *out = (struct kallsym){.name = s->name, .module = s->module, .start = s->start};
    return true;
}
