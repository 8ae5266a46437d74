// The cases of functions_*.inc as code: half a thousand expressions, which are compiled once for all tests.
#include "frontend/ops/function_cases.h"

#include <tenon/native.h>

#include <cmath>
#include <tuple>

namespace functions {
namespace {

namespace F = tenon::nn::functional;

void append(Row& out, const Tensor& x) { out.push_back(x); }
void append(Row& out, const std::vector<Tensor>& list) { out.insert(out.end(), list.begin(), list.end()); }
template <typename... T>
void append(Row& out, const std::tuple<T...>& parts) {
  std::apply([&](const auto&... part) { (append(out, part), ...); }, parts);
}

#define CASE_BODY(set, ulps, ...)                                                                         \
  {#set, #__VA_ARGS__, ulps, [](const Row& in) {                                                          \
     [[maybe_unused]] const auto at = [&](size_t i) { return i < in.size() ? in[i].clone() : Tensor(); }; \
     [[maybe_unused]] const Tensor a = at(0), b = at(1), c = at(2), d = at(3);                            \
     Row out;                                                                                             \
     append(out, __VA_ARGS__);                                                                            \
     return out;                                                                                          \
   }},
#define CASE(set, ulps, ...) CASE_BODY(set, ulps, __VA_ARGS__)
#define CASE_AS(set, ulps, python, ...) CASE_BODY(set, ulps, __VA_ARGS__)
const Case kAll[] = {
#include "functions_1_values.inc"
#include "functions_2_arrays.inc"
#include "functions_3_neural.inc"
#include "functions_4_more.inc"
};
#undef CASE
#undef CASE_AS
#undef CASE_BODY

}  // namespace

const std::span<const Case> kCases = kAll;

}  // namespace functions
