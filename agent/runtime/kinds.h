/* Kinds of code of a runtime: what names_frame.start (dwarf/names.h) says in replies of runtime_names. */
#pragma once
#include <stddef.h>

enum runtime_kind {
    RUNTIME_INTERPRETED = 1,
    RUNTIME_C1,        /* compiled quickly */
    RUNTIME_C2,        /* compiled well */
    RUNTIME_INLINED,   /* into the next frame */
    RUNTIME_NATIVE,    /* a function of the language that is implemented in another one */
    RUNTIME_STUB,      /* code of the runtime itself */
    RUNTIME_GONE,      /* whatever it was, it is something else by now */
    RUNTIME_BASELINE,  /* compiled bytecode by bytecode */
    RUNTIME_OPTIMISED, /* compiled well, by other runtimes than Java's */
    RUNTIME_COMPILED,  /* somehow */
    RUNTIME_KINDS,
};

/* For output, by kind; NULL: there is no such kind. */
static inline const char *runtime_kind_slug(size_t kind)
{
    static const char *const slugs[RUNTIME_KINDS] = {[RUNTIME_INTERPRETED] = "interpreted",
                                                     [RUNTIME_C1] = "c1",
                                                     [RUNTIME_C2] = "c2",
                                                     [RUNTIME_INLINED] = "inlined",
                                                     [RUNTIME_NATIVE] = "native",
                                                     [RUNTIME_STUB] = "stub",
                                                     [RUNTIME_BASELINE] = "baseline",
                                                     [RUNTIME_OPTIMISED] = "optimised",
                                                     [RUNTIME_COMPILED] = "compiled",
                                                     [RUNTIME_GONE] = "gone"};
    return kind < RUNTIME_KINDS ? slugs[kind] : NULL;
}
