/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Code that .NET compiled keeps frame pointers, and has no file. Its frames are addresses; as two words, like those of
 * interpreters (bpf/script.h), they are named by what the runtime knows of them (agent/runtime/dotnet.h).
 */
#pragma once

/* The frame that was noted last is one of generated code: if the process is one of .NET, it gets these words. */
XP_INLINE void xp_dotnet_note(struct xp_state *s)
{
    if (!xp_has_script(s) || s->script.language != XP_LANGUAGE_DOTNET || !s->sample.nuser)
        return;
    s->sample.nuser--;
    s->py.exact = s->leaf ? XP_WORD_EXACT : 0;
    if (xp_push_frame(s, s->ip, 0, 0))
        s->sample.nuser++;
    s->py.exact = 0;
}
