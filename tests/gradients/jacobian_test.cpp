// Every operator of the golden table that has a gradient, in float64: its whole Jacobian, the gradient of its gradient, operands
// in other layouts, of size 1 and 0. A new case of the table is tested here too.
#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <set>

#include "frontend/golden.h"
#include "frontend/python/compare.h"
#include "frontend/python/python.h"
#include "gradients/jacobian.h"

using golden::load;
using jacobian::Case;
using jacobian::Count;
using jacobian::Layout;
using jacobian::Tensors;
using nlohmann::json;
using tenon::Tensor;

namespace {

constexpr int64_t kMostElements = 2000;  // of inputs: what is larger has a smaller case beside it

// Where the gradient is not the derivative, as in PyTorch, and why.
const std::map<std::string, std::string> kNotTheDerivative = {
    {"program_no_grad_block", "part of it is not recorded"},
    {"program_detach_stop", "a factor is detached"},
    {"embedding_int64_float32_2", "the row of padding_idx gets no gradient"},
    {"sign_kink", "a jump at 0, where the gradient is 0"},
    {"sqrt_zero_kink", "0 * inf at 0"},
    {"bce_saturated", "differences at 0 and 1 leave what the loss takes"},
};

tenon::ScalarType type_of(const std::string& name) {
  static const std::map<std::string, tenon::ScalarType> types = {
      {"bool", tenon::kBool},     {"uint8", tenon::kByte},    {"int8", tenon::kChar},    {"int16", tenon::kShort},
      {"int32", tenon::kInt},     {"int64", tenon::kLong},    {"float16", tenon::kHalf}, {"bfloat16", tenon::kBFloat16},
      {"float32", tenon::kFloat}, {"float64", tenon::kDouble}};
  return types.at(name);
}

struct Named {
  std::string name, expression;
  Case c;
};

// The distinct expressions of the table, each with its smallest operands of each rank.
std::vector<Named> table() {
  std::string blob = golden::read("ops.bin");
  std::map<std::string, std::pair<int64_t, json>> chosen;
  const json all = load("ops.json");
  for (const json& c : all) {
    if (!c.contains("grads")) continue;
    std::string key = c["expr"];
    int64_t count = 0;
    for (const json& x : c["inputs"]) {
      key += "/" + std::to_string(x["shape"].size());
      int64_t numel = 1;
      for (int64_t size : x["shape"]) numel *= size;
      count += numel;
    }
    const auto at = chosen.find(key);
    if (at == chosen.end() || count < at->second.first) chosen[key] = {count, c};
  }
  std::vector<Named> result;
  for (const auto& [key, entry] : chosen) {
    const json& c = entry.second;
    Named named{c["name"], c["expr"], {}};
    for (size_t i = 0; i < c["inputs"].size(); ++i) {
      const json& x = c["inputs"][i];
      Tensor value =
          tenon::from_blob(blob.data() + x["at"].get<size_t>(), x["shape"].get<std::vector<int64_t>>(), type_of(x["dtype"])).clone();
      if (value.is_floating_point()) value = value.to(tenon::kDouble);
      tenon::eval(value);
      named.c.inputs.push_back(value);
      if (!c["grads"][i].is_null()) named.c.asked.push_back(i);
    }
    named.c.call = [expression = named.expression](const Tensors& x) {
      python::Variables variables;
      for (size_t i = 0; i < x.size(); ++i) variables["x" + std::to_string(i)] = x[i].requires_grad() ? x[i].clone() : x[i];
      return python::flat(python::run(expression, variables));
    };
    result.push_back(std::move(named));
  }
  return result;
}

const std::vector<Named>& cases() {
  static const std::vector<Named> all = table();
  return all;
}

int64_t elements(const Case& c) {
  int64_t count = 0;
  for (size_t i : c.asked) count += c.inputs[i].numel();
  return count;
}
// Whether differences can be taken: float64 all the way.
bool is_exact(const Case& c) {
  Tensors x = c.inputs;
  for (size_t i : c.asked) x[i] = x[i].clone().requires_grad_();
  tenon::manual_seed(7);
  const Tensors outputs = jacobian::differentiable(c.call(x));
  for (const Tensor& y : outputs) {
    if (y.scalar_type() != tenon::kDouble) return false;
  }
  return !outputs.empty();
}

struct Total {
  int64_t cases = 0, compared = 0, skipped = 0, refused = 0;
};
template <typename Check>
Total over_table(
    Check check, bool (*leave_out)(const std::string&) = [](const std::string&) { return false; }) {
  Total total;
  const bool timed = std::getenv("TENON_TEST_TIMES") != nullptr;
  for (const Named& named : cases()) {
    CAPTURE(named.name);
    CAPTURE(named.expression);
    const auto start = std::chrono::steady_clock::now();
    try {
      if (!kNotTheDerivative.contains(named.name) && !leave_out(named.name) && elements(named.c) <= kMostElements && is_exact(named.c)) {
        check(named.c, total);
      } else {
        ++total.refused;
        if (timed) MESSAGE("left out: " << named.name << " " << named.expression);
      }
    } catch (const std::exception& e) {
      FAIL_CHECK(e.what());
    }
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (timed && ms > 100) MESSAGE(named.name << " " << named.expression << ": " << ms << " ms");
  }
  MESSAGE(total.cases << " cases, " << total.compared << " elements compared, " << total.skipped << " at kinks; " << total.refused
                      << " cases left out");
  return total;
}
void add(Total& total, const Count& count) {
  CHECK_MESSAGE(count.wrong.empty(), count.wrong);
  ++total.cases;
  total.compared += count.compared;
  total.skipped += count.skipped;
}

// The case with all operands that have as many rows as the first one cut to `rows`; no inputs if that changes nothing.
Case with_rows(const Case& c, int64_t rows) {
  Case result = c;
  if (c.inputs.empty() || c.inputs[0].dim() == 0) return {};
  const int64_t all = c.inputs[0].size(0);
  for (Tensor& x : result.inputs) {
    if (x.dim() > 0 && x.size(0) == all && all > rows) x = x.slice(0, 0, rows).contiguous();
  }
  return result;
}

}  // namespace

TEST_CASE("Jacobians: every operator, first order") {
  const Total total = over_table([](const Case& c, Total& t) { add(t, first_order(c)); });
  CHECK(total.cases > 400);
  CHECK(total.skipped * 100 < total.compared);
}

// Their operands lie on kinks, where the gradient jumps and has no differences.
bool is_at_kinks(const std::string& name) { return name.ends_with("_kink") || name == "amax_ties_grad"; }

TEST_CASE("Jacobians: every operator, second order") {
  const Total total = over_table([](const Case& c, Total& t) { add(t, second_order(c)); }, is_at_kinks);
  CHECK(total.cases > 400);
}

TEST_CASE("Jacobians: forth and back are adjoint") {
  const Total total = over_table([](const Case& c, Total& t) {
    const std::string wrong = adjoint(c);
    CHECK_MESSAGE(wrong.empty(), wrong);
    ++t.cases;
  });
  CHECK(total.cases > 400);
}

TEST_CASE("Jacobians: operands transposed and sliced") {
  int64_t refused = 0;
  const auto shows_memory = [](const std::string& name) { return name == "shape_float32_22"; };  // as_strided of the storage
  const Total total = over_table(
      [&](const Case& c, Total& t) {
        for (Layout layout : {Layout::Transposed, Layout::Sliced}) {
          std::string wrong;
          try {
            wrong = same_for(c, layout);
          } catch (const tenon::Error&) {  // view() wants its strides
            ++refused;
            continue;
          }
          CHECK_MESSAGE(wrong.empty(), wrong);
          ++t.cases;
        }
      },
      shows_memory);
  CHECK(total.cases > 1300);
  CHECK(refused < 10);
}

TEST_CASE("Jacobians: operands expanded, of size 1 and 0") {
  Total other;
  over_table([&](const Case& c, Total& t) {
    for (const Case& changed : {expanded(c), with_rows(c, 1), with_rows(c, 0)}) {
      if (changed.inputs.empty()) continue;
      Count count;
      try {
        if (!is_exact(changed)) continue;
        count = first_order(changed);
      } catch (const std::exception&) {  // a shape that the operator, or the program, does not take
        ++other.refused;
        continue;
      }
      add(t, count);
    }
  });
  MESSAGE(other.refused << " shapes are no operands of their operator");
  CHECK(other.refused < 100);
}
