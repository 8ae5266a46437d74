// Streams, and the work in them: queued when it is called for and done as late as is allowed, in an order that a seed
// draws. A program that forgot to wait reads what was there before.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda_sim/program.h"
#include "cuda_sim/races.h"

namespace tenon::cuda_sim {

struct Driver;
struct Capture;
struct Node;

struct Module {
  int device;
  std::shared_ptr<const Program> program;
  bool loaded = true;
};

struct Function {
  std::shared_ptr<Module> module;
  const Kernel* kernel;
  int max_dynamic_shared = 48 << 10;
};

struct KernelCall {
  std::shared_ptr<const Function> function;
  unsigned blocks = 0, threads = 0, shared = 0;
  std::vector<uint64_t> parameters;  // each in the first bytes of a word
};

enum class WorkKind {
  Kernel = 0,
  Copy = 1,
  Set = 2,
  Host = 3,
  Graph = 4,
  Empty = 5,
  Record = 7,
  Allocate = 10,
  Free = 11
};  // as the driver's node types

struct Work {
  WorkKind kind = WorkKind::Empty;
  std::string name;            // for messages
  KernelCall kernel;           // of Kernel
  std::function<void()> body;  // of Copy, Set and Host
  std::shared_ptr<const std::vector<Node>> graph;
  bool all_devices = false;  // touches memory of other devices, as a copy between two does
};

struct Node {
  Work work;
  std::vector<size_t> after;  // earlier nodes
};

struct Stream;

struct Operation {
  Work work;
  Stream* stream;
  unsigned stream_number = 0;                     // the stream may be gone
  std::vector<std::shared_ptr<Operation>> after;  // and after all before it in its stream
  bool running = false, done = false;
  uint64_t place = 0;  // in its stream, from 1
  Clock before;        // what comes before it, where accesses are watched
  std::chrono::steady_clock::time_point finished;
};
using Ticket = std::shared_ptr<Operation>;

struct Stream {
  int device = 0;
  bool legacy = false;  // the default stream: waits for all blocking ones, and they for it
  bool blocking = true;
  bool destroyed = false;
  int priority = 0;
  unsigned flags = 0;
  unsigned number = 0;  // of this stream among all there have been
  uint64_t count = 0;   // of its work
  Clock clock;          // its last work, and what came before that
  std::deque<Ticket> pending;
  Ticket last;
  std::shared_ptr<Capture> capture;
  std::vector<size_t> frontier;  // the nodes that the next captured one comes after
};

// What is queued. All functions run under the driver's lock.
class Queue {
 public:
  Queue(Driver& driver, uint64_t seed, bool eager) : driver_(driver), random_(seed), eager_(eager) {}

  Ticket add(Stream& stream, Work work, std::vector<Ticket> after = {});
  void finish(const Ticket& ticket);  // does work until this is done
  void finish_device(int device);
  // The same for a host that waits: what it calls for from then on comes after that.
  void wait(const Ticket& ticket);
  void wait(const Stream& stream);
  void wait_device(int device);
  void seen_done(const Operation& operation);  // by the host
  void progress();                             // a little, as time passing would
  void drop(int device);                       // after an error that ends the device's work
  void seed(uint64_t value) { random_.seed(value); }
  void set_eager(bool eager) { eager_ = eager; }
  void watch(bool watched) { watched_ = watched; }  // accesses of memory

  Stream* create(int device);
  bool is_stream(const void* handle) const;  // one that the program holds
  void destroy(Stream* stream);
  size_t count() const;  // of those that the program holds
  const std::vector<std::unique_ptr<Stream>>& streams() const { return streams_; }

 private:
  static constexpr size_t kDepth = 1024;  // of a stream: then a launch waits
  Operation* needed_for(const Operation& target) const;
  Operation* any_ready();
  static bool ready(const Operation& operation);
  void execute(Operation& operation);
  void perform(const Work& work, const Operation& operation);
  void perform_kernel(const KernelCall& call, const Operation& operation);
  void perform_graph(const std::vector<Node>& nodes, const Operation& operation);
  // Closes the memory that work has touched; fails if that was wrong.
  void close_memory(const std::string& name, const Operation& operation);
  void perform_host(const Work& work);
  void forget_empty();

  Driver& driver_;
  std::mt19937_64 random_;
  bool eager_, watched_ = false;
  unsigned streams_made_ = 0;
  Clock host_;  // what the host has waited for
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace tenon::cuda_sim
