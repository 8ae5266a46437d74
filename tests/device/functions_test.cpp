// The cases of functions_*.inc on the late device: the CPU's bits.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cmath>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "device/late_device.h"
#include "frontend/golden.h"

namespace {

using namespace tenon;
namespace F = tenon::nn::functional;
using Row = std::vector<Tensor>;

struct Case {
  const char *inputs, *expression;
  std::function<Row(const Row&)> run;
};

void append(Row& out, const Tensor& x) { out.push_back(x); }
void append(Row& out, const std::vector<Tensor>& list) { out.insert(out.end(), list.begin(), list.end()); }
template <typename... T>
void append(Row& out, const std::tuple<T...>& parts) {
  std::apply([&](const auto&... part) { (append(out, part), ...); }, parts);
}

#define CASE_BODY(set, ulps, ...)                                                                         \
  {#set, #__VA_ARGS__, [](const Row& in) {                                                                \
     [[maybe_unused]] const auto at = [&](size_t i) { return i < in.size() ? in[i].clone() : Tensor(); }; \
     [[maybe_unused]] const Tensor a = at(0), b = at(1), c = at(2), d = at(3);                            \
     Row out;                                                                                             \
     append(out, __VA_ARGS__);                                                                            \
     return out;                                                                                          \
   }},
#define CASE(set, ulps, ...) CASE_BODY(set, ulps, __VA_ARGS__)
#define CASE_AS(set, ulps, python, ...) CASE_BODY(set, ulps, __VA_ARGS__)
const Case kCases[] = {
#include "frontend/functions_1_values.inc"
#include "frontend/functions_2_arrays.inc"
#include "frontend/functions_3_neural.inc"
};
#undef CASE
#undef CASE_AS
#undef CASE_BODY

const std::map<std::string, ScalarType> kTypes = {
    {"bool", kBool},  {"uint8", kByte},   {"int8", kChar},         {"int16", kShort},   {"int32", kInt},
    {"int64", kLong}, {"float16", kHalf}, {"bfloat16", kBFloat16}, {"float32", kFloat}, {"float64", kDouble}};

Tensor unpack(const nlohmann::json& entry, std::string& blob) {
  const auto shape = entry.at("shape").get<std::vector<int64_t>>();
  return from_blob(blob.data() + entry.at("at").get<size_t>(), shape, kTypes.at(entry.at("dtype"))).clone();
}

// Sizes, types and bits of what a case gives, or its error.
std::string outcome(const Case& c, const Row& in) {
  try {
    manual_seed(7);
    const Row got = c.run(in);
    eval(got);
    std::string text;
    for (const Tensor& x : got) {
      const Tensor dense = x.cpu().contiguous();
      std::ostringstream type;
      type << x.dtype() << x.sizes() << x.strides();
      text += type.str() + std::string(static_cast<const char*>(dense.const_data_ptr()), static_cast<size_t>(dense.nbytes()));
    }
    return text;
  } catch (const Error& e) {
    return "error: " + std::string(e.msg());
  }
}

}  // namespace

TEST_CASE("golden: functions on a device") {
  test::LateDevice& device = test::LateDevice::get();
  const auto data = golden::load("functions.json");
  std::string blob = golden::read("functions.bin");
  size_t equal = 0, all = 0;
  for (const Case& c : kCases) {
    const std::string expression = c.expression;
    CAPTURE(expression);
    for (const auto& row : data.at("inputs").at(c.inputs)) {
      Row here, there;
      for (const auto& entry : row) {
        here.push_back(unpack(entry, blob));
        there.push_back(here.back().to(Device("privateuseone:0")));
      }
      eval(there);
      device.shuffle(all++);
      const std::string want = outcome(c, here), got = outcome(c, there);
      equal += got == want;
      CHECK_MESSAGE(got == want, (got.starts_with("error") ? got : "the bits differ"));
    }
  }
  MESSAGE(equal << " of " << all << " rows have the CPU's bits");
}
