/* Parses untrusted JSON into a tree of values. Getters return NULL or false if the tree is not as expected, so that a
 * chain of look-ups needs one check at its end.
 *
 * The text is bounded in bytes and depth before anything is built from it; strings are UTF-8 without NUL; trailing
 * bytes are an error; of equal keys in one object the last one counts. The only user of jansson.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json; /* a value; only the root, which json_parse made, is owned */

#define JSON_MAX_DEPTH 64 /* arrays and objects in each other; Kubernetes objects stay below 20 */

/* 0; -EMSGSIZE: more than `max` bytes; -ENOSPC: nested deeper than JSON_MAX_DEPTH; -EBADMSG: not JSON; -ENOMEM. */
int json_parse(struct json **out, const char *text, size_t len, size_t max);
void json_free(struct json **j);

/* The member of an object; NULL when there is none, or `j` is no object or NULL. */
const struct json *json_get(const struct json *j, const char *key);
/* The same along a path of keys: json_at_path(j, "metadata.labels"). Keys with a dot in them need json_get. */
const struct json *json_at_path(const struct json *j, const char *path);

/* A string itself, and a string member; valid as long as the root. NULL when it is anything else. */
const char *json_text(const struct json *j);
const char *json_get_text(const struct json *j, const char *key);
/* An integer (no fraction, no exponent); false when it is anything else. */
bool json_get_int(const struct json *j, const char *key, int64_t *out);
/* true or false; `otherwise` when it is neither. */
bool json_get_bool(const struct json *j, const char *key, bool otherwise);

/* Items of an array or members of an object; 0 for everything else. */
size_t json_count(const struct json *j);
/* The item of an array, NULL beyond its end. */
const struct json *json_item(const struct json *j, size_t i);
/* Calls `each` for every member of an object, in the order of the text, until it returns false. */
void json_members(const struct json *j, bool (*each)(void *ctx, const char *key, const struct json *value), void *ctx);
