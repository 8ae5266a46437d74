// Wide graphs: many roots in one evaluation, many operands of one operation. Each is built and evaluated three times: the
// first makes a plan, the second finds it, the third is recorded anew with one more (a new plan, but no new code). What
// a root or an operand costs must not grow with their number.
//
// bench_many [ROW]
#include <tenon/tenon.h>

#include <cstring>
#include <string>

#include "bench/harness.h"

namespace {

using namespace tenon;

std::vector<Tensor> parts(int64_t n, int64_t size) {
  Tensor all = (arange(n * size, kInt64) % 997).to(kFloat32).reshape({n, size});
  std::vector<Tensor> result;
  for (int64_t i = 0; i < n; ++i) result.push_back(all[i].clone());
  eval(result);
  return result;
}

struct Row {
  const char* name;
  // Makes the inputs of n and gives what records the roots.
  std::function<std::function<std::vector<Tensor>()>(int64_t n)> prepare;
};

std::function<std::vector<Tensor>()> each(std::vector<Tensor> p, std::function<Tensor(const Tensor&, int64_t)> f) {
  return [p = std::move(p), f = std::move(f)] {
    std::vector<Tensor> result;
    for (size_t i = 0; i < p.size(); ++i) result.push_back(f(p[i], static_cast<int64_t>(i)));
    return result;
  };
}

Tensor scaled(const Tensor& x, int64_t i) { return x * 2 + i; }
Tensor doubled(const Tensor& x, int64_t) { return x * 2; }

const Row kRows[] = {
    {"roots of elements of one tensor",
     [](int64_t n) {
       return [n, x = parts(1, n)[0]] {
         std::vector<Tensor> result;
         for (int64_t i = 0; i < n; ++i) result.push_back(scaled(x[i], i));
         return result;
       };
     }},
    {"roots of elements of a pending tensor",
     [](int64_t n) {
       return [n, x = parts(1, n)[0]] {
         Tensor common = x.exp();
         std::vector<Tensor> result;
         for (int64_t i = 0; i < n; ++i) result.push_back(scaled(common[i], i));
         return result;
       };
     }},
    {"roots of tensors of 16", [](int64_t n) { return each(parts(n, 16), scaled); }},
    {"roots that share one tensor",
     [](int64_t n) {
       return [n, x = parts(1, 16)[0]] {
         std::vector<Tensor> result;
         for (int64_t i = 0; i < n; ++i) result.push_back(scaled(x, i));
         return result;
       };
     }},
    {"roots that share a pending tensor",
     [](int64_t n) {
       return [n, x = parts(1, 16)[0]] {
         Tensor common = x.exp();
         std::vector<Tensor> result;
         for (int64_t i = 0; i < n; ++i) result.push_back(scaled(common, i));
         return result;
       };
     }},
    {"stack", [](int64_t n) { return [p = parts(n, 16)] { return std::vector{stack(p, 0)}; }; }},
    {"cat", [](int64_t n) { return [p = parts(n, 16)] { return std::vector{cat(p, 0)}; }; }},
    {"stack of pending", [](int64_t n) { return [p = each(parts(n, 16), doubled)] { return std::vector{stack(p(), 0)}; }; }},
    {"cat of pending", [](int64_t n) { return [p = each(parts(n, 16), doubled)] { return std::vector{cat(p(), 0)}; }; }},
    {"stack of pending elements",
     [](int64_t n) {
       return [n, x = parts(1, n)[0]] {
         std::vector<Tensor> result;
         for (int64_t i = 0; i < n; ++i) result.push_back(doubled(x[i], i));
         return std::vector{stack(result, 0)};
       };
     }},
};

double evaluated(std::function<std::vector<Tensor>()>& record) {
  std::vector<Tensor> roots = record();
  const double start = bench::now();
  eval(roots);
  return bench::now() - start;
}

}  // namespace

int main(int count, char** arguments) {
  std::printf("%-40s%10s%12s%12s%16s%14s\n", "", "n", "first, s", "second, s", "n + 1, first, s", "us per one");
  for (const Row& row : kRows) {
    if (count > 1 && !std::strstr(row.name, arguments[1])) continue;
    for (int64_t n : {1000, 10000, 30000, 100000}) {
      auto record = row.prepare(n);
      const double first = evaluated(record), second = evaluated(record);
      record = row.prepare(n + 1);
      const double another = evaluated(record);
      std::printf("%-40s%10lld%12.4f%12.4f%16.4f%14.2f\n", row.name, static_cast<long long>(n), first, second, another,
                  1e6 * first / static_cast<double>(n));
      std::fflush(stdout);
    }
  }
}
