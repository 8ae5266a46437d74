// A GPU for tests: compiles generated CUDA text as C99 (with tcc if it is there, else cc), runs each thread
// of a block as a fiber and gives barriers and warp shuffles their meaning. It reports what a real GPU would
// leave undefined: a barrier or shuffle that not every thread reaches, and a misaligned vector access. Shared
// memory starts as nan.
#pragma once

#include <dlfcn.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "codegen/cuda/emit.h"
#include "ir/looptree.h"

namespace tenon::test {

class CudaSimulator {
 public:
  enum class Compiler { Tcc, Cc };
  enum class Order { Forward, Backward };

  static bool available(Compiler compiler) {
    return std::system(compiler == Compiler::Tcc ? "tcc -v >/dev/null 2>&1"
                                                 : "cc --version >/dev/null 2>&1") == 0;
  }

  explicit CudaSimulator(const ir::LoopTree& tree,
                         Compiler compiler = available(Compiler::Tcc) ? Compiler::Tcc : Compiler::Cc)
      : tree_(tree) {
    char folder[] = "/tmp/tenon_cuda_sim_XXXXXX";
    if (!mkdtemp(folder)) throw std::runtime_error("no temporary folder");
    const std::string base = folder, source = base + "/k.c", object = base + "/k.so", log = base + "/log";
    std::ofstream(source) << codegen::cuda::emit(tree) << trampolines();
    const std::string command =
        (compiler == Compiler::Tcc ? "tcc -shared -w"
                                   : "cc -std=c99 -O1 -w -fPIC -shared -ffp-contract=off "
                                     "-fno-strict-aliasing") +
        (" -o " + object + " " + source + " -lm >" + log + " 2>&1");
    const bool compiled = std::system(command.c_str()) == 0;
    if (compiled) library_ = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
    const std::string errors = compiled ? (library_ ? "" : dlerror()) : text_of(log);
    if (std::system(("rm -r " + base).c_str()) != 0 || !library_)
      throw std::runtime_error("simulator: " + errors);
    machine_ = static_cast<Machine*>(dlsym(library_, "tenon_machine"));
    machine_->barrier = [] { running_->wait(State::AtBarrier); };
    machine_->shuffle = [](unsigned long long bits, int source) {
      Thread& self = running_->threads_[static_cast<size_t>(running_->current_)];
      self.bits = bits;
      self.source = source;
      running_->wait(State::AtShuffle);
      return running_->threads_[static_cast<size_t>(running_->current_)].bits;
    };
    machine_->fault = [](const char* reason) { running_->fail(reason); };
  }
  ~CudaSimulator() {
    if (library_) dlclose(library_);
  }
  CudaSimulator(const CudaSimulator&) = delete;
  CudaSimulator& operator=(const CudaSimulator&) = delete;

  // Runs all phases. `buffers`: In, Out and Global ones in the tree's order. Throws on a fault, naming block
  // and thread.
  void run(const std::vector<void*>& buffers, const std::vector<int64_t>& sizes,
           const std::vector<uint64_t>& scalars, Order order = Order::Forward) {
    arguments_.clear();
    for (void* const& buffer : buffers) arguments_.push_back(const_cast<void**>(&buffer));
    for (const int64_t& size : sizes) arguments_.push_back(const_cast<int64_t*>(&size));
    for (const uint64_t& scalar : scalars) arguments_.push_back(const_cast<uint64_t*>(&scalar));
    order_ = order;
    for (size_t phase = 0; phase < tree_.phases.size(); ++phase) {
      kernel_ =
          reinterpret_cast<void (*)(void**)>(dlsym(library_, ("phase" + std::to_string(phase)).c_str()));
      const int64_t blocks = sizes[static_cast<size_t>(tree_.phases[phase].extent)];
      for (int64_t block = 0; block < blocks; ++block) run_block(static_cast<unsigned>(block));
    }
  }

 private:
  enum class State { Ready, AtBarrier, AtShuffle, Done };
  struct Machine {  // as in the prelude
    unsigned thread, block;
    char* shared;
    void (*barrier)();
    unsigned long long (*shuffle)(unsigned long long bits, int source);
    void (*fault)(const char* reason);
  };
  struct Thread {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(64 << 10);
    State state = State::Ready;
    unsigned long long bits = 0;
    int source = 0;
  };

  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  // One function a phase that unpacks parameters from an array of addresses, as a launch does.
  std::string trampolines() const {
    size_t count = 0;
    for (const ir::TreeBuffer& b : tree_.buffers) {
      count += b.space != ir::Space::Local && b.space != ir::Space::Shared;
    }
    std::string text;
    for (size_t p = 0; p < tree_.phases.size(); ++p) {
      std::string call;
      size_t i = 0;
      const auto pass = [&](const std::string& type) {
        call += (i ? ", *(" : "*(") + type + "*)p[" + std::to_string(i) + "]";
        ++i;
      };
      for (size_t b = 0; b < count; ++b) pass("void*");
      for (int32_t s = 0; s < tree_.size_count; ++s)
        pass(tree_.index_type == ir::DType::I32 ? "int" : "long long");
      for (ir::DType type : tree_.scalars) {
        constexpr const char* names[] = {"unsigned char", "unsigned char", "signed char",    "short",
                                         "int",           "long long",     "unsigned short", "unsigned short",
                                         "float",         "double"};
        pass(names[static_cast<int>(type)]);
      }
      text += "void phase" + std::to_string(p) + "(void** p) { " + tree_.name + "_" + tree_.phases[p].name +
              "(" + call + "); }\n";
    }
    return text;
  }

  void run_block(unsigned block) {
    running_ = this;
    error_.clear();
    shared_.assign(64 << 10, static_cast<char>(0xff));
    machine_->shared = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(shared_.data()) + 63) / 64 * 64);
    machine_->block = block;
    threads_.resize(static_cast<size_t>(tree_.threads));
    for (Thread& thread : threads_) {
      thread.state = State::Ready;
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = thread.stack.data();
      thread.context.uc_stack.ss_size = thread.stack.size();
      thread.context.uc_link = nullptr;
      makecontext(&thread.context, &CudaSimulator::enter, 0);
    }
    while (step()) {
    }
    if (!error_.empty()) throw std::runtime_error(error_ + " (block " + std::to_string(block) + ")");
  }

  static void enter() {
    running_->kernel_(running_->arguments_.data());
    running_->wait(State::Done);
  }

  void wait(State state) {
    Thread& thread = threads_[static_cast<size_t>(current_)];
    thread.state = state;
    swapcontext(&thread.context, &scheduler_);
  }

  void fail(const std::string& reason) {
    if (error_.empty()) error_ = "simulator: " + reason + ", thread " + std::to_string(current_);
  }

  // Runs every thread that can run; then lets go the warps and the block that have all arrived. False at the
  // end.
  bool step() {
    const int count = static_cast<int>(threads_.size());
    bool moved = false;
    for (int i = 0; i < count && error_.empty(); ++i) {
      current_ = order_ == Order::Forward ? i : count - 1 - i;
      if (threads_[static_cast<size_t>(current_)].state != State::Ready) continue;
      machine_->thread = static_cast<unsigned>(current_);
      swapcontext(&scheduler_, &threads_[static_cast<size_t>(current_)].context);
      moved = true;
    }
    if (!error_.empty()) return false;
    for (int warp = 0; warp < count; warp += 32) moved |= release_shuffle(warp);
    if (all_in(0, count, State::AtBarrier)) {
      for (Thread& thread : threads_) thread.state = State::Ready;
      moved = true;
    }
    if (moved) return true;
    if (!all_in(0, count, State::Done)) fail("not every thread reaches a barrier or shuffle");
    return false;
  }

  bool all_in(int begin, int end, State state) const {
    for (int i = begin; i < end; ++i) {
      if (threads_[static_cast<size_t>(i)].state != state) return false;
    }
    return true;
  }

  bool release_shuffle(int warp) {
    if (!all_in(warp, warp + 32, State::AtShuffle)) return false;
    unsigned long long bits[32];
    for (int lane = 0; lane < 32; ++lane) bits[lane] = threads_[static_cast<size_t>(warp + lane)].bits;
    for (int lane = 0; lane < 32; ++lane) {
      Thread& thread = threads_[static_cast<size_t>(warp + lane)];
      thread.bits = bits[thread.source & 31];
      thread.state = State::Ready;
    }
    return true;
  }

  const ir::LoopTree& tree_;
  void* library_ = nullptr;
  Machine* machine_ = nullptr;
  void (*kernel_)(void**) = nullptr;
  std::vector<void*> arguments_;
  std::vector<Thread> threads_;
  std::vector<char> shared_;
  ucontext_t scheduler_;
  std::string error_;
  int current_ = 0;
  Order order_ = Order::Forward;
  static inline thread_local CudaSimulator* running_ = nullptr;
};

}  // namespace tenon::test
