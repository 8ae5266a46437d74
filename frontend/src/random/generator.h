// What stands behind a Generator, and how operations get at its engine.
#pragma once

#include <atomic>
#include <mutex>

#include "frontend/src/random/engine.h"
#include "tenon/generator.h"

namespace tenon {

class GeneratorImpl {
 public:
  explicit GeneratorImpl(const RandomEngine& start);
  ~GeneratorImpl();

  std::atomic<int32_t> refs{1};
  std::mutex engine_mutex;  // of `engine`; held by one call at a time
  std::mutex user_mutex;    // what Generator::mutex() gives away
  RandomEngine engine;
};

// The engine of a generator, or of the default one, for as long as this lives.
class LockedEngine {
 public:
  explicit LockedEngine(const Generator& generator);
  explicit LockedEngine(const std::optional<Generator>& generator)
      : LockedEngine(generator && generator->defined() ? *generator : default_generator()) {}

  RandomEngine& operator*() const { return generator_.unsafe_impl()->engine; }
  RandomEngine* operator->() const { return &**this; }

 private:
  Generator generator_;  // keeps it alive
  std::lock_guard<std::mutex> guard_;
};

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
