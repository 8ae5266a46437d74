// What cuda::CUDAGraph captures, and runs again. The library is lazy, so a capture notes a graph and no calls of the driver: between
// its begin and its end whoever asks a storage on a GPU for its value gets an input without data in its place, and nothing is
// computed. At the end each storage that was written, and each new one that is still there, has a value over these inputs. The
// storages get back what they held before; new ones hold zeros until the first replay.
//
//   x.copy_(batch)                     x: storage X, w: storage W
//   begin; w.sub_(x.mean()); end       %0 = input (X)  %1 = input (W)   W = sub %1, (mean %0)
//   replay                             the same over what X and W hold now; W takes the value
//
// A replay makes the graph from a template (ir/graph/template.h) and evaluates it. From the second time on no pass runs, and the plan is a
// CUDA graph by itself (runtime/cuda/recording.h). Random numbers are inputs too: each replay draws further on.
//
// A capture belongs to a thread. What the host would have to read, or to give, while it is under way is an error that ends it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/src/tensor/pending.h"
#include "frontend/src/tensor/storage.h"
#include "ir/graph/template.h"

namespace tenon {

class CapturedGraph {
 public:
  void replay() const;

 private:
  friend class GraphCapture;
  void compute_inputs() const;
  struct Input {
    StorageHold storage;
    NodeRef like;  // the input without data: dtype and shape
  };
  struct Output {
    StorageHold storage;
    bool is_input;    // it goes on from one replay to the next, though nobody else may hold it
    uint32_t number;  // of the template's outputs
  };
  // Numbers drawn `from` the start of the replay on.
  struct Draw {
    size_t stream;
    uint64_t from;
    std::function<NodeRef(uint64_t)> value;  // of the offset
  };
  // The stream of a generator; `advance` takes so many of its numbers, and gives the offset of the first.
  struct Stream {
    const void* generator;
    uint64_t seed, count;
    std::function<uint64_t(uint64_t)> advance;
  };

  std::vector<Input> inputs_;
  std::vector<Draw> draws_;
  std::vector<NodeRef> others_;  // inputs that no storage held: they stay
  std::vector<Stream> streams_;
  std::vector<Output> outputs_;
  std::optional<ir::Template> graph_;  // over inputs_, draws_, others_
};

class GraphCapture final : public Capture {
 public:
  GraphCapture();  // begins
  ~GraphCapture() { abort(); }
  GraphCapture(const GraphCapture&) = delete;
  GraphCapture& operator=(const GraphCapture&) = delete;

  bool failed() const { return failed_; }
  CapturedGraph end();
  void abort();  // all is as before
  // Both abort: throws Error with this text, and for `what` is done that a CUDA graph cannot hold.
  [[noreturn]] void fail(const std::string& message);
  [[noreturn]] void refuse(const std::string& what) override;

  // --- what the library asks while one is under way
  void before_use(Storage& storage) override;
  void made(Storage& storage) override;
  // A part of a generator's stream, whose offset counts from the start of a replay; `advance` is called by replays.
  uint64_t take(const void* generator, uint64_t seed, uint64_t count, std::function<uint64_t(uint64_t)> advance);
  // An input for what was taken last: a replay puts `value` of its offset there.
  NodeRef draw(const ir::Node& like, std::function<NodeRef(uint64_t)> value);

 private:
  struct Entry {
    StorageHold storage;
    NodeRef before, input;  // undefined if it is new
  };
  void stop();

  bool failed_ = false, stopped_ = false;
  std::vector<Entry> entries_;  // in the order of use
  std::unordered_map<const Storage*, size_t> numbers_;
  std::vector<CapturedGraph::Draw> draws_;
  std::vector<NodeRef> draw_inputs_;
  std::vector<CapturedGraph::Stream> streams_;
  struct {
    size_t stream;
    uint64_t from;
  } taken_{};  // last
  std::optional<UncountedWork> uncounted_;
};

// This thread's capture; null if none is under way.
inline GraphCapture* capturing() { return static_cast<GraphCapture*>(this_thread.capture); }

}  // namespace tenon
