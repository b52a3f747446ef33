// Allocates in the ways that C++ has, on one call path each, and frees in another thread. Prints its own books, a line
// per path, as heap.c does.   heap-cpp ROUNDS
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#define PATH __attribute__((noinline)) static void
#define STAY __asm__ volatile("" ::: "memory") // what was called is no jump

namespace
{
struct book {
    uint64_t objects, bytes, held_objects, held_bytes;
};
std::array<book, 10> books;

struct held {
    void *block;
    size_t size;
    int path;
    void (*give)(void *, size_t);
};
constexpr size_t MANY = 1 << 20;
held *shelf; // an array of its own: what it allocates is no path's
size_t kept;

void got(int path, void *block, size_t size, void (*give)(void *, size_t))
{
    if (!block)
        return;
    book &b = books[path];
    b.objects++, b.bytes += size, b.held_objects++, b.held_bytes += size;
    shelf[kept++] = {block, size, path, give};
}

struct alignas(128) wide {
    char bytes[256];
};
struct counted { // arrays of these begin with their length
    size_t value = 1;
    ~counted()
    {
        value = 0;
    }
};
} // namespace

PATH path_1(size_t n)
{
    got(1, ::operator new(n), n, [](void *p, size_t) { ::operator delete(p); });
    STAY;
}
PATH path_2(size_t n)
{
    got(2, ::operator new[](n), n, [](void *p, size_t) { ::operator delete[](p); });
    STAY;
}
PATH path_3(size_t n)
{
    got(3, ::operator new(n, std::nothrow), n, [](void *p, size_t) { ::operator delete(p, std::nothrow); });
    STAY;
}
PATH path_4(size_t n)
{
    n = (n + 63) / 64 * 64; // the library asks for that much
    got(4, ::operator new(n, std::align_val_t(64)), n,
        [](void *p, size_t) { ::operator delete(p, std::align_val_t(64)); });
    STAY;
}
PATH path_5(size_t n)
{
    got(5, std::allocator<char>().allocate(n), n, [](void *p, size_t size) { ::operator delete(p, size); });
    STAY;
}
PATH path_6(size_t)
{
    got(6, new wide, sizeof(wide), [](void *p, size_t) { delete static_cast<wide *>(p); });
    STAY;
}
PATH path_7(size_t n)
{
    size_t many = n % 50 + 1;
    got(7, new counted[many], many * sizeof(counted) + sizeof(size_t),
        [](void *p, size_t) { delete[] static_cast<counted *>(p); });
    STAY;
}
PATH path_8(size_t n)
{
    auto *text = new std::string; // short ones are within
    text->reserve(n + 16);
    book &b = books[8];
    got(8, text, sizeof(*text), [](void *p, size_t) { delete static_cast<std::string *>(p); });
    b.objects++, b.bytes += text->capacity() + 1;
    STAY;
    delete text; // both at once
    b.held_objects--, b.held_bytes -= sizeof(*text);
    kept--;
}
PATH fails() // what is thrown is allocated, too: not by a path
{
    volatile size_t huge = SIZE_MAX / 2;
    void *none = ::operator new(huge, std::nothrow);
    try {
        none = ::operator new(huge);
    } catch (const std::bad_alloc &) {
    }
    if (none)
        std::abort();
    STAY;
}
PATH path_9(size_t n)
{
    std::vector<uint64_t> grows;
    size_t was = 0;
    for (size_t i = 0; i < n % 100; i++) {
        grows.push_back(i);
        if (grows.capacity() == was)
            continue;
        was = grows.capacity();
        books[9].objects++, books[9].bytes += was * sizeof(uint64_t);
    }
    STAY;
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? strtoul(argv[1], nullptr, 10) : 100;
    void (*const paths[])(size_t) = {path_1, path_2, path_3, path_4, path_5, path_6, path_7, path_8, path_9};
    shelf = new held[MANY];
    for (size_t i = 0; i < rounds && kept + 10 < MANY; i++) {
        for (auto *path : paths)
            path(i * 7919 % 3000 + 1);
        if (argc > 2)
            fails();
    }
    std::thread([] { // every second one goes
        for (size_t i = 0; i < kept; i += 2) {
            book &b = books[shelf[i].path];
            b.held_objects--, b.held_bytes -= shelf[i].size;
            shelf[i].give(shelf[i].block, shelf[i].size);
        }
    })
        .join();
    for (size_t i = 1; i < books.size(); i++)
        if (books[i].objects)
            printf("path_%zu %lu %lu %lu %lu\n", i, books[i].objects, books[i].bytes, books[i].held_objects,
                   books[i].held_bytes);
    fflush(stdout);
    _Exit(0); // what is held stays
}
