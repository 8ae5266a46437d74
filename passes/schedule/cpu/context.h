// The CPU schedules, one function each, and what they share. Private to passes/schedule/.
#pragma once

#include <functional>
#include <optional>

#include "passes/schedule/context.h"
#include "passes/schedule/form.h"
#include "passes/schedule/loops.h"

namespace tenon::passes::cpu {

struct Context : passes::Context {
  const ir::CpuTarget& target;
  int lanes = 1;              // of every vector, whatever its dtype
  double ns_per_element = 0;  // estimated, of one evaluation of every instruction, vectorised

  Context(const ir::Kernel& kernel, Lowered& out, const ir::CpuTarget& target, KnownLowered known = {});
  // Whether what knows of no length is good enough: there is little to do, and code that runs often is made again.
  bool is_small() const;
  // Comes first: lanes run along this axis, as many as the dtypes of what varies along it want; along none if it is kNoAxis.
  void set_lanes(int axis);

  const ReduceLoops& loops();                                                      // planned once
  int64_t bytes_read(Value load) const;                                            // of its operand, each once
  bool beyond_cache(int64_t bytes) const { return bytes >= 2 * target.l2_bytes; }  // so they come from memory
  // whole() where a tile at `begin` lies before `end`, the extent's, else rest(); no branch where all tiles are of one kind.
  void whole_or_rest(ValueId begin, ValueId end, int64_t extent, int64_t tile, const std::function<void()>& whole,
                     const std::function<void()>& rest);
  // Runs body over [begin, end) of the lane axis: `unroll` vectors a step, then single masked vectors; in a scope of its
  // own with the lane axis bound and the mask set. `unroll` 0: the masked vectors alone, the body stands once.
  void vector_loop(int axis, ValueId begin, ValueId end, int unroll, const std::function<void()>& body);
  // For the vector loop over a body: so many vectors that about as many instructions are in flight as the machine takes.
  int unroll_for(size_t instrs) const;
  // The masked vectors alone.
  void masked_loop(int axis, ValueId begin, ValueId end, const std::function<void()>& body);
  // A phase over an axis and the `outer` ones: body(begin, end) for a run of it, the whole axis or chunks of so many
  // elements, each costing `ns`. If it is the only one of the tree, its code serves other lengths of the axis and of the outermost one.
  enum class Phases : uint8_t { One, Several };
  void run_phase(std::string name, std::span<const int> outer, int axis, int64_t chunk, double ns, Phases phases,
                 const std::function<void(ValueId begin, ValueId end)>& body);

 private:
  std::optional<ReduceLoops> loops_;
};

constexpr int64_t kManyPoints = 1 << 17, kManyProducts = 1 << 22;  // of a kernel: so many are worth code for its lengths
constexpr size_t kLongBody = 150;     // instructions: of a longer body, compiling a second copy takes longer than it is worth
constexpr int64_t kAhead = 4096;      // bytes ahead of a load that comes from beyond the cache
constexpr int64_t kColumnsKept = 64;  // columns of a tile whose values are kept from one reduction to the next

// The parallel axis along which most accessed bytes are contiguous; kNoAxis if there is no parallel axis.
int best_lane_axis(const ir::Kernel& kernel);

// Whether vectors run across rows of a few elements, as the kernel is, or with axes split that an index divides.
Choice choose_short_rows(const ir::Kernel& kernel, const ir::CpuTarget& target);
Choice choose_split_rows(const ir::Kernel& kernel, const ir::CpuTarget& target);
struct SplitAxes {
  ir::Kernel kernel;
  std::any plan;  // of the split kernel
};

// Few long rows: blocks of them in parallel rather than rows.
bool splits_rows(const ir::Kernel& kernel, const ir::CpuTarget& target);

void lower_pointwise(Context& c);
// Whether there is a second parallel axis along which some access is contiguous though it is not along the best one.
Choice choose_transpose(const ir::Kernel& kernel);
Choice choose_split_transpose(const ir::Kernel& kernel);  // the same, with axes split that an index divides
void lower_transpose(Context& c);
void lower_short_rows(Context& c);
void lower_rows(Context& c);        // Lanes reductions, one parallel iteration a row
void lower_rows_split(Context& c);  // Lanes reductions of few long rows: blocks in parallel, then the rest
// Columns reductions, vectorised across results: whole columns, or blocks of them in parallel, which runs of each row pass through.
enum class ColumnProgram : uint8_t { Whole, Split, Runs };
Choice choose_columns(const ir::Kernel& kernel, const ir::CpuTarget& target);
void lower_columns(Context& c);
void lower_columns_split(Context& c);
void lower_columns_in_runs(Context& c);
// Short Columns reductions over windows that reach beyond their operand's border, on planes that are staged with it; in the plan is
// the kernel that is lowered.
Choice choose_windows(const ir::Kernel& kernel, const ir::CpuTarget& target);
const ir::Kernel& kernel_of_windows(const std::any& plan);
void lower_windows(Context& c);
void lower_contraction(Context& c);
// The k begin..end of products, whose sums lie in the first `count` elements of the buffer `group`, whose number is the
// parameter `room`, in vectors of `width`.
struct Groups {
  ValueId begin, end;
  int32_t group;
  ValueId count;
  int32_t room;
  int width;
};
// sums(first, end) puts those of a group of k there (ir/op/sum_order.h), the total of all is there in the end.
void total_of_groups(Context& c, const Groups& of, DType dtype, const std::function<void(ValueId first, ValueId end)>& sums);
// A contraction as it is lowered: little work with axes of one element; much, or what runs often, with the columns of several images as
// one axis.
ir::Kernel laid_out_contraction(ir::Kernel kernel, const ir::CpuTarget& target);

// A tile of an operand: positions along the axis `rows`, and `vectors` vectors from `begin` on along the axis `columns`, the
// nest's lane axis, where they are bound as sub-vectors 0, 1, ...
struct PackedTile {
  int columns, rows;
  ValueId begin;
  int vectors;
  ValueId end = kNone, mask = kAlways;         // of the columns, where the tile may reach beyond them; the mask is the last vector's
  ValueId row_begin = kNone, row_end = kNone;  // none: all rows
};
// Where its rows go: row r, counted from the first, from base + r * pitch on. Up to packed_slack rows behind the last are
// written too.
struct Panel {
  int32_t buffer = kNone;
  ValueId base = kZero;
  int64_t pitch = 0;
  ValueId row(Context& c, ValueId row) const;  // where it begins
};
// Turns as many vectors as there are lanes: rows become columns.
void turn(ir::TreeBuilder& b, std::vector<ValueId>& rows);
int64_t packed_slack(const Context& c, Value load, int rows);
// An operand's tile: a load, and the casts of what it reads.
void pack(Context& c, std::span<const Value> operand, const PackedTile& tile, const Panel& panel);
void call_attention(Context& c, const Call& call);
bool takes_attention(const Form::Attention& heads);
void lower_scan_lines(Context& c);    // scans of contiguous lines
void lower_scan_columns(Context& c);  // scans of neighbouring lines, vectorised across them

// Whether a kernel with scans goes along its lines, rather than across them.
bool scans_along_lines(const ir::Kernel& kernel);

// Tiles of neighbouring columns, several vectors side by side, each a sub-vector of the nest.
class ColumnTiles {
 public:
  explicit ColumnTiles(Context& c);         // sets the nest's lane axis
  int64_t width() const { return width_; }  // columns of a tile
  bool few() const { return few_; }         // columns: fewer than the widest tile has
  // A phase with `parts` iterations of `ns` for each tile: body(vectors) for a whole one; for the columns left at the
  // end body(1), vector by vector, masked.
  void run(std::string phase, double ns, const std::function<void(int vectors)>& body, int64_t parts = 1);
  int lane() const { return lane_; }
  const std::vector<int>& outer() const { return outer_; }  // the other parallel axes
  int64_t tiles() const { return c_.product(outer_) * tiles_; }
  int64_t tiles_of_line() const { return tiles_; }
  // Where the phase is: the point of the other axes, row-major, if there are any; the first column of vector q; the
  // tile's part.
  ValueId line() const { return line_; }
  ValueId column(int q) const { return columns_[q]; }
  ValueId part() const { return part_; }
  // So many sub-vectors of each vector, at different positions along the inner axes; from 1 on while 1 is set.
  void set_copies(int copies) { copies_ = copies; }
  // f(q) for each sub-vector if v varies from one to the next, else once, with sub-vector and mask set.
  void each(Value v, int vectors, const std::function<void(int q)>& f);

 private:
  void bind(int sub, ValueId position, ValueId mask);

  Context& c_;
  int lane_;
  std::vector<int> outer_;
  bool few_;
  int vectors_, copies_ = 1;
  int64_t width_, tiles_;
  ValueId line_ = kNone, part_ = kNone, mask_ = kAlways;
  std::vector<ValueId> columns_;
};

}  // namespace tenon::passes::cpu
