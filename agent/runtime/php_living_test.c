/* Reads PHP while it runs, and compares with what it says itself. */
#include "base/test.h"
#include "runtime/living_test.h"
#include "runtime/php_internal.h"

/* It waits below functions of all kinds, among them some in C, after it has printed its frames: a frame is where the
 * one that it calls says that it was called. */
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
    struct living *c;
    struct php p;
};

static u32 code_cookie(const struct walk *w, u64 file)
{
    u64 length = living_word(w->c, file + XP_PHP_LENGTH), end = file + XP_PHP_TEXT + length;
    return length < XP_PHP_TAIL ? XP_SCRIPT_COOKIE(length, 0, 0, 0)
                                : XP_SCRIPT_COOKIE(length, living_word(w->c, end - 24), living_word(w->c, end - 16),
                                                   living_word(w->c, end - 8));
}

static void add_frame(struct walk *w, u64 frame, u64 function)
{
    const struct xp_php *x = &w->p.machine.php;
    u64 words = function + x->function_words, name = living_word(w->c, words), file = 0, lines = 0, position = 0;
    bool user = (u8)living_word(w->c, function + x->function_type) != XP_PHP_INTERNAL;
    if (user) {
        file = living_word(w->c, function + x->function_file);
        lines = living_word(w->c, function + x->function_file + 8);
        position = (u32)living_word(w->c, living_word(w->c, frame + x->call_opline) + x->op_line);
        position |= living_word(w->c, frame + x->call_info) & XP_PHP_TOP ? XP_PHP_MAIN : 0;
    }
    u64 text[2] = {living_word(w->c, name + XP_PHP_LENGTH), living_word(w->c, name + XP_PHP_TEXT)};
    u32 cookie = XP_SCRIPT_COOKIE(user ? XP_PHP_NAME(name, text) : name, living_word(w->c, words + 8),
                                  living_word(w->c, words + 16), XP_PHP_FILE(file, lines));
    living_add(w->c, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, name ? function : file | XP_PHP_CODE),
               XP_MORE_WORD(name ? cookie : code_cookie(w, file), position));
}

static void walk_all(void *arg)
{
    struct walk *w = arg;
    const struct xp_php *x = &w->p.machine.php;
    for (u64 at = living_word(w->c, w->p.machine.root + x->frame); at && w->c->n < LIVING_WORDS;
         at = living_word(w->c, at + x->call_prev)) {
        u64 function = living_word(w->c, at + x->call_func);
        if (function)
            add_frame(w, at, function);
    }
}

TEST(frames_of_living_php_have_their_names_and_lines)
{
    struct living c;
    struct walk w = {.c = &c};
    char path[] = "/tmp/xprof-php-XXXXXX", copy[64];
    const char *const argv[] = {"/usr/bin/php", "-n", path, NULL};
    if (access(argv[0], X_OK))
        SKIP("no php is installed");
    int script = mkstemp(path);
    CHECK(script >= 0 && write(script, SCRIPT, sizeof(SCRIPT) - 1) == sizeof(SCRIPT) - 1);
    close(script);
    bool began = living_begin(&c, argv), found = began && living_attach(&c, &runtime_php, &w.p, sizeof(w.p));
    found = found && living_agree(&c, c.said, walk_all, &w);
    living_end(&c);
    snprintf(copy, sizeof(copy), "%s.inc", path);
    unlink(path);
    unlink(copy);
    CHECK(began);
    CHECK(found);
    CHECK_STR(c.got, c.said);
    CHECK(w.p.machine.php.loop != 0);
    CHECK(c.n > 2 * 12);
}
