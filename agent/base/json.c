#include "base/json.h"
#include "base/cleanup.h"
#include <errno.h>
#include <jansson.h>
#include <string.h>

static const json_t *in(const struct json *j)
{
    return (const json_t *)j;
}
static const struct json *out_of(const json_t *j)
{
    return (const struct json *)j;
}

/* jansson allows 2,048 levels and recurses through them when it frees: ours are counted first. Quotes and backslashes
 * are all that must be understood for that. */
static bool too_deep(const char *text, size_t len)
{
    unsigned depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '[') && ++depth > JSON_MAX_DEPTH)
            return true;
        else if (!quoted && (c == '}' || c == ']') && depth)
            depth--;
    }
    return false;
}

void json_prepare(void)
{
    json_object_seed(0);
}

int json_parse(struct json **out, const char *text, size_t len, size_t max)
{
    json_error_t error;
    if (len > max)
        return -EMSGSIZE;
    if (too_deep(text, len))
        return -ENOSPC;
    json_t *j = json_loadb(text, len, JSON_DECODE_ANY, &error);
    if (!j)
        return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
    *out = (struct json *)j;
    return 0;
}

void json_free(struct json **j)
{
    json_decref((json_t *)TAKE_PTR(*j));
}

const struct json *json_get(const struct json *j, const char *key)
{
    return out_of(json_object_get(in(j), key));
}

const struct json *json_at_path(const struct json *j, const char *path)
{
    while (j && *path) {
        size_t n = strcspn(path, ".");
        j = out_of(json_object_getn(in(j), path, n));
        path += n + (path[n] == '.');
    }
    return j;
}

const char *json_text(const struct json *j)
{
    return json_string_value(in(j));
}

const char *json_get_text(const struct json *j, const char *key)
{
    return json_text(json_get(j, key));
}

bool json_int(const struct json *j, int64_t *out)
{
    if (!json_is_integer(in(j)))
        return false;
    *out = json_integer_value(in(j));
    return true;
}

bool json_get_int(const struct json *j, const char *key, int64_t *out)
{
    return json_int(json_get(j, key), out);
}

bool json_get_bool(const struct json *j, const char *key, bool otherwise)
{
    const json_t *v = in(json_get(j, key));
    return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

size_t json_count(const struct json *j)
{
    return json_is_array(in(j)) ? json_array_size(in(j)) : json_object_size(in(j));
}

const struct json *json_item(const struct json *j, size_t i)
{
    return out_of(json_array_get(in(j), i));
}

void json_members(const struct json *j, bool (*each)(void *ctx, const char *key, const struct json *value), void *ctx)
{
    json_t *object = (json_t *)j;
    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i))
        if (!each(ctx, json_object_iter_key(i), out_of(json_object_iter_value(i))))
            return;
}
