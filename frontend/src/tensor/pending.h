// Work that a thread has recorded and not evaluated yet: how it is counted, the caps on it, and its evaluation.
#pragma once

#include <cstdint>
#include <span>

#include "ir/graph/graph.h"

namespace tenon {

// So many more operations, with results of so many bytes. True if it is time to evaluate.
bool count_work(int64_t operations, int64_t bytes);
void set_pending_caps(int64_t nodes, int64_t bytes);

// What is recorded while one of these lives is not counted, and no cap evaluates it.
class UncountedWork {
 public:
  UncountedWork();
  ~UncountedWork();
  UncountedWork(const UncountedWork&) = delete;
  UncountedWork& operator=(const UncountedWork&) = delete;
  int64_t operations() const;  // recorded so far
  int64_t bytes() const;

 private:
  int64_t operations_, bytes_;  // before
};

// Evaluates them in one graph, with the errors of the public API.
void evaluate_nodes(std::span<const ir::NodeRef> nodes);
void evaluate_step(std::span<const ir::NodeRef> nodes, std::span<const ir::NodeRef> replaced);  // see runtime::evaluate_step

}  // namespace tenon
