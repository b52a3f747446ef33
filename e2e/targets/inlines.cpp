// Much that is inlined: containers, algorithms, lambdas, a regular expression; and a chain of calls at known lines.
#include "burn.h"
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

static volatile unsigned sink;

static inline __attribute__((always_inline)) void innermost()
{
    for (unsigned i = 0; i < 20000; i++)
        sink = sink * 31 + i; // line 19
}
static inline __attribute__((always_inline)) void between()
{
    innermost(); // line 23
}
__attribute__((noinline)) static void around()
{
    between(); // line 27
}

namespace {
struct word {
    std::string text;
    unsigned count = 0;
};

__attribute__((noinline)) std::vector<word> count_words(const std::string &text)
{
    std::unordered_map<std::string, unsigned> counts;
    std::istringstream in(text);
    for (std::string w; in >> w;)
        counts[w]++;
    std::vector<word> all;
    for (auto &[w, n] : counts)
        all.push_back({w, n});
    std::sort(all.begin(), all.end(),
              [](const word &a, const word &b) { return a.count != b.count ? a.count > b.count : a.text < b.text; });
    return all;
}

struct shape {
    virtual ~shape() = default;
    virtual double area() const = 0;
};
struct square : shape {
    double a;
    explicit square(double x) : a(x) {}
    double area() const override { return a * a; }
};
struct circle : shape {
    double r;
    explicit circle(double x) : r(x) {}
    double area() const override { return r * r * 3.14; }
};

__attribute__((noinline)) double areas(unsigned n)
{
    std::vector<std::unique_ptr<shape>> all;
    for (unsigned i = 0; i < n; i++)
        if (i % 2)
            all.push_back(std::make_unique<square>(i));
        else
            all.push_back(std::make_unique<circle>(i));
    return std::accumulate(all.begin(), all.end(), 0.0, [](double s, const auto &x) { return s + x->area(); });
}
} // namespace

int main(int argc, char **argv)
{
    long ms = argc > 1 ? atol(argv[1]) : 200;
    std::string text;
    std::map<std::string, std::string> found;
    for (unsigned i = 0; i < 300; i++)
        text += "word" + std::to_string(i * 7919 % 101) + (i % 3 ? " " : "=x ");
    long end = cpu_ms() + ms;
    const std::regex pair("(\\w+)=(\\w+)");
    while (cpu_ms() < end) {
        for (int i = 0; i < 20; i++)
            around();
        sink = sink + (unsigned)count_words(text).size() + (unsigned)areas(200);
        for (std::sregex_iterator i(text.begin(), text.end(), pair), none; i != none; ++i)
            found[(*i)[1]] = (*i)[2];
    }
    return found.empty();
}
