// Generators: seeding, the default ones, and states as tensors in PyTorch's layout.
#include "frontend/src/random/generator.h"

#include <array>
#include <cstring>
#include <random>
#include <set>
#include <utility>

#include "frontend/src/tensor/capture.h"
#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"
#include "ir/base/fork.h"
#include "runtime/device/device.h"
#include "tenon/cuda.h"

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
  check(state.seeded == 1 && state.left > 0 && left <= kWords && state.next <= kWords && state.next + left - 1 <= kWords,
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
[[maybe_unused]] const bool generators_held_over_fork =
    ir::hold_over_fork(ir::ForkOrder::Generators, {[] {
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

GeneratorImpl::GeneratorImpl(const State& start) : state(start) {
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

DefaultGeneratorScope::DefaultGeneratorScope(const Generator& generator) : before_(std::exchange(threads_own, &generator)) {}
DefaultGeneratorScope::~DefaultGeneratorScope() { threads_own = before_; }

LockedState::LockedState(const Generator& generator) : generator_(checked(generator)), guard_(generator_.unsafe_impl()->engine_mutex) {}

namespace {
void refuse_kind(const char* expected, const char* found) {
  throw Error(text("Expected a '", expected, "' device type for generator but found '", found, "'"));
}
PhiloxState& philox_of(GeneratorImpl::State& state) {
  auto* philox = std::get_if<PhiloxState>(&state);
  if (!philox) refuse_kind("cuda", "cpu");
  return *philox;
}
}  // namespace

LockedEngine::LockedEngine(const Generator& generator) : state_(generator) {
  if (!std::holds_alternative<RandomEngine>(*state_)) refuse_kind("cpu", "cuda");
}

// --- of CUDA devices

namespace {

// The default generators of the devices, made when they are first used. Never destroyed.
struct CudaDefaults {
  std::array<std::atomic<Generator*>, runtime::kMostCudaDevices> made{};
  std::atomic<bool> seeded{false};
  std::atomic<uint64_t> seed{0};  // if `seeded`: of those that are not made yet
};
CudaDefaults& cuda_defaults() {
  static auto* defaults = new CudaDefaults;
  return *defaults;
}
[[maybe_unused]] const bool cuda_defaults_made = ir::make_before_fork([] { cuda_defaults(); });

ir::DeviceTag cuda_tag(DeviceIndex index) {
  const int wanted = index < 0 ? current_cuda_device() : index;
  check(wanted < runtime::kMostCudaDevices, "Invalid device argument ", wanted, ": did you call init?");
  return runtime::tag_of({runtime::DeviceKind::Cuda, wanted});
}
Generator& default_of(ir::DeviceTag tag) {
  CudaDefaults& defaults = cuda_defaults();
  std::atomic<Generator*>& slot = defaults.made[static_cast<size_t>(runtime::id_of(tag).index)];
  if (Generator* there = slot.load(std::memory_order_acquire)) return *there;
  const uint64_t seed = defaults.seeded ? defaults.seed.load() : unforeseeable();
  auto made = std::make_unique<Generator>(new GeneratorImpl(PhiloxState{tag, seed, 0}));
  Generator* none = nullptr;
  return slot.compare_exchange_strong(none, made.get()) ? *made.release() : *none;
}

}  // namespace

PhiloxState take_offsets(const std::optional<Generator>& generator, ir::DeviceTag device, uint64_t offsets) {
  const LockedState state(generator && generator->defined() ? *generator : default_of(device));
  PhiloxState& philox = philox_of(*state);
  check(philox.device == device, "Expected a '", runtime::name_of(device), "' generator device but found '",
        runtime::name_of(philox.device), "'");
  PhiloxState taken = philox;
  const uint64_t rounded = (offsets + 3) / 4 * 4;
  if (GraphCapture* capture = capturing()) [[unlikely]] {
    const auto advance = [generator, device, seed = taken.seed](uint64_t count) {
      const PhiloxState now = take_offsets(generator, device, count);
      check(now.seed == seed, "CUDAGraph::replay: the generator was captured with the seed ", seed, " and has ", now.seed,
            " now: capture again");
      return now.offset;
    };
    taken.offset = capture->take(&philox, taken.seed, rounded, advance);
    return taken;
  }
  philox.offset += rounded;
  return taken;
}

namespace cuda {
namespace detail {
Generator createCUDAGenerator(DeviceIndex device) {
  return Generator(new GeneratorImpl(PhiloxState{cuda_tag(device), default_rng_seed_val, 0}));
}
const Generator& getDefaultCUDAGenerator(DeviceIndex device) { return default_of(cuda_tag(device)); }
}  // namespace detail

void manual_seed(uint64_t seed) { default_of(cuda_tag(-1)).set_current_seed(seed); }
void manual_seed_all(uint64_t seed) {
  CudaDefaults& defaults = cuda_defaults();
  defaults.seed = seed;
  defaults.seeded = true;
  for (std::atomic<Generator*>& slot : defaults.made) {
    if (Generator* generator = slot.load(std::memory_order_acquire)) generator->set_current_seed(seed);
  }
}
uint64_t initial_seed() { return default_of(cuda_tag(-1)).current_seed(); }
uint64_t seed() { return default_of(cuda_tag(-1)).seed(); }
Tensor get_rng_state(DeviceIndex device) { return default_of(cuda_tag(device)).get_state(); }
void set_rng_state(const Tensor& state, DeviceIndex device) { default_of(cuda_tag(device)).set_state(state); }
}  // namespace cuda

// --- handles

namespace {
// The bytes of torch.cuda.get_rng_state().
struct PhiloxLayout {
  uint64_t seed, offset;
};

template <typename Layout>
Tensor bytes_of(const Layout& layout) {
  auto buffer = allocate_buffer(sizeof layout);
  std::memcpy(buffer->data(), &layout, sizeof layout);
  return tensor_from_buffer(DType::U8, {static_cast<int64_t>(sizeof layout)}, std::move(buffer));
}
template <typename Layout>
Layout layout_in(const Tensor& state) {
  Layout layout;
  std::memcpy(&layout, host_view(state).data, sizeof layout);
  return layout;
}

void check_offset(uint64_t offset) { check(offset % 4 == 0, "offset must be a multiple of 4"); }
}  // namespace

void Generator::set_current_seed(uint64_t seed) {
  const LockedState state(*this);
  if (auto* engine = std::get_if<RandomEngine>(&*state)) return engine->reseed(seed);
  PhiloxState& philox = std::get<PhiloxState>(*state);
  philox = {philox.device, seed, 0};
}
uint64_t Generator::current_seed() const {
  const LockedState state(*this);
  return std::visit([](const auto& s) { return s.seed; }, *state);
}
uint64_t Generator::seed() {
  const uint64_t seed = unforeseeable();
  set_current_seed(seed);
  return seed;
}
void Generator::set_offset(uint64_t offset) {
  check_offset(offset);
  const LockedState state(*this);
  philox_of(*state).offset = offset;
}
uint64_t Generator::get_offset() const {
  const LockedState state(*this);
  return philox_of(*state).offset;
}
Device Generator::device() const {
  const LockedState state(*this);
  const auto* philox = std::get_if<PhiloxState>(&*state);
  return philox ? device_with(philox->device) : Device(kCPU);
}
Generator Generator::clone() const {
  const GeneratorImpl::State copy = *LockedState(*this);  // its lock nests inside that of all generators
  return Generator(new GeneratorImpl(copy));
}
std::mutex& Generator::mutex() const { return checked(*this).unsafe_impl()->user_mutex; }

Tensor Generator::get_state() const {
  const GeneratorImpl::State copy = *LockedState(*this);
  if (const auto* engine = std::get_if<RandomEngine>(&copy)) return bytes_of(layout_of(*engine));
  const PhiloxState& philox = std::get<PhiloxState>(copy);
  return bytes_of(PhiloxLayout{philox.seed, philox.offset});
}

void Generator::set_state(const Tensor& state) {
  check<TypeError>(state.scalar_type() == kByte && state.is_cpu(), "RNG state must be a torch.ByteTensor");
  check(state.is_contiguous(), "RNG state must be contiguous");
  if (device().is_cuda()) {
    check(state.numel() == sizeof(PhiloxLayout), "RNG state is wrong size");
    const auto layout = layout_in<PhiloxLayout>(state);
    check_offset(layout.offset);
    const LockedState own(*this);
    PhiloxState& philox = philox_of(*own);
    philox = {philox.device, layout.seed, layout.offset};
    return;
  }
  check(state.numel() == sizeof(StateLayout), "Expected a CPUGeneratorImplState of size ", sizeof(StateLayout),
        " but found the input RNG state size to be ", state.numel());
  const RandomEngine engine = engine_of(layout_in<StateLayout>(state));
  *LockedEngine(*this) = engine;
}

void manual_seed(uint64_t seed) {
  Generator(default_generator()).set_current_seed(seed);
  cuda::manual_seed_all(seed);
}
uint64_t initial_seed() { return default_generator().current_seed(); }
uint64_t seed() { return Generator(default_generator()).seed(); }
Tensor get_rng_state() { return default_generator().get_state(); }
void set_rng_state(const Tensor& state) { Generator(default_generator()).set_state(state); }

}  // namespace tenon
