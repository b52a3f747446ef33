/* Reads PHP while it runs, and compares with what it says itself. */
#include "base/cleanup.h"
#include "base/test.h"
#include "dwarf/names.h"
#include "runtime/living_test.h"
#include "runtime/php_internal.h"
#include "runtime/runtime.h"
#include <stdlib.h>

#define MAX_FRAMES 64

/* It waits below functions of all kinds, among them some in C, after it has printed its frames as "name|file|line;",
 * innermost first: a frame is where the one that it calls says that it was called. */
static const char SCRIPT[] =
    "<?php\n"
    "function stop() {\n"
    "    $s = ''; $at = '||0;';\n"
    "    foreach (debug_backtrace() as $f) {\n"
    "        $class = isset($f['class']) ? explode(\"\\0\", $f['class'])[0] . '::' : '';\n"
    "        $s .= $class . ($f['function'] == 'include_once' ? 'include' : $f['function']) . $at;\n"
    "        $at = isset($f['file']) ? \"|$f[file]|$f[line];\" : '||0;';\n"
    "    }\n"
    "    $s = substr($s, strpos($s, ';') + 1); /* without this one */\n"
    "    echo 'fgets||0;stop|', __FILE__, '|', __LINE__ + 1, ';', $s, '{main}', $at, \"\\n\\n\";\n"
    "    fgets(STDIN);\n"
    "}\n"
    "class Base { public static function make() { return eval('return stop();'); } }\n"
    "trait Shared { function shared($x) { usort($x, function () { static::make(); return 0; }); } }\n"
    "class \u6f22 extends Base { use Shared; function __call($n, $a) { $this->shared([1, 2]); } }\n"
    "function generate() { yield (new \u6f22)->missing(); }\n"
    "$o = new class { function run($f) { array_map($f, [__FILE__]); } };\n"
    "$copy = __FILE__ . '.inc';\n"
    "file_put_contents($copy, '<?php foreach (generate() as $x);');\n"
    "$o->run(function ($file) use ($copy) {\n"
    "    include_once $copy;\n"
    "});\n";

/* ---- The walk, as the unwinder does it */

struct walk {
    int mem;
    struct php p;
    u64 words[2 * MAX_FRAMES];
    u32 n;
};

static u64 word(const struct walk *w, u64 at)
{
    u64 v = 0;
    return pread(w->mem, &v, sizeof(v), (off_t)at) == sizeof(v) ? v : 0;
}

static u32 code_cookie(const struct walk *w, u64 file)
{
    u64 length = word(w, file + XP_PHP_LENGTH), end = file + XP_PHP_TEXT + length;
    return length < XP_PHP_TAIL ? XP_SCRIPT_COOKIE(length, 0, 0, 0)
                                : XP_SCRIPT_COOKIE(length, word(w, end - 24), word(w, end - 16), word(w, end - 8));
}

static void add_frame(struct walk *w, u64 frame, u64 function)
{
    const struct xp_php *x = &w->p.machine.php;
    u64 words = function + x->function_words, name = word(w, words), file = 0, lines = 0, position = 0;
    bool user = (u8)word(w, function + x->function_type) != XP_PHP_INTERNAL;
    if (user) {
        file = word(w, function + x->function_file);
        lines = word(w, function + x->function_file + 8);
        position = (u32)word(w, word(w, frame + x->call_opline) + x->op_line);
        position |= word(w, frame + x->call_info) & XP_PHP_TOP ? XP_PHP_MAIN : 0;
    }
    u64 text[2] = {word(w, name + XP_PHP_LENGTH), word(w, name + XP_PHP_TEXT)};
    u32 cookie = XP_SCRIPT_COOKIE(user ? XP_PHP_NAME(name, text) : name, word(w, words + 8), word(w, words + 16),
                                  XP_PHP_FILE(file, lines));
    w->words[w->n++] = XP_SCRIPT_WORD(XP_LANGUAGE_PHP, name ? function : file | XP_PHP_CODE);
    w->words[w->n++] = XP_MORE_WORD(name ? cookie : code_cookie(w, file), position);
}

static void walk_all(struct walk *w)
{
    const struct xp_php *x = &w->p.machine.php;
    w->n = 0;
    for (u64 at = word(w, w->p.machine.root + x->frame); at && w->n < 2 * MAX_FRAMES; at = word(w, at + x->call_prev)) {
        u64 function = word(w, at + x->call_func);
        if (function)
            add_frame(w, at, function);
    }
}

static bool spell(struct walk *w, const struct buf *attached, char *out, size_t size)
{
    AUTO_BUF struct buf reply = {0};
    struct names v;
    size_t len = 0;
    walk_all(w);
    if (!w->n || runtime_names(w->mem, attached->data, attached->len, w->words, w->n, &reply) ||
        names_view(reply.data, reply.len, w->n / 2, &v))
        return false;
    for (u32 i = 0; i < v.first[w->n / 2]; i++) {
        const struct names_frame *f = &v.frames[i];
        len += (size_t)snprintf(out + len, size - len, "%s|%s|%u;", v.strings + f->name, v.strings + f->file, f->line);
    }
    return true;
}

static bool attach(const struct living *c, struct walk *w, struct buf *attached)
{
    const void *bytes;
    AUTO_CLOSE int maps = living_open(c, "maps");
    w->mem = living_open(c, "mem");
    if (runtime_attach(w->mem, maps, attached) ||
        runtime_attached(attached->data, attached->len, &bytes) != &runtime_php)
        return false;
    memcpy(&w->p, bytes, sizeof(w->p));
    return true;
}

TEST(frames_of_living_php_have_their_names_and_lines)
{
    struct living c;
    struct walk w = {.mem = -1};
    AUTO_BUF struct buf attached = {0};
    char path[] = "/tmp/xprof-php-XXXXXX", copy[64], got[LIVING_TEXT] = "";
    const char *const argv[] = {"/usr/bin/php", "-n", path, NULL};
    if (access(argv[0], X_OK))
        SKIP("no php is installed");
    int script = mkstemp(path);
    CHECK(script >= 0 && write(script, SCRIPT, sizeof(SCRIPT) - 1) == sizeof(SCRIPT) - 1);
    close(script);
    bool began = living_begin(&c, argv), found = began && attach(&c, &w, &attached);
    c.said[strcspn(c.said, "\n")] = 0;
    for (unsigned i = 0; i < 500 && found && strcmp(got, c.said) != 0; i++) { /* it may be on its way there */
        usleep(i ? 10000 : 0);
        CHECK(spell(&w, &attached, got, sizeof(got)));
    }
    close(w.mem);
    living_end(&c);
    snprintf(copy, sizeof(copy), "%s.inc", path);
    unlink(path);
    unlink(copy);
    CHECK(began);
    CHECK(found);
    CHECK_STR(got, c.said);
    CHECK(w.p.machine.php.loop != 0);
    CHECK(w.n > 2 * 12);
}
