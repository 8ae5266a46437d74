// The loop-tree verifier: every value defined before use and in scope, every operand of the type its
// statement needs, every buffer and parameter in range. Takes a tree, throws IrError at the first rule
// broken.
#include <algorithm>
#include <set>
#include <string>

#include "ir/looptree/looptree_check.h"

namespace tenon::ir {

namespace {

[[noreturn]] void fail(const std::string& reason) { throw IrError(reason); }

void require(bool condition, const char* reason) {
  if (!condition) fail(reason);
}

bool is_index(DType t) { return t == DType::I32 || t == DType::I64; }

bool is_identifier(const std::string& s) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (s.empty() || !letter(s[0])) return false;
  for (char c : s) {
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '.') return false;
  }
  return true;
}

}  // namespace

void TreeChecker::check_header() const {
  require(is_identifier(tree_.name), "the tree's name is not an identifier");
  require(is_index(tree_.index_type), "the index type must be i32 or i64");
  require(tree_.lanes >= 1 && tree_.lanes <= 64, "lanes out of range");
  require(tree_.threads >= 1 && tree_.threads <= 1024, "threads out of range");
  require(tree_.resident >= 1 && tree_.resident * tree_.threads <= 2048, "more resident threads than a multiprocessor has");
  require(tree_.size_count >= 0, "negative size count");
  std::set<std::string> names;
  for (const TreeBuffer& buffer : tree_.buffers) {
    require(is_identifier(buffer.name), "a buffer's name is not an identifier");
    if (!names.insert(buffer.name).second) fail("two buffers are called " + buffer.name);
    require(buffer.size_param < tree_.size_count, "a buffer's size parameter does not exist");
    require(buffer.count >= 0, "a buffer has a negative size");
    require(buffer.space != Space::Shared || tree_.target == TargetKind::Cuda, "shared memory needs a GPU");
    require(buffer.stages == 1 || buffer.space == Space::Shared, "shared memory alone has stages");
    require(buffer.stages >= 1 && buffer.count % buffer.stages == 0, "stages are equal parts of a buffer");
  }
}

void TreeChecker::define(ValueId v, Kind kind) {
  require(v >= 0 && static_cast<size_t>(v) < tree_.values.size(), "a result has no type");
  if (kinds_.size() < tree_.values.size()) {
    kinds_.resize(tree_.values.size(), Kind::Undefined);
    uniform_.resize(tree_.values.size(), false);
  }
  require(kinds_[v] == Kind::Undefined, "a value is defined twice");
  const int lanes = tree_.values[v].lanes;
  require(lanes >= 1 && lanes <= 1024 && (lanes & (lanes - 1)) == 0, "lanes must be a power of two, at most 1024");
  kinds_[v] = kind;
  uniform_[static_cast<size_t>(v)] = false;
  defined_.push_back(v);
}

VType TreeChecker::use(ValueId v, Kind kind) const {
  const size_t i = static_cast<size_t>(v);
  if (v < 0 || i >= kinds_.size() || kinds_[i] == Kind::Undefined) fail("an operand is not defined here");
  if (kinds_[i] != kind) fail(kind == Kind::Register ? "needs a register" : "a register is read with get");
  return tree_.values[i];
}

VType TreeChecker::scalar_use(ValueId v) const {
  const VType type = use(v);
  require(type.lanes == 1, "needs a scalar operand");
  return type;
}

VType TreeChecker::result(const Stmt& stmt) const {
  require(stmt.result >= 0 && static_cast<size_t>(stmt.result) < tree_.values.size(), "a result has no type");
  return tree_.values[stmt.result];
}

void TreeChecker::arity(const Stmt& stmt, size_t count) const {
  if (stmt.args.size() != count) fail("takes " + std::to_string(count) + " operands");
}

void TreeChecker::begin_phase(const Phase& phase) {
  require(is_identifier(phase.name), "a phase's name is not an identifier");
  require(phase.extent >= 0 && phase.extent < tree_.size_count, "the phase's size parameter does not exist");
  copies_ = {};
  copies_.filled.resize(tree_.buffers.size());
  define(phase.index, Kind::Value);
  uniform_[static_cast<size_t>(phase.index)] = true;
  require(tree_.values[phase.index] == VType{tree_.index_type, 1}, "the phase's index must be a scalar of the index type");
}

void TreeChecker::end_phase() {
  require(!copies_.uncommitted, "no commit follows a copy_async");
  require(!copies_.unawaited, "no wait follows a copy_async");
}

void TreeChecker::open_block(const Stmt* header) {
  require(blocks_.size() < kMaxLoopDepth, "blocks are nested too deeply");
  const bool together = !header || are_uniform(header->args), loop = header && header->kind == StmtKind::For;
  blocks_.push_back({defined_.size(), !together, loop, copies_.waits});
  if (!loop) return;
  define(header->result, Kind::Value);
  uniform_[static_cast<size_t>(header->result)] = together;
}

void TreeChecker::close_block() {
  for (size_t i = blocks_.back().defined; i < defined_.size(); ++i) {
    kinds_[defined_[i]] = Kind::Undefined;
  }
  defined_.resize(blocks_.back().defined);
  if (blocks_.back().loop && copies_.waits > blocks_.back().waits) copies_.unawaited = false;  // the next round waits
  blocks_.pop_back();
}

void TreeChecker::check_let(const Stmt& stmt) const {
  const VType type = result(stmt);
  if (stmt.fast) {
    require(tree_.target == TargetKind::Cuda && type == VType{DType::F32, 1}, "fast is for an f32 on a GPU");
    require(stmt.op == Op::Max || stmt.op == Op::Min || stmt.op == Op::Exp2, "no machine has this operation");
  }
  switch (stmt.op) {
    case Op::Const: return arity(stmt, 0);
    case Op::ThreadId:
      arity(stmt, 0);
      require(tree_.target == TargetKind::Cuda, "thread is for a GPU");
      return require(type.lanes == 1 && is_index(type.dtype), "thread is a scalar index");
    case Op::Scalar:
      arity(stmt, 0);
      require(stmt.slot >= 0 && static_cast<size_t>(stmt.slot) < tree_.scalars.size(), "no such scalar parameter");
      return require(type == VType{tree_.scalars[stmt.slot], 1}, "type of the scalar differs");
    case Op::Get: arity(stmt, 1); return require(use(stmt.args[0], Kind::Register) == type, "type of the register differs");
    case Op::Splat: arity(stmt, 1); return require(scalar_use(stmt.args[0]).dtype == type.dtype, "splat keeps the dtype");
    case Op::Ramp:
      arity(stmt, 2);
      require(is_int(type.dtype), "ramp is an integer");
      return require(scalar_use(stmt.args[0]).dtype == type.dtype && scalar_use(stmt.args[1]).dtype == type.dtype, "ramp keeps the dtype");
    case Op::Quotient:
      arity(stmt, 2);
      require(is_index(type.dtype), "a quotient is an index");
      return require(use(stmt.args[0]) == type && use(stmt.args[1]) == type, "a quotient keeps the type");
    case Op::Low:
    case Op::High:
      arity(stmt, 1);
      return require(use(stmt.args[0]) == VType{type.dtype, static_cast<int16_t>(type.lanes * 2)}, "the operand must have twice the lanes");
    case Op::Reverse: arity(stmt, 1); return require(use(stmt.args[0]) == type, "reverse keeps the type");
    case Op::Extract:
      arity(stmt, 2);
      require(is_index(scalar_use(stmt.args[1]).dtype), "the lane number is an index");
      return require(type == VType{use(stmt.args[0]).dtype, 1}, "extract gives one lane");
    case Op::Deal:
    case Op::Weave:
      require(tree_.target == TargetKind::Cpu, "dealing and weaving is for a CPU");
      require(!stmt.args.empty() && stmt.slot >= 0 && static_cast<size_t>(stmt.slot) < stmt.args.size(),
              "which one is beyond the operands");
      for (ValueId arg : stmt.args) require(use(arg) == type, "all operands have the result's type");
      return;
    case Op::ShuffleDown:
    case Op::Shuffle:
      arity(stmt, 2);
      require(tree_.target == TargetKind::Cuda, "a shuffle is for a GPU");
      require(is_index(scalar_use(stmt.args[1]).dtype), "the thread or distance is an index");
      return require(use(stmt.args[0]) == type, "a shuffle keeps the type");
    default: break;
  }
  SmallVector<VType, 3> types;
  for (ValueId arg : stmt.args) types.push_back(use(arg));
  require(elementwise_type(stmt.op, types, type.dtype) == type, "the result has another type by the op table");
}

void TreeChecker::check_buffer(const Stmt& stmt) const {
  require(stmt.buffer >= 0 && static_cast<size_t>(stmt.buffer) < tree_.buffers.size(), "no such buffer");
}

void TreeChecker::check_access(const Stmt& stmt) const {
  const bool load = stmt.kind != StmtKind::Store;
  check_buffer(stmt);
  const TreeBuffer& buffer = tree_.buffers[stmt.buffer];
  arity(stmt, (stmt.strided ? 2u : 1u) + (load ? 0u : 1u));
  const VType type = load ? result(stmt) : use(stmt.args.back());
  require(load || buffer.space != Space::In, "a store into an input");
  require(type.dtype == buffer.dtype, "the buffer has another dtype");
  const VType index = use(stmt.args[0]);
  require(is_index(index.dtype), "the index must be i32 or i64");
  require(index.lanes == 1 || (index.lanes == type.lanes && !stmt.strided), "a gather needs an index for each lane");
  if (stmt.strided) require(scalar_use(stmt.args[1]).dtype == index.dtype, "index and stride differ in type");
  if (stmt.mask >= 0) require(use(stmt.mask) == VType{DType::Bool, type.lanes}, "the mask needs a bool for each lane");
}

void TreeChecker::check_tile(const Stmt& stmt) const {
  require(tree_.target == TargetKind::Cuda, "a tile of a warp is for a GPU");
  require(!stmt.strided && stmt.mask < 0, "a tile has neither stride nor mask");
  check_access(stmt);
  require(tree_.buffers[stmt.buffer].space == Space::Shared, "a tile is read from shared memory");
  require(is_half(result(stmt).dtype) && result(stmt).lanes == kTileLanes, "a thread has eight elements of a tile, f16 or bf16");
}

void TreeChecker::check_mma(const Stmt& stmt) const {
  arity(stmt, 3);
  require(tree_.target == TargetKind::Cuda, "mma is for a GPU");
  const VType factor = use(stmt.args[0]), sums = use(stmt.args[2]);
  require(sums == VType{DType::F32, kTileLanes} && result(stmt) == sums, "mma adds to a tile of f32");
  require(is_half(factor.dtype) && factor.lanes == kTileLanes, "mma multiplies tiles of f16 or bf16");
  require(use(stmt.args[1]) == factor, "both factors of mma have one type");
}

void TreeChecker::check_copy(const Stmt& stmt) const {
  require(tree_.target == TargetKind::Cuda, "copy_async is for a GPU");
  check_buffer(stmt);
  arity(stmt, 2);
  require(stmt.slot >= 0 && static_cast<size_t>(stmt.slot) < tree_.buffers.size(), "no such buffer");
  const TreeBuffer &to = tree_.buffers[stmt.buffer], &from = tree_.buffers[stmt.slot];
  require(to.space == Space::Shared, "copy_async fills shared memory");
  require(from.space == Space::In || from.space == Space::Out || from.space == Space::Global, "copy_async reads global memory");
  require(to.dtype == from.dtype, "copy_async keeps the dtype");
  for (ValueId index : stmt.args) require(is_index(scalar_use(index).dtype), "the index must be i32 or i64");
  if (stmt.mask >= 0) require(use(stmt.mask) == VType{DType::Bool, 1}, "the mask of copy_async is one bool");
}

// Every copy is committed and waited for, and what was copied is read after the wait and a barrier. All threads have the same groups,
// since none passes by a commit or a wait.
void TreeChecker::check_order(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::CopyAsync: copies_.filled[stmt.buffer] = copies_.uncommitted = copies_.unawaited = true; return;
    case StmtKind::Commit:
    case StmtKind::Wait:
      require(tree_.target == TargetKind::Cuda, "asynchronous copies are for a GPU");
      for (const Block& block : blocks_) require(!block.branch, "all threads come to a commit and a wait");
      if (stmt.kind == StmtKind::Commit) {
        copies_.uncommitted = false;
        return;
      }
      require(stmt.slot >= 0, "a wait leaves no less than 0 groups under way");
      require(std::any_of(tree_.buffers.begin(), tree_.buffers.end(), [&](const TreeBuffer& b) { return stmt.slot < b.stages; }),
              "a wait leaves more groups under way than there are stages");
      ++copies_.waits;
      copies_.unawaited = copies_.uncommitted;
      return;
    case StmtKind::Barrier:
      for (const Block& block : blocks_) require(!block.branch, "all threads come to a barrier");
      copies_.seen |= copies_.waits > 0;
      return;
    case StmtKind::Load:
    case StmtKind::LoadTile:
      return require(!copies_.filled[stmt.buffer] || copies_.seen, "what copy_async fills is read after a wait and a barrier");
    default: return;
  }
}

void TreeChecker::check_statement(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::Let: check_let(stmt); break;
    case StmtKind::Size:
      require(stmt.slot >= 0 && stmt.slot < tree_.size_count, "no such size parameter");
      require(result(stmt) == VType{tree_.index_type, 1}, "a size is a scalar of the index type");
      break;
    case StmtKind::Load: check_access(stmt); break;
    case StmtKind::LoadTile: check_tile(stmt); break;
    case StmtKind::Mma: check_mma(stmt); break;
    case StmtKind::Store: return check_access(stmt);
    case StmtKind::CopyAsync: return check_copy(stmt);
    case StmtKind::Commit:
    case StmtKind::Wait: return arity(stmt, 0);
    case StmtKind::Prefetch:
      require(tree_.target == TargetKind::Cpu, "a prefetch is for a CPU");
      check_buffer(stmt);
      arity(stmt, 1);
      require(stmt.mask < 0 && is_index(scalar_use(stmt.args[0]).dtype), "a prefetch is of one place");
      return;
    case StmtKind::For: {
      arity(stmt, 2);
      const VType type = scalar_use(stmt.args[0]);
      require(is_index(type.dtype) && scalar_use(stmt.args[1]) == type && result(stmt) == type,
              "loop bounds and variable are scalars of one index type");
      return require(stmt.step > 0, "the step must be positive");
    }
    case StmtKind::If:
      arity(stmt, 1);
      if (tree_.target == TargetKind::Cpu && use(stmt.args[0]).dtype == DType::Bool) return;  // a vector: if any lane is true
      return require(scalar_use(stmt.args[0]).dtype == DType::Bool, "the condition must be a scalar bool");
    case StmtKind::Var:
      arity(stmt, 1);
      require(use(stmt.args[0]) == result(stmt), "a register has the type of its first value");
      return define(stmt.result, Kind::Register);
    case StmtKind::Set:
      arity(stmt, 2);
      return require(use(stmt.args[0], Kind::Register) == use(stmt.args[1]), "the register has another type");
    case StmtKind::Barrier: return require(tree_.target == TargetKind::Cuda, "a barrier is for a GPU");
  }
  define(stmt.result, Kind::Value);
  uniform_[static_cast<size_t>(stmt.result)] = is_uniform(stmt);
}

bool TreeChecker::are_uniform(const SmallVector<ValueId, 3>& values) const {
  return std::all_of(values.begin(), values.end(), [&](ValueId v) { return uniform_[static_cast<size_t>(v)]; });
}

// What is computed from a phase's index, sizes, numbers, and variables of loops between such alone.
bool TreeChecker::is_uniform(const Stmt& stmt) const {
  if (stmt.kind == StmtKind::Size) return true;
  return stmt.kind == StmtKind::Let && stmt.op != Op::ThreadId && stmt.op != Op::Get && are_uniform(stmt.args);
}

void TreeChecker::check(const Stmt& stmt) {
  check_statement(stmt);
  check_order(stmt);
}

namespace {

void verify_block(TreeChecker& checker, const std::vector<Stmt>& block) {
  for (const Stmt& stmt : block) {
    checker.check(stmt);
    if (stmt.kind != StmtKind::For && stmt.kind != StmtKind::If) continue;
    for (const std::vector<Stmt>* inner : {&stmt.body, &stmt.orelse}) {
      if (inner == &stmt.orelse && stmt.kind == StmtKind::For) break;
      checker.open_block(&stmt);
      verify_block(checker, *inner);
      checker.close_block();
    }
  }
}

}  // namespace

void verify(const LoopTree& tree) {
  TreeChecker checker(tree);
  std::string where = tree.name;
  try {
    checker.check_header();
    for (const Phase& phase : tree.phases) {
      where = tree.name + ", phase " + phase.name;
      checker.open_block();
      checker.begin_phase(phase);
      verify_block(checker, phase.body);
      checker.end_phase();
      checker.close_block();
    }
  } catch (const IrError& error) {
    throw IrError("looptree " + where + ": " + error.what());
  }
}

}  // namespace tenon::ir
