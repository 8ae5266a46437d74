// L-BFGS: the inverse Hessian times the gradient from the last steps and their changes of the gradient, and a line search that
// meets the strong Wolfe conditions.
#include <algorithm>
#include <cmath>
#include <ostream>

#include "frontend/src/optim/printed_fields.h"
#include "frontend/src/optim/step_guard.h"
#include "tenon/algebra.h"
#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/print.h"

namespace tenon::optim {

TENON_OPTIMIZER_FIELDS(LBFGS, ())

namespace {

double largest(const Tensor& x) { return x.abs().max().item<double>(); }
double dot(const Tensor& a, const Tensor& b) { return a.dot(b).item<double>(); }

// A point on the line of a search: how far, the loss there, the gradient, and its slope along the line.
struct Point {
  double at = 0, loss = 0;
  Tensor gradient;
  double slope = 0;
};

// The least place of the cubic through two points, held to an interval.
double cubic_minimum(const Point& a, const Point& b, double low, double high) {
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.at - b.at);
  const double square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double place = a.at <= b.at ? b.at - (b.at - a.at) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
                                    : a.at - (a.at - b.at) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2));
  return std::min(std::max(place, low), high);
}

// One step() of the optimizer.
class Descent {
 public:
  Descent(StepGuard& guard, std::vector<Tensor>& parameters, const LBFGSOptions& options, LBFGSParamState& state,
          const Optimizer::LossClosure& closure)
      : guard_(guard),
        parameters_(parameters),
        options_(options),
        state_(state),
        closure_(closure),
        most_evaluations_(options.max_eval().value_or(options.max_iter() * 5 / 4)) {}

  Tensor run() {
    const Tensor first = evaluate();
    loss_ = first.item<double>();
    ++state_.func_evals();
    gradient_ = flat_gradient();
    if (largest(gradient_) <= options_.tolerance_grad()) return guard_.evaluate({}), first;
    for (int64_t i = 1; i <= options_.max_iter(); ++i) {
      if (!iterate(i == options_.max_iter())) break;
    }
    std::vector<Tensor> changed = state_.tensors();
    changed.insert(changed.end(), parameters_.begin(), parameters_.end());
    guard_.evaluate(changed);
    return first;
  }

 private:
  Tensor evaluate() const {
    const AutoGradMode with_grad(true);
    return closure_();
  }
  Tensor flat_gradient() const {
    std::vector<Tensor> parts;
    for (const Tensor& p : parameters_) parts.push_back(p.grad().defined() ? p.grad().reshape({-1}) : zeros({p.numel()}, p.options()));
    return cat(parts);
  }
  void move(double distance) {
    int64_t at = 0;
    for (Tensor& p : parameters_) {
      p.add_(state_.d().slice(0, at, at + p.numel()).view_as(p), distance);
      at += p.numel();
    }
  }

  // False at the end.
  bool iterate(bool last) {
    choose_direction();
    state_.prev_flat_grad() = gradient_.clone();
    state_.prev_loss() = loss_;
    state_.t() = state_.n_iter() == 1 ? std::min(1.0, 1 / gradient_.abs().sum().item<double>()) * options_.lr() : options_.lr();
    const double slope = dot(gradient_, state_.d());
    if (slope > -options_.tolerance_change()) return false;
    const int64_t evaluations = advance(slope, last);
    evaluations_ += evaluations;
    state_.func_evals() += evaluations;
    return !last && evaluations_ < most_evaluations_ && largest(gradient_) > options_.tolerance_grad() &&
           largest(state_.d().mul(state_.t())) > options_.tolerance_change() &&
           std::abs(loss_ - state_.prev_loss()) >= options_.tolerance_change();
  }

  // Goes along the direction; how often the loss was computed.
  int64_t advance(double slope, bool last) {
    if (options_.line_search_fn()) {
      check(*options_.line_search_fn() == "strong_wolfe", "only 'strong_wolfe' is supported");
      int64_t evaluations = 0;
      const Point found = search(slope, evaluations);
      loss_ = found.loss;
      gradient_ = found.gradient;
      state_.t() = found.at;
      move(state_.t());
      return evaluations;
    }
    move(state_.t());
    if (last) return 0;
    loss_ = evaluate().item<double>();
    gradient_ = flat_gradient();
    return 1;
  }

  void choose_direction() {
    LBFGSParamState& s = state_;
    if (++s.n_iter() == 1) {
      s.d() = gradient_.neg();
      s.old_dirs().clear();
      s.old_stps().clear();
      s.ro().clear();
      s.H_diag() = tensor(1, gradient_.options());
      return;
    }
    const Tensor change = gradient_.sub(s.prev_flat_grad()), step = s.d().mul(s.t());
    const Tensor product = change.dot(step);
    if (product.item<double>() > 1e-10) {
      if (static_cast<int64_t>(s.old_dirs().size()) == options_.history_size()) {
        for (auto* list : {&s.old_dirs(), &s.old_stps(), &s.ro()}) list->erase(list->begin());
      }
      s.old_dirs().push_back(change);
      s.old_stps().push_back(step);
      s.ro().push_back(1.0 / product);
      s.H_diag() = product / change.dot(change);
    }
    const size_t count = s.old_dirs().size();
    std::vector<Tensor> weights(count);
    Tensor direction = gradient_.neg();
    for (size_t i = count; i-- > 0;) {
      weights[i] = s.old_stps()[i].dot(direction) * s.ro()[i];
      direction = direction - s.old_dirs()[i] * weights[i];
    }
    direction = direction * s.H_diag();
    for (size_t i = 0; i < count; ++i) {
      const Tensor other = s.old_dirs()[i].dot(direction) * s.ro()[i];
      direction = direction + s.old_stps()[i] * (weights[i] - other);
    }
    s.d() = direction;
  }

  // The loss and its gradient that far along the direction; the parameters are then where they were.
  Point look(double distance) {
    std::vector<Tensor> before;
    for (const Tensor& p : parameters_) before.push_back(p.clone());
    move(distance);
    Point point{distance, evaluate().item<double>(), flat_gradient(), 0};
    point.slope = dot(point.gradient, state_.d());
    for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].copy_(before[i]);
    return point;
  }

  Point search(double slope, int64_t& evaluations) {
    constexpr double kDecrease = 1e-4, kCurvature = 0.9;
    const int64_t most = most_evaluations_ - evaluations_;
    const Point start{0, loss_, gradient_, slope};
    const auto too_high = [&](const Point& p) { return p.loss > start.loss + kDecrease * p.at * start.slope; };
    const auto flat_enough = [&](const Point& p) { return std::abs(p.slope) <= -kCurvature * start.slope; };
    const double size = largest(state_.d());

    Point before = start, now = look(state_.t());
    evaluations = 1;
    int64_t tries = 0;
    for (; tries < most; ++tries) {
      if (too_high(now) || (tries > 1 && now.loss >= before.loss)) break;
      if (flat_enough(now)) return now;
      if (now.slope >= 0) break;
      const double least = now.at + 0.01 * (now.at - before.at), furthest = now.at * 10;
      const double next = cubic_minimum(before, now, least, furthest);
      before = now;
      now = look(next);
      ++evaluations;
    }
    Point ends[2] = {tries == most ? start : before, now};
    return narrow(ends, size, most, tries, evaluations, too_high, flat_enough);
  }

  // A point between two ends that meets the conditions, or the best one known.
  template <typename TooHigh, typename FlatEnough>
  Point narrow(Point (&ends)[2], double size, int64_t most, int64_t tries, int64_t& evaluations, const TooHigh& too_high,
               const FlatEnough& flat_enough) {
    int low = ends[0].loss <= ends[1].loss ? 0 : 1;
    bool stuck = false;
    for (; tries < most; ++tries) {
      if (std::abs(ends[1].at - ends[0].at) * size < options_.tolerance_change()) break;
      const double left = std::min(ends[0].at, ends[1].at), right = std::max(ends[0].at, ends[1].at);
      double at = cubic_minimum(ends[0], ends[1], left, right);
      const double margin = 0.1 * (right - left);
      if (std::min(right - at, at - left) < margin) {  // too near to an end
        if (stuck || at >= right || at <= left) {
          at = std::abs(at - right) < std::abs(at - left) ? right - margin : left + margin;
          stuck = false;
        } else {
          stuck = true;
        }
      } else {
        stuck = false;
      }
      const Point now = look(at);
      ++evaluations;
      if (too_high(now) || now.loss >= ends[low].loss) {
        ends[1 - low] = now;
        low = ends[0].loss <= ends[1].loss ? 0 : 1;
        continue;
      }
      if (flat_enough(now)) return now;
      if (now.slope * (ends[1 - low].at - ends[low].at) >= 0) ends[1 - low] = ends[low];
      ends[low] = now;
    }
    return ends[low];
  }

  StepGuard& guard_;
  std::vector<Tensor>& parameters_;
  const LBFGSOptions& options_;
  LBFGSParamState& state_;
  const Optimizer::LossClosure& closure_;
  const int64_t most_evaluations_;
  int64_t evaluations_ = 1;
  double loss_ = 0;
  Tensor gradient_;
};

}  // namespace

LBFGS::LBFGS(const std::vector<OptimizerParamGroup>& groups, LBFGSOptions defaults)
    : Optimizer(groups, std::make_unique<LBFGSOptions>(defaults)) {
  check<ValueError>(groups.size() == 1, "LBFGS doesn't support per-parameter options (parameter groups)");
  check<ValueError>(defaults.lr() >= 0, "Invalid learning rate: ", defaults.lr());
  const int64_t most = defaults.max_eval().value_or(defaults.max_iter() * 5 / 4);
  static_cast<LBFGSOptions&>(*defaults_).max_eval(most);
  if (!options().max_eval()) options().max_eval(most);
}
LBFGS::LBFGS(std::vector<Tensor> parameters, LBFGSOptions defaults)
    : LBFGS(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(parameters))}, std::move(defaults)) {}

Tensor LBFGS::step(LossClosure closure) {
  check(bool(closure), "LBFGS requires a closure function");
  check<ValueError>(param_groups_.size() == 1, "LBFGS doesn't support per-parameter options (parameter groups)");
  const NoGradGuard no_grad;
  std::vector<Tensor>& parameters = param_groups_[0].params();
  check<ValueError>(!parameters.empty(), "optimizer got an empty parameter list");
  std::unique_ptr<OptimizerParamState>& state = state_[parameters[0].unsafe_impl()];
  StepGuard guard(state_, parameters.size());
  guard.note_state(parameters[0].unsafe_impl(), state.get());
  if (state) {
    for (const Tensor& t : state->tensors()) guard.note(t);
  }
  for (const Tensor& p : parameters) guard.note(p);
  if (!state) state = make_state();
  return Descent(guard, parameters, options(), static_cast<LBFGSParamState&>(*state), closure).run();
}
std::unique_ptr<OptimizerParamState> LBFGS::make_state() const { return std::make_unique<LBFGSParamState>(); }

void LBFGS::print_options(std::ostream& out, const OptimizerOptions& options) const {
  const auto& o = static_cast<const LBFGSOptions&>(options);
  const auto number = [](double value) { return format(tensor(value, TensorOptions(kDouble))); };
  out << "    history_size: " << o.history_size() << "\n    line_search_fn: " << o.line_search_fn().value_or("None")
      << "\n    lr: " << number(o.lr()) << "\n    max_eval: " << *o.max_eval() << "\n    max_iter: " << o.max_iter()
      << "\n    maximize: False\n    tolerance_change: " << number(o.tolerance_change())
      << "\n    tolerance_grad: " << number(o.tolerance_grad());
}

}  // namespace tenon::optim
