// The cases of functions_*.inc: C++ expressions over a few tensors, by the set of inputs in functions.json that they run on.
#pragma once

#include <tenon/native.h>
#include <tenon/tenon.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace functions {

using namespace tenon;
namespace F = tenon::nn::functional;
using Row = std::vector<Tensor>;

struct Case {
  const char *inputs, *expression;
  double ulps;
  std::function<Row(const Row&)> run;
};

inline void append(Row& out, const Tensor& x) { out.push_back(x); }
inline void append(Row& out, const std::vector<Tensor>& list) { out.insert(out.end(), list.begin(), list.end()); }
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
inline const Case kCases[] = {
#include "functions_1_values.inc"
#include "functions_2_arrays.inc"
#include "functions_3_neural.inc"
#include "functions_4_more.inc"
};
#undef CASE
#undef CASE_AS
#undef CASE_BODY

inline const std::map<std::string, ScalarType> kTypes = {
    {"bool", kBool},  {"uint8", kByte},   {"int8", kChar},         {"int16", kShort},   {"int32", kInt},
    {"int64", kLong}, {"float16", kHalf}, {"bfloat16", kBFloat16}, {"float32", kFloat}, {"float64", kDouble}};

}  // namespace functions
