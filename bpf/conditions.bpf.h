/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Which occurrences of a probe count, and as how much (bpf/tracepoint.h). The record is what the program has as its
 * context: that of a tracepoint, or the registers at a function. Each of these objects has an xp_tp.
 */
#pragma once
#include "bpf/tracepoint.h"

/* The context as a number, with which the verifier lets us calculate. */
XP_INLINE u64 xp_tp_record(void *ctx)
{
    void *stored = ctx;
    u64 record = 0;
    bpf_probe_read_kernel(&record, sizeof(record), &stored);
    return record;
}

XP_INLINE u64 xp_tp_place(u64 record, const volatile struct xp_tp_field *f)
{
    return record + (f->offset & (XP_TP_RECORD - 1));
}

XP_INLINE u64 xp_tp_number(u64 record, const volatile struct xp_tp_field *f)
{
    u64 id = bpf_get_current_pid_tgid(), v[2] = {};
    u32 size = f->size & 15, unused = 64 - 8 * size;
    if (f->source == XP_TP_PID)
        return id >> 32;
    if (f->source == XP_TP_TID)
        return (u32)id;
    if (bpf_probe_read_kernel(v, size, (void *)xp_tp_place(record, f)))
        return 0;
    return f->source == XP_TP_SIGNED && unused < 64 ? (u64)((s64)(v[0] << unused) >> unused) : v[0];
}

/* Reads a text; what is behind its end stays as it was. Returns less than 0 if it is not in memory: programs may not
 * wait for a page. */
XP_INLINE long xp_tp_text(u64 record, const volatile struct xp_tp_field *f, char text[XP_TP_TEXT])
{
    u64 at = xp_tp_place(record, f), address = 0;
    u32 place = 0;
    if (f->source == XP_TP_COMM)
        return bpf_get_current_comm(text, 16);
    if (f->source == XP_TP_ARRAY)
        return bpf_probe_read_kernel_str(text, XP_TP_TEXT, (void *)at);
    if (f->source == XP_TP_DATA) {
        bpf_probe_read_kernel(&place, sizeof(place), (void *)at);
        return bpf_probe_read_kernel_str(text, XP_TP_TEXT, (void *)(record + (place & 0xffff)));
    }
    bpf_probe_read_kernel(&address, sizeof(address), (void *)at);
    return bpf_probe_read_user_str(text, XP_TP_TEXT, (void *)address);
}

enum { XP_TP_NO, XP_TP_YES, XP_TP_UNKNOWN };

XP_INLINE int xp_tp_same_text(u64 record, const volatile struct xp_tp_term *t)
{
    char text[XP_TP_TEXT] = {};
    if (xp_tp_text(record, &t->field, text) < 0)
        return XP_TP_UNKNOWN;
    for (u32 i = 0; i < XP_TP_TEXT; i++) {
        if (i >= t->length)
            break;
        if (text[i] != t->text[i])
            return XP_TP_NO;
    }
    return XP_TP_YES;
}

XP_INLINE int xp_tp_compare(u64 v, const volatile struct xp_tp_term *t)
{
    int is_signed = t->field.source == XP_TP_SIGNED;
    switch (t->test) {
    case XP_TP_LESS:
        return is_signed ? (s64)v < (s64)t->number : v < t->number;
    case XP_TP_GREATER:
        return is_signed ? (s64)v > (s64)t->number : v > t->number;
    case XP_TP_BITS:
        return (v & t->number) != 0;
    default:
        return v == t->number;
    }
}

/* Whether a term holds. Out of line, so that it is verified once. */
XP_NOINLINE int xp_tp_holds(u64 record, u32 number, u64 elapsed)
{
    if (number >= XP_TP_TERMS)
        return XP_TP_NO;
    const volatile struct xp_tp_term *t = &xp_tp.terms[number];
    int holds;
    if (t->field.source == XP_TP_ELAPSED)
        holds = xp_tp_compare(elapsed, t);
    else if (XP_TP_IS_TEXT(t->field.source))
        holds = xp_tp_same_text(record, t);
    else
        holds = xp_tp_compare(xp_tp_number(record, &t->field), t);
    return holds == XP_TP_UNKNOWN ? XP_TP_UNKNOWN : holds != t->negated;
}

XP_INLINE int xp_tp_fulfils(u32 held)
{
    int any = !xp_tp.nways;
    for (u32 i = 0; i < XP_TP_WAYS && i < xp_tp.nways; i++)
        any |= (held & xp_tp.ways[i]) == xp_tp.ways[i];
    return any;
}

struct xp_tp_judged { /* terms, as bits */
    u32 held, unknown;
};

/* Judges those terms of which `which` has the bits. */
XP_INLINE void xp_tp_judge(u64 record, u32 which, u64 elapsed, struct xp_tp_judged *j)
{
    for (u32 i = 0; i < XP_TP_TERMS && i < xp_tp.nterms; i++) {
        int holds = which >> i & 1 ? xp_tp_holds(record, i, elapsed) : XP_TP_NO;
        j->held |= (u32)(holds == XP_TP_YES) << i;
        j->unknown |= (u32)(holds == XP_TP_UNKNOWN) << i;
    }
}

XP_INLINE int xp_tp_decide(const struct xp_tp_judged *j)
{
    int fulfils = xp_tp_fulfils(j->held);
    if (!fulfils && j->unknown && xp_tp_fulfils(j->held | j->unknown))
        xp_lose(XP_LOSS_FIELD);
    return fulfils;
}

/* One in so many. */
XP_INLINE int xp_tp_is_taken(void)
{
    return xp_tp.period <= 1 || !(bpf_get_prandom_u32() % xp_tp.period);
}

/* Whether an occurrence counts. */
XP_INLINE int xp_tp_counts(void *ctx)
{
    struct xp_tp_judged j = {};
    xp_tp_judge(xp_tp_record(ctx), ~0u, 0, &j);
    return xp_tp_decide(&j) && xp_tp_is_taken();
}

/* Sets the amounts of the scratch state. */
XP_INLINE void xp_tp_amounts(void *ctx, struct xp_state *s)
{
    u64 value = 1, period = xp_tp.period ? xp_tp.period : 1;
    if (xp_tp.value.source != XP_TP_NOTHING)
        value = xp_tp_number(xp_tp_record(ctx), &xp_tp.value);
    if (xp_tp.value.source == XP_TP_SIGNED && (s64)value < 0) /* an error: it is not less than nothing */
        value = 0;
    xp_no_amounts(s);
    s->amounts[0].count = period;
    s->amounts[0].value = value * period;
}
