/* The folder of debug files that servers sent (debuginfod.h): ID.debug, and an empty ID.debug.none for each that no
 * server has. The files' own times say which was used longest ago, so that several runs share a folder.
 */
#pragma once
#include "base/clock.h"
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

#define FOLDER_PART      ".XXXXXX"          /* behind the name of a file that is being written */
#define FOLDER_FORGET_NS (600 * NS_PER_SEC) /* that no server has a file */

struct folder {
    char *dir;
    bool temporary; /* the folder goes with us */
    size_t max_bytes;
};

/* dir NULL: one that goes when it is closed; max_bytes 0: 4 GiB. 0; -EPERM: it is not ours, or others may write there;
 * -ENOMEM, -errno. To be closed in every case. */
int folder_open(struct folder *f, const char *dir, size_t max_bytes);
void folder_close(struct folder *f);

void folder_path(const struct folder *f, const char *id, const char *suffix, char path[4096]);
/* An owned fd, or -errno. The file counts as used now. */
int folder_open_file(const struct folder *f, const char *id);
/* Removes what was used longest ago until `room` more bytes fit; with room = SIZE_MAX everything. */
void folder_make_room(const struct folder *f, size_t room);
bool folder_is_missing(const struct folder *f, const char *id);
void folder_note_missing(const struct folder *f, const char *id);
