/* The parent's check of a reply: it needs nothing of what reads files. */
#include "dwarf/names.h"
#include <errno.h>
#include <string.h>

static bool frames_sound(const struct names_header *h, const struct names *v)
{
    for (u32 i = 0; i < h->n; i++)
        if (v->first[i] > v->first[i + 1])
            return false;
    if (v->first[0] != 0 || v->first[h->n] != h->nframes)
        return false;
    for (u32 i = 0; i < h->nframes; i++) {
        const struct names_frame *f = &v->frames[i];
        if (f->name >= h->strings || f->system_name >= h->strings || f->file >= h->strings)
            return false;
    }
    return true;
}

int names_view(const void *reply, size_t len, size_t n, struct names *out)
{
    struct names_header h;
    if (len < sizeof(h) || (uintptr_t)reply & 7)
        return -EBADMSG;
    memcpy(&h, reply, sizeof(h));
    size_t frames = names_frames_at(h.n), strings = frames + sizeof(struct names_frame) * (size_t)h.nframes;
    if (h.magic != NAMES_MAGIC || h.n != n || len != strings + h.strings)
        return -EBADMSG;
    struct names v = {
        .first = (const u32 *)((const char *)reply + sizeof(h)),
        .frames = (const struct names_frame *)((const char *)reply + frames),
        .strings = (const char *)reply + strings,
        .n = h.n,
    };
    /* No frame needs a string; if there are strings, the last one ends. */
    if ((h.strings && v.strings[h.strings - 1]) || !frames_sound(&h, &v))
        return -EBADMSG;
    *out = v;
    return 0;
}
