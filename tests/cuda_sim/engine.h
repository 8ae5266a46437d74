// Runs kernels that were compiled as C: every thread of a block is a fiber, and barriers, warp operations and shared
// memory have the meaning they have on a GPU. What hardware leaves undefined is a finding with block and thread: a barrier
// or warp operation that not every thread reaches, a misaligned vector, an address that is nobody's.
//
// A thread that never waits costs a call: it runs on the stack of the thread before it, and only a thread that waits keeps
// its stack for itself, so a kernel without barriers is a plain loop over threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cuda_sim/fiber.h"

namespace tenon::cuda_sim {

// In which blocks run, and the threads of a block where nothing orders them.
enum class Order { Forward, Backward, Random };

// As in the C branch of codegen/cuda/prelude.cpp, where each kernel finds its thread and its shared memory.
struct Machine {
  unsigned thread, block;
  char* shared;
  void (*barrier)(int line);
  unsigned long long (*shuffle)(unsigned long long bits, int source);
  unsigned (*ballot)(int predicate);
  void (*load_tile)(const unsigned short* eight, int transposed, unsigned* pairs);
  void (*mma)(float* sums, const unsigned* left, const unsigned* right, int bf16);
  void (*copy_async)(void* to, const void* from, int whole);
  void (*commit)();
  void (*wait)(int groups);
  void (*fault)(const char* reason);
};

struct Launch {
  void (*kernel)(void** arguments);
  Machine* machine;
  void** arguments;
  unsigned blocks, threads;
  size_t shared_bytes = 0;
  Order order = Order::Forward;
  uint64_t seed = 0;           // of a random order
  bool backward_sums = false;  // of products of tiles: 16 k from the last to the first; hardware has an order of its own
};

struct Outcome {
  enum Kind { Fine, Finding, Misaligned, IllegalAddress } kind = Fine;
  std::string text;
};

class Engine {
 public:
  static constexpr unsigned kMaxThreads = 1024, kWarp = 32, kRegisters = 65536;  // registers: of a multiprocessor
  static constexpr size_t kMaxShared = 227 << 10;

  Engine();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Outcome run(const Launch& launch);
  // Any other code that touches device memory, such as a copy. Where it touches what is nobody's, it is left where it
  // stands: it must hold nothing that a destructor frees.
  Outcome run(const std::function<void()>& work);

  // For the signal handler: Retry, the access can be tried again; Fail, the address is nobody's, and give_up is to be
  // called when the handler has been left; Foreign, no engine runs here.
  enum class Fault { Retry, Fail, Foreign };
  static Fault on_fault(void* address);
  [[noreturn]] static void give_up();

  // Asked on a fault before it counts as one: true if the address can be used now.
  std::function<bool(void* address)> touch;

 private:
  enum class State { Fresh, Ready, AtBarrier, AtShuffle, AtBallot, AtLoadTile, AtMma, Done };
  // What a thread brings to a product of tiles: its elements, on its own stack.
  struct Fragments {
    float* sums;
    const unsigned *left, *right;
    bool bf16;
  };
  // What it brings to the load of a tile: the eight elements that it names, and where its own go.
  struct Piece {
    const unsigned short* eight;
    unsigned* pairs;
    bool transposed;
  };
  // An asynchronous copy that has not happened yet.
  struct Copy {
    void* to;
    const void* from;  // null: zeros
    int group;         // number of the thread's groups before it
  };
  struct Thread {
    State state;
    int line;    // of the barrier it waits at
    int source;  // lane of a shuffle
    unsigned long long bits;
    Fiber* fiber;
    std::vector<Copy> copies;
    int groups;  // committed
  };

  void run_block(unsigned block);
  void prepare_shared();
  void body();  // of every fiber: runs threads that nobody has begun
  void run_thread(unsigned thread);
  void leave();  // to a fiber that can go on, else back to run_block
  Fiber* idle_fiber();
  void wake(unsigned begin, unsigned end);
  void at_barrier(int line);
  unsigned long long at_warp_operation(State kind, unsigned long long bits, int source);
  void exchange(unsigned begin, unsigned end);
  void load_tile(unsigned begin, unsigned end);
  void multiply(unsigned begin, unsigned end);
  void begin_copy(void* to, const void* from);
  void finish_copies(int groups);
  [[noreturn]] void fail(Outcome::Kind kind, const std::string& reason);
  std::string deadlock() const;
  static std::string name_of(State state);

  Launch launch_{};
  Machine idle_machine_{};
  Outcome outcome_;
  Fiber scheduler_;
  Fiber* on_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::vector<Thread> threads_;
  std::vector<unsigned> warp_waiting_;
  std::vector<unsigned> order_;
  std::vector<unsigned> ready_;  // threads that wait no longer, from ready_begin_
  size_t ready_begin_ = 0, fresh_ = 0, done_ = 0, waiting_ = 0;
  unsigned current_ = 0;
  unsigned ahead_ = 0;  // the warp that goes on first, in a random order
  void* fault_address_ = nullptr;
  char* shared_end_ = nullptr;  // a guard page follows
  std::mt19937_64 random_;
};

}  // namespace tenon::cuda_sim
