/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Sends the names of Python's code that may be gone before user space can read them (bpf/python.h). Not while a stack
 * is unwound: calls are nested deep there. All of this is memory of the process, so it is not trusted.
 */
#pragma once

/* Copies a str whose characters are ASCII. Returns how many they are; 0: it has others, or more than there is room for.
 */
XP_INLINE u32 xp_python_text(const struct xp_python *p, void *to, u32 room, u64 str)
{
    u64 head[3], at = str + p->str_length, len;
    if (xp_read_user(head, sizeof(head), at) || ((u32)head[2] >> (p->kind_shift & 31) & 31) != XP_STR_ASCII)
        return 0;
    len = head[0];
    asm volatile("" : "+r"(len)); /* the verifier follows what is compared */
    return len <= room && !xp_read_user(to, len, at + p->str_ascii) ? (u32)len : 0;
}

XP_NOINLINE int xp_send_code(u32 i)
{
    struct xp_state *s = xp_state_get();
    u64 words[XP_PYTHON_NAMES] = {}, at = i;
    asm volatile("" : "+r"(at));
    if (!s || at >= XP_CODES)
        return 0;
    const struct xp_python *p = &s->python;
    if (xp_python_words(p, words, XP_WORD_ADDR(s->codes.at[at].word)))
        return 0;
    struct xp_code_event *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
    if (!e)
        return 0;
    e->type = XP_RECORD_CODE;
    e->tgid = s->sample.tgid;
    e->start = s->sample.start;
    e->cgroup = s->sample.cgroup;
    e->word = s->codes.at[at].word;
    e->more = s->codes.at[at].more;
    e->name_len = xp_python_text(p, e->name, XP_CODE_NAME, p->names == 3 ? words[1] : words[2]);
    e->file_len = xp_python_text(p, e->file, XP_CODE_FILE, words[0]);
    if (e->name_len)
        bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP); /* the sample follows */
    else
        bpf_ringbuf_discard(e, BPF_RB_NO_WAKEUP);
    return 0;
}

/* Sends the texts of code that may be gone soon. */
XP_INLINE void xp_send_codes(const struct xp_state *s)
{
    for (u32 i = 0; i < XP_CODES && i < s->codes.n; i++)
        xp_send_code(i);
}
