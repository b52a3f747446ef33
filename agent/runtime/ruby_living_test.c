/* Reads a Ruby that runs, of all that are installed, and compares with what it says itself. */
#include "base/cleanup.h"
#include "base/test.h"
#include "dwarf/names.h"
#include "proc/memory.h"
#include "runtime/ruby_internal.h"
#include "runtime/runtime.h"
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_TEXT 16384

/* It waits below methods of all kinds. What is printed are its frames as "label|file|line;", innermost first. */
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

struct living {
    pid_t pid;
    int in, mem, maps;
    char said[MAX_TEXT];
};

static void living_free(struct living *l)
{
    if (l->pid > 0) {
        kill(l->pid, SIGKILL);
        waitpid(l->pid, NULL, 0);
    }
    close(l->in);
    close(l->mem);
    close(l->maps);
}

static int open_proc(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void run(const char *ruby, int in, int out)
{
    dup2(in, 0);
    dup2(out, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    execl(ruby, ruby, "-e", SCRIPT, (char *)NULL);
    _exit(1);
}

static bool start(const char *ruby, struct living *l)
{
    int in[2], out[2];
    size_t n = 0;
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        return false;
    l->pid = fork();
    if (!l->pid)
        run(ruby, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    l->in = in[1];
    for (ssize_t got = 1; got > 0 && n < MAX_TEXT - 1 && !memmem(l->said, n, "\n\n", 2); n += got > 0 ? (size_t)got : 0)
        got = read(out[0], l->said + n, MAX_TEXT - 1 - n);
    close(out[0]);
    l->said[strcspn(l->said, "\n")] = 0;
    l->mem = open_proc(l->pid, "mem");
    l->maps = open_proc(l->pid, "maps");
    return n > 0;
}

/* ---- Its frames, as the unwinder finds them: by the iseq, for the method is in the environment */

static u64 word_at(struct memory *m, u64 at)
{
    u64 v = 0;
    return memory_read(m, at, &v, sizeof(v)) ? v : 0;
}

static size_t frames_of(struct memory *m, const struct ruby *r, u64 ec, u64 *words, size_t max)
{
    const struct xp_ruby *x = &r->machine.ruby;
    u64 end = word_at(m, ec) + 8 * word_at(m, ec + 8), w[3], code;
    size_t n = 0;
    for (u64 at = word_at(m, ec + 16); at < end - x->frame_bytes && n < max; at += x->frame_bytes) {
        u64 pc = word_at(m, at), iseq = word_at(m, at + x->frame_iseq), entry = word_at(m, word_at(m, at + 32) - 16);
        if (iseq && pc) {
            if (!ruby_body_words(m, x, word_at(m, iseq + 16), &code, w))
                return 0;
            words[n++] = XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, iseq);
            words[n++] = XP_MORE_WORD(XP_SCRIPT_COOKIE(code, w[0], w[1], w[2]), (u32)(pc - code));
        } else if (!iseq && ruby_is_imemo(m, entry, RUBY_IMEMO_ENTRY)) {
            words[n++] = XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, entry);
            words[n++] = XP_MORE_WORD(0, XP_RUBY_NATIVE);
        }
    }
    return n;
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

static void compare(struct living *l)
{
    AUTO_BUF struct buf attached = {0};
    AUTO_BUF struct buf reply = {0};
    AUTO_BUF struct buf shown = {0};
    CLEANUP(memory_free) struct memory m = {0};
    struct ruby_found found;
    struct names v;
    u64 words[128];
    CHECK_EQ(runtime_attach(l->mem, l->maps, &attached), 0);
    CHECK_EQ(memory_open(&m, l->mem, l->maps), 0);
    CHECK_EQ(ruby_find(&m, &found), 0);
    u64 thread = word_at(&m, found.vm + found.lists.vm_main), ec = word_at(&m, thread + found.lists.thread_ec);
    size_t n = frames_of(&m, &found.r, ec, words, sizeof(words) / sizeof(*words));
    CHECK_EQ(runtime_names(l->mem, attached.data, attached.len, words, n, &reply), 0);
    CHECK_EQ(names_view(reply.data, reply.len, (u32)(n / 2), &v), 0);
    show(&v, n / 2, &shown);
    buf_char(&shown, 0);
    /* it was on another line of the innermost method when it said its frames */
    const char *ours = strstr(shown.data, "block in run|"), *its = strstr(l->said, "block in run|");
    CHECK(ours && its);
    CHECK_STR(ours, its);
}

TEST(ruby_that_runs_says_the_same)
{
    glob_t found = {0};
    size_t n = 0;
    glob("/usr/bin/ruby[23].[0-9]", 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        CLEANUP(living_free) struct living l = {.in = -1, .mem = -1, .maps = -1};
        if (start(found.gl_pathv[i], &l)) {
            compare(&l);
            n++;
        }
    }
    globfree(&found);
    if (!n)
        SKIP("there is no Ruby");
}
