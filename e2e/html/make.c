/* Profiles for the test of the page, without a kernel: `make DIR` writes into DIR
 *   demo.*     a small web service, its kernel side and a JIT; two processes of one name; stacks that were cut
 *   many.*     100,000 distinct stacks
 *   inlines.*  a function that is inlined into another and called by it as well
 *   scripts.*  frames of JavaScript among native ones
 *   waits.*    time on a CPU and off it, with what threads waited for
 *   hostile.*  names with quotes, tags, newlines, bytes that are not UTF-8
 * in all formats.
 */
#include "synth.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "profile/encode.h"
#include <stdio.h>

static int write_all(const struct profile *p, const char *dir, const char *name)
{
    size_t n;
    const struct encoder *all = encoders(&n);
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF struct buf b = {0};
        AUTO_FREE char *path = NULL;
        if (all[i].encode(p, &b) || asprintf(&path, "%s/%s%s", dir, name, all[i].suffix) < 0)
            return 1;
        if (fs_replace_file(path, b.data, b.len, 0644))
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static int (*const make[])(struct profile *) = {synth_demo,    synth_many,    synth_hostile,
                                                    synth_inlines, synth_scripts, synth_waits};
    static const char *const names[] = {"demo", "many", "hostile", "inlines", "scripts", "waits"};
    for (size_t i = 0; argc == 2 && i < sizeof(make) / sizeof(make[0]); i++) {
        struct profile p __attribute__((cleanup(profile_free))) = {0};
        if (profile_init(&p) || make[i](&p) || write_all(&p, argv[1], names[i]))
            return 1;
    }
    return argc != 2;
}
