// The rules of ir/gradient/gradients.def against central differences of the operations themselves, on float64, and then each mutant of
// each rule: the same comparison must refuse it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "ir/gradient/gradient.h"  // compiled here as mutated_differentiate
#include "ir/graph/attention.h"
#include "ir/graph/expr.h"
#include "ir/graph/graph_evaluate.h"
#include "mutants/mutants.h"

namespace {

using namespace tenon::ir;
using Numbers = std::vector<double>;
using Nodes = std::vector<NodeRef>;

struct Operand {
  Dims shape;
  Numbers values;
  DType dtype = DType::F64;
};
struct Case {
  std::string name;
  std::vector<Operand> operands;
  std::function<NodeRef(const Nodes&)> make;
  bool first_of_ties = false;
  double step = 1e-6;  // of the differences
};

int64_t count_of(const Dims& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}
// Distinct numbers between the two, in no order.
Operand between(const Dims& shape, double low, double high) {
  static uint64_t seed = 1;
  Operand result{shape, {}};
  for (int64_t i = 0; i < count_of(shape); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    result.values.push_back(low + (high - low) * static_cast<double>(seed >> 11) / 0x1p53);
  }
  return result;
}
Operand indices(const Dims& shape, const Numbers& values) { return {shape, values, DType::I64}; }
Operand mask(const Dims& shape, const Numbers& values) { return {shape, values, DType::Bool}; }

// The elements of the root, computed one node after the other.
Numbers evaluated(const NodeRef& root, const Nodes& inputs, const std::vector<Numbers>& values) {
  std::map<const Node*, ElementBits> known;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ElementBits& bits = known[inputs[i].get()];
    for (double v : values[i]) bits.push_back(constant(inputs[i]->dtype(), v).bits);
  }
  for (const Node* node : topological_order({&root, 1})) {
    if (known.contains(node)) continue;
    std::vector<const ElementBits*> operands;
    for (const Node* input : node->inputs()) operands.push_back(&known.at(input));
    known[node] = evaluate_node(*node, operands);
  }
  Numbers result;
  for (uint64_t bits : known.at(root.get())) result.push_back(to_double({root->dtype(), bits}));
  return result;
}

// The values, and by element of the result the numerical gradient of all float operands.
struct Expected {
  Numbers values;
  std::vector<Numbers> slopes;  // by element of the operands, then of the result
};

struct Recorded {
  explicit Recorded(const Case& c) {
    for (const Operand& o : c.operands) {
      inputs.push_back(make_input(o.dtype, o.shape));
      values.push_back(o.values);
      tape.operand(inputs.back());
      tracked.push_back(o.dtype == DType::F64);
    }
    Tape::current = &tape;
    output = c.make(inputs);
    Tape::current = nullptr;
    recipe = tape.cut({&output, 1}, c.first_of_ties);
  }
  Tape tape;
  Nodes inputs;
  std::vector<Numbers> values;
  NodeRef output;
  Recipe recipe;
  Recipe::Flags tracked;
};

Expected differences(const Case& c) {
  Recorded r(c);
  Expected e;
  e.values = evaluated(r.output, r.inputs, r.values);
  const double h = c.step;
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    for (size_t k = 0; r.tracked[i] && k < r.values[i].size(); ++k) {
      std::vector<Numbers> moved = r.values;
      moved[i][k] += h;
      const Numbers high = evaluated(r.output, r.inputs, moved);
      moved[i][k] -= 2 * h;
      const Numbers low = evaluated(r.output, r.inputs, moved);
      Numbers slope;
      for (size_t j = 0; j < high.size(); ++j) slope.push_back((high[j] - low[j]) / (2 * h));
      e.slopes.push_back(slope);
    }
  }
  return e;
}

// What is wrong with the rules, of a random combination of the outputs and of each output by itself; empty if nothing.
std::string fault(const Case& c, const Expected& e) {
  try {
    Recorded r(c);
    Nodes known(r.recipe.steps().size());
    for (size_t i = 0; i < r.inputs.size(); ++i) {
      if (r.recipe.operands()[i] != Recipe::kUnused) known[r.recipe.operands()[i]] = r.inputs[i];
    }
    known[r.recipe.outputs()[0]] = r.output;
    const NodeRef g = make_input(r.output->dtype(), r.output->shape(), nullptr, r.output->device());
    const Nodes grads = mutated_differentiate(r.recipe, known, {&g, 1}, r.tracked);
    r.inputs.push_back(g);
    r.values.emplace_back();
    for (size_t which = 0; which < std::min<size_t>(e.values.size(), 7); ++which) {
      Numbers weights(e.values.size());
      for (size_t j = 0; j < weights.size(); ++j) weights[j] = which == 0 ? 0.3 + std::sin(static_cast<double>(3 * j + 1)) : j + 1 == which;
      r.values.back() = weights;
      for (size_t i = 0, element = 0; i + 1 < r.inputs.size(); ++i) {
        if (!r.tracked[i]) continue;
        if (grads[i] && grads[i]->device() != r.inputs[i]->device()) return "on another device";
        const Numbers got = grads[i] ? evaluated(grads[i], r.inputs, r.values) : Numbers(r.values[i].size(), 0);
        if (got.size() != r.values[i].size()) return "another shape";
        for (size_t k = 0; k < got.size(); ++k, ++element) {
          double want = 0;
          for (size_t j = 0; j < weights.size(); ++j) want += weights[j] * e.slopes[element][j];
          if (!(std::abs(got[k] - want) <= 1e-6 + 1e-5 * std::abs(want)))
            return "operand " + std::to_string(i) + "[" + std::to_string(k) + "]: " + std::to_string(got[k]) + " for " +
                   std::to_string(want);
        }
      }
    }
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

// --- the operations

void add_elementwise(std::vector<Case>& cases) {
  struct Domain {
    Op op;
    double low, high;
  };
  const Domain unary_ops[] = {{Op::Neg, -2, 2},   {Op::Abs, -2, 2},      {Op::Sign, -2, 2},     {Op::Floor, -3, 3},  {Op::Ceil, -3, 3},
                              {Op::Trunc, -3, 3}, {Op::Round, -3, 3},    {Op::Sqrt, 0.2, 3},    {Op::Exp, -2, 2},    {Op::Exp2, -2, 2},
                              {Op::Expm1, -2, 2}, {Op::Log, 0.2, 3},     {Op::Log2, 0.2, 3},    {Op::Log10, 0.2, 3}, {Op::Log1p, -.8, 3},
                              {Op::Sin, -3, 3},   {Op::Cos, -3, 3},      {Op::Tan, -1.2, 1.2},  {Op::Asin, -.9, .9}, {Op::Acos, -.9, .9},
                              {Op::Atan, -3, 3},  {Op::Sinh, -2, 2},     {Op::Cosh, -2, 2},     {Op::Tanh, -2, 2},   {Op::Sigmoid, -2, 2},
                              {Op::Asinh, -3, 3}, {Op::Acosh, 1.2, 4},   {Op::Atanh, -.9, .9},  {Op::Erf, -2, 2},    {Op::Erfc, -2, 2},
                              {Op::Gelu, -2, 2},  {Op::GeluGrad, -2, 2}, {Op::Erfinv, -.9, .9}, {Op::Lgamma, 0.3, 5}};
  for (const Domain& d : unary_ops)
    cases.push_back({std::string(info(d.op).text), {between({5}, d.low, d.high)}, [op = d.op](const Nodes& x) { return unary(op, x[0]); }});
  const Domain binary_ops[] = {{Op::Add, -2, 2},   {Op::Sub, -2, 2},   {Op::Mul, -2, 2},     {Op::Div, 0.4, 2},
                               {Op::Rem, 0.3, 4},  {Op::Max, -2, 2},   {Op::Min, -2, 2},     {Op::Pow, 0.3, 2.5},
                               {Op::Atan2, -2, 2}, {Op::Hypot, -2, 2}, {Op::CopySign, -2, 2}};
  for (const Domain& d : binary_ops) {
    cases.push_back({std::string(info(d.op).text), {between({5}, d.low, d.high), between({5}, d.low, d.high)}, [op = d.op](const Nodes& x) {
                       return binary(op, x[0], x[1]);
                     }});
  }
  for (Op op : {Op::Max, Op::Min})  // of two equal ones, central differences give half to each
    cases.push_back({"tie", {{{3}, {1, 2, 3}}, {{3}, {1, 3, 2}}}, [op](const Nodes& x) { return binary(op, x[0], x[1]); }});
  cases.push_back({"pow to 0 and 1, of negatives", {{{4}, {0, -2, 3, -1.5}}}, [](const Nodes& x) {
                     return binary(Op::Pow, x[0], cast(make_iota(Dims{4}, 0), DType::F64));
                   }});
  cases.push_back({"0 to a power", {{{2}, {0.5, 2.5}}}, [](const Nodes& x) {
                     return binary(Op::Pow, make_const(constant(DType::F64, 0.0), Dims{2}), x[0]);
                   }});
  const Operand truth = mask({5}, {1, 0, 1, 1, 0});
  cases.push_back({"where", {truth, between({5}, -2, 2), between({5}, -2, 2)}, [](const Nodes& x) { return where(x[0], x[1], x[2]); }});
  cases.push_back(
      {"fma", {between({5}, -2, 2), between({5}, -2, 2), between({5}, -2, 2)}, [](const Nodes& x) { return make_node(Op::Fma, x); }});
  cases.push_back({"cast", {{{3}, {-2, 0.5, 3.25}}}, [](const Nodes& x) { return cast(x[0], DType::F32); }, false, 0.25});
  cases.push_back(
      {"atan2 on the unit circle", {{{2}, {1, -1}}, {{2}, {0, 0}}}, [](const Nodes& x) { return binary(Op::Atan2, x[0], x[1]); }});
  cases.push_back({"abs at 0", {{{2}, {0, -1}}}, [](const Nodes& x) { return unary(Op::Abs, x[0]); }});
  cases.push_back(
      {"signs", {{{4}, {1, -2, 0, 3}}, {{4}, {-1, -1, 2, 2}}}, [](const Nodes& x) { return binary(Op::CopySign, x[0], x[1]); }});
}

void add_reductions(std::vector<Case>& cases) {
  const auto add = [&](std::string_view name, const Operand& x, std::function<NodeRef(const Nodes&)> make, bool first = false) {
    cases.push_back({std::string(name), {x}, std::move(make), first});
  };
  for (const Dims& dims : {Dims{1}, Dims{0, 2}, Dims{0}}) {
    for (Op op : {Op::Sum, Op::Prod, Op::ReduceMax, Op::ReduceMin}) {
      const auto make = [op, dims](const Nodes& x) { return reduce(op, x[0], dims); };
      add(info(op).text, between({2, 3, 2}, -2, 2), make);
      if (dims.size() == 1) add("first of ties", between({2, 3, 2}, -2, 2), make, true);
    }
  }
  add("prod with zeros", {{2, 3}, {0, 2, 3, 0, 0, 3}}, [](const Nodes& x) { return reduce(Op::Prod, x[0], Dims{1}); });
  // Two pairs of equal ones: central differences give half to each.
  add("max of equal ones", {{2, 3}, {2, 1, 2, 1, 3, 3}}, [](const Nodes& x) { return reduce(Op::ReduceMax, x[0], Dims{1}); });
  add("min of equal ones", {{2, 3}, {1, 1, 2, 2, 1, 1}}, [](const Nodes& x) { return reduce(Op::ReduceMin, x[0], Dims{1}); });
  for (int64_t dim : {0, 1}) {
    for (Op op : {Op::ScanSum, Op::ScanProd, Op::ScanMax, Op::ScanMin})
      add(info(op).text, between({3, 4}, -2, 2), [op, dim](const Nodes& x) { return scan(op, x[0], dim); });
  }
  Operand line = between({40}, 0.8, 1.3), zeros = line;
  const auto products = [](const Nodes& x) { return scan(Op::ScanProd, x[0], 0); };
  add("long products", line, products);
  zeros.values[7] = 0;
  add("long products, a zero", zeros, products);
  zeros.values[20] = 0;
  add("long products, two zeros", zeros, products);
}

void add_movement(std::vector<Case>& cases) {
  const Operand x = between({2, 3, 4}, -2, 2);
  const auto add = [&](const char* name, std::function<NodeRef(const Nodes&)> make) { cases.push_back({name, {x}, std::move(make)}); };
  add("reshape", [](const Nodes& v) { return reshape(v[0], Dims{4, 6}); });
  add("permute", [](const Nodes& v) { return permute(v[0], Dims{2, 0, 1}); });
  add("expand", [](const Nodes& v) { return expand(reshape(v[0], Dims{24, 1}), Dims{24, 3}); });
  add("expand twice", [](const Nodes& v) { return expand(reshape(v[0], Dims{1, 24, 1}), Dims{2, 24, 2}); });
  add("slice", [](const Nodes& v) { return slice(v[0], Dims{0, 1, 1}, Dims{1, 1, 1}, Dims{2, 2, 2}); });
  add("slice in steps", [](const Nodes& v) { return slice(v[0], Dims{1, 0, 1}, Dims{1, 2, 2}, Dims{1, 2, 2}); });
  add("empty slice", [](const Nodes& v) { return slice(v[0], Dims{0, 1, 1}, Dims{1, 1, 2}, Dims{2, 0, 2}); });
  add("flip", [](const Nodes& v) { return flip(v[0], Dims{0, 2}); });
  add("pad", [](const Nodes& v) { return pad(v[0], make_const(constant(DType::F64, 1.5), Dims{}), Dims{1, 0, 2}, Dims{0, 1, 1}); });
  const auto line = [](const NodeRef& v) { return reshape(v, Dims{24}); };
  add("strided", [line](const Nodes& v) { return strided(line(v[0]), Dims{3, 4}, Dims{1, 5}, 2); });
  add("windows", [line](const Nodes& v) { return strided(line(v[0]), Dims{5, 3}, Dims{2, 1}, 1); });
  add("wide windows", [line](const Nodes& v) { return strided(line(v[0]), Dims{2, 3, 2, 2}, Dims{6, 2, 3, 1}, 1); });
  add("repeated", [line](const Nodes& v) { return strided(line(v[0]), Dims{4, 3}, Dims{0, 7}, 1); });
  cases.push_back(
      {"cat", {between({2, 3}, -2, 2), between({1, 3}, -2, 2), between({3, 3}, -2, 2)}, [](const Nodes& v) { return cat(v, 0); }});
  cases.push_back({"update", {between({12}, -2, 2), between({2, 3}, -2, 2)}, [](const Nodes& v) {
                     return update(v[0], v[1], Dims{6, 2}, 1);
                   }});
  cases.push_back({"dot", {between({2, 3, 4}, -2, 2), between({2, 4, 3}, -2, 2)}, [](const Nodes& v) { return dot(v[0], v[1]); }});
  cases.push_back({"attention",  // keys repeat in each batch
                   {between({2, 3, 2}, -2, 2), between({1, 4, 2}, -2, 2), between({2, 4, 3}, -2, 2), between({2, 3, 4}, -1, 1)},
                   [](const Nodes& v) {
                     return attention({v[0], v[1], v[2], v[3], false, 0.7});
                   }});
  cases.push_back({"copy", {between({4}, -2, 2)}, [](const Nodes& v) {
                     const int64_t device = 1;
                     return make_node(Op::Copy, {&v[0], 1}, {&device, 1});
                   }});
}

void add_indexed(std::vector<Case>& cases) {
  const Operand at = indices({4, 2}, {0, 2, 2, 1, 0, 0, 1, 2}), apart = indices({2, 2}, {2, 0, 0, 1});
  cases.push_back({"gather", {between({3, 2}, -2, 2), at}, [](const Nodes& v) { return gather(v[0], v[1], 0); }});
  cases.push_back({"scatter", {between({3, 2}, -2, 2), apart, between({2, 2}, -2, 2)}, [](const Nodes& v) {
                     return scatter(Op::Scatter, v[0], v[1], v[2], 0);
                   }});
  const auto add = [&](Op op, const Operand& base, const Operand& value) {
    cases.push_back({std::string(info(op).text), {base, at, value}, [op](const Nodes& v) { return scatter(op, v[0], v[1], v[2], 0); }});
  };
  for (Op op : {Op::ScatterAdd, Op::ScatterMul, Op::ScatterMax, Op::ScatterMin}) add(op, between({3, 2}, -2, 2), between({4, 2}, -2, 2));
  for (Op op : {Op::ScatterMax, Op::ScatterMin}) {  // two equal winners: a value and the base, two values
    add(op, {{3, 2}, {5, 1, 1, 1, 1, 1}}, {{4, 2}, {5, 2, 3, 7, 1, 4, 3, 2}});
    add(op, {{3, 2}, {1, 5, 5, 5, 5, 9}}, {{4, 2}, {1, 2, 3, 2, 4, 4, 3, 2}});
  }
  Operand zeros = between({4, 2}, 1, 2), base = between({3, 2}, 1, 2);
  zeros.values[0] = zeros.values[2] = zeros.values[6] = 0;
  add(Op::ScatterMul, base, zeros);
  zeros.values[4] = 0;  // two of one place
  add(Op::ScatterMul, base, zeros);
  base.values[0] = base.values[3] = 0;
  add(Op::ScatterMul, base, between({4, 2}, 1, 2));
  const Operand truth = mask({5}, {1, 0, 0, 1, 1});
  cases.push_back({"compress", {between({5, 2}, -2, 2), truth}, [](const Nodes& v) { return compress(v[0], v[1], 3); }});
  cases.push_back({"scatter_mask", {between({5, 2}, -2, 2), truth, between({3, 2}, -2, 2)}, [](const Nodes& v) {
                     return scatter_mask(v[0], v[1], v[2]);
                   }});
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_elementwise(cases);
  add_reductions(cases);
  add_movement(cases);
  add_indexed(cases);
  return cases;
}

}  // namespace

// Mutants that give the same gradient, and why.
const std::map<std::string, std::string> kEquivalent = {
    {"Cos,0 #1 kind 0", "g / -1 is g * -1"},
    {"CopySign,0 #5 kind 0", "the factor is 1 or -1, its own inverse"},
    {"Max,0 #6 kind 1", "equal operands were chosen before"},
    {"Max,1 #6 kind 1", "equal operands were chosen before"},
    {"Min,0 #6 kind 1", "equal operands were chosen before"},
    {"Min,1 #6 kind 1", "equal operands were chosen before"},
    {"Pow,1 #5 kind 1", "only of 0 to the power 0, which has no derivative there; PyTorch says 0, see tests/gradients"},
    {"scan_prod_gradient #6 kind 2", "what a zero divides is not chosen; the safe divisor is for the gradient of the gradient"},
    {"scan_prod_gradient #7 kind 0", "any divisor but 0 is as safe"},
    {"square_sum #3 kind 2", "only at (0, 0), where there is no derivative; tests/gradients holds PyTorch's 0"},
    {"square_sum #4 kind 1", "no sum of squares is negative"},
    {"scatter_mul_base #0 kind 1", "1 as a base gives the product of the values at once"},
    {"scatter_mul_base #3 kind 0", "what stands for a zero of the base cancels"},
};

TEST_CASE("every rule of the table is right, and every mutant of it is refused") {
  const std::vector<Case> cases = all_cases();
  std::vector<Expected> expected;
  std::map<std::pair<int, int>, std::vector<size_t>> met;  // the cases that come by a mutant
  for (size_t i = 0; i < cases.size(); ++i) {
    expected.push_back(differences(cases[i]));
    mutants::met.clear();
    CHECK_MESSAGE(fault(cases[i], expected[i]) == "", cases[i].name);
    for (const auto& mutant : mutants::met) met[mutant].push_back(i);
  }
  int killed = 0;
  std::vector<std::pair<int, int>> alive;
  for (const auto& [mutant, by] : met) {
    std::tie(mutants::place, mutants::kind) = mutant;
    if (std::ranges::any_of(by, [&](size_t i) { return !fault(cases[i], expected[i]).empty(); })) ++killed;
    else alive.push_back(mutant);
  }
  mutants::place = 0;
  for (const auto& [place, kind] : alive) {
    const std::string name = mutants::names[static_cast<size_t>(place - 1)] + " kind " + std::to_string(kind);
    CHECK_MESSAGE(kEquivalent.contains(name), "a mutant is not refused: " << name);
  }
  MESSAGE(met.size() << " mutants, " << killed << " refused, " << alive.size() << " that change nothing");
  CHECK(alive.size() == kEquivalent.size());
  for (size_t i = 0; i < mutants::names.size(); ++i) {
    const auto at = static_cast<int>(i + 1);
    const bool is_row = mutants::names[i].find(",") != std::string::npos && mutants::names[i].ends_with("#0");
    const bool was_met = std::ranges::any_of(met, [&](const auto& entry) { return entry.first.first == at; });
    CHECK_MESSAGE((was_met || !is_row), "no case for the rule " << mutants::names[i]);
  }
}
