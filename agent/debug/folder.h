/* The directory of downloaded debug files (debuginfod.h): ID.debug, or an empty ID.debug.none if no server has the
 * file. The time stamps of the files record their last use, so that several runs can share a directory.
 */
#pragma once
#include "base/clock.h"
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

#define FOLDER_PART      ".XXXXXX"          /* suffix of a file being written */
#define FOLDER_FORGET_NS (600 * NS_PER_SEC) /* lifetime of ID.debug.none */

struct folder {
    char *dir;
    bool temporary;   /* removed by folder_close */
    size_t max_bytes; /* of the disk, in whole blocks */
};

/* dir NULL: a temporary directory; max_bytes 0: 1 GiB. Returns 0; -EPERM: owned or writable by others; -ENOMEM; or
 * another -errno. Call folder_close in every case. */
int folder_open(struct folder *f, const char *dir, size_t max_bytes);
void folder_close(struct folder *f);

void folder_path(const struct folder *f, const char *id, const char *suffix, char path[4096]);
/* Returns an owned fd, or -errno. Marks the file as used. */
int folder_open_file(const struct folder *f, const char *id);
/* Removes the least recently used files until `room` more bytes fit; room = SIZE_MAX removes everything. `keep` (NULL:
 * none) is the path of a file that is still growing: it counts, and stays. Returns 0; -EFBIG: there is not that much
 * room; -ENOMEM; or another -errno. */
int folder_make_room(const struct folder *f, size_t room, const char *keep);
/* Returns what all files take of the disk. */
size_t folder_bytes(const struct folder *f);
bool folder_is_missing(const struct folder *f, const char *id);
void folder_note_missing(const struct folder *f, const char *id);
