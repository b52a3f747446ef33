/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `readahead`: pages of regular files that a readahead, or a page fault, has brought into the page cache, by the
 * stack that caused it, and what became of each. A page is used when it is read or faulted on. Pages that the kernel
 * has mapped beside such a one, and all of a folio of which it has mapped some, may be looked at unseen: they stay
 * unjudged. (Their accessed bits say nothing: x86 sets those of all pages that it maps.) A page that leaves the page
 * cache without any of this is unused. Values of the kind: used, unused, and all that came, of which user space makes
 * what is unjudged.
 */
#include "bpf/kind.bpf.h"
#include "bpf/atomic.bpf.h"
#include "bpf/heap.h"
#include "bpf/path.bpf.h"
#include "bpf/shares.bpf.h"

#define XP_RA_BLOCKS 65536 /* of 64 pages, 600 bytes each, allocated as they are needed */
#define XP_RA_LOOK   256   /* blocks that one read may judge: it may get 31 folios of 2 MB at once */
#define XP_RA_FOLIO  32    /* blocks of the largest folio: 8 MB */
#define XP_RA_HUGE   512   /* pages that the kernel maps at once, without telling: an entry of the second level */

struct xp_ra_key {
    u64 mapping, block; /* which 64 pages of it */
};
struct xp_ra_block {
    u64 pending; /* pages that are not judged yet: a bit each */
    u64 mapped;  /* pages that have been mapped, or may have been without telling */
    u64 cgroup;  /* of who brought the last ones */
    u64 owner;   /* of who brought the first one: it counts against its share */
    u64 stack[64];
};
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_RA_BLOCKS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct xp_ra_key);
    __type(value, struct xp_ra_block);
} ra_blocks SEC(".maps");

/* What a thread reads ahead, and the page that it faulted on last. Nobody tells the end of a readahead: it is over when
 * its last page has come, and at the latest when the thread reads or faults. */
struct xp_ra_reader {
    u64 mapping, first, last; /* mapping 0: nothing */
    u64 stack, cgroup;
    u64 fault_mapping, fault;
    u64 tag_mapping, tag; /* of the file that it reads, if these are wanted; tag_mapping 0: not known */
};
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct xp_ra_reader);
} ra_readers SEC(".maps");

enum { XP_RA_USED, XP_RA_UNUSED, XP_RA_CAME };

XP_INLINE struct xp_ra_reader *xp_ra_reader(u64 flags)
{
    return bpf_task_storage_get(&ra_readers, bpf_get_current_task_btf(), 0, flags);
}

#include "bpf/readahead_file.bpf.h"

/* The pages first to last, as far as they are in a block. */
XP_INLINE u64 xp_ra_mask(u64 block, u64 first, u64 last)
{
    u64 from = first > block * 64 ? first - block * 64 : 0, to = last - block * 64;
    return ~0ull << (from & 63) & ~0ull >> (63 - (to < 63 ? to : 63));
}

/* ---- What became of pages ------------------------------------------------------------------------------------------
 */
XP_INLINE void xp_ra_add(struct xp_state *s, u32 value, u64 pages)
{
    s->amounts[value & 3].count += pages;
    s->amounts[value & 3].value += pages;
}

/* Pages that follow each other mostly have the same stack. Out of line, so that it is verified once. */
XP_NOINLINE int xp_ra_judge(struct xp_ra_block *b, u64 pages, u32 value)
{
    u64 hits = b ? xp_atomic_and(&b->pending, ~pages) & pages : 0, stack = 0;
    struct xp_state *s = hits ? xp_begin_level() : 0;
    if (!s)
        return 1;
    xp_no_amounts(s);
    for (u32 i = 0; i < 64; i++) {
        if (!(hits >> i & 1))
            continue;
        if (stack && b->stack[i] != stack) {
            xp_count_for(stack, 0, b->cgroup);
            xp_no_amounts(s);
        }
        stack = b->stack[i];
        xp_ra_add(s, value, 1);
    }
    xp_count_for(stack, 0, b->cgroup);
    xp_end_level();
    return 0;
}

XP_INLINE struct xp_ra_block *xp_ra_find(u64 mapping, u64 block)
{
    struct xp_ra_key key = {mapping, block};
    return bpf_map_lookup_elem(&ra_blocks, &key);
}

/* Of system calls that read files (arch/x86/entry/syscalls/syscall_64.tbl). */
enum { XP_SYS_READ = 0, XP_SYS_READV = 19, XP_SYS_PREAD = 17, XP_SYS_PREADV = 295, XP_SYS_PREADV2 = 327 };

/* Returns the page at which the current call began to read, up to `first`; if it is not known, that one. */
XP_INLINE u64 xp_ra_began(u64 mapping, u64 first)
{
    struct task_struct *t = (struct task_struct *)bpf_get_current_task();
    u64 regs = xp_user_regs(t);
    u64 number = xp_saved_word(regs, XP_PT_ORIG_RAX), fd = xp_saved_word(regs, XP_PT_RDI),
        at = xp_saved_word(regs, XP_PT_R10);
    struct file *file = xp_ra_file((u32)fd);
    if (!file || (u64)BPF_CORE_READ(file, f_mapping) != mapping)
        return first;
    if (number == XP_SYS_READ || number == XP_SYS_READV) /* which is moved at the end of the call */
        at = BPF_CORE_READ(file, f_pos);
    else if (number != XP_SYS_PREAD && number != XP_SYS_PREADV && number != XP_SYS_PREADV2)
        return first;
    return at >> 12 < first ? at >> 12 : first;
}

XP_INLINE int xp_ra_is_pending(u64 mapping, u64 page)
{
    struct xp_ra_block *b = xp_ra_find(mapping, page / 64);
    return b && b->pending >> (page & 63) & 1;
}

/* A range is read. The kernel says to where, although it may have got less yet: what is not there is not pending. It
 * says nothing of what it got at once, if what follows was still on its way then; but it comes back for that. */
SEC("tp_btf/mm_filemap_get_pages")
int xp_on_read(u64 *ctx)
{
    u64 first = ctx[1], last = ctx[2];
    struct xp_ra_reader *r = xp_ra_reader(0);
    if (r)
        r->mapping = 0;
    if (first && xp_ra_is_pending(ctx[0], first - 1))
        first = xp_ra_began(ctx[0], first);
    u64 block = first / 64;
    for (u32 i = 0; i < XP_RA_LOOK && block <= last / 64; i++, block++) {
        struct xp_ra_block *b = xp_ra_find(ctx[0], block);
        u64 pages = xp_ra_mask(block, first, last);
        if (b && b->pending & pages)
            xp_ra_judge(b, pages, XP_RA_USED);
    }
    return 0;
}

SEC("tp_btf/mm_filemap_map_pages")
int xp_on_mapped_around(u64 *ctx)
{
    u64 first = ctx[1], last = ctx[2], block = first / 64;
    for (u32 i = 0; i < XP_RA_FOLIO && block <= last / 64; i++, block++) {
        struct xp_ra_block *b = xp_ra_find(ctx[0], block);
        if (b)
            xp_atomic_or(&b->mapped, xp_ra_mask(block, first, last));
    }
    return 0;
}

/* A page that is missing comes while the thread is in this fault. */
SEC("tp_btf/mm_filemap_fault")
int xp_on_fault(u64 *ctx)
{
    u64 index = ctx[1], page = 1ull << (index & 63);
    struct xp_ra_block *b = xp_ra_find(ctx[0], index / 64);
    if (b)
        xp_atomic_or(&b->mapped, page);
    if (b && b->pending & page)
        return xp_ra_judge(b, page, XP_RA_USED) & 0;
    struct xp_ra_reader *r = xp_ra_reader(xp_is_wanted() ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
    if (r) {
        r->mapping = 0;
        r->fault_mapping = ctx[0];
        r->fault = index;
    }
    return 0;
}

XP_INLINE int xp_ra_flag(u64 flags, u64 bit)
{
    return flags >> (bit & 63) & 1;
}

/* Folios begin with their flags (include/linux/mm_types.h). */
XP_INLINE u64 xp_ra_flags(struct folio *folio)
{
    u64 flags = 0;
    bpf_probe_read_kernel(&flags, sizeof(flags), folio);
    return flags;
}

/* Their order is in the lowest byte of the second page's flags. */
XP_INLINE u64 xp_ra_pages(struct folio *folio, u64 flags)
{
    u64 order = BPF_CORE_READ(folio, _flags_1) & 15;
    return xp_ra_flag(flags, bpf_core_enum_value(enum pageflags, PG_head)) ? 1ull << order : 1;
}

/* Huge folios are mapped without telling. Their flags tell, but may be due to a read, too. */
XP_INLINE u64 xp_ra_may_be_mapped(u64 flags, u64 pages)
{
    return pages >= XP_RA_HUGE && (xp_ra_flag(flags, bpf_core_enum_value(enum pageflags, PG_referenced)) ||
                                   xp_ra_flag(flags, bpf_core_enum_value(enum pageflags, PG_active)));
}

/* Whether any of these pages has been mapped. */
XP_INLINE u64 xp_ra_was_mapped(struct xp_ra_key key, u64 first, u64 last)
{
    u64 mapped = 0;
    for (u32 i = 0; i < XP_RA_FOLIO && key.block <= last / 64; i++, key.block++) {
        struct xp_ra_block *b = bpf_map_lookup_elem(&ra_blocks, &key);
        if (b)
            mapped |= b->mapped & xp_ra_mask(key.block, first, last);
    }
    return mapped;
}

/* A single page that nobody has mapped, and that is marked as accessed, was read by a call that said nothing. */
SEC("tp_btf/mm_filemap_delete_from_page_cache")
int xp_on_leave(u64 *ctx)
{
    struct folio *folio = (void *)ctx[0];
    u64 flags = xp_ra_flags(folio), n = xp_ra_pages(folio, flags);
    u64 first = BPF_CORE_READ(folio, index), last = first + n - 1;
    struct xp_ra_key key = {(u64)BPF_CORE_READ(folio, mapping), first / 64};
    u64 mapped = xp_ra_may_be_mapped(flags, n) || xp_ra_was_mapped(key, first, last);
    u32 value =
        n == 1 && xp_ra_flag(flags, bpf_core_enum_value(enum pageflags, PG_referenced)) ? XP_RA_USED : XP_RA_UNUSED;
    for (u32 i = 0; i < XP_RA_FOLIO && key.block <= last / 64; i++, key.block++) {
        struct xp_ra_block *b = bpf_map_lookup_elem(&ra_blocks, &key);
        u64 pages = xp_ra_mask(key.block, first, last);
        if (!b)
            continue;
        if (!mapped && b->pending & pages)
            xp_ra_judge(b, pages, value);
        xp_atomic_and(&b->mapped, ~pages);
        u64 owner = b->owner;
        if (!(xp_atomic_and(&b->pending, ~pages) & ~pages) && !bpf_map_delete_elem(&ra_blocks, &key))
            xp_share_give(owner);
    }
    return 0;
}

/* ---- Pages that come -----------------------------------------------------------------------------------------------
 */

/* Takes the stack for the pages that come. Returns 0; 1: there is no room. */
XP_INLINE int xp_ra_stack(void *ctx, struct xp_state *s, struct xp_ra_reader *r, u64 mapping)
{
    r->stack = 0;
    if (xp_config.tags ? xp_ra_stack_of_file(ctx, s, mapping, r->tag_mapping == mapping ? r->tag : 0)
                       : xp_stack_here(ctx, s))
        return 1;
    r->stack = s->hash;
    r->cgroup = s->sample.cgroup;
    return 0;
}

/* The current thread is going to read these pages. What it did before is over. */
XP_INLINE void xp_ra_begins(u64 *ctx, struct xp_state *s, u64 pages)
{
    struct inode *inode = (void *)ctx[0];
    struct xp_ra_reader *r = xp_ra_reader(BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!r)
        return;
    r->mapping = (u64)BPF_CORE_READ(inode, i_mapping);
    r->first = ctx[1];
    r->last = ctx[1] + pages - 1;
    if (r->fault_mapping != r->mapping || r->fault < r->first || r->fault > r->last)
        r->fault_mapping = 0;
    if (xp_ra_stack(ctx, s, r, r->mapping))
        r->mapping = 0;
}

/* Whether this thread reads a regular file ahead that counts; if not, it no longer reads the one before. */
XP_INLINE int xp_ra_is_wanted(struct inode *inode)
{
    if ((BPF_CORE_READ(inode, i_mode) & 0170000) == 0100000 && xp_is_wanted())
        return 1;
    struct xp_ra_reader *r = xp_ra_reader(0);
    if (r)
        r->mapping = 0;
    return 0;
}

XP_INLINE void xp_ra_unbounded(u64 *ctx, struct xp_state *s)
{
    if (xp_config.tags)
        xp_ra_asked((u64)BPF_CORE_READ((struct inode *)ctx[0], i_mapping));
    xp_ra_begins(ctx, s, ctx[2]);
}

XP_INLINE void xp_ra_order(u64 *ctx, struct xp_state *s)
{
    struct file_ra_state *ra = (void *)ctx[2];
    xp_ra_begins(ctx, s, BPF_CORE_READ(ra, size));
}

XP_KIND_PROGRAM("tp_btf/page_cache_ra_unbounded", xp_on_readahead, xp_ra_is_wanted((struct inode *)ctx[0]),
                xp_ra_unbounded)
XP_KIND_PROGRAM("tp_btf/page_cache_ra_order", xp_on_large_readahead, xp_ra_is_wanted((struct inode *)ctx[0]),
                xp_ra_order)

XP_INLINE struct xp_ra_block *xp_ra_make(const struct xp_ra_key *key, u64 cgroup)
{
    static const struct xp_ra_block none = {};
    if (xp_share_take(cgroup, XP_RA_BLOCKS))
        return 0;
    int refused = bpf_map_update_elem(&ra_blocks, key, &none, BPF_NOEXIST); /* perhaps somebody else was faster */
    struct xp_ra_block *b = bpf_map_lookup_elem(&ra_blocks, key);
    if (refused)
        xp_share_give(cgroup);
    else if (b)
        b->owner = cgroup;
    return b;
}

/* Follows pages of a block. Returns 0; 1: it cannot. Out of line, so that it is verified once. */
XP_NOINLINE int xp_ra_follow(struct xp_ra_key *key, struct xp_ra_reader *r, u64 pages, u64 mapped)
{
    struct xp_ra_block *b = key ? bpf_map_lookup_elem(&ra_blocks, key) : 0;
    if (!r)
        return 1;
    if (!b && key)
        b = xp_ra_make(key, r->cgroup);
    if (!b)
        return 1;
    b->cgroup = r->cgroup;
    for (u32 i = 0; i < 64; i++)
        if (pages >> i & 1)
            b->stack[i] = r->stack;
    xp_atomic_and(&b->mapped, ~pages);
    xp_atomic_or(&b->mapped, mapped);
    xp_atomic_or(&b->pending, pages);
    return 0;
}

/* Whether a folio may be mapped without telling. */
XP_INLINE int xp_ra_maps(u64 mapping, u64 pages)
{
    return pages >= XP_RA_HUGE && BPF_CORE_READ((struct address_space *)mapping, i_mmap.rb_root.rb_node) != 0;
}

/* Follows the pages of a folio, except for the one that was faulted on. Returns the number of those that it does. */
XP_INLINE u64 xp_ra_follow_all(struct xp_ra_reader *r, u64 mapping, u64 first, u64 last, u64 fault)
{
    struct xp_ra_key key = {mapping, first / 64};
    u64 followed = 0, maps = xp_ra_maps(mapping, last - first + 1) ? ~0ull : 0;
    for (u32 i = 0; i < XP_RA_FOLIO && key.block <= last / 64; i++, key.block++) {
        u64 pages = xp_ra_mask(key.block, first, last), to = last - key.block * 64;
        u64 n = (to < 63 ? to : 63) - (first > key.block * 64 ? first - key.block * 64 : 0) + 1;
        u64 faulted = fault / 64 == key.block ? 1ull << (fault & 63) : 0;
        bool alone = faulted == pages; /* nothing to be judged */
        followed += alone || !xp_ra_follow(&key, r, pages & ~faulted, (pages & maps) | faulted) ? n : 0;
    }
    return followed;
}

XP_INLINE void xp_ra_comes(u64 *ctx, struct xp_state *s)
{
    struct folio *folio = (void *)ctx[0];
    struct xp_ra_reader *r = xp_ra_reader(0);
    u64 mapping = (u64)BPF_CORE_READ(folio, mapping), n = xp_ra_pages(folio, xp_ra_flags(folio));
    u64 first = BPF_CORE_READ(folio, index), last = first + n - 1;
    if (!r)
        return;
    int demanded = r->fault_mapping == mapping && r->fault >= first && r->fault <= last;
    int ahead = r->mapping == mapping && first <= r->last && last >= r->first;
    if (!ahead && (!demanded || xp_ra_stack(ctx, s, r, mapping)))
        return;
    r->first = ahead ? last + 1 : r->first;
    if (last >= r->last)
        r->mapping = 0;
    u64 followed = xp_ra_follow_all(r, mapping, first, last, demanded ? r->fault : ~0ull);
    struct xp_stats *st = followed < n ? xp_stats_get() : 0;
    if (st)
        st->lost[XP_LOSS_PAGE] += n - followed;
    xp_no_amounts(s);
    xp_ra_add(s, XP_RA_CAME, followed);
    xp_ra_add(s, XP_RA_USED, demanded && followed == n);
    if (followed)
        xp_count_for(r->stack, 0, r->cgroup);
    if (demanded)
        r->fault_mapping = 0;
}

XP_KIND_PROGRAM("tp_btf/mm_filemap_add_to_page_cache", xp_on_page, xp_ra_reader(0) != 0, xp_ra_comes)
