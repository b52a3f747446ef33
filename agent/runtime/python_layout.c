/* Which version of CPython it is, and its offsets: from the table of the runtime, or by version. Those of 3.8 to 3.12
 * are what the debug information of builds for x86-64 says.
 */
#include "runtime/python_internal.h"
#include "runtime/sound.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- Versions without a table ----------------------------------------------------------------------------------- */

struct known {
    struct python_lists lists;
    struct xp_python machine;
    struct python_layout layout;
};

static const struct known FRAMES = {
    /* 3.8: frames are objects */
    .lists = {.interpreters = 32, .threads = 8, .state_next = 8, .state_interpreter = 16},
    .machine = {.shape = XP_PYTHON_EACH,
                .names = 3,
                .state_thread = 176,
                .state_frame = 24,
                .frame_code = 32,
                .frame_back = 24,
                .frame_position = 104,
                .code_names = 104,
                .code_flags = 36,
                .text = 16},
    .layout = {.str_ascii = 48, .code_first = 40, .code_bytes = 48, .lines = PYTHON_LINES_PAIRS, .unit = 1},
};
static const struct known CFRAMES = {
    /* 3.10 */
    .lists = {.interpreters = 32, .threads = 8, .state_next = 8, .state_interpreter = 16},
    .machine = {.shape = XP_PYTHON_CFRAME,
                .names = 3,
                .state_thread = 176,
                .state_frame = 24,
                .state_cframe = 48,
                .cframe_back = 8,
                .frame_code = 32,
                .frame_back = 24,
                .frame_position = 96,
                .code_names = 104,
                .code_flags = 36,
                .text = 16},
    .layout = {.str_ascii = 48, .code_first = 40, .code_bytes = 48, .lines = PYTHON_LINES_RANGES, .unit = 2},
};
static const struct known ENTRIES = {
    /* 3.11 */
    .lists = {.interpreters = 40, .threads = 16, .state_next = 8, .state_interpreter = 16},
    .machine = {.shape = XP_PYTHON_ENTRY,
                .names = 4,
                .state_thread = 152,
                .state_cframe = 56,
                .cframe_frame = 8,
                .cframe_back = 16,
                .frame_code = 32,
                .frame_back = 48,
                .frame_position = 56,
                .frame_owner = 68,
                .code_start = 184,
                .code_names = 112,
                .code_flags = 48,
                .text = 16},
    .layout = {.str_ascii = 48, .code_first = 72, .code_size = 16, .lines = PYTHON_LINES_LOCATIONS, .unit = 1},
};
static const struct known SHIMS = {
    /* 3.12 */
    .lists = {.interpreters = 40, .threads = 72, .state_next = 8, .state_interpreter = 16},
    .machine = {.shape = XP_PYTHON_SHIM,
                .shim = 3,
                .names = 4,
                .state_thread = 136,
                .state_cframe = 56,
                .cframe_back = 8,
                .frame_back = 8,
                .frame_position = 56,
                .frame_owner = 70,
                .code_start = 192,
                .code_names = 112,
                .code_flags = 48},
    .layout = {.str_ascii = 40, .code_first = 68, .code_size = 16, .lines = PYTHON_LINES_LOCATIONS, .unit = 1},
};

static int by_version(u32 minor, struct python_found *out)
{
    static const struct known *const known[] = {
        [8] = &FRAMES, [9] = &FRAMES, [10] = &CFRAMES, [11] = &ENTRIES, [12] = &SHIMS};
    if (minor < 8 || minor >= sizeof(known) / sizeof(*known))
        return -ENOTSUP;
    out->lists = known[minor]->lists;
    out->p.machine = known[minor]->machine;
    out->p.layout = known[minor]->layout;
    return 0;
}

/* ---- The table of offsets --------------------------------------------------------------------------------------- */

/* Its words. Each group begins with the size of its structure; what was added to groups moved all that follows. */
enum { WORD_VERSION = 1, WORD_FREE_THREADED = 2, WORD_INTERPRETERS = 5, WORD_INTERPRETER = 6, MAX_WORDS = 64 };
struct words {
    u8 state, frame, code, object; /* where these groups begin */
    u8 thread;                     /* PyThreadState.thread_id */
    bool copies;                   /* the group of code objects ends with co_tlbc */
    u8 tag_bits;
};
static const struct words WORDS_13 = {.state = 19, .thread = 24, .frame = 28, .code = 34, .object = 44};
static const struct words WORDS_14[] = {
    {.state = 22, .thread = 27, .frame = 31, .code = 39, .object = 50, .copies = true, .tag_bits = 2},
    /* What became 3.15 had these in the course of time; no such process was seen yet. */
    {.state = 22, .thread = 29, .frame = 38, .code = 46, .object = 57, .copies = true, .tag_bits = 2},
    {.state = 22, .thread = 30, .frame = 39, .code = 47, .object = 58, .copies = true, .tag_bits = 2}};

/* Objects have a longer header where there is no GIL (Include/object.h). */
static void fill_objects(u16 header, u16 ascii, struct python_layout *l)
{
    l->type = header - 8;
    l->bytes_size = l->str_length = header;
    l->bytes_data = l->str_state = header + 16;
    l->str_ascii = ascii;
    l->str_compact = ascii == 48 ? 72 : ascii + 16; /* up to 3.11 each had one more pointer (wstr) */
}

static void fill_by_words(const u64 *v, const struct words *w, struct python_found *out)
{
    const u64 *state = v + w->state, *frame = v + w->frame, *code = v + w->code;
    out->lists = (struct python_lists){.interpreters = (u16)v[WORD_INTERPRETERS],
                                       .interpreter_next = (u16)v[WORD_INTERPRETER + 2],
                                       .threads = (u16)v[WORD_INTERPRETER + 3],
                                       .state_next = (u16)state[2],
                                       .state_interpreter = (u16)state[3]};
    out->p.machine = (struct xp_python){.shape = XP_PYTHON_SHIM,
                                        .shim = 3,
                                        .names = 4,
                                        .tag_bits = w->tag_bits,
                                        .state_frame = (u16)state[4],
                                        .state_thread = (u16)v[w->thread],
                                        .frame_back = (u16)frame[1],
                                        .frame_code = (u16)frame[2],
                                        .frame_position = (u16)frame[3],
                                        .frame_owner = (u16)frame[5],
                                        .code_start = (u16)code[9],
                                        .code_names = (u16)code[1],
                                        .code_flags = code[6] == code[5] - 16 ? (u16)code[6] - 4 : 0};
    out->p.layout = (struct python_layout){.code_first = (u16)code[5],
                                           .code_size = (u16)v[w->object],
                                           .code_copies = w->copies ? (u16)code[10] : 0,
                                           .lines = PYTHON_LINES_LOCATIONS,
                                           .unit = 1,
                                           .free_threaded = v[WORD_FREE_THREADED] != 0,
                                           .by_offsets = 1};
}

/* Where objects are described, nothing else could be; and names are the first words of the group of code objects. */
static bool words_fit(const u64 *v, const struct words *w)
{
    const u64 *code = v + w->code, *object = v + w->object;
    for (unsigned i = w->state + 1; i < w->object; i++)
        if (v[i] > MAX_OFFSET)
            return false;
    return v[WORD_INTERPRETERS] <= MAX_OFFSET && v[WORD_INTERPRETER + 2] <= MAX_OFFSET &&
           v[WORD_INTERPRETER + 3] <= MAX_OFFSET && (object[0] == 16 || object[0] == 32) &&
           object[1] == object[0] - 8 && code[2] == code[1] + 8 && code[3] == code[1] + 16 && code[4] == code[1] + 24 &&
           v[w->state + 4] && code[9];
}

static const struct words *words_of(const u64 *v, u32 minor)
{
    if (minor == 13)
        return words_fit(v, &WORDS_13) ? &WORDS_13 : NULL;
    for (unsigned i = 0; i < sizeof(WORDS_14) / sizeof(*WORDS_14); i++)
        if (words_fit(v, &WORDS_14[i]))
            return &WORDS_14[i];
    return NULL;
}

static int by_words(struct memory *m, u32 minor, struct python_found *out)
{
    u64 v[MAX_WORDS];
    if (!memory_near(m, out->runtime, v, sizeof(v)) || memcmp(v, "xdebugpy", 8) != 0)
        return -ENOTSUP;
    const struct words *w = words_of(v, minor);
    if (!w)
        return -ENOTSUP;
    fill_by_words(v, w, out);
    fill_objects((u16)v[w->object], (u16)(v[w->object] + 24), &out->p.layout);
    return 0;
}

/* ---- The version ------------------------------------------------------------------------------------------------ */

/* PY_VERSION_HEX (Include/patchlevel.h). Before 3.11 only functions that were new in a version tell it. */
static u32 read_version(struct memory *m, const struct module *mod)
{
    bool ok = true;
    u64 at = module_symbol(m, mod, "Py_Version");
    if (at)
        return (u32)memory_u(m, at, sizeof(u32), &ok);
    u32 minor = module_symbol(m, mod, "PyIter_Send")                 ? 10
                : module_symbol(m, mod, "PyObject_CallNoArgs")       ? 9
                : module_symbol(m, mod, "PyCode_NewWithPosOnlyArgs") ? 8
                                                                     : 0;
    return 3u << 24 | minor << 16;
}

static void spell_version(u32 hex, char *out, size_t size)
{
    u32 major = hex >> 24, minor = hex >> 16 & 0xff, micro = hex >> 8 & 0xff, level = hex >> 4 & 0xf;
    const char *suffix = level == 0xa ? "a" : level == 0xb ? "b" : level == 0xc ? "rc" : "";
    if (!(hex & 0xffff))
        snprintf(out, size, "%u.%u", major, minor);
    else if (*suffix)
        snprintf(out, size, "%u.%u.%u%s%u", major, minor, micro, suffix, hex & 0xf);
    else
        snprintf(out, size, "%u.%u.%u", major, minor, micro);
}

int python_layout(struct memory *m, const struct module *mod, struct python_found *out)
{
    u32 hex = read_version(m, mod), minor = hex >> 16 & 0xff;
    int rc = hex >> 24 != 3 ? -ENOTSUP : minor >= 13 ? by_words(m, minor, out) : by_version(minor, out);
    if (rc)
        return rc;
    struct python_layout *l = &out->p.layout;
    if (!l->by_offsets)
        fill_objects(16, l->str_ascii, l);
    out->p.machine.str_length = l->str_length;
    out->p.machine.str_ascii = (u8)(l->str_ascii - l->str_length);
    l->code_type = module_symbol(m, mod, "PyCode_Type");
    l->str_type = module_symbol(m, mod, "PyUnicode_Type");
    l->bytes_type = module_symbol(m, mod, "PyBytes_Type");
    spell_version(hex, out->p.version, sizeof(out->p.version));
    return l->code_type && l->str_type && l->bytes_type ? 0 : -ENOTSUP;
}
