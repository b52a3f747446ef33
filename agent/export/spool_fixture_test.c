#include "export/spool_fixture_test.h"
#include <errno.h>
#include <stdio.h>

struct spool_config config_of(const char *dir)
{
    return (struct spool_config){.dir = dir, .max_bytes = 64 << 20, .max_age_ns = 24 * HOUR, .memory_bytes = 1 << 20};
}

int put_number(struct spool *s, unsigned n, u64 wall_ns)
{
    char text[1024] = "";
    snprintf(text, sizeof(text), "number %u", n);
    return spool_put(s, text, sizeof(text), wall_ns);
}

int next_number(struct spool *s, struct spool_reader *r)
{
    struct spool_record rec = {0};
    int n = -3, rc = spool_next(s, r, &rec);
    if (rc)
        n = rc == -ENODATA ? -1 : rc == -EBADMSG ? -2 : -3;
    else if (sscanf(rec.body.data, "number %d", &n) != 1)
        n = -3;
    buf_free(&rec.body);
    return n;
}

int fill(const char *dir, unsigned n)
{
    AUTO_SPOOL struct spool *s = NULL;
    struct spool_config c = config_of(dir);
    struct spool_reader *r;
    int rc = spool_new(&s, &c);
    rc = rc ? rc : spool_reader_open(s, "a", &r);
    for (unsigned i = 0; !rc && i < n; i++)
        rc = put_number(s, i, T0);
    return rc;
}

int reopen(struct spool **s, struct spool_reader **r, const char *dir)
{
    struct spool_config c = config_of(dir);
    int rc = spool_new(s, &c);
    return rc ? rc : spool_reader_open(*s, "a", r);
}

u64 lost_corrupt(struct spool *s, struct spool_reader *r)
{
    struct spool_lost lost;
    spool_take_lost(s, r, &lost);
    return lost.full || lost.age ? 1000 : lost.corrupt;
}
