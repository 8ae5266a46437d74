// Schedules of learning rates.
#include "tenon/scheduler.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <numbers>

#include "frontend/src/tensor/text.h"
#include "tenon/serialize.h"

namespace tenon::optim {
namespace {

std::vector<double> times(std::vector<double> rates, double factor) {
  for (double& rate : rates) rate *= factor;
  return rates;
}

int64_t whole(tenon::serialize::InputArchive& archive, const char* key) {
  IValue value;
  archive.read(key, value);
  return value.toInt();
}

}  // namespace

LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(optimizer), base_lrs_(get_current_lrs()) {}
LRScheduler::~LRScheduler() = default;

std::vector<double> LRScheduler::get_current_lrs() const {
  std::vector<double> rates;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) rates.push_back(group.options().get_lr());
  return rates;
}

void LRScheduler::step() {
  const std::vector<double> rates = get_lrs();
  std::vector<OptimizerParamGroup>& groups = optimizer_.param_groups();
  check(rates.size() == groups.size(), "Number of learning rates not equal to the number of param groups\n",
        "Number of learning rates given: ", rates.size(), "\nNumber of param groups: ", groups.size());
  for (size_t i = 0; i < groups.size(); ++i) groups[i].options().set_lr(rates[i]);
  ++step_count_;
}

void LRScheduler::save(tenon::serialize::OutputArchive& archive) const {
  archive.write("step_count", IValue(static_cast<int64_t>(step_count_)));
  archive.write("base_lrs", IValue(base_lrs_));
}
void LRScheduler::load(tenon::serialize::InputArchive& archive) {
  IValue rates;
  archive.read("base_lrs", rates);
  const auto count = static_cast<unsigned>(whole(archive, "step_count"));
  check(rates.toDoubleVector().size() == base_lrs_.size(), archive.where("base_lrs"), ": rates of ", rates.toDoubleVector().size(),
        " groups, and the scheduler has ", base_lrs_.size());
  base_lrs_ = rates.toDoubleVector();
  step_count_ = count;
}

// --- schedules. Those that count as Python's make a first step at once, so that step_count_ is the number of the epoch.

StepLR::StepLR(Optimizer& optimizer, unsigned step_size, double gamma) : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  check<ValueError>(step_size > 0, "StepLR: step_size must be positive");
}
std::vector<double> StepLR::get_lrs() { return times(get_current_lrs(), step_count_ > 0 && step_count_ % step_size_ == 0 ? gamma_ : 1); }

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma)
    : LRScheduler(optimizer), milestones_(std::move(milestones)), gamma_(gamma) {
  step();
}
std::vector<double> MultiStepLR::get_lrs() {
  const auto here = std::ranges::count(milestones_, static_cast<int64_t>(step_count_));
  return times(get_current_lrs(), step_count_ > 0 && here > 0 ? std::pow(gamma_, static_cast<double>(here)) : 1);
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma) : LRScheduler(optimizer), gamma_(gamma) { step(); }
std::vector<double> ExponentialLR::get_lrs() { return times(get_current_lrs(), step_count_ > 0 ? gamma_ : 1); }

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : LRScheduler(optimizer), period_(T_max), least_(eta_min) {
  check<ValueError>(T_max > 0, "CosineAnnealingLR: T_max must be positive");
  step();
}
std::vector<double> CosineAnnealingLR::get_lrs() {
  constexpr double kPi = std::numbers::pi;
  std::vector<double> rates = get_current_lrs();
  if (step_count_ == 0) return rates;
  const double t = step_count_, period = static_cast<double>(period_);
  const bool turns = (static_cast<int64_t>(step_count_) - 1 - period_) % (2 * period_) == 0;
  for (size_t i = 0; i < rates.size(); ++i) {
    if (turns) rates[i] += (base_lrs_[i] - least_) * (1 - std::cos(kPi / period)) / 2;
    else rates[i] = (1 + std::cos(kPi * t / period)) / (1 + std::cos(kPi * (t - 1) / period)) * (rates[i] - least_) + least_;
  }
  return rates;
}

LambdaLR::LambdaLR(Optimizer& optimizer, Lambda lambda)
    : LambdaLR(optimizer, std::vector<Lambda>(optimizer.param_groups().size(), std::move(lambda))) {}
LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<Lambda> lambdas) : LRScheduler(optimizer), lambdas_(std::move(lambdas)) {
  check<ValueError>(lambdas_.size() == base_lrs_.size(), "Expected ", base_lrs_.size(), " lr_lambdas, but got ", lambdas_.size());
  step();
}
std::vector<double> LambdaLR::get_lrs() {
  std::vector<double> rates;
  for (size_t i = 0; i < base_lrs_.size(); ++i) rates.push_back(base_lrs_[i] * lambdas_[i](step_count_));
  return rates;
}

// --- one cycle

OneCycleLR::OneCycleLR(Optimizer& optimizer, OneCycleLROptions options) : LRScheduler(optimizer), options_(std::move(options)) {
  const size_t groups = optimizer.param_groups().size();
  check<ValueError>(options_.total_steps() > 0, "Expected positive integer total_steps, but got ", options_.total_steps());
  check<ValueError>(options_.pct_start() >= 0 && options_.pct_start() <= 1, "Expected float between 0 and 1 pct_start, but got ",
                    options_.pct_start());
  if (options_.max_lr().size() == 1) options_.max_lr().resize(groups, options_.max_lr()[0]);
  check<ValueError>(options_.max_lr().size() == groups, "expected ", groups, " values for max_lr, got ", options_.max_lr().size());
  for (OptimizerParamGroup& group : optimizer.param_groups())
    check<ValueError>(!options_.cycle_momentum() || group.options().cycled_momentum(),
                      "optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
  for (size_t i = 0; i < groups; ++i) base_lrs_[i] = options_.max_lr()[i] / options_.div_factor();
  step();
}

std::vector<OneCycleLR::Phase> OneCycleLR::phases(double max_lr) const {
  const double start = max_lr / options_.div_factor(), end = start / options_.final_div_factor();
  const double steps = static_cast<double>(options_.total_steps()), part = options_.pct_start();
  const double low = options_.base_momentum(), high = options_.max_momentum();
  if (options_.three_phase())
    return {{part * steps - 1, start, max_lr, high, low},
            {2 * part * steps - 2, max_lr, start, low, high},
            {steps - 1, start, end, high, high}};
  return {{part * steps - 1, start, max_lr, high, low}, {steps - 1, max_lr, end, low, high}};
}

double OneCycleLR::anneal(double from, double to, double part) const {
  if (options_.anneal_strategy() == OneCycleLROptions::linear) return (to - from) * part + from;
  return to + (from - to) / 2 * (std::cos(std::numbers::pi * part) + 1);
}

std::vector<double> OneCycleLR::get_lrs() {
  const double now = step_count_;
  check<ValueError>(static_cast<int64_t>(step_count_) <= options_.total_steps(), "Tried to step ", step_count_,
                    " times. The specified number of total steps is ", options_.total_steps());
  std::vector<double> rates;
  for (size_t i = 0; i < options_.max_lr().size(); ++i) {
    const std::vector<Phase> all = phases(options_.max_lr()[i]);
    size_t which = 0;
    while (which + 1 < all.size() && now > all[which].end) ++which;
    const Phase& phase = all[which];
    const double begin = which > 0 ? all[which - 1].end : 0;
    const double part = (now - begin) / (phase.end - begin);
    rates.push_back(anneal(phase.from_lr, phase.to_lr, part));
    if (options_.cycle_momentum())
      *optimizer_.param_groups()[i].options().cycled_momentum() = anneal(phase.from_momentum, phase.to_momentum, part);
  }
  return rates;
}

// --- on a plateau

ReduceLROnPlateauScheduler::ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode, float factor, int patience,
                                                       double threshold, ThresholdMode threshold_mode, int cooldown,
                                                       const std::vector<float>& min_lr, double eps, bool verbose)
    : optimizer_(optimizer),
      mode_(mode),
      factor_(factor),
      patience_(patience),
      threshold_(threshold),
      threshold_mode_(threshold_mode),
      cooldown_(cooldown),
      min_lrs_(min_lr),
      eps_(eps),
      verbose_(verbose),
      best_(mode == min ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity()) {
  const size_t groups = optimizer.param_groups().size();
  check(factor < 1.0, "Factor should be < 1.0.");
  if (min_lrs_.empty()) min_lrs_.resize(groups, 0);
  check(min_lrs_.size() == groups, "Number of learning rates not equal to the number of param groups\n",
        "Number of learning rates given: ", min_lrs_.size(), "\nNumber of param groups: ", groups);
}

bool ReduceLROnPlateauScheduler::is_better(float metric) const {
  const double value = metric, best = best_;
  if (mode_ == min) return threshold_mode_ == rel ? value < best * (1 - threshold_) : value < best - threshold_;
  return threshold_mode_ == rel ? value > best * (1 + threshold_) : value > best + threshold_;
}

void ReduceLROnPlateauScheduler::step(float metric) {
  ++steps_;
  if (is_better(metric)) {
    best_ = metric;
    bad_steps_ = 0;
  } else {
    ++bad_steps_;
  }
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    bad_steps_ = 0;
  }
  if (bad_steps_ <= patience_) return;
  reduce();
  cooldown_left_ = cooldown_;
  bad_steps_ = 0;
}

void ReduceLROnPlateauScheduler::reduce() {
  std::vector<OptimizerParamGroup>& groups = optimizer_.param_groups();
  min_lrs_.resize(groups.size(), min_lrs_.back());  // a group may have been added
  for (size_t i = 0; i < groups.size(); ++i) {
    const double before = groups[i].options().get_lr();
    const double rate = std::max(before * factor_, static_cast<double>(min_lrs_[i]));
    if (before - rate <= eps_) continue;
    groups[i].options().set_lr(rate);
    if (verbose_) std::cout << "Epoch " << steps_ << ": reducing learning rate of group " << i << " to " << rate << std::endl;
  }
}

void ReduceLROnPlateauScheduler::save(tenon::serialize::OutputArchive& archive) const {
  archive.write("best", IValue(static_cast<double>(best_)));
  archive.write("steps", IValue(steps_));
  archive.write("bad_steps", IValue(bad_steps_));
  archive.write("cooldown_left", IValue(cooldown_left_));
}
void ReduceLROnPlateauScheduler::load(tenon::serialize::InputArchive& archive) {
  IValue best;
  archive.read("best", best);
  const int64_t steps = whole(archive, "steps"), bad = whole(archive, "bad_steps"), cool = whole(archive, "cooldown_left");
  best_ = static_cast<float>(best.toDouble());
  steps_ = static_cast<int>(steps);
  bad_steps_ = static_cast<int>(bad);
  cooldown_left_ = static_cast<int>(cool);
}

}  // namespace tenon::optim
