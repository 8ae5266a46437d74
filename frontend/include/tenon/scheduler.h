// Schedules of learning rates. step() is called after the optimizer's, once an epoch or once a batch. A changed rate compiles
// nothing.
//
//   optim::CosineAnnealingLR schedule(optimizer, 100);
//   for (...) { train_an_epoch(); schedule.step(); }
//
// StepLR and ReduceLROnPlateauScheduler count as LibTorch's, the others as Python's: LibTorch's StepLR is one step() late.
#pragma once

#include <vector>

#include "tenon/function.h"
#include "tenon/optim.h"

namespace tenon::optim {

// The optimizer must outlive it. Programs may derive their own.
class LRScheduler {
 public:
  explicit LRScheduler(Optimizer& optimizer);
  virtual ~LRScheduler();
  void step();
  std::vector<double> get_last_lr() const { return get_current_lrs(); }  // of each group
  virtual void save(tenon::serialize::OutputArchive& archive) const;
  // Where it stood. The rates themselves are the optimizer's.
  virtual void load(tenon::serialize::InputArchive& archive);

 protected:
  virtual std::vector<double> get_lrs() = 0;  // of each group, for the step whose number is step_count_
  std::vector<double> get_current_lrs() const;
  unsigned step_count_ = 0;
  Optimizer& optimizer_;
  std::vector<double> base_lrs_;  // at the start
};

// gamma times as much every step_size steps.
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, unsigned step_size, double gamma = 0.1);

 private:
  std::vector<double> get_lrs() override;
  unsigned step_size_;
  double gamma_;
};

// gamma times as much at each milestone.
class MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1);

 private:
  std::vector<double> get_lrs() override;
  std::vector<int64_t> milestones_;
  double gamma_;
};

// gamma times as much at every step.
class ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma);

 private:
  std::vector<double> get_lrs() override;
  double gamma_;
};

// Half a cosine from the first rate to eta_min in T_max steps, and back.
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0);

 private:
  std::vector<double> get_lrs() override;
  int64_t period_;
  double least_;
};

// The first rate times a function of the number of steps; one function for all groups or one for each.
class LambdaLR : public LRScheduler {
 public:
  using Lambda = Function<double(int64_t)>;
  LambdaLR(Optimizer& optimizer, Lambda lambda);
  LambdaLR(Optimizer& optimizer, std::vector<Lambda> lambdas);

 private:
  std::vector<double> get_lrs() override;
  std::vector<Lambda> lambdas_;
};

// A list stands for the groups, one number for all of them.
struct OneCycleLROptions {
  OneCycleLROptions(double max_lr, int64_t total_steps) : max_lr_{max_lr}, total_steps_(total_steps) {}
  OneCycleLROptions(std::vector<double> max_lr, int64_t total_steps) : max_lr_(std::move(max_lr)), total_steps_(total_steps) {}
  enum Anneal { cos, linear };
  TENON_ARG(std::vector<double>, max_lr);
  TENON_ARG(int64_t, total_steps);
  TENON_ARG(double, pct_start) = 0.3;
  TENON_ARG(Anneal, anneal_strategy) = cos;
  TENON_ARG(bool, cycle_momentum) = true;  // momentum, or the first of betas
  TENON_ARG(double, base_momentum) = 0.85;
  TENON_ARG(double, max_momentum) = 0.95;
  TENON_ARG(double, div_factor) = 25;
  TENON_ARG(double, final_div_factor) = 1e4;
  TENON_ARG(bool, three_phase) = false;
};
// Up from max_lr / div_factor to max_lr, and down to a final_div_factor-th of where it began; momentum the other way round.
class OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, OneCycleLROptions options);

 private:
  struct Phase {
    double end;  // the step
    double from_lr, to_lr;
    double from_momentum, to_momentum;
  };
  std::vector<double> get_lrs() override;
  std::vector<Phase> phases(double max_lr) const;
  double anneal(double from, double to, double part) const;
  OneCycleLROptions options_;
};

// A rate times `factor` when a measured value has not become better for more than `patience` steps.
class ReduceLROnPlateauScheduler {
 public:
  enum SchedulerMode { min, max };
  enum ThresholdMode { rel, abs };
  ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode = min, float factor = 0.1f, int patience = 10,
                             double threshold = 1e-4, ThresholdMode threshold_mode = rel, int cooldown = 0,
                             const std::vector<float>& min_lr = {}, double eps = 1e-8, bool verbose = false);
  void step(float metric);
  void save(tenon::serialize::OutputArchive& archive) const;
  void load(tenon::serialize::InputArchive& archive);

 private:
  bool is_better(float metric) const;
  void reduce();

  Optimizer& optimizer_;
  SchedulerMode mode_;
  float factor_;
  int patience_;
  double threshold_;
  ThresholdMode threshold_mode_;
  int cooldown_;
  std::vector<float> min_lrs_;
  double eps_;
  bool verbose_;
  float best_;
  int steps_ = 0, bad_steps_ = 0, cooldown_left_ = 0;
};
using ReduceLROnPlateau = ReduceLROnPlateauScheduler;  // Python's name

}  // namespace tenon::optim
