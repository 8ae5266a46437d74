// The scheduler of fibers, the meaning of barriers and warp operations, and what becomes of a bad address.
#include "cuda_sim/engine.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace tenon::cuda_sim {

namespace {

thread_local Engine* running = nullptr;

constexpr size_t kSharedRoom = 256 << 10, kPage = 4096;

std::string hex(const void* address) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

// The handler of bad addresses, in place while some engine runs, so that a fault of the host's own goes its usual way.
struct SignalGuard {
  static inline std::mutex mutex;
  static inline int engines = 0;
  static inline struct sigaction before_segv, before_bus;

  static void handle(int signal, siginfo_t* info, void* context) {
    switch (Engine::on_fault(info->si_addr)) {
      case Engine::Fault::Retry: return;
      case Engine::Fault::Fail: return go_on_with_give_up(context);
      case Engine::Fault::Foreign:  // the access comes again, to the usual handler
        sigaction(signal, signal == SIGBUS ? &before_bus : &before_segv, nullptr);
    }
  }
  // The handler returns into it, below what the interrupted function has on its stack.
  static void go_on_with_give_up([[maybe_unused]] void* context) {
#if defined(__x86_64__)
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    registers[REG_RSP] = (registers[REG_RSP] - 256) / 16 * 16 - 8;
    registers[REG_RIP] = reinterpret_cast<greg_t>(&Engine::give_up);
#else
    Engine::give_up();
#endif
  }
  SignalGuard() {
    const std::lock_guard lock(mutex);
    if (engines++ > 0) return;
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;  // where the handler is left by a switch to another stack
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &before_segv);
    sigaction(SIGBUS, &action, &before_bus);
  }
  ~SignalGuard() {
    const std::lock_guard lock(mutex);
    if (--engines > 0) return;
    sigaction(SIGSEGV, &before_segv, nullptr);
    sigaction(SIGBUS, &before_bus, nullptr);
  }
};

// Blocks run in any order too: at random, each place i is given block (offset + i * step) mod count.
struct BlockOrder {
  uint64_t offset = 0, step = 1, count;

  BlockOrder(Order order, unsigned blocks, std::mt19937_64& random) : count(blocks) {
    if (blocks < 2 || order == Order::Forward) return;
    offset = order == Order::Backward ? count - 1 : random() % count;
    step = order == Order::Backward ? count - 1 : random() % count;
    while (std::gcd(step, count) != 1) step = (step + 1) % count;
  }
  unsigned at(unsigned i) const { return static_cast<unsigned>((offset + i * step) % count); }
};

}  // namespace

Engine::Engine() {
  void* memory = mmap(nullptr, kSharedRoom + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  shared_end_ = static_cast<char*>(memory) + kSharedRoom;
  mprotect(shared_end_, kPage, PROT_NONE);
}

Engine::~Engine() { munmap(shared_end_ - kSharedRoom, kSharedRoom + kPage); }

Outcome Engine::run(const Launch& launch) {
  if (launch.threads == 0 || launch.threads > kMaxThreads || launch.shared_bytes > kMaxShared) {
    return {Outcome::Finding, "a block of " + std::to_string(launch.threads) + " threads and " + std::to_string(launch.shared_bytes) +
                                  " bytes of shared memory"};
  }
  launch_ = launch;
  outcome_ = {};
  random_.seed(launch.seed);
  threads_.resize(launch.threads);
  warp_waiting_.resize((launch.threads + kWarp - 1) / kWarp);
  order_.resize(launch.threads);
  std::iota(order_.begin(), order_.end(), 0u);
  if (launch.order == Order::Backward) std::reverse(order_.begin(), order_.end());
  if (launch.machine) {
    launch.machine->barrier = [](int line) { running->at_barrier(line); };
    launch.machine->shuffle = [](unsigned long long bits, int source) {
      return running->at_warp_operation(State::AtShuffle, bits, source);
    };
    launch.machine->ballot = [](int predicate) {
      return static_cast<unsigned>(running->at_warp_operation(State::AtBallot, predicate != 0, 0));
    };
    launch.machine->load_tile = [](const unsigned short* eight, int transposed, unsigned* pairs) {
      const Piece mine{eight, pairs, transposed != 0};
      running->at_warp_operation(State::AtLoadTile, reinterpret_cast<uintptr_t>(&mine), 0);
    };
    launch.machine->copy_async = [](void* to, const void* from, int whole) { running->begin_copy(to, whole != 0 ? from : nullptr); };
    launch.machine->commit = [] { ++running->threads_[running->current_].groups; };
    launch.machine->wait = [](int groups) { running->finish_copies(groups); };
    launch.machine->mma = [](float* sums, const unsigned* left, const unsigned* right, int bf16) {
      const Fragments mine{sums, left, right, bf16 != 0};
      running->at_warp_operation(State::AtMma, reinterpret_cast<uintptr_t>(&mine), 0);
    };
    launch.machine->fault = [](const char* reason) { running->fail(Outcome::Misaligned, reason); };
  } else {
    launch_.machine = &idle_machine_;
  }
  const SignalGuard guard;
  Engine* const outer = std::exchange(running, this);
  const BlockOrder blocks(launch.order, launch.blocks, random_);
  for (unsigned i = 0; i < launch.blocks && outcome_.kind == Outcome::Fine; ++i) run_block(blocks.at(i));
  running = outer;
  return outcome_;
}

Outcome Engine::run(const std::function<void()>& work) {
  void* arguments[] = {const_cast<std::function<void()>*>(&work)};
  return run(Launch{.kernel = [](void** a) { (*static_cast<std::function<void()>*>(a[0]))(); },
                    .machine = nullptr,
                    .arguments = arguments,
                    .blocks = 1,
                    .threads = 1});
}

void Engine::run_block(unsigned block) {
  launch_.machine->block = block;
  if (launch_.shared_bytes > 0) prepare_shared();
  if (launch_.order == Order::Random) std::shuffle(order_.begin(), order_.end(), random_);
  for (Thread& thread : threads_) {
    thread.state = State::Fresh;
    thread.copies.clear();
    thread.groups = 0;
  }
  std::fill(warp_waiting_.begin(), warp_waiting_.end(), 0u);
  ready_.clear();
  ready_begin_ = fresh_ = done_ = waiting_ = 0;

  on_ = idle_fiber();
  Fiber::change(scheduler_, *on_);

  const bool failed = outcome_.kind != Outcome::Fine;
  if (!failed && done_ < threads_.size()) outcome_ = {Outcome::Finding, deadlock() + " (block " + std::to_string(block) + ")"};
  if (outcome_.kind == Outcome::Fine) return;
  idle_.clear();  // whatever the fibers were in the middle of is given up
  for (const auto& fiber : fibers_) {
    fiber->restart();
    idle_.push_back(fiber.get());
  }
}

// Ends at the guard page, so that the first element too far is a fault, and starts as nan.
void Engine::prepare_shared() {
  const size_t bytes = (launch_.shared_bytes + 15) / 16 * 16;
  launch_.machine->shared = shared_end_ - bytes;
  std::memset(shared_end_ - bytes, 0xff, bytes);
}

Fiber* Engine::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>([] { running->body(); }));
    return fibers_.back().get();
  }
  Fiber* const fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

void Engine::body() {
  for (;;) {
    while (fresh_ < order_.size()) run_thread(order_[fresh_++]);
    idle_.push_back(on_);
    leave();
  }
}

void Engine::run_thread(unsigned thread) {
  current_ = launch_.machine->thread = thread;
  threads_[thread].fiber = on_;
  launch_.kernel(launch_.arguments);
  if (!threads_[current_].copies.empty()) fail(Outcome::Finding, "a thread ends before its asynchronous copies have happened");
  threads_[current_].state = State::Done;
  ++done_;
}

void Engine::leave() {
  Fiber* const from = on_;
  if (fresh_ < order_.size()) {
    on_ = idle_fiber();
  } else if (ready_begin_ < ready_.size()) {
    current_ = launch_.machine->thread = ready_[ready_begin_++];
    on_ = threads_[current_].fiber;
  } else {
    on_ = &scheduler_;
  }
  if (on_ != from) Fiber::change(*from, *on_);
}

// Lets threads begin..end-1 go on, in the order of the launch. At random a warp, another one after each barrier, runs as far ahead of
// the others as it can.
void Engine::wake(unsigned begin, unsigned end) {
  if (ready_begin_ == ready_.size()) {
    ready_.clear();
    ready_begin_ = 0;
  }
  const size_t first = ready_.size();
  for (unsigned i = begin; i < end; ++i) {
    const unsigned thread = launch_.order == Order::Backward ? begin + end - 1 - i : i;
    threads_[thread].state = State::Ready;
    ready_.push_back(thread);
  }
  if (launch_.order != Order::Random) return;
  std::shuffle(ready_.begin() + static_cast<std::ptrdiff_t>(first), ready_.end(), random_);
  std::partition(ready_.begin() + static_cast<std::ptrdiff_t>(ready_begin_), ready_.end(),
                 [&](unsigned thread) { return thread / kWarp == ahead_; });
}

void Engine::at_barrier(int line) {
  Thread& self = threads_[current_];
  self.state = State::AtBarrier;
  self.line = line;
  const auto count = static_cast<unsigned>(threads_.size());
  if (++waiting_ == count) {
    for (const Thread& thread : threads_) {
      if (thread.line != line) {
        fail(Outcome::Finding, "threads of a block wait at the barriers of lines " + std::to_string(thread.line) + " and " +
                                   std::to_string(line) + " at the same time");
      }
    }
    waiting_ = 0;
    ahead_ = static_cast<unsigned>(random_() % (count / kWarp + 1));
    wake(0, count);
  }
  leave();
}

unsigned long long Engine::at_warp_operation(State kind, unsigned long long bits, int source) {
  Thread& self = threads_[current_];
  self.state = kind;
  self.bits = bits;
  self.source = source;
  const unsigned begin = current_ / kWarp * kWarp;
  const unsigned end = std::min(begin + kWarp, static_cast<unsigned>(threads_.size()));
  if (++warp_waiting_[begin / kWarp] == end - begin) exchange(begin, end);
  leave();
  return self.bits;
}

// All lanes of a warp have arrived: each gets what the operation gives it.
void Engine::exchange(unsigned begin, unsigned end) {
  unsigned long long bits[kWarp], ballot = 0;
  for (unsigned t = begin; t < end; ++t) {
    if (threads_[t].state != threads_[begin].state) fail(Outcome::Finding, "lanes of a warp are at different warp operations");
    bits[t - begin] = threads_[t].bits;
    ballot |= (threads_[t].bits & 1) << (t - begin);
  }
  if (threads_[begin].state == State::AtLoadTile) load_tile(begin, end);
  if (threads_[begin].state == State::AtMma) multiply(begin, end);
  const bool shuffle = threads_[begin].state == State::AtShuffle;
  for (unsigned t = begin; t < end; ++t) {
    const unsigned source = static_cast<unsigned>(threads_[t].source) % kWarp;
    if (shuffle && source >= end - begin) fail(Outcome::Finding, "a shuffle reads a lane that does not exist");
    threads_[t].bits = shuffle ? bits[source] : ballot;
  }
  warp_waiting_[begin / kWarp] = 0;
  wake(begin, end);
}

namespace {

float to_float(unsigned bits, bool bf16) {
  if (bf16) return std::bit_cast<float>(bits << 16);
  const unsigned sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const float magnitude = exponent == 0    ? static_cast<float>(mantissa) * 0x1p-24f
                          : exponent == 31 ? std::bit_cast<float>(0x7f800000u | mantissa << 13)
                                           : std::bit_cast<float>((exponent + 112) << 23 | mantissa << 13);
  return std::bit_cast<float>(std::bit_cast<unsigned>(magnitude) | sign);
}

}  // namespace

// Thread 8 q + i has named row i of quarter q, and each gets two neighbours of each quarter.
void Engine::load_tile(unsigned begin, unsigned end) {
  if (end - begin != kWarp) fail(Outcome::Finding, "the load of a tile needs all 32 lanes of its warp");
  const auto of_lane = [&](unsigned lane) -> const Piece& { return *reinterpret_cast<const Piece*>(threads_[begin + lane].bits); };
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    const Piece& mine = of_lane(lane);
    if (mine.transposed != of_lane(0).transposed) fail(Outcome::Finding, "lanes of a warp load a tile and a turned tile");
    for (unsigned quarter = 0; quarter < 4; ++quarter) {
      const auto element = [&](unsigned row, unsigned column) -> unsigned {
        return mine.transposed ? of_lane(8 * quarter + column).eight[row] : of_lane(8 * quarter + row).eight[column];
      };
      mine.pairs[quarter] = element(lane / 4, lane % 4 * 2) | element(lane / 4, lane % 4 * 2 + 1) << 16;
    }
  }
}

// What is there until the copy has happened is anyone's guess. It happens as late as it may, and reads its source only then.
void Engine::begin_copy(void* to, const void* from) {
  std::memset(to, 0xff, 16);
  threads_[current_].copies.push_back({to, from, threads_[current_].groups});
}

void Engine::finish_copies(int groups) {
  Thread& self = threads_[current_];
  const auto under_way =
      std::find_if(self.copies.begin(), self.copies.end(), [&](const Copy& c) { return c.group >= self.groups - groups; });
  for (auto copy = self.copies.begin(); copy != under_way; ++copy) {
    if (copy->from) std::memcpy(copy->to, copy->from, 16);
    else std::memset(copy->to, 0, 16);
  }
  self.copies.erase(self.copies.begin(), under_way);
}

// A product of tiles of 16x16: thread `lane` has element e at row lane / 4 + 8 * (e / 2 mod 2), column 2 * (lane mod 4) + e mod 2 +
// 8 * (e / 4), of the right factor with e / 2 mod 2 and e / 4 changed over. In which order hardware sums over k is its own business:
// here it is the one asked for.
void Engine::multiply(unsigned begin, unsigned end) {
  constexpr unsigned kExtent = 16;
  if (end - begin != kWarp) fail(Outcome::Finding, "a product of tiles needs all 32 lanes of its warp");
  float left[kExtent][kExtent], right[kExtent][kExtent];
  const auto of_lane = [&](unsigned lane) -> const Fragments& { return *reinterpret_cast<const Fragments*>(threads_[begin + lane].bits); };
  const auto row = [](unsigned lane, unsigned e) { return lane / 4 + 8 * (e / 2 % 2); };
  const auto column = [](unsigned lane, unsigned e) { return 2 * (lane % 4) + e % 2 + 8 * (e / 4); };
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    const Fragments& f = of_lane(lane);
    if (f.bf16 != of_lane(0).bf16) fail(Outcome::Finding, "lanes of a warp multiply tiles of different types");
    for (unsigned e = 0; e < 8; ++e) {
      const auto element = [&](const unsigned* pairs) { return to_float(pairs[e / 2] >> (16 * (e % 2)) & 0xffffu, f.bf16); };
      left[row(lane, e)][column(lane, e)] = element(f.left);
      right[lane / 4 + 8 * (e / 4)][2 * (lane % 4) + e % 2 + 8 * (e / 2 % 2)] = element(f.right);
    }
  }
  unsigned order[kExtent];
  std::iota(order, order + kExtent, 0u);
  if (launch_.backward_sums) std::reverse(order, order + kExtent);
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    for (unsigned e = 0; e < 8; ++e) {
      float& sum = of_lane(lane).sums[e];
      for (const unsigned k : order) sum = std::fma(left[row(lane, e)][k], right[column(lane, e)][k], sum);
    }
  }
}

void Engine::fail(Outcome::Kind kind, const std::string& reason) {
  std::string where;
  if (launch_.machine != &idle_machine_) {
    where = ", block " + std::to_string(launch_.machine->block) + ", thread " + std::to_string(current_);
  }
  outcome_ = {kind, reason + where};
  Fiber* const from = on_;
  on_ = &scheduler_;
  Fiber::change(*from, scheduler_);
  __builtin_unreachable();
}

Engine::Fault Engine::on_fault(void* address) {
  if (!running || running->on_ == &running->scheduler_) return Fault::Foreign;
  if (running->touch && running->touch(address)) return Fault::Retry;
  running->fault_address_ = address;
  return Fault::Fail;
}

void Engine::give_up() { running->fail(Outcome::IllegalAddress, "illegal address " + hex(running->fault_address_)); }

std::string Engine::name_of(State state) {
  switch (state) {
    case State::AtBarrier: return "waits at a barrier";
    case State::AtShuffle: return "waits at a shuffle";
    case State::AtBallot: return "waits at a ballot";
    case State::AtLoadTile: return "waits at the load of a tile";
    case State::AtMma: return "waits at a product of tiles";
    case State::Done: return "has ended";
    default: return "runs";
  }
}

std::string Engine::deadlock() const {
  const auto waits = [](const Thread& t) { return t.state != State::Done; };
  const auto waiting = std::find_if(threads_.begin(), threads_.end(), waits);
  const auto other = std::find_if(threads_.begin(), threads_.end(), [&](const Thread& t) { return t.state != waiting->state; });
  std::string text = "not every thread reaches a barrier or warp operation: thread " + std::to_string(waiting - threads_.begin()) + " " +
                     name_of(waiting->state);
  if (waiting->state == State::AtBarrier) text += " (line " + std::to_string(waiting->line) + ")";
  if (other != threads_.end()) text += ", thread " + std::to_string(other - threads_.begin()) + " " + name_of(other->state);
  return text;
}

}  // namespace tenon::cuda_sim
