#include "container/containers_bench_test.h"
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void pair(struct cri_pairs *p, const char *key, const char *value)
{
    p->v = calloc(1, sizeof(*p->v));
    p->v[0] = (struct cri_pair){key, value};
    p->n = 1;
}

static void annotate(struct cri_pairs *p, const struct fake_runtime *f)
{
    static char keys[64][16];
    p->v = calloc(f->annotations + 1, sizeof(*p->v));
    p->v[p->n++] = (struct cri_pair){KEY, f->annotation ? f->annotation : "true"};
    for (size_t i = 0; i < f->annotations && i < 64; i++) {
        snprintf(keys[i], sizeof(keys[i]), "more-%zu", i);
        p->v[p->n++] = (struct cri_pair){keys[i], f->annotation ? f->annotation : ""};
    }
}

static int fake_fetch(void *ctx, struct cri_list *out, char *why, size_t why_len)
{
    struct fake_runtime *f = ctx;
    f->fetches++;
    if (f->rc) {
        snprintf(why, why_len, "the fake fails");
        return f->rc;
    }
    if (f->lists_sandbox) {
        struct cri_sandbox *s = VEC_PUSH(&out->sandboxes);
        *s = (struct cri_sandbox){.id = C2, .name = "web-0", .namespace_ = "prod", .uid = UID};
        s->ready = true;
        annotate(&s->annotations, f);
        pair(&s->labels, "app", "web");
        s = VEC_PUSH(&out->sandboxes); /* what the pod had before */
        *s = (struct cri_sandbox){.id = HEX "0009", .name = "web-0", .namespace_ = "prod", .uid = UID};
        pair(&s->annotations, KEY, "false");
    }
    for (size_t i = 0; f->many && i < MANY; i++) {
        struct cri_sandbox *s = VEC_PUSH(&out->sandboxes);
        *s = (struct cri_sandbox){.id = C2, .name = "many", .namespace_ = "prod", .uid = f->many[i], .ready = true};
        pair(&s->annotations, KEY, f->annotation);
    }
    if (f->lists_container) {
        struct cri_container *c = VEC_PUSH(&out->containers);
        *c =
            (struct cri_container){.id = C1, .sandbox = C2, .name = "main", .image = f->image, .image_id = "sha256:aa"};
        c->labels.v = calloc(4, sizeof(*c->labels.v));
        c->labels.v[c->labels.n++] = (struct cri_pair){"tier", "front"};
        if (f->labels_of_kubelet) {
            c->labels.v[c->labels.n++] = (struct cri_pair){"io.kubernetes.container.name", "of-kubelet"};
            c->labels.v[c->labels.n++] = (struct cri_pair){"io.kubernetes.pod.name", "web-7"};
            c->labels.v[c->labels.n++] = (struct cri_pair){"io.kubernetes.pod.namespace", "shop"};
        }
    }
    return 0;
}

static int fake_image(void *ctx, const char *id, char *image, size_t size)
{
    struct fake_runtime *f = ctx;
    f->images++;
    if (f->image_rc)
        return f->image_rc;
    snprintf(image, size, "web:1.2");
    return 0;
}

static const char *fake_about(void *ctx)
{
    const struct fake_runtime *f = ctx;
    return f->about ? f->about : "containerd 9.9";
}

static void on_changed(void *ctx, const struct container *c)
{
    struct bench_seen *s = ctx;
    s->changed++;
    s->state = c->state;
    snprintf(s->path, sizeof(s->path), "%s", c->path);
}

static void on_gone(void *ctx, const struct container *c)
{
    ((struct bench_seen *)ctx)->gone++;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

int bench_new(struct bench *b, bool runtime, const char *out_of_sight)
{
    struct container_source source = {&b->fake, fake_fetch, fake_image, fake_about};
    struct containers_config config = {
        .hierarchy = {.mode = HIERARCHY_V2, .unified = true, .whole = !out_of_sight, .proc = out_of_sight},
        .host_root = b->dir,
        .cri_socket = "none",
        .source = runtime ? &source : NULL};
    struct containers_handlers handlers = {&b->seen, on_changed, on_gone};
    snprintf(b->dir, sizeof(b->dir), "/tmp/xprof-reg-XXXXXX");
    if (!mkdtemp(b->dir))
        return -errno;
    snprintf(config.hierarchy.mount, sizeof(config.hierarchy.mount), "%s", b->dir);
    int rc = containers_new(&b->c, &config, &handlers);
    if (!rc)
        containers_tick(b->c, 1 * SEC); /* the first scan: of an empty tree */
    return rc;
}

void bench_free(struct bench *b)
{
    containers_free(&b->c);
    nftw(b->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
