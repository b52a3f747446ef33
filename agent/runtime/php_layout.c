/* Which version of PHP it is, and its offsets, which are what compilers say of the headers of each version for x86-64.
 * Modules have the same form in all of them (zend_module_entry, Zend/zend_modules.h), and say which interface they were
 * built for.
 */
#include "runtime/php_internal.h"
#include "runtime/sound.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_MODULES 512
#define MAX_NAME    32
#define CORE        "core"     /* the engine's own module is the first one */
#define STANDARD    "standard" /* has the version of PHP */

enum { MODULE_BYTES = 168, MODULE_API = 4, MODULE_DEBUG = 8, MODULE_THREADS = 9, MODULE_VERSION = 88 };

/* ---- Versions --------------------------------------------------------------------------------------------------- */

struct version {
    u32 api;        /* ZEND_MODULE_API_NO (Zend/zend_modules.h) */
    u16 functions;  /* executor_globals.function_table; the current frame is 56 bytes behind it in all of them */
    u16 count, ops; /* op_array.last, opcodes */
    u16 file;       /* op_array.filename; its lines follow */
    u16 module;     /* zend_internal_function.module */
    u16 generator;  /* zend_generator.execute_data; 0: not known */
};
#define CURRENT  56
#define CHILDREN 104 /* from zend_generator.execute_data to node.children */
#define CHILD    112 /* to node.child.single */
#define CHILD_7  120 /* to node.child.single.child */

static const struct version VERSIONS[] = {
    {.api = 20190902, .functions = 432, .count = 60, .ops = 64, .file = 136, .module = 56, .generator = 64},  /* 7.4 */
    {.api = 20200930, .functions = 432, .count = 68, .ops = 72, .file = 144, .module = 64},                   /* 8.0 */
    {.api = 20210902, .functions = 432, .count = 68, .ops = 72, .file = 144, .module = 64, .generator = 56},  /* 8.1 */
    {.api = 20220829, .functions = 432, .count = 80, .ops = 88, .file = 152, .module = 80, .generator = 56},  /* 8.2 */
    {.api = 20230831, .functions = 432, .count = 76, .ops = 80, .file = 144, .module = 80, .generator = 56},  /* 8.3 */
    {.api = 20240924, .functions = 432, .count = 96, .ops = 104, .file = 168, .module = 96, .generator = 56}, /* 8.4 */
    {.api = 20250925, .functions = 456, .count = 96, .ops = 104, .file = 168, .module = 96, .generator = 56}, /* 8.5 */
};

static void fill(const struct version *v, struct php_found *out)
{
    out->functions = v->functions;
    out->module = v->module;
    out->p.machine = (struct xp_script){.language = XP_LANGUAGE_PHP,
                                        .php = {.frame = v->functions + CURRENT,
                                                .call_func = 24,
                                                .call_info = 40,
                                                .call_prev = 48,
                                                .op_line = 24,
                                                .op_bytes = 32,
                                                .function_words = 8,
                                                .function_file = v->file,
                                                .function_ops = v->ops,
                                                .function_nops = v->count,
                                                .call_result = 16}};
    if (!v->generator)
        return;
    out->p.machine.php.generator_call = v->generator;
    out->p.machine.php.generator_children = v->generator + CHILDREN;
    out->p.machine.php.generator_child = v->generator + (v->api < 20200930 ? CHILD_7 : CHILD);
}

/* ---- Modules ---------------------------------------------------------------------------------------------------- */

static u64 module_at(struct memory *m, u64 data, u32 i, char *name)
{
    bool ok = true;
    u64 bucket = data + (u64)i * PHP_BUCKET_BYTES, at = memory_u(m, bucket, sizeof(u64), &ok);
    u64 key = memory_u(m, bucket + PHP_BUCKET_KEY, sizeof(u64), &ok);
    bool sound = ok && at && at < MAX_ADDRESS && key && key < MAX_ADDRESS - XP_PHP_TEXT;
    return sound && memory_text(m, key + XP_PHP_TEXT, name, MAX_NAME) ? at : 0;
}

/* Longer versions are shortened: distributions add their own to them. */
static void read_version(struct memory *m, u64 module, char *out, size_t size)
{
    char text[128];
    bool ok = true;
    u64 at = memory_u(m, module + MODULE_VERSION, sizeof(u64), &ok);
    if (ok && memory_text(m, at, text, sizeof(text)) && version_sound(text, sizeof(text)))
        snprintf(out, size, "%.*s", (int)size - 1, text);
}

static int list_modules(struct memory *m, u64 registry, struct php_found *out)
{
    bool ok = true;
    char name[MAX_NAME];
    u64 data = memory_u(m, registry + PHP_TABLE_DATA, sizeof(u64), &ok);
    u32 n = (u32)memory_u(m, registry + PHP_TABLE_USED, sizeof(u32), &ok);
    u64 core = ok && n && data < MAX_ADDRESS ? module_at(m, data, 0, name) : 0;
    if (!core || strcmp(name, CORE) != 0)
        return ok && !n ? -EAGAIN : -ENOTSUP;
    out->core = core;
    out->modules = n;
    for (u32 i = 1; i < n && i < MAX_MODULES; i++) {
        u64 at = module_at(m, data, i, name);
        if (!at || strcmp(name, STANDARD) != 0)
            continue;
        read_version(m, at, out->p.version, sizeof(out->p.version));
        return 0;
    }
    return -EAGAIN;
}

int php_layout(struct memory *m, u64 registry, struct php_found *out)
{
    struct php_found f = {0};
    u8 module[MODULE_BYTES];
    u32 api;
    int rc = list_modules(m, registry, &f);
    if (rc)
        return rc;
    if (!memory_near(m, f.core, module, sizeof(module)))
        return -ENOTSUP;
    memcpy(&api, module + MODULE_API, sizeof(api));
    for (size_t i = 0; i < sizeof(VERSIONS) / sizeof(*VERSIONS); i++)
        if (VERSIONS[i].api == api) {
            fill(&VERSIONS[i], &f);
            f.p.debug = module[MODULE_DEBUG] != 0;
            f.p.threads = module[MODULE_THREADS] != 0;
            *out = f;
            return 0;
        }
    return -ENOTSUP;
}
