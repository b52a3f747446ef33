/* Parses untrusted JSON into a tree of values. Getters return NULL or false if the tree is not as expected, so that a
 * chain of look-ups needs one check at its end.
 *
 * The size and depth of the text are checked before the tree is built. Strings are UTF-8 without NUL. Trailing bytes
 * are an error. If an object has a key several times, the last one counts. The only user of jansson.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json; /* a value; only the root, created by json_parse, is owned */

#define JSON_MAX_DEPTH 64 /* nested arrays and objects; Kubernetes objects stay below 20 */

/* Takes random numbers for tables of keys, which the first object does otherwise: for who may not open files then. */
void json_prepare(void);
/* 0; -EMSGSIZE: more than `max` bytes; -ENOSPC: nested deeper than JSON_MAX_DEPTH; -EBADMSG: not JSON; -ENOMEM. */
int json_parse(struct json **out, const char *text, size_t len, size_t max);
void json_free(struct json **j);

/* Returns the member of an object; NULL if there is none, or if `j` is NULL or not an object. */
const struct json *json_get(const struct json *j, const char *key);
/* The same along a path of keys: json_at_path(j, "metadata.labels"). Keys that contain a dot need json_get. */
const struct json *json_at_path(const struct json *j, const char *path);

/* Return a string value, or a string member of an object; valid as long as the root. NULL if it is not a string. */
const char *json_text(const struct json *j);
const char *json_get_text(const struct json *j, const char *key);
/* Read an integer (no fraction, no exponent); false if it is anything else. */
bool json_int(const struct json *j, int64_t *out);
bool json_get_int(const struct json *j, const char *key, int64_t *out);
/* Returns a boolean member; `otherwise` if it is not a boolean. */
bool json_get_bool(const struct json *j, const char *key, bool otherwise);

/* Returns the number of items of an array or of members of an object; 0 for everything else. */
size_t json_count(const struct json *j);
/* Returns the i-th item of an array; NULL past its end. */
const struct json *json_item(const struct json *j, size_t i);
/* Calls `each` for every member of an object, in the order of the text, until it returns false. */
void json_members(const struct json *j, bool (*each)(void *ctx, const char *key, const struct json *value), void *ctx);
