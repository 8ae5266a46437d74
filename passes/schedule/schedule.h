// Schedules: a kernel (after run_kernel_passes) or a call becomes a loop tree for one device. Shapes turn into size
// parameters. All schedules stand in one table, and beside them what the runtime's library computes. Fusion asks
// the table before it merges; lower() takes the first schedule that accepts the work and suits it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/call/work.h"
#include "ir/graph/graph.h"
#include "ir/looptree/looptree.h"
#include "ir/op/target.h"

namespace tenon::passes {

// What a launch of a tree needs besides its buffers and scalars, for the concrete shapes it was lowered from.
struct Lowered {
  ir::LoopTree tree;  // without statements if it is `known`
  std::shared_ptr<const ir::LoopTree> known;
  const ir::LoopTree& whole_tree() const { return known ? *known : tree; }
  std::string schedule;            // "pointwise", "transpose", "rows", "split", "columns", "scan lines", ...
  std::vector<int64_t> sizes;      // value of each size parameter
  std::vector<double> phase_cost;  // estimated ns of one iteration of each phase, for the parallel grain
  // (out, in) buffers of the kernel that may be the same memory: every element of `in` is read only at the
  // place and before the time where `out` writes it.
  std::vector<std::pair<int, int>> donations;
  // An operand that is copied into another layout, `source` of the kernel's buffers, in a phase of its own that does nothing
  // else: into the tree's Global buffer `copy`, where `layout` says what lies where. `copy` is -1 if the operand is not
  // constant: then there is no such phase, and each iteration that needs a part packs it.
  struct Packing {
    int source;
    int32_t copy = -1;
    size_t phase = 0;
    std::vector<int64_t> layout;
    bool operator==(const Packing&) const = default;
  };
  std::optional<Packing> packing;
  bool better_often = false;  // code that runs often would be other code (CpuTarget::often)

  // Of code that serves kernels of other lengths: which, and where a length is among the sizes.
  struct Lengths {
    ir::Kernel kernel;
    ir::Target target;
    std::vector<int64_t> choices;  // what the schedule makes of the lengths in the code
    // sizes[slot] = factor * the schedule's number `length`, or, where that is negative, * the extent of axis ~length
    struct Size {
      int32_t slot;
      int length;
      int64_t factor;
    };
    std::vector<Size> changing;  // all other sizes are the same for all lengths
  };
  std::shared_ptr<const Lengths> lengths;
};

// What was lowered before, from kernels of the same form: a tree that is found among theirs is not made again.
using KnownLowered = std::span<const std::shared_ptr<const Lowered>>;

// What decides whether a schedule accepts a kernel. Fusion knows it of a group before there is a kernel.
struct Form {
  // How an operand of a contraction comes about, point by point of the contraction. Picked: a load at a computed place is in it.
  enum class Operand : uint8_t { Loaded, Computed, Picked };

  std::optional<ir::Op> call;  // one operation on whole buffers, no kernel
  // If the call is a product (Op::Dot): its extents, and the work left to other kernels that a kernel for the product would
  // take in: its epilogue, the views that its operands are.
  struct Product {
    ir::DType dtype = ir::DType::F32;
    int64_t batch = 1, rows = 1, columns = 1, depth = 1;
    int other_launches = 0;
    int64_t other_bytes = 0;  // that they read and write
  };
  std::optional<Product> product;
  // If the call is an attention (ir::is_attention): its heads, and how many queries and keys each has.
  struct Attention {
    ir::DType dtype = ir::DType::F32;
    int64_t depth = 1, value_depth = 1;  // elements of a query and of a value
    int64_t queries = 1, keys = 1;
  };
  std::optional<Attention> attention;
  int lanes = 0, columns = 0;  // reductions of each tree
  int scans = 0, contractions = 0;
  int contract_axes = 0;
  Operand left = Operand::Loaded, right = Operand::Loaded;
  int operand_cost = 0;    // of what computes them, in add-equivalents an element
  int64_t kept_bytes = 0;  // of a row: values that are computed before a reduction and needed after it
};
// The form of what exists: what decides whether it can be lowered, not what it costs (operands, kept_bytes, extents of a product).
Form form_of(const ir::Work& work);

Form form_of_attention(const ir::Node& attention);

// The extents of a product (Op::Dot). The dims before the last two count products, unless one operand is the same for all: then they are its
// partner's rows or columns, as a kernel takes them.
Form::Product product_of(const ir::Node& dot);

// What a product costs by the device's model.
struct ProductCosts {
  double generated_us, library_us;
};
// None if only one of the two can compute it.
std::optional<ProductCosts> product_costs(const Form::Product& product, const ir::Target& target);

// In which order a product of halves takes channels and taps of windows: tap by tap where tensor cores compute it, and from copies of the
// operands, which read and write so many bytes, where these save more time than they take.
enum class WindowOrder : uint8_t { ByChannel, ByTap, ByTapStored };
WindowOrder window_order(const Form::Product& product, int64_t copied_bytes, const ir::Target& target);

// Whether something takes a form: its name, or why nothing does.
struct Acceptance {
  bool accepted;
  std::string_view by, reason;
};

struct Schedule {
  enum class Fit : uint8_t { Takes, OtherKind, Refuses };
  struct Answer {
    Fit fit;
    std::string_view reason = {};  // of a refusal
  };
  std::string_view name;
  ir::TargetKind device;
  Answer (*accepts)(const Form&, const ir::Target&);
  bool (*suits)(const ir::Kernel&, const ir::Target&);  // among those that accept it, the first that suits; null: always
  void (*lower)(const ir::Work&, const ir::Target&, KnownLowered, Lowered&);  // null: the device's library computes it
};
std::span<const Schedule> schedules();  // of all devices

Acceptance accepts(const Form& form, const ir::Target& target);
// Whether it is generated code on the target: all kernels are, and some calls.
bool generates(const ir::Work& work, const ir::Target& target);
// That code. Throws IrError with the kernel's or call's name if there is none. Where the tree is one of `known`, that is given.
Lowered lower(const ir::Work& work, const ir::Target& target, KnownLowered known = {});

}  // namespace tenon::passes
