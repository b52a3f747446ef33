/* Unit tests: TEST(name) { CHECK(cond); CHECK_EQ(a, b); CHECK_STR(a, b); SKIP("why"); } in a *_test.c beside the
 * module. All are linked into one runner (base/test_main.c): `build/unit [substring...]`, closing line "N passed, N
 * failed, ...".
 */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct test_case {
    const char *file, *name;
    void (*run)(void);
    struct test_case *next;
};
void test_register(struct test_case *t);
void test_fail(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void test_skip(const char *why);
/* Returns the directory of fixtures that make built for the tests (build/testdata). */
const char *test_data(void);
/* Number of open descriptors, with a few that counting takes. */
int test_descriptors(void);

#define TEST(id)                                                      \
    static void test_##id(void);                                      \
    __attribute__((constructor)) static void register_##id(void)      \
    {                                                                 \
        static struct test_case t = {__FILE__, #id, test_##id, NULL}; \
        test_register(&t);                                            \
    }                                                                 \
    static void test_##id(void)

#define CHECK(cond)                                     \
    do {                                                \
        if (!(cond)) {                                  \
            test_fail(__FILE__, __LINE__, "%s", #cond); \
            return;                                     \
        }                                               \
    } while (0)
#define CHECK_EQ(a, b)                                                                                             \
    do {                                                                                                           \
        long long a_ = (long long)(a), b_ = (long long)(b);                                                        \
        if (a_ != b_) {                                                                                            \
            test_fail(__FILE__, __LINE__, "%s is %lld (%#llx), not %lld (%s)", #a, a_, (unsigned long long)a_, b_, \
                      #b);                                                                                         \
            return;                                                                                                \
        }                                                                                                          \
    } while (0)
#define CHECK_STR(a, b)                                                                            \
    do {                                                                                           \
        const char *a_ = (a), *b_ = (b);                                                           \
        if (!a_ || strcmp(a_, b_) != 0) {                                                          \
            test_fail(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #a, a_ ? a_ : "(null)", b_); \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#define SKIP(why)       \
    do {                \
        test_skip(why); \
        return;         \
    } while (0)
