#include "pipeline/reclassify.h"
#include "bpf/host/unwind_host.h"

u8 reclassify_stack(void *files, const struct agg_stack *s)
{
    u8 code[8];
    if (s->cause != XP_CAUSE_NO_MAPPING || s->nuser < 2)
        return s->cause;
    u64 word = s->words[s->nkernel + s->nuser - 1], offset = XP_WORD_OFFSET(word);
    const struct file *f = XP_WORD_KIND(word) == XP_WORD_CFI ? files_get(files, XP_WORD_FILE(word)) : NULL;
    if (!f || (word & XP_WORD_EXACT) || offset < sizeof(code))
        return s->cause;
    if (files_read(files, f, offset - sizeof(code), code, sizeof(code)) || files_changed(f))
        return s->cause;
    return host_is_call(code) ? s->cause : XP_CAUSE_END;
}
