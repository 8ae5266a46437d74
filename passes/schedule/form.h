// What the schedules are asked about: the form of a kernel or call, and the extents of products and attention.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/call/work.h"
#include "ir/graph/graph.h"

namespace tenon::passes {

// What decides whether a schedule accepts a kernel. Fusion knows it of a group before there is a kernel.
struct Form {
  // How an operand of a contraction comes about, point by point of the contraction. Widened: a cast of 16 bits. Picked: a load at a
  // computed place is in it.
  enum class Operand : uint8_t { Loaded, Widened, Computed, Picked };

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

// The extents of a product (Op::Dot). The dims before the last two count products, unless one operand is the same for all: then they
// are its partner's rows or columns, as a kernel takes them.
Form::Product product_of(const ir::Node& dot);

// What a product costs by the device's model.
struct ProductCosts {
  double generated_us, library_us;
};
// In which order a product of halves takes channels and taps of windows: tap by tap where tensor cores compute it, and from copies of the
// operands, which read and write so many bytes, where these save more time than they take.
enum class WindowOrder : uint8_t { ByChannel, ByTap, ByTapStored };

}  // namespace tenon::passes
