// Work for compilers: containers, algorithms and expressions of many types. No output is needed, only time and depth.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N> struct unit {
    std::map<std::string, std::vector<std::tuple<int, double, std::string>>> items;
    std::unordered_map<int, std::unique_ptr<std::vector<double>>> lists;
    std::variant<int, double, std::string, std::vector<int>> value;

    double total() const
    {
        double sum = 0;
        for (const auto &[key, list] : items)
            for (const auto &[i, d, s] : list)
                sum += i * d + static_cast<double>(s.size() + key.size());
        for (const auto &list : lists)
            sum += std::accumulate(list.second->begin(), list.second->end(), 0.0);
        return sum + std::visit([](const auto &v) { return static_cast<double>(sizeof(v)) + N; }, value);
    }

    std::string print(const std::regex &pattern) const
    {
        std::ostringstream out;
        std::set<std::string> seen;
        for (const auto &item : items)
            if (std::regex_search(item.first, pattern) && seen.insert(item.first).second)
                out << item.first << ':' << item.second.size() + N << '\n';
        std::vector<int> order(items.size() + N);
        std::iota(order.begin(), order.end(), N);
        std::stable_sort(order.begin(), order.end(), [](int a, int b) { return a % (N + 2) < b % (N + 2); });
        std::function<int(int)> step = [&](int i) { return i <= 0 ? N : step(i - 1) + order[i % order.size()]; };
        out << step(N);
        return out.str();
    }
};

template <int... N> static double run(std::integer_sequence<int, N...>)
{
    std::regex pattern("a|b");
    return ((unit<N>().total() + static_cast<double>(unit<N>().print(pattern).size())) + ...);
}

int main()
{
    return static_cast<int>(run(std::make_integer_sequence<int, 100>()));
}
