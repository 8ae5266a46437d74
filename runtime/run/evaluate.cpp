// evaluate(): under a lock one walk for the key, then a plan from the cache or a new one; without the lock its run.
#include "runtime/run/evaluate.h"

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/compile_behind.h"
#include "runtime/base/evaluation_mutex.h"
#include "runtime/base/hash.h"
#include "runtime/cache/lowered_kernels.h"
#include "runtime/device/device.h"
#include "runtime/history/profiler.h"
#include "runtime/plan/analysis.h"
#include "runtime/plan/batches.h"
#include "runtime/plan/build_plan.h"
#include "runtime/plan/past_plans.h"
#include "runtime/run/async_work.h"
#include "runtime/run/evaluation.h"
#include "runtime/run/run.h"

namespace tenon::runtime {
namespace {

constexpr size_t kMostPlans = 2048;
constexpr size_t kMostKeyWords = size_t{16} << 20;  // of all plans together: 128 MB

// Finished plans, least recently used last. The hash finds, the whole key decides.
class PlanCache {
 public:
  std::shared_ptr<Plan> find(const std::vector<uint64_t>& key) {
    const auto it = entries_.find(hash_of(key));
    if (it == entries_.end() || (*it->second)->key != key || is_outdated(**it->second)) return nullptr;
    order_.splice(order_.begin(), order_, it->second);
    return *it->second;
  }

  std::shared_ptr<Plan> insert(std::shared_ptr<Plan> plan) {
    const Hash128 hash = hash_of(plan->key);
    if (auto it = entries_.find(hash); it != entries_.end()) drop(it->second, hash);
    words_ += plan->key.size();
    order_.push_front(std::move(plan));
    entries_[hash] = order_.begin();
    while (order_.size() > 1 && (order_.size() > kMostPlans || words_ > kMostKeyWords))
      drop(std::prev(order_.end()), hash_of(order_.back()->key));
    return order_.front();
  }

  void clear() {
    entries_.clear();
    order_.clear();
    words_ = 0;
  }

 private:
  using Position = std::list<std::shared_ptr<Plan>>::iterator;

  static Hash128 hash_of(const std::vector<uint64_t>& key) { return hash128(key.data(), key.size() * sizeof(uint64_t)); }
  void drop(Position at, const Hash128& hash) {
    words_ -= (*at)->key.size();
    entries_.erase(hash);
    order_.erase(at);
  }

  std::list<std::shared_ptr<Plan>> order_;
  std::unordered_map<Hash128, Position, HashOfHash> entries_;
  size_t words_ = 0;
};

using Batches = std::vector<std::vector<ir::NodeRef>>;
enum class Cut : uint8_t { IfLarge, Never };

class Evaluator {
 public:
  EvaluationMutex& mutex = evaluation_mutex();
  PastPlans past;  // it guards them too

  static Evaluator& get() {
    static auto* e = new Evaluator;  // never destroyed: static tensors may evaluate at exit
    return *e;
  }

  // Computes the roots; or nothing, and returns the batches into which such a large graph is cut.
  Batches evaluate(std::span<const ir::NodeRef> roots, Cut cut, std::span<const ir::NodeRef> replaced = {}) {
    if (only_host()) return try_to_evaluate(roots, cut, replaced);
    look_at_devices();
    try {
      return try_to_evaluate(roots, cut, replaced);
    } catch (const OutOfMemory&) {
      if (!AsyncWork::global().waits()) throw;
    }
    synchronise();  // inputs of what is not done have their memory still
    return try_to_evaluate(roots, cut, replaced);
  }

  void recover() {
    if (!AsyncWork::global().has_failed()) return;
    std::vector<ir::Definition> gone;  // when the lock is open
    const std::lock_guard lock(mutex);
    mutex.wait_for_all();
    gone = AsyncWork::global().recover();
  }

  void rebind(ir::Node& node, std::shared_ptr<Buffer> buffer) {
    const std::lock_guard lock(mutex);
    const auto reads = [&](const auto& run) { return run->reads(&node); };
    while (std::any_of(runs_.begin(), runs_.end(), reads)) mutex.wait_for_end();
    node.materialise(std::move(buffer));
  }

  std::shared_ptr<Plan> plan_of_step(std::span<const ir::NodeRef> roots, std::span<const ir::NodeRef> constants, bool anywhere,
                                     GraphKey& key) {
    mutex.lock_to_end();
    const std::lock_guard lock(mutex, std::adopt_lock);
    Options options = options_;
    options.donation = options.windows = false;
    options.often = 0;
    key.read(roots, key_salt(options), false, GraphKey::Beside::Not);
    for (const ir::NodeRef& node : constants) key.take_as_constant(*node);
    if (anywhere) key.let_begin_anywhere();
    if (!options.plan_cache) return build(key, options);
    std::shared_ptr<Plan> plan = plans_.find(key.words);
    if (plan && plan->join_refusal()) options.repeats = -1;
    if (!plan || plan->join_refusal()) return plans_.insert(build(key, options));
    count_under_lock(Count::PlanHits);
    return plan;
  }

  void clear_plans() {
    const std::lock_guard lock(mutex);
    plans_.clear();
    forget_recurrent_works();
    LoweredKernels::global().clear();
    for (const auto& run : runs_) {
      if (!run->take()) continue;
      run->take_plan();
      run->clear();
    }
  }

 private:
  Batches try_to_evaluate(std::span<const ir::NodeRef> roots, Cut cut, std::span<const ir::NodeRef> replaced) {
    for (Batches batches;;) {
      Run* run = begin(roots, cut, replaced, batches);
      if (!run) return batches;
      try {
        compute(*run);
        run->clear();
        return batches;
      } catch (const JoinRefused&) {  // the plan is made anew, without joined launches
      }
    }
  }

  // Null if there is nothing to compute, or in batches. Then, or if it throws, nothing has changed.
  Run* begin(std::span<const ir::NodeRef> roots, Cut cut, std::span<const ir::NodeRef> replaced, Batches& batches) {
    const std::lock_guard lock(mutex);
    Run& run = free_run();
    try {
      if (read(run.key, roots, cut)) {
        if (cut == Cut::IfLarge) batches = batches_of(run.key, options_.batch);
        if (batches.empty()) {
          start(run, replaced);
          return &run;
        }
      }
    } catch (...) {
      run.clear();
      throw;
    }
    run.clear();
    return nullptr;
  }

  Run& free_run() {
    for (const auto& run : runs_) {
      if (run->take()) return *run;
    }
    runs_.push_back(std::make_unique<Run>());
    runs_.back()->take();
    return *runs_.back();
  }

  // The key of the graph, as soon as no other thread computes a part of it. False if all of it is computed.
  // All values of a batch that are to be stored are roots.
  bool read(GraphKey& key, std::span<const ir::NodeRef> roots, Cut cut) {
    while (true) {
      refresh_options();
      key.read(roots, key_salt(options_), options_.windows, cut == Cut::Never ? GraphKey::Beside::Not : GraphKey::Beside::Too);
      if (!key.missing) return key.pending;
      if (std::none_of(runs_.begin(), runs_.end(), [&](const auto& run) { return run->computes(key.missing); }))
        throw std::runtime_error("evaluate: the graph has an input without data");
      mutex.wait_for_end();
    }
  }

  void start(Run& run, std::span<const ir::NodeRef> replaced) {
    run.start(plan_for(run), replaced);
    mutex.begin();
  }

  std::shared_ptr<Plan> plan_for(Run& run) {
    const GraphKey& key = run.key;
    if (!options_.plan_cache) return build(key, options_);
    std::shared_ptr<Plan> plan = run.take_plan();  // a loop finds its plan here, without a hash
    if (!plan || plan->key != key.words || is_outdated(*plan) || plan->join_refusal()) {
      plan = plans_.find(key.words);
      if (!plan) plan = seldom_run(key);
      if (!plan) return plans_.insert(build(key, options_));
    }
    count_under_lock(Count::PlanHits);
    ++plan->runs;
    if (plan->join_refusal()) return build_single(*plan, key);
    const bool often = plan->runs == options_.often && plan->better_often, repeats = plan->runs == options_.repeats && plan->may_join;
    if (often || repeats) return build_again(std::move(plan), key);
    return plan->successor && plan->successor->has_code() ? replace(*plan, plan->successor) : plan;
  }

  // The plan that runs now; soon one for many more runs, whose code is compiled behind it.
  std::shared_ptr<Plan> build_again(std::shared_ptr<Plan> plan, const GraphKey& key) {
    Options options = options_;
    if (plan->runs >= options_.often) options.often = 0;
    if (plan->runs >= options_.repeats) options.repeats = 0;
    options.first_tier = 0;
    std::shared_ptr<Plan> next = build(key, options);
    if (next->works_async || !next->recurrent.empty()) return replace(*plan, std::move(next));
    CompileBehind::global().add([next, options] { next->find_code(options, recurrent_work); });
    plan->successor = std::move(next);
    return plan;
  }

  // In place of a plan whose joined launches have no code.
  std::shared_ptr<Plan> build_single(const Plan& plan, const GraphKey& key) {
    Options options = options_;
    if (plan.runs >= options_.often) options.often = 0;
    options.repeats = -1;
    return replace(plan, build(key, options, "launches are not joined: " + *plan.join_refusal()));
  }

  std::shared_ptr<Plan> replace(const Plan& plan, std::shared_ptr<Plan> by) {
    by->runs = plan.runs;
    by->is_again = true;
    return plans_.insert(std::move(by));
  }

  // The plan from before inputs of this graph counted as constant, unless that has run often enough for a new one to pay: each plan
  // of a program whose lengths vary runs seldom.
  std::shared_ptr<Plan> seldom_run(const GraphKey& key) {
    constexpr int kOften = 8;
    if (key.constants.empty()) return nullptr;
    std::shared_ptr<Plan> plan = plans_.find(key.words_without_constants());
    return plan && plan->runs < kOften ? plan : nullptr;
  }

  void compute(Run& run) {
    try {
      run.compute(options_);
    } catch (...) {
      end(run, &Run::undo);
      run.clear();
      if (!only_host()) recover();
      throw;
    }
    end(run, &Run::finish);
  }

  void end(Run& run, void (Run::*how)()) {
    mutex.lock_to_end();
    (run.*how)();
    mutex.end();
    mutex.unlock();
  }

  void refresh_options() {
    uint64_t generation = runtime::options_generation();
    if (generation == options_generation_) return;
    mutex.wait_for_all();
    options_ = runtime::options();
    options_generation_ = generation;
    for (Device* device : all_devices()) device->configure(options_);
  }

  // `note`: what explain says of the plan.
  std::shared_ptr<Plan> build(const GraphKey& key, const Options& options, std::string note = {}) {
    count_under_lock(Count::PlansBuilt);
    const int number = next_plan_++;
    if (options.dump != 0) dump_new_plan(number, key, options);
    std::shared_ptr<Plan> plan = build_plan(number, key, options);
    past.add(number, key, plan->outputs, std::move(note));
    return plan;
  }

  PlanCache plans_;
  std::vector<std::unique_ptr<Run>> runs_;  // as many as there have been at the same time
  int next_plan_ = 0;
  Options options_;  // change while nothing runs
  uint64_t options_generation_ = 0;
};

}  // namespace

const PastPlans& past_plans() { return Evaluator::get().past; }

std::shared_ptr<Plan> plan_of_step(std::span<const ir::NodeRef> roots, std::span<const ir::NodeRef> constants, bool anywhere,
                                   GraphKey& key) {
  return Evaluator::get().plan_of_step(roots, constants, anywhere, key);
}

uint64_t key_salt(const Options& o) {
  return uint64_t{o.fusion} | uint64_t{o.simplify} << 1 | uint64_t{o.donation} << 2 | static_cast<uint64_t>(o.backend) << 3 |
         uint64_t{o.windows} << 4 | uint64_t{o.often == 0} << 5 | uint64_t{o.repeats == 0} << 6 | static_cast<uint64_t>(o.vector_bits) << 8;
}

namespace {
// Whole, or batch after batch; only the last one may write over what is replaced, since nothing can fail behind it.
void evaluate_in_batches(std::span<const ir::NodeRef> roots, std::span<const ir::NodeRef> replaced) {
  const ProfileSpan span("evaluate", "evaluate");
  Evaluator& evaluator = Evaluator::get();
  Batches batches = evaluator.evaluate(roots, Cut::IfLarge, replaced);
  for (std::vector<ir::NodeRef>& batch : batches) {
    evaluator.evaluate(batch, Cut::Never, &batch == &batches.back() ? replaced : std::span<const ir::NodeRef>{});
    batch.clear();  // so that later batches may take over what is not needed any more
  }
}
}  // namespace

void evaluate(std::span<const ir::NodeRef> roots) { evaluate_in_batches(roots, {}); }

void evaluate_step(std::span<const ir::NodeRef> roots, std::span<const ir::NodeRef> replaced) { evaluate_in_batches(roots, replaced); }

namespace {
using NodeSet = std::unordered_set<const ir::Node*>;

// What has to be computed for these values, with what is known to share and what is known not to.
bool needs_any(ir::Node* value, const NodeSet& sought, NodeSet& others) {
  std::vector<ir::Node*> stack{value};
  while (!stack.empty()) {
    const ir::Node* node = stack.back();
    stack.pop_back();
    if (node->is_leaf() || !others.insert(node).second) continue;
    if (sought.contains(node)) return true;
    for (ir::Node* input : node->inputs()) stack.push_back(input);
  }
  return false;
}
}  // namespace

std::vector<bool> share_work(std::span<const ir::NodeRef> values, std::span<const ir::NodeRef> roots) {
  const std::lock_guard lock(evaluation_mutex());
  NodeSet work, none;
  for (const ir::NodeRef& root : roots) needs_any(root.get(), none, work);
  std::erase_if(work, [](const ir::Node* node) { return is_view(*node); });
  std::vector<bool> result;
  for (const ir::NodeRef& value : values) {
    NodeSet seen;
    result.push_back(needs_any(value.get(), work, seen));
  }
  return result;
}

void recover() { Evaluator::get().recover(); }

void rebind(ir::Node& node, std::shared_ptr<Buffer> buffer) { Evaluator::get().rebind(node, std::move(buffer)); }

void clear_caches() {
  Evaluator::get().clear_plans();
  KernelCache::global().clear();
  empty_memory_cache();
}

}  // namespace tenon::runtime
