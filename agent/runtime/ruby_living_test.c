/* Reads a Ruby that runs, of all that are installed, and compares with what it says itself. */
#include "base/test.h"
#include "runtime/living_test.h"
#include "runtime/ruby_internal.h"
#include <glob.h>

/* It waits below methods of all kinds. What is printed are its frames, by their labels. */
static const char SCRIPT[] =
    "def stop\n"
    "  puts caller_locations(0).map { |l| \"#{l.label}|#{l.path}|#{l.lineno};\" }.join, ''\n"
    "  $stdout.flush\n"
    "  $stdin.gets\n"
    "end\n"
    "class Thing\n"
    "  def self.made(&block)\n"
    "    new.run(&block)\n"
    "  end\n"
    "  def run\n"
    "    'a' =~ /a/\n"
    "    [[1]].each { |a| a.each { |b| yield } }\n"
    "  rescue StandardError\n"
    "    [1].each do\n"
    "      stop\n"
    "    end\n"
    "  end\n"
    "end\n"
    "eval(\"def far\\n\" + \"  1\\n\" * 700 + \"  Thing.made { raise 'x' }\\nend\", nil, 'far.rb', 5)\n"
    "def \u6f22(*a)\n"
    "  far\n"
    "end\n"
    "1.times { eval(\"\u6f22(1,\\n 2)\") }\n";

/* ---- Its frames, as the unwinder finds them: by the iseq, for the method is in the environment */

struct walk {
    struct memory m;
    struct ruby_found found;
};

static void add_frame(struct living *c, struct walk *w, u64 at)
{
    const struct xp_ruby *x = &w->found.r.machine.ruby;
    u64 pc = living_word(c, at), iseq = living_word(c, at + x->frame_iseq), words[3], code;
    u64 entry = living_word(c, living_word(c, at + 32) - 16);
    if (iseq && pc && ruby_body_words(&w->m, x, living_word(c, iseq + 16), &code, words))
        living_add(c, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, iseq),
                   XP_MORE_WORD(XP_SCRIPT_COOKIE(code, words[0], words[1], words[2]), (u32)(pc - code)));
    else if (!iseq && ruby_is_imemo(&w->m, entry, RUBY_IMEMO_ENTRY))
        living_add(c, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, entry), XP_MORE_WORD(0, XP_RUBY_NATIVE));
}

static void walk_main(struct living *c, struct walk *w)
{
    const struct ruby_lists *l = &w->found.lists;
    u32 bytes = w->found.r.machine.ruby.frame_bytes;
    u64 ec = living_word(c, living_word(c, w->found.vm + l->vm_main) + l->thread_ec);
    u64 end = living_word(c, ec) + 8 * living_word(c, ec + 8);
    for (u64 at = living_word(c, ec + 16); at < end - bytes && c->n < LIVING_WORDS; at += bytes)
        add_frame(c, w, at);
}

/* Frames in C have the place of their callers, as Ruby says it. */
static void show(const struct names *v, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct names_frame *f = &v->frames[v->first[i]], *at = f;
        const char *name = v->strings + f->name;
        for (size_t k = i; k < n && at->start == RUNTIME_NATIVE; k++)
            at = &v->frames[v->first[k]];
        const char *plain = f->start == RUNTIME_NATIVE && strpbrk(name, "#.") ? strpbrk(name, "#.") + 1 : name;
        buf_printf(out, "%s|%s|%u;", plain, v->strings + at->file, at->line);
    }
}

static void compare(struct living *c)
{
    AUTO_BUF struct buf reply = {0};
    AUTO_BUF struct buf shown = {0};
    AUTO_CLOSE int maps = living_open(c, "maps");
    struct walk w = {0};
    struct ruby said;
    struct names v;
    CHECK(living_attach(c, &runtime_ruby, &said, sizeof(said)));
    CHECK_EQ(memory_open(&w.m, c->mem, maps), 0);
    int rc = ruby_find(&w.m, &w.found);
    if (!rc)
        walk_main(c, &w);
    memory_free(&w.m);
    CHECK_EQ(rc, 0);
    CHECK(living_names(c, &reply, &v));
    show(&v, c->n / 2, &shown);
    buf_char(&shown, 0);
    /* it was on another line of the innermost method when it said its frames */
    const char *ours = strstr(shown.data, "block in run|"), *its = strstr(c->said, "block in run|");
    CHECK(ours && its);
    CHECK_STR(ours, its);
}

TEST(ruby_that_runs_says_the_same)
{
    glob_t found = {0};
    size_t n = 0;
    glob("/usr/bin/ruby[23].[0-9]", 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        CLEANUP(living_end) struct living c;
        const char *const argv[] = {found.gl_pathv[i], "-e", SCRIPT, NULL};
        if (living_begin(&c, argv)) {
            compare(&c);
            n++;
        }
    }
    globfree(&found);
    if (!n)
        SKIP("there is no Ruby");
}
