// The graphs of the last plans, so that explain, dump and the drawings can answer for values that are computed already.
// A form of its own, without nodes: what is kept here must keep no memory of tensors alive.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "runtime/plan/graph_key.h"

namespace tenon::runtime {

struct PlanOutput;

class PastPlans {
 public:
  static constexpr size_t kMostNodes = size_t{1} << 16;  // of all graphs together; a larger one is not kept

  // Remembers the graph of a new plan, whose outputs are the ones asked for and the ones that the program holds, and what is to be said
  // of it.
  void add(int plan, const GraphKey& key, const std::vector<PlanOutput>& outputs, std::string note);

  struct Found {
    std::vector<ir::NodeRef> outputs;  // over placeholders
    size_t asked = 0;                  // the first so many; the others are stored because the program holds them, or kept for gradients
    std::vector<ir::NodeRef> kept, computed_again;  // as GraphKey has them
    std::string note;
  };
  std::optional<Found> find(int plan) const;

 private:
  struct Node {
    ir::Op op;
    ir::DType dtype;
    ir::DeviceTag device;
    uint64_t bits;
    SmallVector<int32_t, 3> inputs;
    ir::Dims ints, shape;  // the shape of a leaf
  };
  struct Graph {
    int plan;
    std::vector<Node> nodes;  // operands first
    std::vector<int32_t> outputs;
    size_t asked;
    std::vector<int32_t> kept, computed_again;
    std::string note;
  };
  std::deque<Graph> graphs_;  // by plan
  size_t nodes_ = 0;
};

}  // namespace tenon::runtime
