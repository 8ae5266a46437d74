#include "gradients/tape_program.h"

#include <algorithm>
#include <cmath>

namespace tape {

using tenon::kDouble;
using tenon::Tensor;
using tenon::TensorOptions;

// --- variables

void Program::create_parameters() {
  static const std::vector<Ints> shapes = {{}, {3}, {2, 3}, {3, 2}, {3, 3}, {1, 3}, {2, 1, 3}, {4}};
  for (int64_t i = 2 + below(2); i > 0; --i) {
    const Ints sizes = shapes[static_cast<size_t>(below(static_cast<int64_t>(shapes.size())))];
    Numbers values;
    for (int64_t k = 0; k < numel(sizes); ++k) values.push_back(static_cast<double>(below(33) - 16) / 8);
    const Tensor p = tenon::tensor(values, TensorOptions(kDouble)).reshape(sizes).to(place_).detach().requires_grad_();
    add(p, parameter(sizes, values), "parameter");
    parameters_.push_back(variables_.back());
  }
}

void Program::create_constant() {
  const Ints sizes = any().model->sizes;
  Numbers values;
  for (int64_t k = 0; k < numel(sizes); ++k) values.push_back(static_cast<double>(below(33) - 16) / 8);
  const bool same = chance(30);
  if (same) values.assign(values.size(), 0.5);
  const TensorOptions options = TensorOptions(kDouble).device(place_);
  add(same ? tenon::full(sizes, 0.5, options) : tenon::tensor(values, TensorOptions(kDouble)).reshape(sizes).clone().to(place_),
      constant(sizes, values), same ? "full of 0.5" : "constant");
}

void Program::add(const Tensor& tensor, const ArrayRef& model, const std::string& how) {
  const std::string name = "t" + std::to_string(count_++);
  say("auto ", name, " = ", how, ";");
  if (!(tensor.sizes() == tenon::IntArrayRef(model->sizes))) throw Difference(name + " has the wrong shape");
  if (model->places.size() > 40) return;
  const bool steady = parameters_.size() < variables_.size();  // parameters stay
  if (variables_.size() >= 12 && steady) {
    const auto first = static_cast<int64_t>(parameters_.size());
    variables_.erase(variables_.begin() + first + below(static_cast<int64_t>(variables_.size()) - first));
  }
  variables_.push_back({tensor, model, name});
  ++tally_.operations;
}

// --- comparisons

void Program::compare(const Tensor& tensor, const Numbers& expected, const std::string& name, double scale) {
  const Tensor copy = tensor.detach().to(tenon::kCPU).contiguous();
  if (copy.numel() != static_cast<int64_t>(expected.size())) throw Difference(name + " has the wrong shape");
  const double* got = copy.data_ptr<double>();
  double size = 1;
  for (const double e : expected) size = std::max(size, std::abs(e));
  for (size_t i = 0; i < expected.size(); ++i) {
    seen_.push_back(got[i]);
    if (std::abs(got[i] - expected[i]) <= 1e-9 * size + 1e-13 * scale) continue;
    std::ostringstream out;
    out.precision(17);
    out << name << " element " << i << " is " << got[i] << ", expected " << expected[i];
    throw Difference(out.str());
  }
}

void Program::compare(const Variable& v) {
  compare(v.tensor, v.model->values(), v.name, largest_);
  if (v.tensor.requires_grad() != requires_grad(v.model))
    throw Difference(v.name + (v.tensor.requires_grad() ? " requires grad" : " does not require grad"));
  if (v.tensor._version() != v.model->memory->version)
    throw Difference(v.name + " has version " + std::to_string(v.tensor._version()) + ", expected " +
                     std::to_string(v.model->memory->version));
}

void Program::compare_grads() {
  for (const Variable& p : parameters_) {
    const Tensor grad = p.tensor.grad();
    if (grad.defined() != (p.model->grad != nullptr)) throw Difference(p.name + ".grad is " + (grad.defined() ? "defined" : "not defined"));
    if (grad.defined()) compare(grad, p.model->grad->values(), p.name + ".grad", largest_);
  }
}

void Program::compare_all() {
  for (const Variable& v : variables_) compare(v);
  compare_grads();
}

void Program::both(const std::function<void()>& library, const std::function<void()>& model) {
  std::string expected, got;
  try {
    model();
  } catch (const std::runtime_error& e) {
    expected = e.what();
  }
  try {
    library();
  } catch (const tenon::Error& e) {
    got = e.what();
  }
  if (got.empty() != expected.empty() || got.find(expected) == std::string::npos)
    throw Difference("the error is '" + got + "', expected '" + expected + "'");
  if (expected.empty()) return;
  say("// error: ", expected);
  ++tally_.errors;
}

// --- the parts of a program

bool Program::compute() {
  const Variable x = any();
  switch (below(10)) {
    case 0:
    case 1:
    case 2: return unary(x, false);
    case 3:
    case 4:
    case 5: return binary(x, false);
    case 6: return reduce(x);
    case 7: return along(x);
    case 8: return chance(50) ? matmul(x) : extremes(x);
    default: return rearrange(x);
  }
}

// A write to a leaf, or a view of one, is an error while recording.
void Program::write_in_place() {
  const Variable x = any();
  const ArrayRef& base = x.model->base ? x.model->base : x.model;
  if (x.model->repeats()) return;
  if (base->leaf() && Recording::enabled) {
    if (!chance(10)) return;
    say(x.name, ".add_(1);");
    return both([&] { x.tensor.add_(1); }, [] { throw std::runtime_error("leaf Variable that requires grad"); });
  }
  switch (below(5)) {
    case 0: fill(x); return;
    case 1: assign(x); return;
    case 2: unary(x, true); return;
    default: binary(x, true);
  }
}

void Program::no_grad_section() {
  say("{ NoGradGuard no_grad;");
  const tenon::NoGradGuard no_grad;
  const Recording off(false);
  for (int64_t i = 1 + below(3); i > 0; --i) {
    if (chance(50)) compute();
    else write_in_place();
  }
  say("}");
}

void Program::add_hook() {
  const Variable x = any();
  if (!requires_grad(x.model)) return;
  const int64_t kind = below(3);
  say(x.name, ".register_hook(", kind == 0 ? "half" : kind == 1 ? "clamp to 1" : "-1.5 times", ");");
  const RecordRef record = history_of(x.model);
  if (kind == 0) {
    x.tensor.register_hook([](const Tensor& g) { return g * 0.5; });
    record->hooks.push_back([](double g) { return g * 0.5; });
  } else if (kind == 1) {
    x.tensor.register_hook([](const Tensor& g) { return g.clamp(-1, 1); });
    record->hooks.push_back([](double g) { return std::clamp(g, -1.0, 1.0); });
  } else {
    x.tensor.register_hook([](const Tensor& g) { return g * -1.5; });
    record->hooks.push_back([](double g) { return g * -1.5; });
  }
  ++tally_.hooks;
}

void Program::observe() {
  const Variable x = any();
  if (chance(50)) {
    say("eval(", x.name, ");");
    return tenon::eval(x.tensor);
  }
  say("compare(", x.name, ");");
  compare(x);
}

void Program::forward(int64_t actions) {
  for (; actions > 0; --actions) {
    switch (below(16)) {
      case 0: create_constant(); break;
      case 1:
      case 2:
      case 3: make_view(); break;
      case 4:
      case 5:
      case 6:
      case 7: write_in_place(); break;
      case 8: no_grad_section(); break;
      case 9: add_hook(); break;
      case 10: observe(); break;
      default: compute();
    }
  }
}

void Program::backward_once(const Variable& root, bool retain) {
  Numbers ones(root.model->places.size(), 1.0);
  for (size_t i = 0; i < ones.size() && ones.size() > 1; ++i) ones[i] = static_cast<double>(i % 5) / 2 - 0.75;
  const Tensor grad = ones.size() == 1 ? Tensor() : tenon::tensor(ones, TensorOptions(kDouble)).reshape(root.model->sizes).to(place_);
  say(root.name, ".backward(", ones.size() == 1 ? "" : "weights, ", "retain_graph = ", retain, ");");
  ++tally_.backwards;
  both([&] { root.tensor.backward(grad, retain); }, [&] { backward(root.model, ones, retain, largest_); });
}

// Calls backward on something that requires grad; now and then looks at it before, and calls again.
void Program::call_backward(bool may_repeat) {
  Variable root = any();
  for (int tries = 0; tries < 8 && !requires_grad(root.model); ++tries) root = chance(60) ? variables_.back() : any();
  if (!requires_grad(root.model)) return;
  if (chance(30)) compare(root);
  const bool retain = chance(40);
  backward_once(root, retain);
  if (may_repeat && chance(30)) {
    if (chance(30)) compare_grads();
    backward_once(root, chance(30));
  }
}

// autograd::grad of a result by parameters and results.
void Program::take_gradients(bool of_all) {
  const Variable root = of_all ? variables_.back() : any();
  if (!requires_grad(root.model)) return;
  std::vector<Tensor> inputs;
  std::vector<ArrayRef> models;
  std::string names;
  for (const Variable& v : variables_) {
    if (!requires_grad(v.model) || (!of_all && !chance(30))) continue;
    inputs.push_back(v.tensor);
    models.push_back(v.model);
    names += (names.empty() ? "" : ", ") + v.name;
  }
  if (inputs.empty()) return;
  const Numbers ones(root.model->places.size(), 1.0);
  const bool retain = of_all || chance(60);
  std::vector<Tensor> got;
  std::vector<std::optional<Numbers>> expected;
  say("grad(", root.name, ", {", names, "}, retain_graph = ", retain, ");");
  ++tally_.backwards;
  both([&] { got = tenon::autograd::grad({root.tensor}, inputs, {tenon::ones_like(root.tensor.detach())}, retain, false, true); },
       [&] { expected = backward(root.model, ones, retain, largest_, models); });
  if (got.empty()) return;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (got[i].defined() != expected[i].has_value())
      throw Difference("gradient " + std::to_string(i) + " is " + (got[i].defined() ? "defined" : "not defined"));
    if (expected[i]) compare(got[i], *expected[i], "gradient " + std::to_string(i), largest_);
  }
}

// p -= rate * p.grad, and now and then a decay of p and a smaller grad.
void Program::update() {
  say("{ NoGradGuard no_grad; each parameter:");
  const tenon::NoGradGuard no_grad;
  for (const Variable& p : parameters_) {
    if (!p.model->grad) continue;
    const bool shrink = chance(20), decay = chance(20);
    Numbers& g = p.model->grad->memory->values;
    if (shrink) {
      say("  ", p.name, ".grad *= 0.5;");
      p.tensor.grad().mul_(0.5);
      for (double& v : g) v *= 0.5;
    }
    const auto step = [&](double v, double grad) { return (decay ? v * 0.9 : v) - 0.05 * grad; };
    Numbers& values = p.model->memory->values;
    bool small = true;
    for (size_t i = 0; i < values.size(); ++i) small = small && std::abs(step(values[i], g[i])) < 4;
    if (!small) continue;
    say("  ", p.name, decay ? " *= 0.9;" : "", " -= 0.05 * grad;");
    if (decay) p.tensor.mul_(0.9);
    if (chance(50)) p.tensor.sub_(p.tensor.grad() * 0.05);
    else p.tensor.add_(p.tensor.grad(), -0.05);
    for (size_t i = 0; i < values.size(); ++i) values[i] = step(values[i], g[i]);
    p.model->memory->version += decay ? 2 : 1;
  }
  say("}");
}

void Program::zero_grads() {
  const bool to_none = chance(60);
  say("zero_grad(", to_none, ");");
  for (const Variable& p : parameters_) {
    if (!p.model->grad) continue;
    if (to_none) {
      p.tensor.mutable_grad() = Tensor();
      p.model->grad = nullptr;
    } else {
      p.tensor.grad().zero_();
      for (double& v : p.model->grad->memory->values) v = 0;
    }
  }
}

// --- programs

void Program::run_graph() {
  create_parameters();
  for (int64_t i = 4 + below(14); i > 0; --i) {
    if (chance(8)) create_constant();
    else if (chance(25)) make_view();
    else compute();
  }
  // All that is held, in one number.
  std::vector<ArrayRef> models;
  for (const Variable& v : variables_) models.push_back(v.model);
  Operation op(models, {});
  Tensor sum = tenon::zeros({}, TensorOptions(kDouble).device(place_));
  for (size_t k = 0; k < variables_.size(); ++k) {
    const Numbers in = models[k]->values();
    const double weight = 0.25 + static_cast<double>(k) / 8;
    for (size_t i = 0; i < in.size(); ++i) {
      op.values[0] += weight * in[i];
      op.term(0, k, i, weight);
    }
    sum = sum + variables_[k].tensor.sum() * weight;
  }
  add(sum, op.finish(), "the weighted sum of all");
  if (chance(50)) compare(variables_.back());
  take_gradients(true);
  backward_once(variables_.back(), false);
  compare_all();
}

void Program::run_training() {
  create_parameters();
  for (int64_t steps = 1 + below(4); steps > 0; --steps) {
    forward(3 + below(12));
    if (chance(15)) take_gradients(false);
    call_backward(true);
    if (chance(15)) call_backward(false);
    if (chance(30)) compare_grads();
    if (chance(70)) update();
    if (chance(70)) zero_grads();
  }
  compare_all();
}

}  // namespace tape
