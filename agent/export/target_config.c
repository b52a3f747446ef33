#include "export/target_config.h"
#include "base/labels.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADERS = 32 };

static const size_t strings[] = {
    offsetof(struct export_target, name),      offsetof(struct export_target, url),
    offsetof(struct export_target, tenant),    offsetof(struct export_target, user),
    offsetof(struct export_target, path),      offsetof(struct export_target, password_file),
    offsetof(struct export_target, ca_file),   offsetof(struct export_target, bearer_file),
    offsetof(struct export_target, cert_file), offsetof(struct export_target, key_file),
    offsetof(struct export_target, proxy),     offsetof(struct export_target, no_proxy),
};
enum { NSTRINGS = sizeof(strings) / sizeof(*strings) };

static char **string_at(struct export_target *t, size_t i)
{
    return (char **)((char *)t + strings[i]);
}

static bool copy_string(char **out, const char *s)
{
    *out = s ? strdup(s) : NULL;
    return *out || !s;
}

/* As servers take it: they refuse a whole profile for one label. */
static bool copy_label(struct export_label *out, const struct export_label *label)
{
    char name[LABEL_NAME_MAX + 1], value[LABEL_VALUE_MAX + 1];
    label_clean_name(name, label->name);
    label_clean_value(value, sizeof(value), label->value);
    return copy_string((char **)&out->name, name) && copy_string((char **)&out->value, value);
}

static bool copy_lists(struct export_target *out, const struct export_target *t)
{
    const char **headers = calloc(t->nheaders + 1, sizeof(*headers));
    struct export_label *labels = calloc(t->nexternal + 1, sizeof(*labels));
    bool ok = headers && labels;
    out->headers = headers;
    out->external_labels = labels;
    for (size_t i = 0; ok && i < t->nheaders; i++, out->nheaders++)
        ok = copy_string((char **)&headers[i], t->headers[i]);
    for (size_t i = 0; ok && i < t->nexternal; i++, out->nexternal++)
        ok = copy_label(&labels[i], &t->external_labels[i]);
    return ok;
}

static bool is_name(const char *s)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return s && *s && *s != '.' && strlen(s) < sizeof(((struct export_stats *)0)->name) && !s[strspn(s, allowed)];
}

static const char *complaint(const struct export_target *t)
{
    return !is_name(t->name)                         ? "a name needs 1 to 63 letters, digits, '.', '_' or '-'"
           : t->nheaders > MAX_HEADERS               ? "more than 32 headers"
           : t->nexternal > EXPORT_MAX_LABELS        ? "more than 64 external labels"
           : t->parallel > EXPORT_MAX_PARALLEL       ? "more than 16 parallel calls"
           : t->user && !t->password_file            ? "a user needs a password file"
           : t->bearer_file && t->user               ? "a user name and a bearer token exclude each other"
           : !t->cert_file != !t->key_file           ? "a client certificate needs its key"
           : t->kind == EXPORT_DIRECTORY && !t->path ? "a directory needs a path"
                                                     : NULL;
}

int target_config_copy(struct export_target *out, const struct export_target *t, char *why, size_t size)
{
    const char *wrong = complaint(t);
    *out = *t;
    out->headers = NULL;
    out->external_labels = NULL;
    out->nheaders = out->nexternal = 0;
    for (size_t i = 0; i < NSTRINGS; i++)
        *string_at(out, i) = NULL;
    if (wrong) {
        snprintf(why, size, "target %.64s: %s", t->name ? t->name : "", wrong);
        return -EINVAL;
    }
    bool ok = copy_lists(out, t);
    for (size_t i = 0; ok && i < NSTRINGS; i++)
        ok = copy_string(string_at(out, i), *string_at((struct export_target *)(uintptr_t)t, i));
    return ok ? 0 : -ENOMEM;
}

void target_config_free(struct export_target *t)
{
    for (size_t i = 0; i < NSTRINGS; i++)
        free(*string_at(t, i));
    for (size_t i = 0; i < t->nheaders; i++)
        free((char *)(uintptr_t)t->headers[i]);
    for (size_t i = 0; t->external_labels && i <= t->nexternal; i++) { /* one more: it may be half copied */
        free((char *)(uintptr_t)t->external_labels[i].name);
        free((char *)(uintptr_t)t->external_labels[i].value);
        if (i == t->nexternal)
            break;
    }
    free((void *)(uintptr_t)t->headers);
    free((void *)(uintptr_t)t->external_labels);
    *t = (struct export_target){0};
}
