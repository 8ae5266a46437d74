#include "gradients/jacobian.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace jacobian {
namespace {

using Numbers = std::vector<double>;

Numbers numbers(const Tensor& x) {
  const Tensor flat = x.detach().contiguous();
  const double* p = flat.const_data_ptr<double>();
  return Numbers(p, p + flat.numel());
}
Tensor filled(const Numbers& values, tenon::IntArrayRef shape) {
  return tenon::tensor(values, tenon::TensorOptions(tenon::kDouble)).view(shape);
}

// Numbers in [-1, 1), away from 0, the same for each run.
Tensor seeded(tenon::IntArrayRef shape, uint64_t seed) {
  Numbers values(static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies())));
  for (double& v : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<double>(static_cast<int64_t>(seed >> 11)) / 0x1p52 - 1;
    if (std::abs(v) < 0.1) v += 0.3;
  }
  return filled(values, shape);
}

// Inputs of which those asked for are leaves that require grad.
Tensors leaves(const Case& c) {
  Tensors x = c.inputs;
  for (size_t i : c.asked) x[i] = c.inputs[i].detach().clone().requires_grad_();
  return x;
}
Tensors of(const Case& c, const Tensors& x) {
  Tensors result;
  for (size_t i : c.asked) result.push_back(x[i]);
  return result;
}
// The function's values for these inputs; random functions draw the same numbers each time.
Tensors run(const Case& c, const Tensors& x) {
  tenon::manual_seed(7);
  return differentiable(c.call(x));
}
Tensors weights_like(const Tensors& outputs, uint64_t seed) {
  Tensors result;
  for (const Tensor& y : outputs) result.push_back(seeded(y.sizes(), seed++));
  return result;
}
Tensors gradients(const Tensors& outputs, const Tensors& inputs, const Tensors& weights, bool create_graph) {
  Tensors result = tenon::autograd::grad(outputs, inputs, weights, true, create_graph, true);
  for (size_t i = 0; i < result.size(); ++i) {
    if (!result[i].defined()) result[i] = tenon::zeros_like(inputs[i]);
  }
  return result;
}
Numbers joined(const Tensors& list) {
  Numbers result;
  tenon::eval(list);
  for (const Tensor& x : list) {
    const Numbers part = numbers(x);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}
double product(const Numbers& a, const Numbers& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// If elements are many, only some are looked at: every so many.
constexpr size_t kMany = 100, kSome = 16;
size_t every(size_t elements) { return elements <= kMany ? 1 : elements / kSome; }

// How `values(x)` changes with one element of one input.
struct Slope {
  Numbers central, below, above;
};
template <typename Values>
Slope slope(const Case& c, size_t input, size_t element, const Numbers& here, Values values) {
  const Numbers start = numbers(c.inputs[input]);
  const double h = 1e-6 * std::max(1.0, std::abs(start[element]));
  const auto at = [&](double by) {
    Numbers moved = start;
    moved[element] += by;
    Tensors x = leaves(c);
    x[input] = filled(moved, c.inputs[input].sizes()).requires_grad_();
    return values(x);
  };
  const Numbers low = at(-h), high = at(h);
  Slope s;
  for (size_t k = 0; k < here.size(); ++k) {
    s.central.push_back((high[k] - low[k]) / (2 * h));
    s.below.push_back((here[k] - low[k]) / h);
    s.above.push_back((high[k] - here[k]) / h);
  }
  return s;
}

bool is_smooth(const Slope& s, size_t k) {
  const double scale = 1 + std::abs(s.central[k]);
  return std::isfinite(s.central[k]) && std::abs(s.above[k] - s.below[k]) < 2e-3 * scale;
}
void compare(Count& count, double got, const Slope& s, size_t k, double size, size_t input, size_t element) {
  if (!is_smooth(s, k)) {
    ++count.skipped;
    return;
  }
  ++count.compared;
  // Rounding of the function's values of this size, divided by the step.
  const double allowed = 2e-5 * std::abs(s.central[k]) + 1e-6 + 1e-9 * size;
  if (std::abs(got - s.central[k]) <= allowed || !count.wrong.empty()) return;
  char text[200];
  std::snprintf(text, sizeof text, "d output[%zu] / d input %zu[%zu] is %.12g, by differences %.12g", k, input, element, got, s.central[k]);
  count.wrong = text;
}

}  // namespace

Tensors differentiable(const Tensors& outputs) {
  Tensors result;
  for (const Tensor& y : outputs) {
    if (y.defined() && y.requires_grad()) result.push_back(y);
  }
  return result;
}

Count first_order(const Case& c) {
  Count count;
  const Tensors x = leaves(c), asked = of(c, x), outputs = run(c, x);
  const Numbers values = joined(outputs);
  std::vector<Numbers> rows;  // by element of the outputs: the gradients of all inputs
  const size_t step = every(values.size());
  for (size_t i = 0, element = 0; i < outputs.size(); ++i) {
    for (int64_t k = 0; k < outputs[i].numel(); ++k) {
      if (element++ % step != 0) continue;
      Numbers one(static_cast<size_t>(outputs[i].numel()), 0);
      one[static_cast<size_t>(k)] = 1;
      rows.push_back(joined(gradients({outputs[i]}, asked, {filled(one, outputs[i].sizes())}, false)));
    }
  }
  size_t before = 0;
  for (size_t i : c.asked) {
    const auto elements = static_cast<size_t>(c.inputs[i].numel());
    for (size_t e = 0; e < elements; e += every(elements)) {
      const Slope s = slope(c, i, e, values, [&](const Tensors& moved) { return joined(run(c, moved)); });
      if (!std::ranges::all_of(s.central, [](double x) { return std::isfinite(x); })) {  // 0 * inf is in its whole column
        count.skipped += static_cast<int64_t>(rows.size());
        continue;
      }
      for (size_t k = 0; k < rows.size(); ++k) compare(count, rows[k][before + e], s, k * step, std::abs(values[k * step]), i, e);
    }
    before += elements;
  }
  return count;
}

Count second_order(const Case& c) {
  Count count;
  const Tensors x = leaves(c), asked = of(c, x), outputs = run(c, x);
  const Tensors w = weights_like(outputs, 3), u = weights_like(asked, 77);
  const Numbers along = joined(u);
  const auto projected = [&](const Tensors& at) { return Numbers{product(along, joined(gradients(run(c, at), of(c, at), w, false)))}; };
  const Tensors first = gradients(outputs, asked, w, true);
  Tensors tracked, of_tracked;
  for (size_t i = 0; i < first.size(); ++i) {
    if (!first[i].requires_grad()) continue;
    tracked.push_back(first[i]);
    of_tracked.push_back(u[i]);
  }
  const Numbers second = tracked.empty() ? Numbers(along.size(), 0) : joined(gradients(tracked, asked, of_tracked, false));
  const Numbers here = projected(x);
  size_t before = 0;
  for (size_t i : c.asked) {
    const auto elements = static_cast<size_t>(c.inputs[i].numel());
    for (size_t e = 0; e < elements; e += every(elements))
      compare(count, second[before + e], slope(c, i, e, here, projected), 0, std::abs(here[0]), i, e);
    before += elements;
  }
  return count;
}

std::string adjoint(const Case& c) {
  const Tensors x = leaves(c), asked = of(c, x), outputs = run(c, x);
  Tensors w = weights_like(outputs, 5);
  for (Tensor& v : w) v.requires_grad_();
  const Tensors u = weights_like(asked, 99);
  const Tensors back = gradients(outputs, asked, w, true);
  Tensors tracked, of_tracked;
  for (size_t i = 0; i < back.size(); ++i) {
    if (!back[i].requires_grad()) continue;
    tracked.push_back(back[i]);
    of_tracked.push_back(u[i]);
  }
  if (tracked.empty()) return "";
  const Numbers forth = joined(gradients(tracked, w, of_tracked, false)), at = joined(back), v = joined(w), along = joined(u);
  const double left = product(forth, v), right = product(at, along);
  double size = 1;
  for (size_t i = 0; i < at.size(); ++i) size += std::abs(at[i] * along[i]);
  if (!(std::abs(left) < 1e300) || std::abs(left - right) <= 1e-12 * size) return "";
  char text[120];
  std::snprintf(text, sizeof text, "<J u, w> is %.17g, <u, J^T w> is %.17g", left, right);
  return text;
}

std::string same_for(const Case& c, Layout layout) {
  const auto gradients_of = [&](bool other) {
    Tensors x = leaves(c), bases = of(c, x);
    for (size_t k = 0; other && k < c.asked.size(); ++k) {
      Tensor& operand = x[c.asked[k]];
      if (operand.dim() == 0 || (layout == Layout::Transposed && operand.dim() == 1)) continue;
      const Tensor value = operand.detach();
      if (layout == Layout::Transposed) {
        bases[k] = value.transpose(0, -1).contiguous().clone().requires_grad_();
        operand = bases[k].clone().transpose(0, -1);
      } else {
        const Tensor apart = tenon::stack({value * 0 + 2.5, value}, -1).flatten(-2);
        bases[k] = apart.clone().requires_grad_();
        operand = bases[k].clone().slice(-1, 1, apart.size(-1), 2);
      }
    }
    const Tensors outputs = run(c, x);
    Tensors got = gradients(outputs, bases, weights_like(outputs, 11), false);
    for (size_t k = 0; other && k < got.size(); ++k) {
      const int64_t rank = c.inputs[c.asked[k]].dim();
      if (rank == 0 || (layout == Layout::Transposed && rank == 1)) continue;
      if (layout == Layout::Transposed) got[k] = got[k].transpose(0, -1);
      else got[k] = got[k].slice(-1, 1, got[k].size(-1), 2) + got[k].slice(-1, 0, got[k].size(-1), 2);  // these are zeros
    }
    return joined(got);
  };
  const Numbers expected = gradients_of(false), got = gradients_of(true);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(got[i] - expected[i]) <= 1e-11 * (1 + std::abs(expected[i])) || std::isnan(expected[i])) continue;
    char text[120];
    std::snprintf(text, sizeof text, "gradient[%zu] is %.17g, of a contiguous operand %.17g", i, got[i], expected[i]);
    return text;
  }
  return "";
}

Case expanded(const Case& c) {
  std::vector<std::vector<int64_t>> shapes(c.inputs.size());
  Case result = c;
  for (size_t i : c.asked) {
    shapes[i] = c.inputs[i].sizes().vec();
    if (c.inputs[i].dim() > 0 && c.inputs[i].size(0) > 1) result.inputs[i] = c.inputs[i].slice(0, 0, 1).contiguous();
  }
  result.call = [call = c.call, shapes, asked = c.asked](const Tensors& x) {
    Tensors operands = x;
    for (size_t i : asked) operands[i] = x[i].expand(shapes[i]);
    return call(operands);
  };
  return result;
}

}  // namespace jacobian
