/* The description that the runtime exports for debuggers (docs/design/datacontracts/datacontracts_design.md): a
 * header, and JSON: types -> name -> field -> offset, or [offset, type]; "!" is the size of a type.
 */
#include "base/cleanup.h"
#include "base/json.h"
#include "runtime/dotnet_internal.h"
#include "runtime/sound.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOL   "DotNetRuntimeContractDescriptor"
#define MAGIC    0x0043414443434e44ull /* "DNCCDAC" */
#define MAX_JSON ((u32)1 << 17)

struct descriptor {
    u64 magic;
    u32 flags, bytes;
    u64 text;
};

struct field {
    const char *type, *name;
    size_t at;     /* in struct dotnet_layout: 16 bits */
    int otherwise; /* NEEDED: it must be there */
};
#define NEEDED    (-1)
#define AT(field) offsetof(struct dotnet_layout, field)

static const struct field FIELDS[] = {
    /* 9 does not describe it */
    {"RealCodeHeader", "MethodDesc", AT(code_method), 24},
    {"RealCodeHeader", "NumUnwindInfos", AT(code_parts), 32},
    {"RealCodeHeader", "UnwindInfos", AT(code_part), 36},
    {"MethodDesc", "ChunkIndex", AT(method_index), NEEDED},
    {"MethodDesc", "Flags", AT(method_flags), NEEDED},
    {"MethodDesc", "Flags3AndTokenRemainder", AT(method_token), NEEDED},
    {"DynamicMethodDesc", "MethodName", AT(method_name), NEEDED},
    {"MethodDescChunk", "!", AT(chunk_bytes), NEEDED},
    {"MethodDescChunk", "MethodTable", AT(chunk_table), NEEDED},
    {"MethodDescChunk", "FlagsAndTokenRange", AT(chunk_token), NEEDED},
    {"MethodTable", "MTFlags2", AT(table_token), NEEDED},
    {"MethodTable", "EEClassOrCanonMT", AT(table_class), NEEDED},
    {"MethodTable", "Module", AT(table_module), NEEDED},
    {"EEClass", "MethodTable", AT(class_table), NEEDED},
    {"Module", "Base", AT(module_base), NEEDED},
};

static void put(struct dotnet_layout *l, size_t at, u16 v)
{
    memcpy((char *)l + at, &v, sizeof(v));
}

/* A number, or the first item of a list. */
static bool number_of(const struct json *object, const char *key, s64 *out)
{
    const struct json *field = json_get(object, key);
    int64_t v = 0;
    bool ok = json_int(field, &v) || json_int(json_item(field, 0), &v);
    *out = v;
    return ok;
}

/* The same of a text like "0xc". */
static bool global_of(const struct json *globals, const char *key, s64 *out)
{
    const struct json *v = json_get(globals, key);
    const char *text = json_text(v) ? json_text(v) : json_text(json_item(v, 0));
    *out = text ? (s64)strtoll(text, NULL, 0) : 0;
    return text;
}

static int read_json(const struct json *root, struct dotnet_layout *out)
{
    const struct json *types = json_get(root, "types"), *globals = json_get(root, "globals");
    s64 v;
    for (size_t i = 0; i < sizeof(FIELDS) / sizeof(*FIELDS); i++) {
        const struct field *f = &FIELDS[i];
        if (!number_of(json_get(types, f->type), f->name, &v))
            v = f->otherwise;
        if (v < 0 || v > MAX_OFFSET)
            return -ENOTSUP;
        put(out, f->at, (u16)v);
    }
    if (!global_of(globals, "MethodDescTokenRemainderBitCount", &v) || v < 0 || v > 24)
        return -ENOTSUP;
    out->token_bits = (u16)v;
    if (!global_of(globals, "MethodDescAlignment", &v) || v < 0 || v > MAX_OFFSET)
        return -ENOTSUP;
    out->method_unit = (u16)v;
    return 0;
}

int dotnet_layout(struct memory *m, const struct module *mod, struct dotnet_layout *out)
{
    struct descriptor d;
    u64 at = module_symbol(m, mod, SYMBOL);
    if (!at)
        return -ENODATA;
    if (!memory_near(m, at, &d, sizeof(d)) || d.magic != MAGIC || !d.bytes || d.bytes > MAX_JSON)
        return -ENOTSUP;
    AUTO_FREE char *text = malloc(d.bytes);
    if (!text)
        return -ENOMEM;
    if (!memory_read(m, d.text, text, d.bytes))
        return -ENOTSUP;
    CLEANUP(json_free) struct json *root = NULL;
    int rc = json_parse(&root, text, d.bytes, MAX_JSON);
    *out = (struct dotnet_layout){0};
    return rc == -ENOMEM ? rc : rc ? -ENOTSUP : read_json(root, out);
}
