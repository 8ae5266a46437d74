// The cases of functions_*.inc: C++ expressions over a few tensors, by the set of inputs in functions.json that they run on.
#pragma once

#include <tenon/tenon.h>

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace functions {

using namespace tenon;
using Row = std::vector<Tensor>;

struct Case {
  const char *inputs, *expression;
  double ulps;
  std::function<Row(const Row&)> run;
};

extern const std::span<const Case> kCases;

inline const std::map<std::string, ScalarType> kTypes = {
    {"bool", kBool},  {"uint8", kByte},   {"int8", kChar},         {"int16", kShort},   {"int32", kInt},
    {"int64", kLong}, {"float16", kHalf}, {"bfloat16", kBFloat16}, {"float32", kFloat}, {"float64", kDouble}};

}  // namespace functions
