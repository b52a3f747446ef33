/* Reads interpreters that run, of all versions that are installed, and compares with what they say themselves. */
#include "base/test.h"
#include "runtime/living_test.h"
#include "runtime/python_internal.h"
#include <glob.h>

/* Three threads wait below functions of all kinds, among them some that C calls. Each line of what is printed is a
 * thread: its ID, and its frames. */
static const char SCRIPT[] =
    "import sys, threading\n"
    "said = []\n"
    "def frames(f):\n"
    "    s = '%d ' % threading.get_ident()\n"
    "    while f:\n"
    "        c = f.f_code\n"
    "        s += '%s|%s|%d;' % (getattr(c, 'co_qualname', c.co_name), c.co_filename, f.f_lineno)\n"
    "        f = f.f_back\n"
    "    return s\n"
    "def tell(wait):\n"
    "    if wait == sys.stdin.readline:\n"
    "        sys.stdout.buffer.write(('\\n'.join(said) + '\\n\\n').encode())\n"
    "        sys.stdout.flush()\n"
    "def stop(wait):\n"
    "    said.append(frames(sys._getframe())); tell(wait); wait()\n"
    "class Class:\n"
    "    def method(self, wait):\n"
    "        return sorted([1], key=lambda x: max(\n"
    "            1,\n"
    "            2 if stop(wait) else\n"
    "            3))\n"
    "    def \u6f22(self, wait):\n"
    "        [self.method(w) for w in [wait]]\n"
    "def generator(wait):\n"
    "    yield Class().\u6f22(wait)\n"
    "def outer(wait):\n"
    "    def inner():\n"
    "        for x in generator(wait):\n"
    "            pass\n"
    "    try:\n"
    "        inner()\n"
    "    finally:\n"
    "        pass\n"
    "exec(compile('def far(wait):\\n'\n"
    "             '  x = [\\n' + '    1,\\n' * 700 + '    outer(wait)]\\n', 'd\u00e9f.py', 'exec'))\n"
    "exec(compile('def back(wait):\\n'\n"
    "             '  far(\\n' + '\\n' * 300 + '    wait=wait)\\n', 'back.py', 'exec'))\n"
    "lock = threading.Lock()\n"
    "lock.acquire()\n"
    "for f in (far, stop):\n"
    "    threading.Thread(target=f, args=(lock.acquire,), daemon=True).start()\n"
    "while len(said) < 2:\n"
    "    pass\n"
    "back(sys.stdin.readline)\n";

/* ---- The walk, as the unwinder does it */

struct walk {
    struct living *c;
    struct python p;
    u64 tls; /* of the thread */
    u32 calls;
};

static void add_frame(struct walk *w, u64 frame)
{
    const struct xp_python *x = &w->p.machine;
    u64 code = living_word(w->c, frame + x->frame_code) & ~((1ull << x->tag_bits) - 1), names[XP_PYTHON_NAMES] = {0};
    u64 mark = living_word(w->c, code + x->code_names - 24) >> 32;
    u64 position = living_word(w->c, frame + x->frame_position);
    for (u32 i = 0; i < x->names; i++)
        names[i] = living_word(w->c, code + x->code_names + 8 * i);
    if (x->text) {
        u64 text = names[0] + x->text,
            head[3] = {living_word(w->c, text), living_word(w->c, text + 8), living_word(w->c, text + 16)};
        u64 at = text + XP_PYTHON_TAIL(head), tail[2] = {living_word(w->c, at), living_word(w->c, at + 8)};
        mark = XP_PYTHON_MARK(tail);
    }
    living_add(w->c, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code),
               XP_MORE_WORD(XP_PYTHON_COOKIE(names, mark), x->code_start ? position - code - x->code_start : position));
}

static u64 state_of(const struct walk *w)
{
    const struct xp_python *x = &w->p.machine;
    u64 at = living_word(w->c, w->tls + (u64)x->tls);
    return x->slot ? living_word(w->c, at + x->slot - 1) : at;
}

/* Also counts the calls of the interpreter, as far as frames tell them. */
static void walk_thread(void *arg)
{
    struct walk *w = arg;
    const struct xp_python *x = &w->p.machine;
    u64 state = state_of(w);
    u64 frame = x->state_frame ? living_word(w->c, state + x->state_frame)
                               : living_word(w->c, living_word(w->c, state + x->state_cframe) + x->cframe_frame);
    w->calls = 0;
    for (; frame && w->c->n < LIVING_WORDS; frame = living_word(w->c, frame + x->frame_back)) {
        u8 owner = (u8)living_word(w->c, frame + x->frame_owner);
        bool shim = x->shape == XP_PYTHON_SHIM && owner >= x->shim;
        w->calls += x->shape == XP_PYTHON_ENTRY ? owner != 0 : x->shape != XP_PYTHON_SHIM || shim;
        if (!shim)
            add_frame(w, frame);
    }
}

/* Calls that have an object on the stack; one more does not belong to a call. */
static u32 count_cframes(const struct walk *w)
{
    const struct xp_python *x = &w->p.machine;
    u32 n = 0;
    u64 at = living_word(w->c, state_of(w) + x->state_cframe);
    for (; at && n < 100; at = living_word(w->c, at + x->cframe_back))
        n++;
    return n;
}

static bool begin(struct living *c, struct walk *w, const char *path, const char *script)
{
    const char *const argv[] = {path, "-I", "-S", "-c", script, NULL};
    *w = (struct walk){.c = c};
    return living_begin(c, argv) && living_attach(c, &runtime_python, &w->p, sizeof(w->p));
}

static void compare(struct walk *w, const char *line, const char *path)
{
    char *rest;
    w->tls = strtoull(line, &rest, 10);
    CHECK(living_agree(w->c, rest + 1, walk_thread, w));
    if (strcmp(w->c->got, rest + 1) != 0)
        fprintf(stderr, "%s\n", path);
    CHECK_STR(w->c->got, rest + 1);
    if (w->p.machine.state_cframe && w->p.machine.shape != XP_PYTHON_CFRAME) /* 3.10: the last one leads anywhere */
        CHECK_EQ(count_cframes(w), w->calls + 1);
    else if (w->p.machine.state_cframe)
        CHECK(count_cframes(w) > w->calls);
}

static void check_waiting(const char *path)
{
    struct living c;
    struct walk w;
    bool found = begin(&c, &w, path, SCRIPT);
    for (char *line = found ? strtok(c.said, "\n") : NULL; line; line = strtok(NULL, "\n"))
        compare(&w, line, path);
    living_end(&c);
    CHECK(found);
}

/* A function that calls nothing, with a line for each of its instructions, from 3 to 6. */
static const char RUNNING[] =
    "import sys, threading\n"
    "def run(x, y, z):\n"
    "    while True:\n"
    "        x = y\n"
    "        z = x\n"
    "        y = z\n"
    "sys.stdout.write('%d \\n\\n' % threading.get_ident())\n"
    "sys.stdout.flush()\n"
    "run(1, 2, 3)\n";

static void check_running(const char *path)
{
    struct living c;
    struct walk w;
    bool found = begin(&c, &w, path, RUNNING);
    unsigned seen = 0;
    w.tls = found ? strtoull(c.said, NULL, 10) : 0;
    usleep(20000);
    for (unsigned i = 0; i < 100 && found; i++) {
        u32 line = 0;
        found = living_look(&c, walk_thread, &w) && sscanf(c.got, "run|<string>|%u;<module>|<string>|9;", &line) == 1 &&
                line >= 3 && line <= 6;
        seen |= 1u << (line & 31);
        usleep(100);
    }
    living_end(&c);
    if (!found)
        fprintf(stderr, "%s: %s\n", path, c.got);
    CHECK(found);
    CHECK((seen & (seen - 1)) != 0); /* the line changes */
}

/* ---- The interpreters */

static void add_paths(glob_t *g, const char *folder, const char *pattern)
{
    char path[512];
    if (folder && snprintf(path, sizeof(path), "%s%s", folder, pattern) < (int)sizeof(path))
        glob(path, g->gl_pathc ? GLOB_APPEND : 0, NULL, g);
}

static size_t for_all(void (*check)(const char *path))
{
    glob_t g = {0};
    add_paths(&g, getenv("HOME"), "/.pyenv/versions/3.[89].*/bin/python3");
    add_paths(&g, getenv("HOME"), "/.pyenv/versions/3.1[0-9].*/bin/python3");
    add_paths(&g, getenv("HOME"), "/.cache/xprof/python-3.*/bin/python3.1[0-9]");
    add_paths(&g, "", "/usr/bin/python3");
    size_t n = g.gl_pathc;
    for (size_t i = 0; i < n; i++)
        check(g.gl_pathv[i]);
    globfree(&g);
    return n;
}

TEST(frames_of_living_interpreters_have_their_names_and_lines)
{
    if (!for_all(check_waiting))
        SKIP("no python3 is installed");
}

TEST(frames_of_living_interpreters_that_run_are_in_their_lines)
{
    if (!for_all(check_running))
        SKIP("no python3 is installed");
}
