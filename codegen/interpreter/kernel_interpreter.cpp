// Runs a kernel on host memory, in blocks of parallel points: row-level values first, each reduction by a
// walk over the inner (or contract) points of its rows, then the stores. Takes the kernel, its buffers and
// scalars; fills the outputs.
//
// Within a block, values are arrays over the points of their level. A row longer than kChunk is walked in
// chunks, and its full-level values are computed again for each walk, so memory does not grow with the row.
// Stores come last: what is loaded is what was there before, also where an output has taken over the memory
// of an input.
#include <algorithm>
#include <cstring>
#include <map>

#include "codegen/interpreter/element_ops.h"
#include "codegen/interpreter/interpreter.h"
#include "ir/op/scan_order.h"

namespace tenon::codegen {
namespace {

using ir::Index;
using ir::Instr;
using ir::Level;
using ir::Op;

constexpr int64_t kChunk = 2048;  // points of a level that are held at once

struct Space {  // the axes of one level
  std::vector<int> axes;
  std::vector<int64_t> extents;
  int64_t points = 1;
};

// The points that a level's arrays stand for now: rows x [begin, begin + columns), row by row.
struct Window {
  int64_t rows = 0, begin = 0, columns = 1;
  std::vector<std::vector<int64_t>> coordinates;  // [axis][point]; empty for axes that the level lacks
  int64_t points() const { return rows * columns; }
};

// The spaces of a kernel's levels, and the window of each that is held now.
class Windows {
 public:
  explicit Windows(const ir::Kernel& kernel) : axes_(kernel.axes.size()) {
    for (Level level : {Level::Row, Level::Full, Level::Contract}) {
      Space& space = spaces_[static_cast<size_t>(level)];
      space.axes = ir::axes_of(kernel, level);
      space.points = kernel.extent_of(level);
      for (int a : space.axes) space.extents.push_back(kernel.extent(a));
    }
  }

  const Space& space(Level level) const { return spaces_[static_cast<size_t>(level)]; }
  const Window& at(Level level) const { return windows_[static_cast<size_t>(level)]; }

  // Rows from `first_row` on, and in each of them the columns from `begin` on.
  void open(Level level, int64_t first_row, int64_t rows, int64_t begin, int64_t columns) {
    Window& w = windows_[static_cast<size_t>(level)];
    w.rows = rows;
    w.begin = begin;
    w.columns = columns;
    w.coordinates.resize(axes_);
    count_up(w, space(Level::Row), first_row, 0, columns);
    if (level != Level::Row) count_up(w, space(level), begin, columns, 1);
  }

  // The values of an index over a level's window.
  std::vector<int64_t>& values(const Index& e, Level level, std::vector<int64_t>& out) const {
    const Window& w = at(level);
    out.assign(static_cast<size_t>(w.points()), e.constant_part());
    for (const Index::Term& t : e.terms()) {
      std::vector<int64_t> inner;
      if (t.axis < 0) {
        values(t.inner_index(), level, inner);
        for (int64_t& x : inner) x = run_of_digits(x, t.modulus, t.divisor);
      }
      const std::vector<int64_t>& base = t.axis < 0 ? inner : w.coordinates[t.axis];
      for (size_t point = 0; point < out.size(); ++point) out[point] += t.coefficient * base[point];
    }
    return out;
  }

 private:
  static int64_t run_of_digits(int64_t x, int64_t modulus, int64_t divisor) {
    if (modulus != 0) x = x % modulus + (x % modulus < 0 ? modulus : 0);
    return x / divisor - (x % divisor < 0);
  }
  // Coordinates along the axes of `s`: the flat position starts at `first`, goes up after every `repeat`
  // points and, unless `period` is 0, starts again after every `period` points.
  static void count_up(Window& w, const Space& s, int64_t first, int64_t period, int64_t repeat) {
    int64_t stride = 1;
    for (size_t a = s.axes.size(); a-- > 0;) {
      std::vector<int64_t>& c = w.coordinates[s.axes[a]];
      c.resize(w.points());
      int64_t digit = first / stride % s.extents[a], left = stride - first % stride, start = digit, start_left = left;
      for (int64_t point = 0; point < w.points(); ++point) {
        if (period != 0 && point % period == 0) digit = start, left = start_left;
        c[point] = digit;
        if ((point + 1) % repeat != 0 || --left != 0) continue;
        left = stride;
        digit = digit + 1 == s.extents[a] ? 0 : digit + 1;
      }
      stride *= s.extents[a];
    }
  }

  size_t axes_;
  Space spaces_[3];    // by Level: row, full, contract
  Window windows_[3];  // by Level: row, full, contract
};

struct Combine {
  ir::Op op;
  ir::DType dtype;
  ir::Constant operator()(const ir::Constant& a, const ir::Constant& b) const {
    const ir::Constant args[] = {a, b};
    return ir::evaluate(op, args, dtype);
  }
};
using ScannedLine = ir::ScanInOrder<ir::Constant, Combine>;

class Interpreter {
 public:
  Interpreter(const ir::Kernel& kernel, void* const* buffers, const uint64_t* scalars)
      : kernel_(kernel), buffers_(buffers), scalars_(scalars), windows_(kernel), values_(kernel.instrs.size()) {
    check_loads();
  }

  void run() {
    const int64_t rows = space(Level::Row).points;
    // Blocks of rows that fit a chunk together, or single long rows.
    const int64_t longest = std::max(space(Level::Full).points, space(Level::Contract).points);
    const int64_t block = std::clamp<int64_t>(kChunk / std::max<int64_t>(longest, 1), 1, std::max<int64_t>(rows, 1));
    for (int64_t row = 0; row < rows; row += block) run_block(row, std::min(block, rows - row));
  }

 private:
  struct Array {
    std::vector<uint64_t> bits;
    bool valid = false;
  };

  const Instr& at(ir::Value v) const { return kernel_.instr(v); }
  const Space& space(Level level) const { return windows_.space(level); }
  const Window& window(Level level) const { return windows_.at(level); }

  // Stores wait for the end of a block, so nothing may read what this kernel writes, except through memory
  // that an output took over, and what a point updates.
  void check_loads() const {
    std::vector<bool> stored(kernel_.buffers.size());
    for (const Instr& i : kernel_.instrs) {
      if (i.op == Op::Store) stored[i.slot] = true;
      if (i.op != Op::Load || kernel_.buffer(i.slot).role == ir::Role::InOut) continue;
      if (stored[i.slot]) {
        throw ir::IrError("interpret: kernel @" + kernel_.name + " loads what it stores");
      }
    }
  }

  // --- windows --------------------------------------------------------------------------------------------
  void run_block(int64_t first_row, int64_t rows) {
    first_row_ = first_row;
    open_window(Level::Row, rows, 0, 1);
    for (Level level : {Level::Full, Level::Contract}) {
      if (space(level).points > 0) open_window(level, rows, 0, std::min(space(level).points, kChunk));
    }
    // Everything at row level but stores, in order; a reduction computes the full-level values that it needs.
    for (size_t i = 0; i < kernel_.instrs.size(); ++i) {
      const Instr& instr = kernel_.instrs[i];
      if (instr.level == Level::Row && instr.op != Op::Store) compute(i);
    }
    store_full();
    store_all(Level::Row);
  }

  void store_full() {
    const int64_t points = space(Level::Full).points;
    for (int64_t begin = 0; begin < points; begin += kChunk) {
      move_window(Level::Full, begin);
      // All loads of the chunk before its first store.
      for (size_t i = 0; i < kernel_.instrs.size(); ++i) {
        if (!is_store(i, Level::Full)) continue;
        for (ir::Value arg : kernel_.instrs[i].args) operand(arg, Level::Full, 0);
      }
      store_all(Level::Full);
    }
  }
  void store_all(Level level) {
    for (size_t i = 0; i < kernel_.instrs.size(); ++i) {
      if (is_store(i, level)) store(kernel_.instrs[i]);
    }
  }
  bool is_store(size_t i, Level level) const { return kernel_.instrs[i].op == Op::Store && kernel_.instrs[i].level == level; }

  void move_window(Level level, int64_t begin) {
    if (window(level).begin == begin) return;
    open_window(level, window(level).rows, begin, std::min(kChunk, space(level).points - begin));
  }

  void open_window(Level level, int64_t rows, int64_t begin, int64_t columns) {
    windows_.open(level, first_row_, rows, begin, columns);
    for (size_t i = 0; i < kernel_.instrs.size(); ++i) {
      if (kernel_.instrs[i].level == level) values_[i].valid = false;
    }
  }
  // --- values ---------------------------------------------------------------------------------------------
  // Computes `i` in its level's window, with the values of that level that it needs, operands first.
  void compute(size_t i) {
    if (values_[i].valid) return;
    const Instr& instr = kernel_.instrs[i];
    pending_.push_back(i);
    const size_t bottom = pending_.size() - 1;
    while (pending_.size() > bottom) {
      size_t next = pending_.back();
      const Instr& n = kernel_.instrs[next];
      size_t before = pending_.size();
      for (ir::Value arg : n.args) {
        bool here = at(arg).level == instr.level && !ir::is_reduce(n.op) && n.op != Op::Contract;
        if (here && !values_[arg].valid) pending_.push_back(static_cast<size_t>(arg));
      }
      if (pending_.size() != before) continue;
      pending_.pop_back();
      if (!values_[next].valid) evaluate(next);
    }
  }

  // The bits of `v` over the window of `level`; a row-level value repeats along the columns. `place` is the
  // operand's position, which has a scratch array for that.
  const uint64_t* operand(ir::Value v, Level level, size_t place) {
    compute(static_cast<size_t>(v));
    const std::vector<uint64_t>& bits = values_[v].bits;
    const Window& w = window(level);
    if (at(v).level == level || w.columns == 1) return bits.data();
    std::vector<uint64_t>& spread = spread_[place];
    spread.resize(w.points());
    for (int64_t row = 0; row < w.rows; ++row) {
      std::fill_n(spread.begin() + row * w.columns, w.columns, bits[row]);
    }
    return spread.data();
  }

  void evaluate(size_t i) {
    const Instr& instr = kernel_.instrs[i];
    const int64_t points = window(instr.level).points();
    std::vector<uint64_t> out = std::move(values_[i].bits);
    out.resize(points);
    switch (instr.op) {
      case Op::Const: std::fill(out.begin(), out.end(), instr.bits); break;
      case Op::Scalar: std::fill(out.begin(), out.end(), scalars_[instr.slot]); break;
      case Op::IndexOf: {
        const std::vector<int64_t>& index = windows_.values(instr.index, instr.level, index_);
        std::copy(index.begin(), index.end(), out.begin());
        break;
      }
      case Op::Load: load(instr, out); break;
      case Op::Contract: contract(instr, out); break;
      default:
        if (ir::is_reduce(instr.op)) {
          reduce(instr, out);
        } else if (ir::is_scan(instr.op)) {
          scan(instr, lines_[i], out);
        } else {
          const uint64_t* args[3];
          for (size_t a = 0; a < instr.args.size(); ++a) args[a] = operand(instr.args[a], instr.level, a);
          apply(instr.op, at(instr.args.back()).dtype, instr.dtype, {args, instr.args.size()}, out.data(), points);
        }
    }
    values_[i].bits = std::move(out);
    values_[i].valid = true;
  }

  void reduce(const Instr& instr, std::vector<uint64_t>& out) {
    const Space& inner = space(Level::Full);
    for (int64_t row = 0; row < window(Level::Row).rows; ++row) {
      out[row] = reduce_row(instr.op, instr.tree, at(instr.args[0]).dtype, inner.extents, [&](int64_t begin) {
        const int64_t start = begin / kChunk * kChunk;
        move_window(Level::Full, start);
        const Window& w = window(Level::Full);
        const uint64_t* bits = operand(instr.args[0], Level::Full, 0) + row * w.columns;
        return Elements{bits + (begin - start), start + w.columns - begin};
      });
    }
  }

  // Windows come in order, each once, so that `lines` are where this one goes on.
  void scan(const Instr& instr, std::vector<ScannedLine>& lines, std::vector<uint64_t>& out) {
    const Window& w = window(Level::Full);
    const uint64_t* x = operand(instr.args[0], Level::Full, 0);
    const ir::DType wide = ir::is_half(instr.dtype) ? ir::DType::F32 : instr.dtype;
    if (w.begin == 0) {
      const ScannedLine line(ir::scan_by_runs(instr.op, wide), ir::combine_start(instr.op, wide), {ir::combining_op(instr.op), wide});
      lines.assign(static_cast<size_t>(w.rows), line);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      const ir::Constant y = lines[i / static_cast<size_t>(w.columns)].next(ir::cast({instr.dtype, x[i]}, wide));
      out[i] = ir::cast(y, instr.dtype).bits;
    }
  }

  void contract(const Instr& instr, std::vector<uint64_t>& out) {
    const int64_t depth = space(Level::Contract).points;
    for (int64_t row = 0; row < window(Level::Row).rows; ++row) {
      out[row] = contract_row(at(instr.args[0]).dtype, depth, [&](int64_t begin) {
        const int64_t start = begin / kChunk * kChunk;
        move_window(Level::Contract, start);
        for (ir::Value arg : instr.args) compute(static_cast<size_t>(arg));  // before either takes a scratch array
        const int64_t columns = window(Level::Contract).columns, place = row * columns + (begin - start);
        const uint64_t* a = operand(instr.args[0], Level::Contract, 0);
        const uint64_t* b = operand(instr.args[1], Level::Contract, 1);
        return Factors{a + place, b + place, start + columns - begin};
      });
    }
  }

  // --- memory ---------------------------------------------------------------------------------------------
  // Which points pass every guard; empty if there are none to pass.
  const std::vector<uint8_t>& passing(const Instr& instr) {
    passing_.assign(instr.guards.empty() ? 0 : static_cast<size_t>(window(instr.level).points()), 1);
    for (const ir::Guard& g : instr.guards) {
      windows_.values(g.value, instr.level, index_);
      for (size_t p = 0; p < passing_.size(); ++p) passing_[p] &= g.lo <= index_[p] && index_[p] < g.hi;
    }
    return passing_;
  }

  std::byte* element(const Instr& instr, int64_t index) const {
    const ir::KernelBuffer& buffer = kernel_.buffer(instr.slot);
    if (index < 0 || index >= buffer.numel) {
      throw ir::IrError("interpret: kernel @" + kernel_.name + " reaches element " + std::to_string(index) + " of " + buffer.name +
                        ", which has " + std::to_string(buffer.numel));
    }
    return static_cast<std::byte*>(buffers_[instr.slot]) + index * ir::item_size(buffer.dtype);
  }

  // Calls access(point, element) for each point that passes the guards; elements are little-endian.
  template <typename Access>
  void for_each_access(const Instr& instr, Access access) {
    // The operand first: computing it uses the scratch below.
    const uint64_t* position = instr.scale == 0 ? nullptr : operand(instr.position(), instr.level, 1);
    const std::vector<uint8_t>& pass = passing(instr);
    windows_.values(instr.index, instr.level, index_);
    if (position) {
      const auto scale = static_cast<uint64_t>(instr.scale);
      for (size_t p = 0; p < index_.size(); ++p) index_[p] = static_cast<int64_t>(static_cast<uint64_t>(index_[p]) + scale * position[p]);
    }
    for (size_t p = 0; p < index_.size(); ++p) {
      if (pass.empty() || pass[p]) access(p, element(instr, index_[p]));
    }
  }

  template <size_t Size>
  void load_sized(const Instr& instr, std::vector<uint64_t>& out) {
    for_each_access(instr, [&](size_t p, const std::byte* from) {
      out[p] = 0;
      std::memcpy(&out[p], from, Size);
    });
  }
  void load(const Instr& instr, std::vector<uint64_t>& out) {
    if (!instr.guards.empty()) {
      const uint64_t* elsewhere = operand(instr.args[0], instr.level, 0);
      std::copy_n(elsewhere, out.size(), out.begin());
    }
    switch (ir::item_size(instr.dtype)) {
      case 1: return load_sized<1>(instr, out);
      case 2: return load_sized<2>(instr, out);
      case 4: return load_sized<4>(instr, out);
      default: return load_sized<8>(instr, out);
    }
  }
  void store(const Instr& instr) {
    if (instr.scale != 0) compute(static_cast<size_t>(instr.position()));  // before the value takes its scratch
    const uint64_t* value = operand(instr.args[0], instr.level, 0);
    const size_t size = ir::item_size(instr.dtype);
    for_each_access(instr, [&](size_t p, std::byte* to) { std::memcpy(to, &value[p], size); });
  }

  const ir::Kernel& kernel_;
  void* const* buffers_;
  const uint64_t* scalars_;
  Windows windows_;
  int64_t first_row_ = 0;
  std::vector<Array> values_;
  std::map<size_t, std::vector<ScannedLine>> lines_;  // of each scan, by row
  std::vector<uint64_t> spread_[3];
  std::vector<int64_t> index_;
  std::vector<uint8_t> passing_;
  std::vector<size_t> pending_;
};

}  // namespace

void interpret(const ir::Kernel& kernel, void* const* buffers, const uint64_t* scalars) { Interpreter(kernel, buffers, scalars).run(); }

}  // namespace tenon::codegen
