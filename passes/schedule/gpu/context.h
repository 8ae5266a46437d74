// What every GPU schedule shares: it turns the indices and instructions of a kernel into statements of a loop
// tree, once each per scope, with extents, strides and offsets as size parameters. A schedule opens scopes,
// binds axes to tree values and asks for instructions; it decides the loops, this file the arithmetic.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "passes/schedule/schedule.h"

namespace tenon::passes::gpu {

inline constexpr int64_t kWarp = 32;

// The meaning of a size parameter. Parameters are shared only between equal values of one meaning, so that
// two shapes which differ in numbers alone give the same tree.
enum class SizeRole : uint8_t {
  Grid,
  Extent,
  Points,
  Stride,
  Offset,
  Modulus,
  Divisor,
  Blocks,
  Tiles,
  Scratch
};

class Context {
 public:
  Context(const ir::Kernel& kernel, std::string schedule, int threads);

  const ir::Kernel& kernel;
  Lowered out;
  ir::TreeBuilder b;

  int32_t size_slot(SizeRole role, int id, int64_t value);
  ir::ValueId size(SizeRole role, int id, int64_t value);
  ir::ValueId extent(int axis);
  ir::ValueId number(int64_t value);  // an index constant
  ir::ValueId constant(ir::Constant c);

  // Index arithmetic.
  ir::ValueId add(ir::ValueId x, ir::ValueId y) { return b.op(ir::Op::Add, {x, y}); }
  ir::ValueId mul(ir::ValueId x, ir::ValueId y) { return b.op(ir::Op::Mul, {x, y}); }
  ir::ValueId div(ir::ValueId x, ir::ValueId y) { return b.quotient(x, y); }
  ir::ValueId rem(ir::ValueId x, ir::ValueId y) { return b.op(ir::Op::Rem, {x, y}); }
  ir::ValueId less(ir::ValueId x, ir::ValueId y) { return b.op(ir::Op::Lt, {x, y}); }
  ir::ValueId thread();  // index of the thread in its block
  ir::ValueId item();    // number of the thread in the whole launch

  void begin_phase(std::string name, int64_t blocks);
  void end_phase();
  // Loops and branches that open a scope: what is computed inside is not visible after them.
  ir::ValueId begin_for(ir::ValueId begin, ir::ValueId end, int64_t step, bool unroll = false);
  void end_for();
  void begin_if(ir::ValueId condition);
  void end_if();

  void bind_axis(int axis, ir::ValueId value);
  ir::ValueId axis(int axis) const { return find_axis(axis); }
  // Binds axes, outermost first, to the row-major coordinates of `flat`. The outermost takes the whole
  // quotient.
  void bind_flat(std::vector<int> axes, ir::ValueId flat);
  void bind(ir::Value v, ir::ValueId value) { scopes_.back().values[v] = value; }
  bool bound(ir::Value v) const { return find(v) >= 0; }
  ir::ValueId value(ir::Value v) const;  // throws if it was never lowered in an open scope

  ir::ValueId index(const ir::Index& index);
  // Computes the part of an instruction's indices that depends on bound axes only, for use inside loops to
  // come.
  void hoist(const ir::Instr& instr);
  ir::ValueId guard(const ir::Instr& instr);  // the conjunction of its guards; -1 if there are none
  // Lowers an elementwise op, constant, scalar, load, index or store whose operands are bound.
  void lower(ir::Value v);
  // Where a load or store takes place, with the computed part.
  ir::ValueId place(const ir::Instr& instr);
  // Lowers, in order, all of `wanted` that are not bound yet.
  void lower(const std::vector<bool>& wanted);

 private:
  struct Partial {  // value + constant + sum of terms
    ir::ValueId value = -1;
    int64_t constant = 0;
    std::vector<ir::Index::Term> terms;
  };
  struct IndexHash {
    size_t operator()(const ir::Index& i) const { return i.hash(); }
  };
  struct Scope {
    std::map<std::pair<ir::DType, uint64_t>, ir::ValueId> constants;
    std::map<int32_t, ir::ValueId> sizes;
    std::map<int, ir::ValueId> axes;
    std::map<ir::Value, ir::ValueId> values;
    std::unordered_map<ir::Index, ir::ValueId, IndexHash> indices;
    std::unordered_map<ir::Index, Partial, IndexHash> hoisted;
    ir::ValueId thread = -1;
  };

  ir::ValueId find(ir::Value v) const;
  ir::ValueId find_axis(int axis) const;
  ir::ValueId find_index(const ir::Index& index) const;
  Partial partial(const ir::Index& index) const;
  bool term_bound(const ir::Index::Term& term) const;
  ir::ValueId term(const ir::Index::Term& term);
  ir::ValueId sum(const Partial& partial);
  void hoist(const ir::Index& index);

  std::map<std::tuple<SizeRole, int, int64_t>, int32_t> slots_;
  std::vector<Scope> scopes_;
};

// I32 if every index of the kernel, and `points` plus one grid's overhang, provably fits.
ir::DType index_type(const ir::Kernel& kernel, int64_t points);
bool depends_on(const ir::Instr& instr, int axis);  // by its own index and guards
inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
[[noreturn]] void refuse(const ir::Kernel& kernel, const std::string& reason);

Lowered lower_pointwise(const ir::Kernel& kernel, const ir::GpuTarget& target);
// The axis along which some load is contiguous although the stores are contiguous along the innermost one; -1
// if none.
int transposed_axis(const ir::Kernel& kernel, const ir::GpuTarget& target);
Lowered lower_transpose(const ir::Kernel& kernel, const ir::GpuTarget& target);
Lowered lower_rows(const ir::Kernel& kernel, const ir::GpuTarget& target);
Lowered lower_columns(const ir::Kernel& kernel, const ir::GpuTarget& target);
Lowered lower_scan(const ir::Kernel& kernel, const ir::GpuTarget& target);

}  // namespace tenon::passes::gpu
