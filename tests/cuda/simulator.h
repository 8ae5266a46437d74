// The controls of the simulated driver (tests/cuda_sim/control.h), found in the library that TENON_CUDA_DRIVER names.
#pragma once

#include <dlfcn.h>

#include <cstdlib>

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

}  // namespace tenon::test
