#include "files/outcome.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <fcntl.h>
#include <ftw.h>
#include <string.h>

static const u8 secret[16] = "sixteen bytes...";

/* A cache in a folder of its own. */
struct place {
    char dir[32];
    struct cache *cache;
};

static bool place_open(struct place *p)
{
    *p = (struct place){"/tmp/xprof-outcome.XXXXXX", NULL};
    return mkdtemp(p->dir) && !cache_open(&p->cache, p->dir, 1 << 20);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

static void place_close(struct place *p)
{
    cache_free(&p->cache);
    nftw(p->dir, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}

/* The keys of a file, and what was found in it. */
struct found {
    struct table_key key, plain;
    struct buf bytes;
    struct parser_synth synth;
};

static void found_free(struct found *f)
{
    buf_free(&f->bytes);
}

static int find(struct found *f)
{
    char path[4096];
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    snprintf(path, sizeof(path), "%s/parser/trampoline.so", test_data());
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = table_identify(fd, secret, &f->plain);
    if (!rc)
        rc = synth_identify(fd, secret, &f->key);
    if (!rc)
        rc = synth_table(fd, secret, &f->key, &limits, &f->bytes);
    return rc ? rc : synth_reply_open(f->bytes.data, f->bytes.len, &f->synth);
}

TEST(files_keep_tables_under_keys_of_the_same_bytes)
{
    CLEANUP(place_close) struct place p;
    CLEANUP(found_free) struct found f = {0};
    CLEANUP(cache_image_free) struct cache_image image = {0};
    CHECK(place_open(&p));
    CHECK_EQ(find(&f), 0);
    CHECK_EQ(files_outcome(&f.synth), FILES_SYNTH_DONE);
    files_keep(p.cache, &f.key, &f.synth);
    CHECK_EQ(cache_get(p.cache, &f.key, &image), 0);
    CHECK(image.len == f.synth.len && !memcmp(image.table, f.synth.table, image.len));
    CHECK(cache_marked(p.cache, &f.plain, CACHE_SYNTHESISED) && !cache_marked(p.cache, &f.key, CACHE_SYNTHESISED));
    CHECK(!cache_marked(p.cache, &f.key, CACHE_NO_SYNTH));
}

TEST(files_keep_that_there_is_no_table)
{
    CLEANUP(place_close) struct place p;
    CLEANUP(found_free) struct found f = {0};
    CLEANUP(cache_image_free) struct cache_image image = {0};
    CHECK(place_open(&p));
    CHECK_EQ(find(&f), 0);
    f.synth.table = NULL;
    f.synth.dropped = SYNTH_DROP_TIME; /* not for long */
    CHECK_EQ(files_outcome(&f.synth), FILES_SYNTH_LIMIT);
    files_keep(p.cache, &f.key, &f.synth);
    CHECK(!cache_marked(p.cache, &f.key, CACHE_NO_SYNTH));
    f.synth.dropped = SYNTH_DROP_GO;
    CHECK_EQ(files_outcome(&f.synth), FILES_SYNTH_LEFT_OUT);
    files_keep(p.cache, &f.key, &f.synth);
    CHECK(cache_marked(p.cache, &f.key, CACHE_NO_SYNTH) && !cache_marked(p.cache, &f.plain, CACHE_NO_SYNTH));
    CHECK(!cache_marked(p.cache, &f.plain, CACHE_SYNTHESISED));
    CHECK_EQ(cache_get(p.cache, &f.key, &image), -ENODATA);
}

TEST(files_try_again_when_it_is_nobodys_fault)
{
    static const struct {
        int error;
        enum files_synth outcome;
        bool again;
    } cases[] = {
        {-ESTALE, FILES_SYNTH_FAILED, false},  {-EPIPE, FILES_SYNTH_FAILED, false},
        {-EBADMSG, FILES_SYNTH_FAILED, false}, {-ECHILD, FILES_SYNTH_FAILED, true},
        {-ENOMEM, FILES_SYNTH_FAILED, true},   {-EDQUOT, FILES_SYNTH_NO_ROOM, false},
        {-EUSERS, FILES_SYNTH_NO_ROOM, false}, {-EOVERFLOW, FILES_SYNTH_LIMIT, false},
        {-ENOSPC, FILES_SYNTH_LIMIT, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        CHECK_EQ(files_outcome_of_error(cases[i].error), cases[i].outcome);
        CHECK_EQ(files_is_nobodys_fault(cases[i].error), cases[i].again);
    }
    CHECK_EQ(files_outcome(&(struct parser_synth){.dropped = SYNTH_DROP_NO_CODE}), FILES_SYNTH_NOTHING);
}
