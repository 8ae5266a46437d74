// The cases of functions_*.inc on the tested device: the CPU's bits.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cmath>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "device/tested_device.h"
#include "frontend/golden.h"
#include "frontend/ops/function_cases.h"

namespace {

using namespace tenon;
using functions::Case;
using functions::kCases;
using functions::kTypes;
using functions::Row;

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
      std::ostringstream type;
      type << x.dtype() << x.sizes() << x.strides();
      text += type.str() + test::bits_of(x);
    }
    return text;
  } catch (const Error& e) {
    return "error: " + std::string(e.msg());
  }
}

// An error that comes late says at its end whose it is: "... (embedding_bag on cuda:0)".
std::string as_on_host(std::string text, const Device& place) {
  const std::string end = " on " + place.str() + ")";
  if (text.starts_with("error: ") && text.ends_with(end)) text.erase(text.rfind(" ("));
  return text;
}

}  // namespace

// They draw random numbers, and a GPU draws from a stream of its own; or they are attention, whose sums a GPU takes tile by tile.
bool has_bits_of_its_own(const std::string& expression) {
  for (const char* name :
       {"gumbel_softmax", "rrelu", "fractional_max_pool2d_with_indices", "dropout(", "bernoulli(", "normal(", "poisson(", "attention("}) {
    if (expression.find(name) != std::string::npos) return expression.find("training(false)") == std::string::npos;
  }
  return false;
}

TEST_CASE("golden: functions on a device") {
  const Device place = test::tested_device();
  const auto data = golden::load("functions.json");
  std::string blob = golden::read("functions.bin");
  size_t equal = 0, all = 0, seen = 0;
  for (const Case& c : kCases) {
    if (!test::is_in_slice(seen++)) continue;
    const std::string expression = c.expression;
    CAPTURE(expression);
    if (place.is_cuda() && has_bits_of_its_own(expression)) continue;
    for (const auto& row : data.at("inputs").at(c.inputs)) {
      Row here, there;
      for (const auto& entry : row) {
        here.push_back(unpack(entry, blob));
        there.push_back(here.back().to(place));
      }
      eval(there);
      test::shuffle(all++);
      const std::string want = outcome(c, here), got = as_on_host(outcome(c, there), place);
      equal += got == want;
      CHECK_MESSAGE(got == want, (got.starts_with("error") ? got : "the bits differ"));
    }
  }
  MESSAGE(equal << " of " << all << " rows have the CPU's bits");
}
