// Generated text, compiled as C and loaded: its kernels, each callable with an array of its parameters' addresses.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda_sim/engine.h"

namespace tenon::cuda_sim {

enum class Compiler { Tcc, Cc };
bool available(Compiler compiler);
Compiler fastest_compiler();  // tcc compiles a kernel in 5 ms, cc in 60; TENON_SIM_COMPILER=cc asks for that

struct Kernel {
  std::string name;
  void (*call)(void** arguments);
  std::vector<unsigned> parameter_bytes;
  unsigned max_threads;   // of TENON_LAUNCH; 1024 without it
  unsigned shared_bytes;  // of all its TENON_SHARED or TENON_DYNAMIC_SHARED arrays
  bool dynamic_shared;    // each launch brings it
  unsigned registers;     // of a thread: as the real NVRTC said (note.h), else an estimate
  unsigned local_bytes;   // of a thread: what did not fit into them, and arrays at places that vary
};

class Program {
 public:
  // Throws std::runtime_error with the compiler's messages. The same text is compiled once in a process.
  static std::shared_ptr<const Program> load(const std::string& text, Compiler compiler = fastest_compiler());
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const Kernel* find(const std::string& name) const;  // null if there is none
  const std::vector<Kernel>& kernels() const { return kernels_; }
  Machine* machine() const { return machine_; }

 private:
  Program() = default;
  static std::shared_ptr<const Program> compile_and_find(const std::string& text, Compiler compiler);
  void* library_ = nullptr;
  Machine* machine_ = nullptr;
  std::vector<Kernel> kernels_;
};

}  // namespace tenon::cuda_sim
