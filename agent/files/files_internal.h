/* Declarations shared by files.c, evict.c, hold.c, synth.c and synth_stretches.c. */
#pragma once
#include "files/files.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/shares.h"
#include "base/turns.h"
#include "files/synth_budget.h"
#include "cache/cache.h"

struct retry {
    struct xp_file_key key;
    u64 due_ns;
};

struct shared_table { /* by content */
    struct table_key key;
    struct probe_table place;
    u32 rows, bad_fdes, synth_rows;
    bool used; /* during an eviction: used by a file that is kept */
};

struct files {
    struct probe *probe;
    struct parser *parser;
    struct cache *cache;
    struct opener *opener; /* NULL: files are opened in this process */
    struct hung *hung;     /* NULL: nothing is known of file systems */
    VEC(struct file) all;
    struct map by_id;  /* id -> index + 1 */
    struct map by_key; /* hash of the key -> index + 1 of a file that could be opened */
    VEC(struct shared_table) tables;
    struct map by_digest; /* first half of the digest -> index + 1 */
    size_t open_fds, max_fds;
    VEC(struct xp_file_key) left; /* by the last files_age */
    VEC(struct retry) retries;
    struct map tries; /* hash of the key -> number of failures to open it */
    bool warned;
    u32 round; /* number of calls of files_age, for `last_used` */
    u32 evicted;
    bool starved;       /* the shards or the rule dictionary are full: files_age makes room */
    bool share;         /* files_share */
    struct map refused; /* during files_age: owners that need more room */
    bool synth;
    VEC(u32) synth_wanted; /* IDs, longest waiting first */
    u64 synth_counts[FILES_SYNTH_COUNT];
    struct files_budget synth_budget; /* available time for it */
    struct turns synth_turns;         /* who used how much of it (files_share) */
    u64 synth_due_ns;                 /* not before */
    struct shares stretch_shares;     /* of STRETCHES_ALL, by owner */
    u32 stretches_of;                 /* the file that the parser with this PID has read stretches of last */
    pid_t stretches_by;
};

/* Finds a table of this content in the shards, or NULL. */
struct shared_table *files_find_shared(struct files *f, const struct table_key *key);
/* Loads an image into the shards, counted against the owner's share, and registers it by its content. Returns 0;
 * -EDQUOT: no room; -EUSERS: no room in the share; -EOVERFLOW: too many rules; -ENOMEM; or another -errno. */
int files_place(struct files *f, u64 owner, const struct table_key *key, const struct xp_table *image,
                struct shared_table **out);
/* Finds the table with all rows, if it was built before. Returns 0, or -ENODATA and similar errors. */
int files_find_synth(struct files *f, const struct file *e, const struct table_key *key, struct shared_table **out);
/* Queues a file for synthesis, or closes it if that is not possible. */
void files_enqueue_synth(struct files *f, struct file *e);
/* Lets a file begin with the stretches that are known from earlier, if any are on disk. */
void files_resume_stretches(struct files *f, struct file *e);
/* Makes the table with the stretches that are wanted so far. *out stays NULL if they bring no row. Returns 0 or -errno.
 */
int files_read_stretches(struct files *f, struct file *e, struct shared_table **out, enum files_synth *outcome);
/* Lets all files that are read by stretches have their next table at once: what waits for it waits no longer. */
void files_end_pauses(struct files *f);
/* Closes a file: it is decided whether the rest of its code gets rows, or that takes too long. Stacks that stop there
 * are no longer deferred. */
void files_close(struct files *f, struct file *e);
/* Closes the files that have waited for too long. */
void files_close_late(struct files *f, u64 now_ns);
/* Releases the tables that are no longer used by a published file. */
void files_free_tables(struct files *f);

/* Keeps the file open, unless the limit of descriptors is reached. */
void files_hold(struct files *f, struct file *e);
/* Closes the file, if it is open, and lists it as left. */
void files_close_one(struct files *f, struct file *e);
/* Takes the news that a process maps a file whose ID is known. Takes ownership of the job's fd and path. */
void files_seen_again(struct files *f, struct file *e, struct file_job *job);
/* Lets go of the files that no process maps any more, and no stack. */
void files_let_go(struct files *f);
/* Tells whether fd is the file with this key. Returns 0; -ESTALE: it is another one; or another -errno. */
int files_check(int fd, const struct xp_file_key *key);

/* NULL: there is no such file. */
static inline struct file *files_entry(const struct files *f, u32 id)
{
    const u64 *at = map_get(&f->by_id, id);
    return at && *at ? &f->all.v[*at - 1] : NULL;
}

/* Lets a file be announced again when it is seen after this delay, in ns. False: too many files wait already. */
bool files_retry(struct files *f, const struct xp_file_key *key, u64 after_ns);

static inline u64 files_key_hash(const struct xp_file_key *k)
{
    return hash_bytes(k, sizeof(*k), 0);
}
