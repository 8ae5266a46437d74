// The controls of the simulated driver (tests/cuda_sim/control.h), found in the library that TENON_CUDA_DRIVER names.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace tenon::test {

struct Simulator {
  void (*fault)(const char* function, long nth, int code) = nullptr;
  void (*fault_from)(const char* function, long nth, int code) = nullptr;
  int (*set)(const char* setting, long value) = nullptr;
  long (*calls)(const char* function) = nullptr;
  long (*live)(const char* what) = nullptr;
  void (*seed)(unsigned long long) = nullptr;
  void (*heal)() = nullptr;
  explicit operator bool() const { return fault != nullptr; }

  // Without functions on real hardware.
  static const Simulator& get() {
    static const Simulator found = [] {
      Simulator s;
      const char* driver = std::getenv("TENON_CUDA_DRIVER");
      void* library = driver ? dlopen(driver, RTLD_NOW | RTLD_LOCAL) : nullptr;
      if (!library || !dlsym(library, "tenon_sim_fault")) return s;
      find(library, "tenon_sim_fault", s.fault);
      find(library, "tenon_sim_fault_from", s.fault_from);
      find(library, "tenon_sim_set", s.set);
      find(library, "tenon_sim_calls", s.calls);
      find(library, "tenon_sim_live", s.live);
      find(library, "tenon_sim_seed", s.seed);
      find(library, "tenon_sim_heal", s.heal);
      return s;
    }();
    return found;
  }

 private:
  template <typename F>
  static void find(void* library, const char* name, F*& function) {
    function = reinterpret_cast<F*>(dlsym(library, name));
  }
};

// Which of `count` calls to let fail, counted from 1: the first, the last and one between; up to TENON_FAULTS of them, by hand.
inline std::vector<long> calls_to_fail(long count) {
  const char* wanted = std::getenv("TENON_FAULTS");
  const long most = std::min(count, wanted ? std::max(2L, std::atol(wanted)) : 3L);
  std::vector<long> found;
  for (long k = 0; k < most; ++k) found.push_back(most == 1 ? 1 : 1 + k * (count - 1) / (most - 1));
  return found;
}

}  // namespace tenon::test
