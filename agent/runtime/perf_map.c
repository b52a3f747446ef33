/* "START SIZE NAME\n", the numbers in hex. Read in pieces, not mapped: its writer may cut it short at any moment. */
#include "base/cleanup.h"
#include "runtime/jit_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE    ((size_t)256 << 10)
#define MAX_LINE (PIECE / 2) /* what has no line end for so long is no map */

/* A number and the blanks behind it. */
static bool take_hex(const char **s, const char *end, u64 *out)
{
    const char *p = *s;
    u64 v = 0;
    if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
        p += 2;
    const char *digits = p;
    for (; p < end && p - digits <= 16; p++) {
        unsigned c = (unsigned char)*p, low = c | 0x20;
        if (c >= '0' && c <= '9')
            v = v << 4 | (c - '0');
        else if (low >= 'a' && low <= 'f')
            v = v << 4 | (low - 'a' + 10);
        else
            break;
    }
    if (p == digits || p - digits > 16 || p == end || *p != ' ')
        return false;
    while (p < end && *p == ' ')
        p++;
    *s = p;
    *out = v;
    return true;
}

/* A line that is no entry is passed over: writers of several threads may have mixed theirs up. */
static bool read_line(struct jit_query *q, const char *s, const char *end)
{
    u64 start, size;
    if (end > s && end[-1] == '\r')
        end--;
    if (!take_hex(&s, end, &start) || !take_hex(&s, end, &size) || s == end)
        return true;
    return jit_entry(q, start, size, s, (size_t)(end - s));
}

/* Where a line begins at or behind a place that may lie within one: what is left of it might look like an entry. */
static off_t next_line(int fd, off_t at, char *piece)
{
    ssize_t n = pread(fd, piece, PIECE, at - 1);
    const char *nl = n > 0 ? memchr(piece, '\n', (size_t)n) : NULL;
    return nl ? at + (nl - piece) : at;
}

/* The lines of a piece; how much of it they are, or -1: no more. What has no end yet comes again with the next piece,
 * and at the end of the file it is a line that is still being written. */
static ssize_t read_lines(struct jit_query *q, const char *piece, size_t len)
{
    size_t at = 0;
    for (const char *nl; (nl = memchr(piece + at, '\n', len - at)); at = (size_t)(nl - piece) + 1)
        if (!read_line(q, piece + at, nl))
            return -1;
    return len - at > MAX_LINE ? -1 : (ssize_t)at;
}

int perf_map_read(int fd, off_t size, struct jit_query *q)
{
    off_t at = size > JIT_MAX_BYTES ? size - JIT_MAX_BYTES : 0, end = at + JIT_MAX_BYTES;
    AUTO_FREE char *piece = malloc(PIECE);
    size_t kept = 0;
    if (!piece)
        return -ENOMEM;
    if (at)
        at = next_line(fd, at, piece);
    while (at < end) {
        ssize_t n = pread(fd, piece + kept, PIECE - kept, at);
        if (n < 0)
            return -errno;
        ssize_t used = n ? read_lines(q, piece, kept + (size_t)n) : -1;
        if (used < 0)
            return 0;
        at += n;
        kept += (size_t)n - (size_t)used;
        memmove(piece, piece + used, kept);
    }
    return 0;
}
