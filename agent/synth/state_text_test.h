/* States as lines of text: the registers that are not what they were on entry, and the slots. "cfa-16" is a stack
 * address, "@3+8" one from base 3, "rbx" what that register was on entry, "*-16" what was in a slot then, "#5" a
 * number.
 */
#pragma once
#include "base/buf.h"
#include "synth/state.h"

static const char *const state_registers[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                              "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

static inline void add_value(struct buf *b, u64 v)
{
    switch (VALUE_KIND(v)) {
    case VALUE_UNKNOWN:
        buf_str(b, "?");
        break;
    case VALUE_ENTRY:
        buf_str(b, state_registers[VALUE_BASE(v) & 15]);
        break;
    case VALUE_STACK:
        if (VALUE_BASE(v))
            buf_printf(b, "@%u%+d", VALUE_BASE(v), VALUE_OFF(v));
        else
            buf_printf(b, "cfa%+d", VALUE_OFF(v));
        break;
    case VALUE_CONST:
        buf_printf(b, "#%#llx", (unsigned long long)value_number(v));
        break;
    case VALUE_LOAD:
        buf_printf(b, "load(%#x)", (u32)v);
        break;
    case VALUE_CASE:
        buf_printf(b, "case(%#x)", (u32)v);
        break;
    case VALUE_SLOT:
        buf_printf(b, "*%+d", VALUE_OFF(v));
        break;
    case VALUE_TARGETS:
        buf_printf(b, "targets(%u)", (u32)v);
        break;
    case VALUE_SIZE:
        buf_printf(b, "size(@%u%+d)", VALUE_BASE(v), VALUE_OFF(v));
        break;
    default:
        buf_str(b, "!");
    }
}

static inline void add_state(struct buf *b, const struct state *s)
{
    for (u32 i = 0; i < 16; i++) {
        if (s->reg[i] == VALUE(VALUE_ENTRY, i, 0))
            continue;
        buf_printf(b, "%s=", state_registers[i]);
        add_value(b, s->reg[i]);
        buf_char(b, ' ');
    }
    for (u32 i = 0; i < s->slots; i++) {
        buf_char(b, '[');
        add_value(b, s->where[i]);
        buf_str(b, "]=");
        add_value(b, s->what[i]);
        buf_char(b, ' ');
    }
}
