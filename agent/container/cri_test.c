#include "base/buf.h"
#include "base/cleanup.h"
#include "base/pb.h"
#include "base/test.h"
#include "container/cri.h"
#include <errno.h>
#include <fcntl.h>

static void pair(struct buf *b, unsigned field, const char *key, const char *value)
{
    size_t m = pb_begin(b, field);
    pb_string(b, 1, key);
    pb_string(b, 2, value);
    pb_end(b, m);
}

static void sandbox(struct buf *b, const char *id, const char *name)
{
    size_t m = pb_begin(b, 1), meta;
    pb_string(b, 1, id);
    meta = pb_begin(b, 2);
    pb_string(b, 1, name);
    pb_string(b, 2, "uid-1");
    pb_string(b, 3, "prod");
    pb_end(b, meta);
    pb_uint(b, 3, !strcmp(id, "s1")); /* not ready */
    pair(b, 5, "app", "web");
    pair(b, 6, "xprof.io/profile", "true");
    pb_end(b, m);
}

TEST(cri_sandboxes)
{
    CLEANUP(cri_list_free) struct cri_list l = {0};
    AUTO_BUF struct buf b = {0};
    sandbox(&b, "s1", "web-0");
    sandbox(&b, "s2", "web-1");
    CHECK_EQ(cri_list_sandboxes(&l, b.data, b.len), 0);
    CHECK_EQ(l.sandboxes.n, 2);
    const struct cri_sandbox *s = &l.sandboxes.v[1];
    CHECK_STR(s->id, "s2");
    CHECK(s->ready && !l.sandboxes.v[0].ready);
    CHECK_STR(s->name, "web-1");
    CHECK_STR(s->namespace_, "prod");
    CHECK_STR(s->uid, "uid-1");
    CHECK_STR(cri_pairs_get(&s->labels, "app"), "web");
    CHECK_STR(cri_pairs_get(&s->annotations, "xprof.io/profile"), "true");
    CHECK(!cri_pairs_get(&s->annotations, "app"));
    CHECK_EQ(l.dropped, 0);
}

TEST(cri_containers)
{
    CLEANUP(cri_list_free) struct cri_list l = {0};
    AUTO_BUF struct buf b = {0};
    for (int i = 0; i < 2; i++) {
        size_t m = pb_begin(&b, 1), in;
        pb_string(&b, 1, "c1");
        pb_string(&b, 2, "s1");
        in = pb_begin(&b, 3);
        pb_string(&b, 1, "main");
        pb_end(&b, in);
        in = pb_begin(&b, 4);
        pb_string(&b, 1, "sha256:00");
        if (i)
            pb_string(&b, 18, "web:1.2");
        pb_end(&b, in);
        pb_string(&b, 5, "sha256:00");
        pb_uint(&b, 6, 1);
        pb_uint(&b, 99, 7); /* a field of a newer runtime */
        pb_end(&b, m);
    }
    CHECK_EQ(cri_list_containers(&l, b.data, b.len), 0);
    CHECK_EQ(l.containers.n, 2);
    CHECK_STR(l.containers.v[0].sandbox, "s1");
    CHECK_STR(l.containers.v[0].name, "main");
    CHECK_STR(l.containers.v[0].image, "sha256:00");
    CHECK_STR(l.containers.v[1].image, "web:1.2");
    CHECK_STR(l.containers.v[1].image_id, "sha256:00");
}

TEST(cri_bounds)
{
    CLEANUP(cri_list_free) struct cri_list l = {0}, bomb = {0};
    AUTO_BUF struct buf b = {0}, small = {0};
    AUTO_FREE char *big = calloc(1, CRI_STRING_MAX + 2);
    CHECK(big);
    memset(big, 'x', CRI_STRING_MAX + 1);
    size_t m = pb_begin(&b, 1);
    pb_string(&b, 1, "s\xff"); /* no UTF-8 */
    pair(&b, 6, "long", big);  /* a byte too much */
    pair(&b, 6, "fits", big + 1);
    pair(&b, 6, "\xc3", "bad key");
    for (int i = 0; i < CRI_PAIRS_MAX + 5; i++)
        pair(&b, 5, "k", "v");
    pb_end(&b, m);
    CHECK_EQ(cri_list_sandboxes(&l, b.data, b.len), 0);
    CHECK_STR(l.sandboxes.v[0].id, "");
    CHECK_EQ(l.sandboxes.v[0].annotations.n, 1);
    CHECK_EQ(l.sandboxes.v[0].labels.n, CRI_PAIRS_MAX);
    CHECK_EQ(l.dropped, 1 + 2 + 5);
    for (int i = 0; i < 4 << 20; i++) /* two bytes a sandbox */
        buf_add(&small, "\x0a", 2);
    CHECK_EQ(cri_list_sandboxes(&bomb, small.data, small.len), -EBADMSG);
    CHECK_EQ(cri_list_sandboxes(&bomb, small.data, 2 * (CRI_RECORDS_MAX + 9)), 0);
    CHECK(bomb.sandboxes.n == CRI_RECORDS_MAX && bomb.dropped == 9);
}

TEST(cri_malformed)
{
    CLEANUP(cri_list_free) struct cri_list l = {0};
    char text[64] = "untouched";
    CHECK_EQ(cri_list_sandboxes(&l, "\x0a\x05\x0a", 3), -EBADMSG);
    CHECK_EQ(cri_list_containers(&l, "\xff\xff", 2), -EBADMSG);
    CHECK_EQ(cri_version_text("\x0a\x50", 2, text, sizeof(text)), -EBADMSG);
    CHECK_STR(text, "untouched");
    CHECK_EQ(cri_status_image("", 0, text, sizeof(text)), 0);
    CHECK_STR(text, "");
}

TEST(cri_nobody_there)
{
    CLEANUP(cri_free) struct cri *c = NULL, *search = NULL;
    CLEANUP(cri_list_free) struct cri_list l = {0};
    char why[200], dir[] = "/tmp/xprof-cri-XXXXXX";
    CHECK(mkdtemp(dir));
    AUTO_CLOSE int empty = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CHECK_EQ(cri_new(&c, &(struct cri_config){.root_fd = AT_FDCWD, .socket = "unix:///nowhere/x.sock"}), 0);
    CHECK_EQ(cri_fetch(c, &l, why, sizeof(why)), -ENOENT);
    CHECK(strstr(why, "/nowhere/x.sock"));
    CHECK_EQ(cri_new(&search, &(struct cri_config){.root_fd = empty}), 0);
    CHECK_EQ(cri_fetch(search, &l, why, sizeof(why)), -ENOENT);
    CHECK_EQ(cri_about(search)->calls, 0);
    rmdir(dir);
}
