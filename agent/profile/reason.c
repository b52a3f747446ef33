#include "profile/reason.h"

/* The lock, and its holder's name: they come before the waker, but are shown after it. */
static size_t lock_words(const u64 *words)
{
    size_t n = XP_WAIT_WORDS(words[0]);
    if (!(XP_WAIT_FLAGS(words[0]) & XP_WAIT_LOCKED) || n < 2 || XP_WORD_KIND(words[1]) != XP_WORD_LOCK)
        return 0;
    return n >= 2 + XP_NAME_WORDS && XP_WORD_KIND(words[2]) == XP_WORD_NAME ? 1 + XP_NAME_WORDS : 1;
}

static bool kind_valid(u64 word)
{
    u32 kind = XP_WORD_KIND(word);
    return kind <= XP_WORD_INFERRED || kind == XP_WORD_MARK || kind == XP_WORD_LOCK || kind == XP_WORD_KERNEL;
}

/* The words of an item at the beginning of n; 0: it is not whole, or none. */
static size_t item_words(const u64 *words, size_t n)
{
    size_t name = 0;
    while (name < XP_NAME_WORDS && name < n && XP_WORD_KIND(words[name]) == XP_WORD_NAME)
        name++;
    if (name)
        return name == XP_NAME_WORDS ? name : 0;
    if (XP_IS_RUNTIME(words[0]))
        return n > 1 && XP_WORD_KIND(words[1]) == XP_WORD_MORE ? 2 : 0;
    return kind_valid(words[0]);
}

bool reason_valid(const u64 *words, size_t n)
{
    if (!n || XP_WORD_KIND(words[0]) != XP_WORD_WAIT)
        return true;
    size_t end = XP_WAIT_WORDS(words[0]);
    if (!end || end > n)
        return false;
    for (size_t i = 1, item; i < end; i += item)
        if (!(item = item_words(words + i, end - i)))
            return false;
    return true;
}

/* Shown first: the words behind those of the lock. `done` counts the words that were shown of all. */
bool reason_next(struct reason_walk *w, struct reason_item *out)
{
    size_t all = XP_WAIT_WORDS(w->words[0]), lock = lock_words(w->words), waker = all - 1 - lock;
    if (w->done >= all)
        return false;
    const u64 *at = w->words;
    size_t n = 1;
    if (w->done < waker) {
        at += 1 + lock + w->done;
        n = item_words(at, waker - w->done);
    } else if (w->done < waker + lock) {
        bool holder = lock > 1 && w->done == waker;
        at += holder ? 2 : 1;
        n = holder ? XP_NAME_WORDS : 1;
    }
    *out = (struct reason_item){at, n, w->done < waker};
    w->done += n;
    return true;
}

/* 7 bytes in each word, the first one the lowest. */
const char *reason_name(const u64 *words, char out[7 * XP_NAME_WORDS + 1])
{
    for (size_t i = 0; i < 7 * XP_NAME_WORDS; i++)
        out[i] = (char)(words[i / 7] >> 8 * (i % 7));
    out[7 * XP_NAME_WORDS] = 0;
    return out;
}
