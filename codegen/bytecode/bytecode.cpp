// From a loop tree to bytecode: places for its values in a register file, and an instruction for each statement.
#include "codegen/bytecode/bytecode.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>

#include "codegen/bytecode/handlers.h"
#include "codegen/executable.h"
#include "ir/base/mix.h"
#include "passes/schedule/branches.h"

namespace tenon::codegen {

using bytecode::Access;
using bytecode::Evaluation;
using bytecode::Instr;
using bytecode::kChunk;
using ir::DType;
using ir::Op;
using ir::Stmt;
using ir::StmtKind;
using ir::ValueId;
using ir::VType;

namespace bytecode {

ir::Constant evaluate_lane(const Evaluation& e, const ir::Constant* args) {
  return ir::evaluate(e.op, std::span(args, static_cast<size_t>(e.operands)), e.to);
}

namespace any {
extern const Handlers table;
}
#ifdef __x86_64__
namespace avx2 {
extern const Handlers table;
}
namespace avx512 {
extern const Handlers table;
}
#endif

std::vector<const Handlers*> all_handlers() {
  std::vector<const Handlers*> tables{&any::table};
#ifdef __x86_64__
  const bool has_avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");  // then there is F16C, which clang 14 does not ask for
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  if (has_avx2) tables.push_back(&avx2::table);
  if (has_avx512) tables.push_back(&avx512::table);
#endif
  return tables;
}

}  // namespace bytecode

// The register file begins with the addresses of the buffers, then come sizes, scalars, constants, and the values.
struct Bytecode::Program {
  struct Phase {
    std::vector<Instr> body;
    int32_t index = 0;  // the place of the iteration's number
  };
  std::vector<ir::TreeBuffer> buffers;
  int32_t size_count = 0, scalar_count = 0;
  int32_t sizes = 0, scalars = 0, constants = 0;  // where they begin
  std::vector<std::byte> image;                   // of the constants
  int32_t bytes = 0;                              // of the register file
  std::vector<Phase> phases;
  std::deque<Evaluation> evaluations;       // of instructions
  std::deque<std::vector<int32_t>> places;  // of lanes that an instruction picks
  std::deque<bytecode::MultiplyAdds> multiply_adds;
};

namespace {

constexpr int32_t kMostBytes = 1 << 18;  // of a register file
constexpr int32_t kWord = 8;
constexpr VType kIndex{DType::I64, 1};
constexpr VType kTruths{DType::Bool, kChunk};  // in each lane of any vector

// About, see slowdown().
constexpr double kSlowdown = 25, kSlowdownOfProducts = 5;

struct NoHandler {};  // nothing here executes the tree

int32_t bytes_of(VType t) { return ir::item_size(t.dtype) * t.lanes; }
int32_t chunks_of(VType t) { return (bytes_of(t) + kChunk - 1) / kChunk; }
int32_t room_of(VType t) { return t.lanes == 1 ? kWord : chunks_of(t) * kChunk; }

bool sets(const Stmt& s, ValueId var) {
  if (s.kind == StmtKind::Set && s.args[0] == var) return true;
  const auto within = [&](const Stmt& inner) { return sets(inner, var); };
  return std::any_of(s.body.begin(), s.body.end(), within) || std::any_of(s.orelse.begin(), s.orelse.end(), within);
}

// f(statement) for it and for each within it.
template <typename F>
void each_statement(const Stmt& s, const F& f) {
  f(s);
  for (const Stmt& inner : s.body) each_statement(inner, f);
  for (const Stmt& inner : s.orelse) each_statement(inner, f);
}
// f(value) for each use in them.
template <typename F>
void each_use(const Stmt& s, const F& f) {
  each_statement(s, [&](const Stmt& one) {
    for (const ValueId a : one.args) f(a);
    if (one.mask >= 0) f(one.mask);
  });
}

// A loop whose body is a tile of multiply-adds and nothing else, as the inner loop of a product is.
struct ProductLoop {
  DType element;
  int lanes;
  std::vector<const Stmt*> indices;      // in order
  std::set<ValueId> growing;             // those that are not the same in each iteration, and the loop's own
  bool is_even;                          // each index grows by the same amount each time, and no load has a mask
  std::vector<const Stmt*> left, right;  // loads of elements, by row; of vectors, by column
  std::vector<ValueId> registers;        // by row, then by column

  static std::optional<ProductLoop> of(const Stmt& loop, const ir::LoopTree& tree);
};

class ProductLoopFinder {
 public:
  ProductLoopFinder(const Stmt& loop, const ir::LoopTree& tree) : loop_(loop), tree_(tree) { growing_.insert(loop.result); }

  std::optional<ProductLoop> run() {
    for (const Stmt& s : loop_.body) {
      if (!add(s)) return std::nullopt;
    }
    if (left_.empty() || sums_.size() != left_.size() * right_.size() || set_ != sums_.size()) return std::nullopt;
    const Stmt& vector = *right_[0];
    ProductLoop result{type(vector.result).dtype, type(vector.result).lanes, indices_, growing_, is_even_, left_, right_, {}};
    for (const Stmt* row : left_) {
      for (const Stmt* column : right_) {
        const auto sum = sums_.find({row, column});
        if (sum == sums_.end()) return std::nullopt;
        result.registers.push_back(sum->second);
      }
    }
    return result;
  }

 private:
  VType type(ValueId v) const { return tree_.values[v]; }
  static size_t number_of(std::vector<const Stmt*>& list, const Stmt* s) {
    const auto at = std::ranges::find(list, s);
    if (at == list.end()) list.push_back(s);
    return static_cast<size_t>(at - list.begin());
  }

  bool add(const Stmt& s) {
    switch (s.kind) {
      case StmtKind::Size:
      case StmtKind::Prefetch: return true;
      case StmtKind::Load: return add_load(s);
      case StmtKind::Set: {
        const auto sum = made_.find(s.args[1]);
        return sum != made_.end() && sum->second == s.args[0] && ++set_ > 0;
      }
      case StmtKind::Let: break;
      default: return false;
    }
    switch (s.op) {
      case Op::Const: return true;
      case Op::Get: return reads_.emplace(s.result, s.args[0]).second;
      case Op::Splat: {
        const auto element = loads_.find(s.args[0]);
        return element != loads_.end() && elements_.emplace(s.result, element->second).second;
      }
      case Op::Fma: return add_sum(s);
      default: return add_index(s);
    }
  }

  // An index may be a load from a table.
  void take_from_table(ValueId v) {
    const auto load = loads_.find(v);
    if (load == loads_.end() || !growing_.insert(v).second) return;
    indices_.push_back(load->second);
    is_even_ = false;
  }

  bool add_load(const Stmt& s) {
    if (s.strided || type(s.args[0]) != kIndex) return false;
    take_from_table(s.args[0]);
    if (s.mask >= 0) {
      const auto makes_mask = [&](const Stmt& other) { return other.result == s.mask; };
      if (type(s.result).lanes == 1 || std::ranges::any_of(loop_.body, makes_mask)) return false;
      is_even_ = false;
    }
    return loads_.emplace(s.result, &s).second;
  }

  bool add_index(const Stmt& s) {
    if (type(s.result) != kIndex || std::ranges::any_of(s.args, [&](ValueId v) { return type(v) != kIndex; })) return false;
    for (const ValueId v : s.args) take_from_table(v);
    const auto growing = std::ranges::count_if(s.args, [&](ValueId v) { return growing_.contains(v); });
    if (!ir::is_elementwise(s.op) && (s.op != Op::Quotient || growing > 0)) return false;
    const bool is_even = s.op == Op::Add || s.op == Op::Sub || (s.op == Op::Mul && growing < 2);
    is_even_ = is_even_ && (growing == 0 || is_even);
    if (growing > 0) growing_.insert(s.result);
    indices_.push_back(&s);
    return true;
  }

  bool add_sum(const Stmt& s) {
    const bool swaps = !elements_.contains(s.args[0]);
    const auto element = elements_.find(s.args[swaps ? 1 : 0]);
    const auto vector = loads_.find(s.args[swaps ? 0 : 1]);
    const auto read = reads_.find(s.args[2]);
    if (element == elements_.end() || vector == loads_.end() || read == reads_.end()) return false;
    if (type(vector->second->result) != type(s.result) || type(element->second->result) != VType{type(s.result).dtype, 1}) return false;
    number_of(left_, element->second);
    number_of(right_, vector->second);
    return sums_.emplace(std::pair(element->second, vector->second), read->second).second && registers_.insert(read->second).second &&
           made_.emplace(s.result, read->second).second;
  }

  const Stmt& loop_;
  const ir::LoopTree& tree_;
  std::set<ValueId> growing_;
  std::vector<const Stmt*> indices_, left_, right_;
  std::map<ValueId, const Stmt*> loads_, elements_;              // elements_: in each lane
  std::map<ValueId, ValueId> reads_, made_;                      // registers whose values they are
  std::map<std::pair<const Stmt*, const Stmt*>, ValueId> sums_;  // by row and column
  std::set<ValueId> registers_;
  size_t set_ = 0;
  bool is_even_ = true;
};
std::optional<ProductLoop> ProductLoop::of(const Stmt& loop, const ir::LoopTree& tree) { return ProductLoopFinder(loop, tree).run(); }

class Translator {
 public:
  Translator(const ir::LoopTree& tree, const bytecode::Handlers& handlers, Bytecode::Program& program)
      : h_(handlers),
        tree_(tree),
        program_(program),
        root_(tree.values.size()),
        uses_(tree.values.size(), 0),
        is_register_(tree.values.size(), false),
        place_(tree.values.size(), -1) {
    for (size_t v = 0; v < root_.size(); ++v) root_[v] = static_cast<ValueId>(v);
    program.buffers = tree.buffers;
    program.size_count = tree.size_count;
    program.scalar_count = static_cast<int32_t>(tree.scalars.size());
    program.sizes = kWord * static_cast<int32_t>(tree.buffers.size());
    program.scalars = program.sizes + kWord * program.size_count;
    program.constants = (program.scalars + kWord * program.scalar_count + kChunk - 1) / kChunk * kChunk;
    for (const ir::Phase& phase : tree.phases) {
      for (const Stmt& s : phase.body) each_statement(s, [&](const Stmt& one) { place_given(one); });
    }
    program.bytes = program.constants + static_cast<int32_t>(program.image.size());
  }

  void phase(const ir::Phase& phase) {
    program_.phases.emplace_back();
    code_ = &program_.phases.back().body;
    for (const Stmt& s : phase.body) each_use(s, [&](ValueId v) { ++uses_[v]; });
    share(phase.body);
    program_.phases.back().index = place(phase.index);
    block(phase.body);
    emit({.run = h_.end});
  }

 private:
  // What of a computation decides its value: an operand is a value's number and one, or minus the place of what is given, and a type.
  struct Computation {
    Op op;
    DType dtype;
    int16_t lanes;
    std::array<int32_t, bytecode::kOperands> operands = {};
    std::array<DType, bytecode::kOperands> from = {};  // a value may have its bits from one of another type
    friend bool operator==(const Computation&, const Computation&) = default;
  };
  struct Hash {
    size_t operator()(const Computation& c) const {
      uint64_t hash = ir::mix(static_cast<uint64_t>(c.op), static_cast<uint64_t>(c.dtype) << 16 | static_cast<uint16_t>(c.lanes));
      for (size_t i = 0; i < c.operands.size(); ++i)
        hash = ir::mix(hash, static_cast<uint64_t>(c.operands[i]) << 8 | static_cast<uint64_t>(c.from[i]));
      return hash;
    }
  };

  VType type(ValueId v) const { return tree_.values[v]; }

  // --- what has its place before the phase runs

  int32_t constant(uint64_t bits, VType t) {
    const auto [it, fresh] = constants_.try_emplace({bits, t.dtype, t.lanes}, 0);
    if (!fresh) return it->second;
    const auto begin = static_cast<int32_t>(program_.image.size());
    program_.image.resize(program_.image.size() + static_cast<size_t>(t.lanes == 1 ? kChunk : room_of(t)));
    const int item = ir::item_size(t.dtype);
    for (int32_t at = 0; at < (t.lanes == 1 ? item : room_of(t)); at += item)
      std::memcpy(program_.image.data() + begin + at, &bits, static_cast<size_t>(item));
    return it->second = program_.constants + begin;
  }

  // Sizes, scalars, constants, and these in each lane of a vector.
  void place_given(const Stmt& s) {
    if (s.kind == StmtKind::Size) place_[s.result] = program_.sizes + kWord * s.slot;
    if (s.kind == StmtKind::For) {  // what product_loop needs
      constant(static_cast<uint64_t>(s.step), kIndex);
      for (const uint64_t number : {uint64_t{0}, ~uint64_t{0}}) constant(number, kIndex);
      constant(1, kTruths);
    }
    if (s.kind != StmtKind::Let) return;
    if (s.op == Op::Scalar) place_[s.result] = program_.scalars + kWord * s.slot;
    const auto known = s.op == Op::Splat ? bits_.find(s.args[0]) : bits_.end();
    if (s.op != Op::Const && known == bits_.end()) return;
    const uint64_t bits = s.op == Op::Const ? s.bits : known->second;
    place_[s.result] = constant(bits, type(s.result));
    bits_[s.result] = bits;
  }

  bool is_given(ValueId v) const { return place_[v] >= 0 && place_[v] < program_.constants + static_cast<int32_t>(program_.image.size()); }

  // --- values that are others

  // A value that is another one, or the lower half of it, has no place of its own; nor has what was computed before, in this block or
  // around it, nor what is read from a register, as long as the register is not set.
  void share(const std::vector<Stmt>& list) {
    std::vector<Computation> here;
    for (size_t k = 0; k < list.size(); ++k) {
      const Stmt& s = list[k];
      if (s.kind == StmtKind::Let && !s.args.empty() && place_[s.result] < 0) {
        const ValueId x = s.args[0];
        if (is_same(s) && !is_register_[root_[x]]) root_[s.result] = root_[x];
        else if (s.op == Op::Get && stays(list, k)) root_[s.result] = x;
        else if (is_pure(s)) {
          const auto [known, fresh] = computed_.try_emplace(computation(s), s.result);
          if (fresh) {
            here.push_back(known->first);
          } else {
            root_[s.result] = known->second;
            uses_[known->second] += uses_[s.result];
          }
        }
      }
      if (s.kind == StmtKind::Var) is_register_[s.result] = true;
      share(s.body);
      share(s.orelse);
    }
    for (const Computation& c : here) computed_.erase(c);
  }

  // Gives the same whenever its operands are the same.
  bool is_pure(const Stmt& s) const {
    if (s.args.size() > bytecode::kOperands || std::ranges::any_of(s.args, [&](ValueId v) { return is_register_[root_[v]]; })) return false;
    return (ir::is_elementwise(s.op) && s.op != Op::Check) || s.op == Op::Quotient || s.op == Op::Splat || s.op == Op::Ramp;
  }
  Computation computation(const Stmt& s) const {
    Computation c{s.op, type(s.result).dtype, type(s.result).lanes};
    for (size_t i = 0; i < s.args.size(); ++i) {
      const ValueId v = s.args[i];
      c.operands[i] = is_given(v) ? -place_[v] : root_[v] + 1;
      c.from[i] = type(v).dtype;
    }
    return c;
  }

  bool is_same(const Stmt& s) const {
    const VType from = type(s.args[0]), to = type(s.result);
    switch (s.op) {
      case Op::Bitcast:
      case Op::Low: return true;
      case Op::Cast: return from.dtype == to.dtype;
      case Op::Splat:
      case Op::Ramp: return to.lanes == 1;
      case Op::Reverse:
      case Op::Extract: return from.lanes == 1;
      default: return false;
    }
  }

  // Whether all uses of what statement k reads come before its register is set.
  bool stays(const std::vector<Stmt>& list, size_t k) const {
    const ValueId value = list[k].result, var = list[k].args[0];
    int left = uses_[value];
    for (size_t j = k + 1; j < list.size() && left > 0; ++j) {
      const bool changes = sets(list[j], var);
      if (changes && list[j].kind != StmtKind::Set) return false;
      each_use(list[j], [&](ValueId v) { left -= v == value; });
      if (changes) break;
    }
    return left == 0;
  }

  // --- places

  int32_t place(ValueId v) {
    int32_t& at = place_[root_[v]];
    if (at < 0) at = take(room_of(type(root_[v])));
    return at;
  }
  int32_t take(int32_t room) {
    std::vector<int32_t>& free = free_[room];
    if (!free.empty()) {
      const int32_t at = free.back();
      free.pop_back();
      return at;
    }
    if (room > kWord) program_.bytes = (program_.bytes + kChunk - 1) / kChunk * kChunk;
    const int32_t at = program_.bytes;
    program_.bytes += room;
    if (program_.bytes > kMostBytes) throw NoHandler();
    return at;
  }
  void give_back(ValueId v) {
    free_[room_of(type(v))].push_back(place_[v]);
    place_[v] = -1;
  }

  // --- statements

  size_t emit(const Instr& instr) {
    if (!instr.run) throw NoHandler();
    code_->push_back(instr);
    return code_->size() - 1;
  }
  void land(size_t jump) { (*code_)[jump].to = static_cast<int32_t>(code_->size() - jump); }

  void block(const std::vector<Stmt>& list) {
    std::map<ValueId, size_t> last;  // of those made here, with a place of their own: the statement that uses them last
    for (size_t k = 0; k < list.size(); ++k) {
      const Stmt& s = list[k];
      if (s.kind != StmtKind::For && s.result >= 0 && root_[s.result] == s.result && !is_given(s.result)) last[s.result] = k;
      each_use(s, [&](ValueId v) {
        if (const auto it = last.find(root_[v]); it != last.end()) it->second = k;
      });
    }
    std::vector<std::vector<ValueId>> dies(list.size());
    for (const auto& [v, k] : last) dies[k].push_back(v);
    for (size_t k = 0; k < list.size(); ++k) {
      const bool into_register = k + 1 < list.size() && can_set(list[k], list[k + 1]);
      if (into_register) {
        statement(list[k], place(list[k + 1].args[0]));
      } else if (!(k > 0 && list[k].kind == StmtKind::Set && can_set(list[k - 1], list[k]))) {
        statement(list[k], -1);
      }
      for (const ValueId v : dies[k]) {
        if (place_[v] >= 0) give_back(v);
      }
    }
  }

  // Whether the value goes straight into the register: nobody else wants it.
  bool can_set(const Stmt& s, const Stmt& next) const {
    if (next.kind != StmtKind::Set || s.result < 0 || next.args[1] != s.result || uses_[s.result] != 1 || root_[s.result] != s.result ||
        is_given(s.result))
      return false;
    return s.kind == StmtKind::Load || (s.kind == StmtKind::Let && ir::is_elementwise(s.op));
  }

  void statement(const Stmt& s, int32_t into) {
    const auto result = [&] { return into >= 0 ? into : place(s.result); };
    switch (s.kind) {
      case StmtKind::Let:
        if (root_[s.result] == s.result && !is_given(s.result)) let(s, result());
        return;
      case StmtKind::Size:
      case StmtKind::Prefetch: return;
      case StmtKind::Load: return access(s, result(), type(s.result), true);
      case StmtKind::Store: return access(s, place(s.args.back()), type(s.args.back()), false);
      case StmtKind::For: return loop(s);
      case StmtKind::If: return choice(s);
      case StmtKind::Var: return copy(place(s.result), place(s.args[0]), type(s.result));
      case StmtKind::Set: return copy(place(s.args[0]), place(s.args[1]), type(s.args[0]));
      default: throw NoHandler();
    }
  }

  void copy(int32_t to, int32_t from, VType t) {
    emit({.run = t.lanes == 1 ? h_.copy_word : h_.copy_chunks, .d = to, .a = from, .n = chunks_of(t)});
  }

  void loop(const Stmt& s) {
    if (type(s.result) != kIndex) throw NoHandler();
    if (const std::optional<ProductLoop> product = ProductLoop::of(s, tree_)) {
      const bytecode::Handler run = h_.multiply_adds(product->element, product->lanes, product->is_even);
      const auto can_list = [&](const Stmt* index) { return !product->growing.contains(index->result) || list_handler(*index); };
      if (run && (product->is_even || std::ranges::all_of(product->indices, can_list))) return product_loop(s, *product, run);
    }
    const int32_t at = place(s.result), end = place(s.args[1]);
    const size_t begin = emit({.run = h_.begin_for, .d = at, .a = place(s.args[0]), .b = end});
    block(s.body);
    end_loop(begin, at, end, s.step);
    land(begin);
    give_back(s.result);
  }

  // All iterations are one instruction if the loop is even: the indices are computed for the first iteration and for the second, which
  // tells how they grow. Else as many iterations as a list of indices has are one.
  void product_loop(const Stmt& s, const ProductLoop& product, bytecode::Handler run) {
    const int32_t from = place(s.args[0]), to = place(s.args[1]), at = place(s.result);
    const size_t begin = emit({.run = h_.begin_for, .d = at, .a = from, .b = to});
    bytecode::MultiplyAdds& m = program_.multiply_adds.emplace_back();
    for (const ValueId v : product.registers) m.registers.push_back(place(v));
    if (product.is_even) even_product_loop(s, product, m, run);
    else listed_product_loop(s, product, m, run);
    land(begin);
    if (place_[s.result] >= 0) give_back(s.result);
  }

  void even_product_loop(const Stmt& s, const ProductLoop& product, bytecode::MultiplyAdds& m, bytecode::Handler run) {
    const int32_t at = place(s.result);
    const auto compute_indices = [&](int32_t iteration) {
      std::map<ValueId, int32_t> places{{s.result, iteration}};
      place_[s.result] = iteration;
      for (const Stmt* index : product.indices) {
        if (root_[index->result] == index->result) let(*index, places[index->result] = place(index->result));
      }
      for (const auto& [v, p] : places) place_[v] = -1;
      return places;
    };
    const std::map<ValueId, int32_t> first = compute_indices(at);
    const int32_t step = constant(static_cast<uint64_t>(s.step), kIndex), later = take(kWord);
    emit({.run = h_.elementwise(Op::Add, DType::I64, DType::I64, false), .d = later, .a = at, .b = step});
    const std::map<ValueId, int32_t> second = compute_indices(later);
    const auto operand = [&](const Stmt* load) {
      const ValueId index = root_[load->args[0]];
      if (!first.contains(index)) return bytecode::MultiplyAdds::Operand{kWord * load->buffer, place(index), place(index)};
      return bytecode::MultiplyAdds::Operand{kWord * load->buffer, first.at(index), second.at(index)};
    };
    for (const Stmt* load : product.left) m.left.push_back(operand(load));
    for (const Stmt* load : product.right) m.right.push_back(operand(load));
    emit({.run = run, .a = place(s.args[0]), .b = place(s.args[1]), .number = s.step, .more = &m});
    for (const auto& [v, p] : first) free_[kWord].push_back(p);
    for (const auto& [v, p] : second) free_[kWord].push_back(p);
  }

  bytecode::Handler list_handler(const Stmt& index) const {
    if (index.kind == StmtKind::Load) return h_.load({kWord, bytecode::kListed, false, false, Access::Indexed});
    return h_.elementwise(index.op, DType::I64, DType::I64, true);
  }

  // An index that grows is a list of its next values, computed as a vector; what is added to it in each iteration stays beside the list.
  void listed_product_loop(const Stmt& s, const ProductLoop& product, bytecode::MultiplyAdds& m, bytecode::Handler run) {
    const VType list{DType::I64, bytecode::kListed};
    const int32_t at = place(s.result), to = place(s.args[1]);
    std::map<ValueId, int32_t> lists;
    std::vector<const Stmt*> listed;
    const auto list_of = [&](ValueId v) {
      const auto [it, fresh] = lists.try_emplace(root_[v], 0);
      if (fresh) emit({.run = h_.splat(kWord), .d = it->second = take(room_of(list)), .a = place(v), .n = list.lanes});
      return it->second;
    };
    struct Sum {
      ValueId same, growing;
    };
    std::map<ValueId, Sum> sums;
    std::vector<ValueId> same;  // made here
    std::set<ValueId> within;   // another index
    for (const Stmt* index : product.indices) {
      for (const ValueId v : index->args) within.insert(root_[v]);
    }
    const auto grows = [&](ValueId v) { return product.growing.contains(v); };
    lists[s.result] = take(room_of(list));
    const int32_t last = take(kWord), lasts = take(room_of(list));  // a table is not read beyond the loop's end
    emit({.run = h_.elementwise(Op::Add, DType::I64, DType::I64, false), .d = last, .a = to, .b = constant(~uint64_t{0}, kIndex)});
    emit({.run = h_.splat(kWord), .d = lasts, .a = last, .n = list.lanes});
    for (const Stmt* index : product.indices) {
      if (root_[index->result] != index->result) continue;
      const auto& args = index->args;
      if (!grows(index->result)) {
        let(*index, place(index->result));
        same.push_back(index->result);
      } else if (index->op == Op::Add && grows(args[0]) != grows(args[1]) && !within.contains(index->result)) {
        sums[index->result] = grows(args[0]) ? Sum{args[1], args[0]} : Sum{args[0], args[1]};
      } else {
        for (const ValueId v : args) list_of(v);
        lists[index->result] = take(room_of(list));
        listed.push_back(index);
      }
    }
    const auto operand = [&](const Stmt* load) {
      const auto sum = sums.find(root_[load->args[0]]);
      if (sum == sums.end()) return bytecode::MultiplyAdds::Operand{kWord * load->buffer, constant(0, kIndex), list_of(load->args[0])};
      return bytecode::MultiplyAdds::Operand{kWord * load->buffer, place(sum->second.same), list_of(sum->second.growing)};
    };
    for (const Stmt* load : product.left) m.left.push_back(operand(load));
    for (const Stmt* load : product.right) {
      m.right.push_back(operand(load));
      m.right.back().mask = load->mask >= 0 ? place(load->mask) : constant(1, kTruths);
    }
    const int32_t step = constant(static_cast<uint64_t>(s.step), kIndex);
    const size_t first = emit({.run = h_.ramp(kWord), .d = lists.at(s.result), .a = at, .b = step, .n = list.lanes});
    emit({.run = h_.elementwise(Op::Min, DType::I64, DType::I64, true),
          .d = lists.at(s.result),
          .a = lists.at(s.result),
          .b = lasts,
          .n = chunks_of(list)});
    for (const Stmt* index : listed) {
      std::array<int32_t, bytecode::kOperands> from = {};
      for (size_t i = 0; i < index->args.size(); ++i) from.at(i) = lists.at(root_[index->args[i]]);
      if (index->kind == StmtKind::Load) {
        emit({.run = list_handler(*index),
              .d = lists.at(index->result),
              .a = from[0],
              .b = kWord * index->buffer,
              .n = list.lanes,
              .number = kWord});
        continue;
      }
      emit({.run = list_handler(*index), .d = lists.at(index->result), .a = from[0], .b = from[1], .c = from[2], .n = chunks_of(list)});
    }
    emit({.run = run, .a = at, .b = to, .number = s.step, .more = &m});
    end_loop(first - 1, at, to, s.step * bytecode::kListed);
    for (const ValueId v : same) give_back(v);
    for (const auto& [v, p] : lists) free_[room_of(list)].push_back(p);
    free_[room_of(list)].push_back(lasts);
    free_[kWord].push_back(last);
  }
  void end_loop(size_t begin, int32_t at, int32_t to, int64_t step) {
    const auto back = static_cast<int32_t>(begin + 1) - static_cast<int32_t>(code_->size());
    emit({.run = h_.end_for, .d = at, .b = to, .to = back, .number = step});
  }

  void choice(const Stmt& s) {
    const int lanes = type(s.args[0]).lanes;
    const size_t unless = emit({.run = lanes > 1 ? h_.jump_unless_any : h_.jump_unless, .a = place(s.args[0]), .n = lanes});
    block(s.body);
    if (s.orelse.empty()) return land(unless);
    const size_t over = emit({.run = h_.jump});
    land(unless);
    block(s.orelse);
    land(over);
  }

  void access(const Stmt& s, int32_t value, VType t, bool loads) {
    const VType index = type(s.args[0]);
    const bool indexed = index.lanes > 1, strided = s.strided && t.lanes > 1 && !indexed;
    if (index.dtype != DType::I64 && !(indexed && index.dtype == DType::I32)) throw NoHandler();
    Access a{ir::item_size(t.dtype), t.lanes, loads && t.dtype == DType::Bool, s.mask >= 0, Access::Together};
    if (strided) a.kind = Access::Strided;
    if (indexed) a.kind = index.dtype == DType::I32 ? Access::IndexedNarrow : Access::Indexed;
    Instr instr{
        .run = loads ? h_.load(a) : h_.store(a), .d = value, .a = place(s.args[0]), .b = kWord * s.buffer, .n = t.lanes, .number = a.item};
    if (strided) instr.c = place(s.args[1]);
    if (a.masked) (a.kind == Access::Together ? instr.c : instr.to) = place(s.mask);
    emit(instr);
  }

  void let(const Stmt& s, int32_t d) {
    const VType to = type(s.result), from = s.args.empty() ? to : type(s.args[0]);
    const int item = ir::item_size(to.dtype);
    const auto arg = [&](size_t i) { return i < s.args.size() ? place(s.args[i]) : 0; };
    switch (s.op) {
      case Op::Get:
      case Op::Low:
      case Op::Bitcast: return copy(d, arg(0), to);
      case Op::Splat:
        if (to.lanes == 1) return copy(d, arg(0), to);
        emit({.run = h_.splat(item), .d = d, .a = arg(0), .n = to.lanes});
        return;
      case Op::Ramp:
        if (to.lanes == 1) return copy(d, arg(0), to);
        emit({.run = h_.ramp(item), .d = d, .a = arg(0), .b = arg(1), .n = to.lanes});
        return;
      case Op::Quotient:
        if (to != kIndex) throw NoHandler();
        emit({.run = h_.quotient, .d = d, .a = arg(0), .b = arg(1)});
        return;
      case Op::High: return pick(s, d, [&](int l) { return arg(0) + (to.lanes + l) * item; });
      case Op::Reverse: return pick(s, d, [&](int l) { return arg(0) + (to.lanes - 1 - l) * item; });
      case Op::Deal:
      case Op::Weave: {
        const int n = static_cast<int>(s.args.size()), count = to.lanes;
        return pick(s, d, [&](int l) {
          const int at = s.op == Op::Deal ? n * l + s.slot : s.slot * count + l;
          const int vector = s.op == Op::Deal ? at / count : at % n, lane = s.op == Op::Deal ? at % count : at / n;
          return arg(static_cast<size_t>(vector)) + lane * item;
        });
      }
      case Op::Extract:
        if (from.lanes == 1) return copy(d, arg(0), to);
        if (type(s.args[1]).dtype != DType::I64 && type(s.args[1]).dtype != DType::I32) throw NoHandler();
        emit({.run = h_.extract(item, type(s.args[1]).dtype == DType::I32), .d = d, .a = arg(0), .b = arg(1)});
        return;
      default: break;
    }
    if (!ir::is_elementwise(s.op)) throw NoHandler();
    Instr instr{.run = h_.elementwise(s.op, from.dtype, to.dtype, to.lanes > 1), .d = d, .a = arg(0), .b = arg(1), .c = arg(2)};
    if (instr.run) {
      instr.n = s.op == Op::Cast ? to.lanes : chunks_of(s.op == Op::Where ? to : from);
    } else {
      Evaluation e{s.op, static_cast<int>(s.args.size()), {}, to.dtype};
      if (s.args.size() > bytecode::kOperands) throw NoHandler();
      for (size_t i = 0; i < s.args.size(); ++i) e.from[i] = type(s.args[i]).dtype;
      program_.evaluations.push_back(e);
      instr.run = h_.evaluation;
      instr.n = to.lanes;
      instr.more = &program_.evaluations.back();
    }
    emit(instr);
  }

  template <typename Place>
  void pick(const Stmt& s, int32_t d, const Place& of_lane) {
    const VType to = type(s.result);
    std::vector<int32_t>& places = program_.places.emplace_back();
    for (int l = 0; l < to.lanes; ++l) places.push_back(of_lane(l));
    emit({.run = h_.pick(ir::item_size(to.dtype)), .d = d, .n = to.lanes, .more = places.data()});
  }

  const bytecode::Handlers& h_;
  const ir::LoopTree& tree_;
  Bytecode::Program& program_;
  std::vector<ValueId> root_;  // the value whose place it has
  std::vector<int> uses_;
  std::vector<bool> is_register_;
  std::unordered_map<Computation, ValueId, Hash> computed_;            // around the block at hand
  std::vector<int32_t> place_;                                         // -1: none now
  std::map<std::tuple<uint64_t, DType, int16_t>, int32_t> constants_;  // their places
  std::map<ValueId, uint64_t> bits_;                                   // of values that are constants
  std::map<int32_t, std::vector<int32_t>> free_;                       // places, by their room
  std::vector<Instr>* code_ = nullptr;
};

}  // namespace

std::unique_ptr<Bytecode> Bytecode::of(const ir::LoopTree& tree) {
  static const bytecode::Handlers& best = *bytecode::all_handlers().back();
  return of(tree, best);
}

std::unique_ptr<Bytecode> Bytecode::of(const ir::LoopTree& given, const bytecode::Handlers& handlers) {
  auto program = std::make_unique<Program>();
  try {
    const std::optional<ir::LoopTree> branched = passes::branch_around_arms(given);
    const ir::LoopTree& tree = branched ? *branched : given;
    Translator translator(tree, handlers, *program);
    for (const ir::Phase& phase : tree.phases) translator.phase(phase);
  } catch (const NoHandler&) {
    return nullptr;
  }
  return std::unique_ptr<Bytecode>(new Bytecode(std::move(program)));
}

Bytecode::Bytecode(std::unique_ptr<Program> program) : program_(std::move(program)) {}
Bytecode::~Bytecode() = default;

double Bytecode::slowdown() const { return program_->multiply_adds.empty() ? kSlowdown : kSlowdownOfProducts; }

// A handler may read a chunk from the last place on.
size_t Bytecode::register_bytes() const {
  return static_cast<size_t>(program_->bytes + kChunk + kLocalAlign - 1) / kLocalAlign * kLocalAlign;
}

void Bytecode::run(size_t phase, void* const* buffers, const int64_t* sizes, const uint64_t* scalars, int64_t begin, int64_t end,
                   void* local, void* registers) const {
  const Program& p = *program_;
  auto* const r = static_cast<std::byte*>(registers);
  auto* scratch = static_cast<std::byte*>(local);
  for (size_t i = 0; i < p.buffers.size(); ++i) {
    const ir::TreeBuffer& buffer = p.buffers[i];
    void* address = scratch;
    if (buffer.space == ir::Space::Local) {
      const int64_t count = buffer.size_param >= 0 ? sizes[buffer.size_param] : buffer.count;
      scratch += (count * ir::item_size(buffer.dtype) + kLocalAlign - 1) / kLocalAlign * kLocalAlign;
    } else {
      address = *buffers++;
    }
    std::memcpy(r + kWord * i, &address, sizeof address);
  }
  std::memcpy(r + p.sizes, sizes, static_cast<size_t>(kWord * p.size_count));
  if (p.scalar_count > 0) std::memcpy(r + p.scalars, scalars, static_cast<size_t>(kWord * p.scalar_count));
  if (!p.image.empty()) std::memcpy(r + p.constants, p.image.data(), p.image.size());
  const Program::Phase& code = p.phases[phase];
  for (int64_t i = begin; i < end; ++i) {
    std::memcpy(r + code.index, &i, sizeof i);
    for (const Instr* instr = code.body.data(); instr;) instr = instr->run(instr, r);
  }
}

}  // namespace tenon::codegen
