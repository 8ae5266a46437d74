// What stands behind a Generator, and how operations get at its engine.
#pragma once

#include <atomic>
#include <mutex>
#include <variant>

#include "frontend/src/random/engine.h"
#include "ir/graph/graph.h"
#include "tenon/generator.h"

namespace tenon {

// Where the Philox stream of a CUDA device stands.
struct PhiloxState {
  ir::DeviceTag device;
  uint64_t seed, offset;
};

class GeneratorImpl {
 public:
  using State = std::variant<RandomEngine, PhiloxState>;  // of the CPU, of a CUDA device
  explicit GeneratorImpl(const State& start);
  ~GeneratorImpl();

  std::atomic<int32_t> refs{1};
  std::mutex engine_mutex;  // of `state`; held by one call at a time
  std::mutex user_mutex;    // what Generator::mutex() gives away
  State state;
};

// The state of a generator for as long as this lives. Error if it is undefined.
class LockedState {
 public:
  explicit LockedState(const Generator& generator);
  GeneratorImpl::State& operator*() const { return generator_.unsafe_impl()->state; }

 private:
  Generator generator_;  // keeps it alive
  std::lock_guard<std::mutex> guard_;
};

// The engine of a generator of the CPU, or of the default one.
class LockedEngine {
 public:
  explicit LockedEngine(const Generator& generator);
  explicit LockedEngine(const std::optional<Generator>& generator)
      : LockedEngine(generator && generator->defined() ? *generator : default_generator()) {}

  RandomEngine& operator*() const { return std::get<RandomEngine>(*state_); }
  RandomEngine* operator->() const { return &**this; }

 private:
  LockedState state_;
};

// A part of the stream of a generator of CUDA devices, or of the default one of this device: it is `offsets` longer afterwards,
// rounded up to a multiple of 4.
PhiloxState take_offsets(const std::optional<Generator>& generator, ir::DeviceTag device, uint64_t offsets);

// While this lives, `generator`, which must outlive it, is the default generator of the thread.
class DefaultGeneratorScope {
 public:
  explicit DefaultGeneratorScope(const Generator& generator);
  ~DefaultGeneratorScope();
  DefaultGeneratorScope(const DefaultGeneratorScope&) = delete;
  DefaultGeneratorScope& operator=(const DefaultGeneratorScope&) = delete;

 private:
  const Generator* const before_;
};

}  // namespace tenon
