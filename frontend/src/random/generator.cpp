// Generators: seeding, the default one, and states as tensors in PyTorch's layout.
#include "frontend/src/random/generator.h"

#include <cstring>
#include <random>
#include <set>
#include <utility>

#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"
#include "ir/fork.h"

namespace tenon {
namespace {

// The bytes of torch.get_rng_state(). `normal_y` is the normal sample held back.
struct StateLayout {
  uint64_t seed;
  int32_t left, seeded;
  uint64_t next;
  uint64_t words[RandomEngine::kWords];  // 32 bits each
  double normal_x, normal_y, normal_rho;
  int32_t normal_is_valid, padding;
  float float_normal;
  uint8_t float_normal_is_valid, tail[3];
};
static_assert(sizeof(StateLayout) == 5056);

StateLayout layout_of(const RandomEngine& engine) {
  StateLayout state{};
  state.seed = engine.seed;
  state.left = static_cast<int32_t>(engine.left);
  state.seeded = 1;
  state.next = engine.next;
  for (size_t i = 0; i < RandomEngine::kWords; ++i) state.words[i] = engine.state[i];
  state.normal_is_valid = engine.held_normal.has_value();
  state.normal_y = engine.held_normal.value_or(0);
  state.float_normal_is_valid = engine.held_float_normal.has_value();
  state.float_normal = engine.held_float_normal.value_or(0);
  return state;
}

RandomEngine engine_of(const StateLayout& state) {
  constexpr uint64_t kWords = RandomEngine::kWords;
  const auto left = static_cast<uint64_t>(state.left);
  check(state.seeded == 1 && state.left > 0 && left <= kWords && state.next <= kWords &&
            state.next + left - 1 <= kWords,
        "Invalid mt19937 state");
  RandomEngine engine(state.seed);
  for (size_t i = 0; i < kWords; ++i) engine.state[i] = static_cast<uint32_t>(state.words[i]);
  engine.left = static_cast<uint32_t>(left);
  engine.next = static_cast<uint32_t>(state.next);
  if (state.normal_is_valid) engine.held_normal = state.normal_y;
  if (state.float_normal_is_valid) engine.held_float_normal = state.float_normal;
  return engine;
}

thread_local const Generator* threads_own = nullptr;  // the default generator of a thread that has one of its own

uint64_t unforeseeable() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

// All generators of the process: a fork takes the locks of all engines.
namespace {
struct Generators {
  std::mutex mutex;
  std::set<GeneratorImpl*> all;
};
Generators& generators() {
  static auto* g = new Generators;
  return *g;
}
[[maybe_unused]] const bool held_over_fork = ir::hold_over_fork(
    ir::ForkOrder::Generators, {[] {
                                  generators().mutex.lock();
                                  for (GeneratorImpl* g : generators().all) g->engine_mutex.lock();
                                },
                                [] {
                                  for (GeneratorImpl* g : generators().all) g->engine_mutex.unlock();
                                  generators().mutex.unlock();
                                },
                                [] {
                                  for (GeneratorImpl* g : generators().all) std::construct_at(&g->engine_mutex);
                                  std::construct_at(&generators().mutex);
                                }});
}  // namespace

GeneratorImpl::GeneratorImpl(const RandomEngine& start) : engine(start) {
  const std::lock_guard lock(generators().mutex);
  generators().all.insert(this);
}
GeneratorImpl::~GeneratorImpl() {
  const std::lock_guard lock(generators().mutex);
  generators().all.erase(this);
}

namespace detail {
void retain(GeneratorImpl* impl) noexcept { impl->refs.fetch_add(1, std::memory_order_relaxed); }
void release(GeneratorImpl* impl) noexcept {
  if (impl->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete impl;
}

Generator createCPUGenerator(uint64_t seed) { return Generator(new GeneratorImpl(RandomEngine(seed))); }

const Generator& getDefaultCPUGenerator() {
  if (threads_own) return *threads_own;
  static const Generator generator = createCPUGenerator(unforeseeable());
  return generator;
}
[[maybe_unused]] static const bool made_before_fork = ir::make_before_fork([] { getDefaultCPUGenerator(); });
}  // namespace detail

namespace {
const Generator& checked(const Generator& generator) {
  check(generator.defined(), "Generator is undefined");
  return generator;
}
}  // namespace

DefaultGeneratorScope::DefaultGeneratorScope(const Generator& generator)
    : before_(std::exchange(threads_own, &generator)) {}
DefaultGeneratorScope::~DefaultGeneratorScope() { threads_own = before_; }

LockedEngine::LockedEngine(const Generator& generator)
    : generator_(checked(generator)), guard_(generator_.unsafe_impl()->engine_mutex) {}

void Generator::set_current_seed(uint64_t seed) { LockedEngine(*this)->reseed(seed); }
uint64_t Generator::current_seed() const { return LockedEngine(*this)->seed; }
uint64_t Generator::seed() {
  const uint64_t seed = unforeseeable();
  set_current_seed(seed);
  return seed;
}
Generator Generator::clone() const {
  const RandomEngine copy = *LockedEngine(*this);  // its lock nests inside that of all generators
  return Generator(new GeneratorImpl(copy));
}
std::mutex& Generator::mutex() const { return checked(*this).unsafe_impl()->user_mutex; }

Tensor Generator::get_state() const {
  auto buffer = allocate_buffer(sizeof(StateLayout));
  const StateLayout state = layout_of(*LockedEngine(*this));
  std::memcpy(buffer->data(), &state, sizeof state);
  return tensor_from_buffer(DType::U8, {static_cast<int64_t>(sizeof state)}, std::move(buffer));
}

void Generator::set_state(const Tensor& state) {
  check<TypeError>(state.scalar_type() == kByte && state.is_cpu(), "RNG state must be a torch.ByteTensor");
  check(state.is_contiguous(), "RNG state must be contiguous");
  check(state.numel() == sizeof(StateLayout), "Expected a CPUGeneratorImplState of size ",
        sizeof(StateLayout), " but found the input RNG state size to be ", state.numel());
  StateLayout layout;
  std::memcpy(&layout, host_view(state).data, sizeof layout);
  const RandomEngine engine = engine_of(layout);
  *LockedEngine(*this) = engine;
}

void manual_seed(uint64_t seed) { Generator(default_generator()).set_current_seed(seed); }
uint64_t initial_seed() { return default_generator().current_seed(); }
uint64_t seed() { return Generator(default_generator()).seed(); }
Tensor get_rng_state() { return default_generator().get_state(); }
void set_rng_state(const Tensor& state) { Generator(default_generator()).set_state(state); }

}  // namespace tenon
