/* Frames of runtimes have mappings of their own in profiles, one for each language. */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <string.h>

#define JAVA_MAPPING   "[java]"
#define V8_MAPPING     "[javascript]"
#define PYTHON_MAPPING "[python]"
#define RUBY_MAPPING   "[ruby]"
#define PHP_MAPPING    "[php]"
#define PERL_MAPPING   "[perl]"
#define DOTNET_MAPPING "[dotnet]"
#define BEAM_MAPPING   "[erlang]"

/* The mapping of a frame, by the first of its two words. */
static inline const char *runtime_mapping(u64 word)
{
    static const char *const scripts[8] = {[XP_LANGUAGE_PYTHON] = PYTHON_MAPPING, [XP_LANGUAGE_RUBY] = RUBY_MAPPING,
                                           [XP_LANGUAGE_PHP] = PHP_MAPPING,       [XP_LANGUAGE_PERL] = PERL_MAPPING,
                                           [XP_LANGUAGE_DOTNET] = DOTNET_MAPPING, [XP_LANGUAGE_BEAM] = BEAM_MAPPING};
    if (XP_WORD_KIND(word) == XP_WORD_V8)
        return V8_MAPPING;
    const char *script = XP_WORD_KIND(word) == XP_WORD_SCRIPT ? scripts[XP_LANGUAGE(word)] : JAVA_MAPPING;
    return script ? script : "[script]";
}

static inline bool is_runtime_mapping(const char *name)
{
    static const char *const all[] = {JAVA_MAPPING, V8_MAPPING,   PYTHON_MAPPING, RUBY_MAPPING,
                                      PHP_MAPPING,  PERL_MAPPING, DOTNET_MAPPING, BEAM_MAPPING};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (!strcmp(name, all[i]))
            return true;
    return false;
}
