/* Files on file systems that may not answer: opened and tried where only their own kind waits for them. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "files/files_internal.h"
#include "opener/opener.h"
#include "parser/parser.h"
#include <errno.h>
#include <unistd.h>

void file_job_open(struct file_job *job, struct opener *o, struct hung *h)
{
    const struct xp_file_event *e = &job->event;
    struct hung_place place = hung_place_of(e);
    bool left_alone = hung_is(h, &place, now_ns());
    int fd = left_alone ? -EREMOTEIO : opener_mapping(o, e->tgid, e->start, e->end, &job->path);
    job->fd = fd < 0 ? -1 : fd;
    job->error = fd < 0 ? fd : 0;
    if (fd == -EREMOTEIO && !left_alone)
        hung_note(h, &place, now_ns());
}

void file_job_try(struct file_job *job, struct parser *p, struct hung *h)
{
    CLEANUP(parser_reply_free) struct parser_reply table = {0};
    struct hung_place place = hung_place_of(&job->event);
    struct table_key key;
    int rc = job->fd < 0 ? job->error : parser_identify(p, job->fd, &key);
    if (!rc)
        rc = parser_table(p, job->fd, &key, &table);
    if (job->fd < 0 || rc != -EREMOTEIO)
        return; /* whatever else is wrong is found again */
    hung_note(h, &place, now_ns());
    close(job->fd);
    job->fd = -1;
    job->error = rc;
}

bool files_is_hung(const struct files *f, const struct file *e)
{
    return hung_is(f->hung, &e->place, now_ns());
}

u64 files_hung(struct files *f, const struct file *e)
{
    return hung_note(f->hung, &e->place, now_ns());
}

int files_read(struct files *f, const struct file *e, u64 offset, void *to, size_t len)
{
    if (e->fd < 0 || files_is_hung(f, e))
        return -EREMOTEIO;
    int rc = opener_read(f->opener, e->fd, offset, to, len);
    if (rc == -EREMOTEIO)
        files_hung(f, e);
    return rc;
}
