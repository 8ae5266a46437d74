// evaluate(): one lock, one walk for the key, then a plan from the cache or a new one, then a run.
#include "runtime/evaluate.h"

#include <cstring>
#include <list>
#include <unordered_map>

#include "ir/fork.h"
#include "runtime/analysis.h"
#include "runtime/batches.h"
#include "runtime/device.h"
#include "runtime/evaluation.h"
#include "runtime/hash.h"
#include "runtime/past_plans.h"
#include "runtime/plan.h"
#include "runtime/profiler.h"

namespace tenon::runtime {
namespace {

constexpr size_t kMostPlans = 2048;
constexpr size_t kMostKeyWords = size_t{16} << 20;  // of all plans together: 128 MB

// Finished plans, least recently used last. The hash finds, the whole key decides.
class PlanCache {
 public:
  Plan* find(const std::vector<uint64_t>& key, const Hash128& hash) {
    auto it = entries_.find(hash);
    if (it == entries_.end() || (*it->second)->key != key) return nullptr;
    order_.splice(order_.begin(), order_, it->second);
    return it->second->get();
  }

  Plan* insert(std::unique_ptr<Plan> plan, const Hash128& hash) {
    if (auto it = entries_.find(hash); it != entries_.end()) drop(it->second, hash);
    words_ += plan->key.size();
    order_.push_front(std::move(plan));
    entries_[hash] = order_.begin();
    while (order_.size() > 1 && (order_.size() > kMostPlans || words_ > kMostKeyWords)) {
      const std::vector<uint64_t>& oldest = order_.back()->key;
      drop(std::prev(order_.end()), hash128(oldest.data(), oldest.size() * sizeof(uint64_t)));
    }
    return order_.front().get();
  }

  void clear() {
    entries_.clear();
    order_.clear();
    words_ = 0;
  }

 private:
  using Position = std::list<std::unique_ptr<Plan>>::iterator;

  void drop(Position at, const Hash128& hash) {
    words_ -= (*at)->key.size();
    entries_.erase(hash);
    order_.erase(at);
  }

  std::list<std::unique_ptr<Plan>> order_;
  std::unordered_map<Hash128, Position, HashOfHash> entries_;
  size_t words_ = 0;
};

// Everything that the evaluation lock guards.
struct Evaluator {
  EvaluationMutex mutex;
  PlanCache plans;
  GraphKey key;
  PastPlans past;
  int next_plan = 0;
  Options options;
  uint64_t options_generation = 0;

  static Evaluator& get() {
    static auto* e = new Evaluator;  // never destroyed: static tensors may evaluate at exit
    return *e;
  }

  void refresh_options() {
    uint64_t generation = runtime::options_generation();
    if (generation == options_generation) return;
    options = runtime::options();
    options_generation = generation;
    for (Device* device : all_devices()) device->configure(options);
  }

  Leftovers evaluate(std::span<const ir::NodeRef> roots) {
    refresh_options();
    ProfileSpan span("evaluate", "evaluate");
    key.read(roots, key_salt(options), true, options.windows);
    if (!key.pending) return {};
    auto batches = batches_of(key, options.batch);
    if (batches.empty()) return evaluate_key();
    Leftovers leftovers;
    for (std::vector<ir::NodeRef>& batch : batches) {
      key.read(batch, key_salt(options), true, options.windows);
      Leftovers more = evaluate_key();
      leftovers.insert(leftovers.end(), more.begin(), more.end());
      batch.clear();  // so that later batches may take over what nobody needs any more
    }
    return leftovers;
  }

  // What the key has been read from.
  Leftovers evaluate_key() {
    if (!options.plan_cache) return run_plan(*build(), key);
    Hash128 hash = hash128(key.words.data(), key.words.size() * sizeof(uint64_t));
    Plan* plan = plans.find(key.words, hash);
    if (plan) {
      count(Count::PlanHits);
    } else {
      plan = plans.insert(build(), hash);
    }
    return run_plan(*plan, key);
  }

  std::unique_ptr<Plan> build() {
    count(Count::PlansBuilt);
    const int number = next_plan++;
    if (options.dump != 0) dump_new_plan(number, key, options);
    std::unique_ptr<Plan> plan = build_plan(number, key, options);
    past.add(number, key, plan->outputs);
    return plan;
  }
};

}  // namespace

EvaluationMutex& evaluation_mutex() { return Evaluator::get().mutex; }

[[maybe_unused]] const bool held_over_fork =
    ir::hold_over_fork(ir::ForkOrder::Evaluation, {[] { evaluation_mutex().lock_for_fork(); },
                                                   [] { evaluation_mutex().unlock_after_fork(); },
                                                   [] { std::construct_at(&evaluation_mutex()); }});
const PastPlans& past_plans() { return Evaluator::get().past; }

uint64_t key_salt(const Options& o) {
  return uint64_t{o.fusion} | uint64_t{o.simplify} << 1 | uint64_t{o.donation} << 2 |
         static_cast<uint64_t>(o.backend) << 3 | uint64_t{o.windows} << 4 | static_cast<uint64_t>(o.vector_bits) << 8;
}

void evaluate(std::span<const ir::NodeRef> roots) {
  Leftovers leftovers;  // outlives the lock
  std::lock_guard lock(evaluation_mutex());
  leftovers = Evaluator::get().evaluate(roots);
}

void rebind(ir::Node& node, std::shared_ptr<Buffer> buffer) {
  std::lock_guard lock(evaluation_mutex());
  node.materialise(std::move(buffer));
}

void clear_caches() {
  {
    std::lock_guard lock(evaluation_mutex());
    Evaluator::get().plans.clear();
  }
  KernelCache::global().clear();
  empty_memory_cache();
}

}  // namespace tenon::runtime
