// The operation table as C++: one enum for all levels, and one row of facts for each operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/op/types.h"

namespace tenon::ir {

enum class Op : uint8_t {
#define OP(Name, text, cls, arity, rule, domain, cost, traits) Name,
#include "ir/op/ops.def"
};

enum class OpClass : uint8_t { Leaf, Elementwise, Reduce, Movement, Contraction, Indexed, Scan, Sort, Attention, Recurrence, Memory, Lane };
enum class TypeRule : uint8_t { Same, Compare, Select, Indexed, Masked, Attr, Index, Attention };
enum Domain : uint8_t { DomainBool = 1, DomainInt = 2, DomainFloat = 4 };
enum Trait : uint8_t { TraitCommutes = 1, TraitExpands = 2 };

struct OpInfo {
  std::string_view text;
  OpClass cls;
  int8_t arity;  // -1: any
  TypeRule rule;
  uint8_t domain;  // Domain bits
  uint8_t cost;    // add-equivalents an element
  uint8_t traits;  // Trait bits
};

extern const int kOpCount;
extern const OpInfo kOpTable[];
inline const OpInfo& info(Op op) { return kOpTable[static_cast<int>(op)]; }
std::optional<Op> op_from_text(std::string_view text);

inline bool is_elementwise(Op op) { return info(op).cls == OpClass::Elementwise; }
inline bool is_reduce(Op op) { return info(op).cls == OpClass::Reduce; }
inline bool is_movement(Op op) { return info(op).cls == OpClass::Movement; }
inline bool is_attention(Op op) { return info(op).cls == OpClass::Attention; }
inline bool is_recurrence(Op op) { return info(op).cls == OpClass::Recurrence; }
inline bool is_scatter(Op op) { return op >= Op::Scatter && op <= Op::ScatterMin; }
// Whether the result is operand 0 with something replaced.
inline bool writes_over(Op op) { return op == Op::Update || op == Op::ScatterMask || is_scatter(op); }
inline bool is_scan(Op op) { return info(op).cls == OpClass::Scan; }
// Whether doing it again costs more than reading its result back: everything but elementwise operations and movement.
inline bool is_dear(Op op) { return !is_elementwise(op) && !is_movement(op) && info(op).cls != OpClass::Leaf; }
inline bool has_trait(Op op, Trait trait) { return (info(op).traits & trait) != 0; }
inline bool in_domain(Op op, DType dtype) {
  const uint8_t domain = is_float(dtype) ? DomainFloat : dtype == DType::Bool ? DomainBool : DomainInt;
  return (info(op).domain & domain) != 0;
}

// The value of one elementwise op on constants, by the table's semantics; transcendentals through libm in
// double. Operand dtypes must satisfy the op's type rule; `to` is the result dtype of Cast and Bitcast.
Constant evaluate(Op op, std::span<const Constant> args, DType to);

// The operation on two values and the value to begin with of a reduction, a scan or a scatter, by ir/op/ops.def.
Op combining_op(Op op);
Constant combine_start(Op op, DType dtype);
// The position of an argmax or argmin that has met no element yet.
inline constexpr int64_t kNoPosition = INT64_MAX;

// The result of a reduction or contraction over nothing: what it begins with; 0 for a position.
Constant reduce_identity(Op reduction, DType dtype);

}  // namespace tenon::ir
