// Names: scopes without linkage names, templates, a lambda.
static int sink;
namespace shop {
namespace {
struct cart {
    static inline __attribute__((always_inline)) int add(int x)
    {
        sink += x; // line 8
        return sink;
    }
    inline __attribute__((always_inline)) int total(int x) { return add(x) + 2; } // line 11
};
} // namespace
template <typename T> __attribute__((noinline)) T twice(T x)
{
    auto f = [](T y) __attribute__((always_inline)) { return y + sink; }; // line 16
    return f(x) * 2;                                                      // line 17
}
__attribute__((noinline)) int run(int x)
{
    cart c;
    return c.total(x) + twice<long>(x); // line 22
}
} // namespace shop
extern "C" void _start() { sink = shop::run(3); }
