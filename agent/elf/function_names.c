#include "elf/function_names.h"
#include <ctype.h>
#include <string.h>

/* ---- Patterns ---------------------------------------------------------------------------------------------------- */

#define INSTANCE "[...]"

static bool is_receiver(const char *pattern, const char *at)
{
    return at > pattern && at[-1] == '(' && (isalpha((unsigned char)at[1]) || at[1] == '_') && strstr(at, ").");
}

/* How many characters of a pattern at `at` stand for any text; 0: it is a character. */
static size_t any_at(const char *pattern, const char *at)
{
    if (*at == '*')
        return !is_receiver(pattern, at);
    return at > pattern && at[-1] == '[' && !strncmp(at - 1, INSTANCE, sizeof(INSTANCE) - 1) ? sizeof("...") - 1 : 0;
}

/* Goes back to the last * only: what an earlier one stands for need not change. */
bool function_name_fits(const char *pattern, const char *name)
{
    const char *at = pattern, *behind_any = NULL, *again = NULL;
    while (*name || *at) {
        size_t any = any_at(pattern, at);
        if (any) {
            behind_any = at += any;
            again = name;
        } else if (*name && (*at == *name || *at == '?')) {
            at++;
            name++;
        } else if (behind_any && *again) {
            at = behind_any;
            name = ++again;
        } else {
            return false;
        }
    }
    return true;
}

/* ---- Return addresses -------------------------------------------------------------------------------------------- */

/* Without underscores before them. The first ones return twice (special_function_p in gcc/calls.cc); contexts and
 * signal handlers begin and end without a call; unwinders start from their own return address. */
static const char *const KEEP_RETURN[] = {
    "setjmp",        "sigsetjmp",  "savectx",   "vfork",       "getcontext", "swapcontext",
    "start_context", "restore_rt", "cxa_throw", "cxa_rethrow", "morestack",
};
static const char *const KEEP_RETURN_ALL[] = {"dl_start_user", "dl_runtime_resolve", "dl_runtime_profile", "Unwind_"};

#define GLIBC_INTERNAL "GI_" /* of names for its own calls: __GI___sigsetjmp */

bool function_keeps_return(const char *name)
{
    name += strspn(name, "_");
    if (!strncmp(name, GLIBC_INTERNAL, sizeof(GLIBC_INTERNAL) - 1)) {
        name += sizeof(GLIBC_INTERNAL) - 1;
        name += strspn(name, "_");
    }
    for (size_t i = 0; i < sizeof(KEEP_RETURN) / sizeof(*KEEP_RETURN); i++)
        if (!strcmp(name, KEEP_RETURN[i]))
            return true;
    for (size_t i = 0; i < sizeof(KEEP_RETURN_ALL) / sizeof(*KEEP_RETURN_ALL); i++)
        if (!strncmp(name, KEEP_RETURN_ALL[i], strlen(KEEP_RETURN_ALL[i])))
            return true;
    return false;
}
