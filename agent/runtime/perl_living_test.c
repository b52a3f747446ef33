/* Reads a Perl that runs, of the version that is installed, and compares with what it says itself. */
#include "base/cleanup.h"
#include "base/test.h"
#include "dwarf/names.h"
#include "proc/memory.h"
#include "runtime/perl_internal.h"
#include "runtime/runtime.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PERL     "/usr/bin/perl"
#define MAX_TEXT 16384
#define MAX_WALK 64 /* frames */

/* It waits below frames of all kinds; printed are those, as "name|file|line;", innermost first. */
static const char SCRIPT[] =
    "use utf8; binmode STDOUT, ':utf8'; $| = 1;\n"
    "sub stop {\n"
    "    my ($at, $said, $place) = (0, '', '-e|' . (__LINE__ + 7));\n"
    "    while (my @c = caller $at++) {\n"
    "        next if $c[3] eq '(eval)' && !defined $c[6];\n"
    "        $said .= \"$c[3]|$place;\";\n"
    "        $place = \"$c[1]|$c[2]\";\n"
    "    }\n"
    "    print \"$said(main)|$place;\\n\";\n"
    "    <STDIN>;\n"
    "}\n"
    "package A::B; sub new { bless [] } sub DESTROY { eval {\n"
    "    main::stop() } } sub stra\u00dfe { my $x = shift;\n"
    "    my $f = sub { $x->(@_) };\n"
    "    return $f->(2) }\n"
    "sub AUTOLOAD { &stra\u00dfe }\n"
    "package main;\n"
    "my sub lexical { my @x = sort { A::B->missing; 0 } 1, 2 }\n"
    "sub deep { my $n = shift; $n ? deep($n - 1) : lexical() }\n"
    "*A::B::missing = sub { A::B::stra\u00dfe(sub {\n"
    "    eval qq{\\n#line 70 \"page.tt\"\\nmy \\$x = A::B->new;\\n undef \\$x} }) };\n"
    "deep(3);\n";

struct child {
    pid_t pid;
    int in, out;
    char said[MAX_TEXT];
};

static bool begin(struct child *c)
{
    int in[2], out[2];
    size_t n = 0;
    ssize_t got = 1;
    *c = (struct child){.in = -1, .out = -1};
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        return false;
    c->pid = fork();
    if (!c->pid) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execl(PERL, PERL, "-e", SCRIPT, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    c->in = in[1];
    c->out = out[0];
    while (got > 0 && n < sizeof(c->said) - 1 && !memchr(c->said, '\n', n)) {
        got = read(c->out, c->said + n, sizeof(c->said) - 1 - n);
        n += got > 0 ? (size_t)got : 0;
    }
    c->said[n ? n - 1 : 0] = 0;
    return c->pid > 0 && n;
}

static void end(struct child *c)
{
    if (c->pid > 0) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
    }
    close(c->in);
    close(c->out);
}

static int open_of(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* ---- The walk, as the unwinder does it */

struct walk {
    int mem;
    struct perl p;
    u64 words[2 * MAX_WALK], cop;
    u32 n, calls; /* of the loop, as far as frames tell them */
};

static u64 word(const struct walk *w, u64 at)
{
    u64 v = 0;
    return pread(w->mem, &v, sizeof(v), (off_t)at) == sizeof(v) ? v : 0;
}

static void add_frame(struct walk *w, u64 cv)
{
    const struct xp_perl *x = &w->p.machine.perl;
    u64 body = word(w, cv + x->cv_body), words[XP_PERL_WORDS];
    for (u32 i = 0; i < XP_PERL_WORDS; i++)
        words[i] = word(w, body + x->body_words + 8 * i);
    u32 id = (u32)word(w, words[XP_PERL_WORDS - 1] + x->pad_id);
    if (w->n == 2 * MAX_WALK)
        return;
    w->words[w->n++] = XP_SCRIPT_WORD(XP_LANGUAGE_PERL, cv);
    w->words[w->n++] = XP_MORE_WORD(XP_PERL_COOKIE(words, id), XP_PERL_AT((s64)(w->cop - cv) / 8));
}

static void walk_contexts(struct walk *w, u64 info)
{
    const struct xp_perl *x = &w->p.machine.perl;
    for (s32 i = (s32)word(w, info + x->info_index); i >= 0; i--) {
        u64 at = word(w, info + x->info_contexts) + (u64)i * x->context_bytes;
        u32 type = word(w, at) & 15, sub = x->subs >> type & 1;
        u64 cv = word(w, at + (sub ? x->context_sub : x->context_eval));
        w->calls += type == XP_PERL_NULL || (sub && !word(w, at + x->context_sub_return));
        if ((!sub && !(x->evals >> type & 1)) || !cv)
            continue;
        add_frame(w, cv);
        w->cop = word(w, at + x->context_cop);
    }
}

static void walk_all(struct walk *w)
{
    const struct xp_perl *x = &w->p.machine.perl;
    u64 interpreter = w->p.layout.main - (u64)x->main;
    u64 info = word(w, interpreter + (u64)x->stackinfo);
    w->n = w->calls = 0;
    w->cop = word(w, interpreter + (u64)x->cop);
    for (u32 i = 0; i < MAX_WALK && info; i++, info = word(w, info + x->info_prev))
        walk_contexts(w, info);
    add_frame(w, word(w, w->p.layout.main));
}

static bool name_all(const struct walk *w, const struct buf *attached, char *out, size_t size)
{
    AUTO_BUF struct buf reply = {0};
    struct names v;
    size_t len = 0;
    if (runtime_names(w->mem, attached->data, attached->len, w->words, w->n, &reply) ||
        names_view(reply.data, reply.len, w->n / 2, &v))
        return false;
    for (u32 i = 0; i < v.first[w->n / 2]; i++) {
        const struct names_frame *f = &v.frames[i];
        len += (size_t)snprintf(out + len, size - len, "%s|%s|%u;", v.strings + f->name, v.strings + f->file, f->line);
    }
    return true;
}

static bool attach(const struct child *c, struct walk *w, struct buf *attached)
{
    const void *bytes;
    AUTO_CLOSE int maps = open_of(c->pid, "maps");
    w->mem = open_of(c->pid, "mem");
    if (runtime_attach(w->mem, maps, attached) ||
        runtime_attached(attached->data, attached->len, &bytes) != &runtime_perl)
        return false;
    memcpy(&w->p, bytes, sizeof(w->p));
    return true;
}

TEST(frames_of_a_living_perl_have_their_names_and_lines)
{
    struct child c;
    struct walk w = {.mem = -1};
    AUTO_BUF struct buf attached = {0};
    char got[MAX_TEXT] = "";
    if (access(PERL, X_OK))
        SKIP("no perl is installed");
    bool began = begin(&c), found = began && attach(&c, &w, &attached);
    for (unsigned i = 0; i < 500 && found && strcmp(got, c.said) != 0;
         i++) { /* it may be on its way to where it waits */
        if (i)
            usleep(10000);
        walk_all(&w);
        found = name_all(&w, &attached, got, sizeof(got));
    }
    close(w.mem);
    end(&c);
    CHECK(began);
    CHECK(found);
    CHECK_STR(got, c.said);
    CHECK_EQ(w.calls, 2); /* a block of sort, and DESTROY */
}
