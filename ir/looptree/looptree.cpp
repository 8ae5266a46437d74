// The loop-tree builder: appends statements to the innermost open block, gives every value its type and
// checks operands against the op table as they arrive. Takes calls from a schedule, gives a LoopTree.
#include "ir/looptree/looptree.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tenon::ir {

namespace {

[[noreturn]] void fail(Op op, const std::string& reason) { throw IrError("looptree: " + std::string(info(op).text) + ": " + reason); }

[[noreturn]] void fail(const std::string& reason) { throw IrError("looptree: " + reason); }

}  // namespace

VType elementwise_type(Op op, std::span<const VType> args, DType to) {
  const OpInfo& row = info(op);
  if (row.cls != OpClass::Elementwise) fail(op, "is not an elementwise op");
  if (static_cast<int>(args.size()) != row.arity) fail(op, "takes " + std::to_string(row.arity) + " operands");
  for (const VType& arg : args) {
    if (arg.lanes != args[0].lanes) fail(op, "operands differ in lanes");
  }
  const bool select = row.rule == TypeRule::Select;
  if (select && args[0].dtype != DType::Bool) fail(op, "the condition must be bool");
  const DType dtype = args[select ? 1 : 0].dtype;
  for (const VType& arg : args.subspan(select ? 1 : 0)) {
    if (arg.dtype != dtype) fail(op, "operands differ in dtype");
  }
  if (!in_domain(op, dtype)) fail(op, "is not defined for " + std::string(name(dtype)));
  if (op == Op::Bitcast && (item_size(to) != item_size(dtype) || !in_domain(op, to))) {
    fail(op, "needs two types of one size");
  }
  switch (row.rule) {
    case TypeRule::Compare: return {DType::Bool, args[0].lanes};
    case TypeRule::Attr: return {to, args[0].lanes};
    default: return {dtype, args[0].lanes};
  }
}

ValueId TreeBuilder::fresh(VType type) {
  tree_.values.push_back(type);
  return static_cast<ValueId>(tree_.values.size() - 1);
}

// A step of the follower, which it may have to give up.
template <typename Step>
bool TreeBuilder::follows(const Step& step) {
  if (!follower_.active()) return false;
  if (step(follower_)) return true;
  follower_.copy_to(tree_, open_, headers_);
  return false;
}

ValueId TreeBuilder::append(Stmt&& stmt) {
  if (open_.empty()) fail("statement outside a phase");
  const ValueId result = stmt.result;
  if (!follows([&](TreeFollower& f) { return f.statement(stmt); })) open_.back().push_back(std::move(stmt));
  return result;
}

ValueId TreeBuilder::once(Stmt&& stmt, VType type) {
  for (size_t k = visible_.size(); k-- > 0;) {
    const Visible& known = visible_[k];
    if (known.kind == stmt.kind && known.slot == stmt.slot && known.bits == stmt.bits && known.type == type) return known.value;
  }
  stmt.result = fresh(type);
  visible_.push_back({stmt.kind, type, stmt.slot, stmt.bits, stmt.result});
  return append(std::move(stmt));
}

void TreeBuilder::open(Stmt&& header) {
  follows([&](TreeFollower& f) { return f.begin(header); });
  headers_.push_back(std::move(header));
  open_block();
}

std::vector<Stmt> TreeBuilder::close_block() {
  std::vector<Stmt> block = std::move(open_.back());
  open_.pop_back();
  visible_.resize(visible_before_.back());
  visible_before_.pop_back();
  return block;
}

void TreeBuilder::open_block() {
  open_.emplace_back();
  visible_before_.push_back(visible_.size());
}

void TreeBuilder::end_block() {
  const bool followed = follows([](TreeFollower& f) { return f.end(); });
  Stmt stmt = std::move(headers_.back());
  headers_.pop_back();
  const bool in_else = stmt.kind == StmtKind::If && std::exchange(stmt.slot, -1) == 0;
  (in_else ? stmt.orelse : stmt.body) = close_block();
  if (!followed) open_.back().push_back(std::move(stmt));
}

std::shared_ptr<const LoopTree> TreeBuilder::finish() {
  return follows([&](TreeFollower& f) { return f.finish(tree_); }) ? follower_.known() : nullptr;
}

int32_t TreeBuilder::add_buffer(TreeBuffer buffer) {
  tree_.buffers.push_back(std::move(buffer));
  return static_cast<int32_t>(tree_.buffers.size() - 1);
}

void TreeBuilder::begin_phase(std::string name, int32_t extent_size) {
  if (!open_.empty()) fail("a phase begins inside another");
  follows([](TreeFollower& f) { return f.begin_phase(); });
  tree_.phases.push_back({std::move(name), fresh({tree_.index_type, 1}), extent_size, {}});
  open_block();
}

ValueId TreeBuilder::phase_index() const { return tree_.phases.back().index; }

void TreeBuilder::end_phase() {
  if (open_.size() != 1) fail("a block is still open at the end of a phase");
  const bool followed = follows([](TreeFollower& f) { return f.end_phase(); });
  std::vector<Stmt> body = close_block();
  if (!followed) tree_.phases.back().body = std::move(body);
}

ValueId TreeBuilder::constant(Constant c, int lanes) {
  Stmt stmt{.kind = StmtKind::Let, .op = Op::Const};
  stmt.bits = c.bits;
  return once(std::move(stmt), {c.dtype, static_cast<int16_t>(lanes)});
}

ValueId TreeBuilder::index_constant(int64_t value) { return constant(ir::constant(tree_.index_type, value)); }

ValueId TreeBuilder::size(int32_t slot) {
  Stmt stmt{.kind = StmtKind::Size};
  stmt.slot = slot;
  return once(std::move(stmt), {tree_.index_type, 1});
}

ValueId TreeBuilder::scalar(int32_t slot) {
  Stmt stmt{.kind = StmtKind::Let, .op = Op::Scalar};
  stmt.slot = slot;
  stmt.result = fresh({tree_.scalars.at(slot), 1});
  return append(std::move(stmt));
}

ValueId TreeBuilder::let(Op op, std::span<const ValueId> args, VType type) {
  const ValueId result = fresh(type);
  if (follower_.operation(op, args, result)) return result;
  Stmt stmt{.kind = StmtKind::Let, .op = op};
  stmt.args = args;
  stmt.result = result;
  return append(std::move(stmt));
}

ValueId TreeBuilder::op(Op op, std::span<const ValueId> args, DType to) {
  SmallVector<VType, 3> types;
  for (ValueId arg : args) types.push_back(type(arg));
  return let(op, args, elementwise_type(op, types, to));
}

ValueId TreeBuilder::fast(Op op, std::initializer_list<ValueId> args) {
  Stmt stmt{.kind = StmtKind::Let, .op = op};
  stmt.args = {args.begin(), args.end()};
  stmt.fast = true;
  stmt.result = fresh({DType::F32, 1});
  return append(std::move(stmt));
}

ValueId TreeBuilder::pick(Op op, std::span<const ValueId> vectors, int which) {
  Stmt stmt{.kind = StmtKind::Let, .op = op};
  stmt.args = {vectors.begin(), vectors.end()};
  stmt.slot = which;
  stmt.result = fresh(type(vectors[0]));
  return append(std::move(stmt));
}

ValueId TreeBuilder::quotient(ValueId x, ValueId d) { return let(Op::Quotient, {x, d}, type(x)); }

ValueId TreeBuilder::splat(ValueId x, int lanes) {
  if (type(x).lanes == lanes) return x;
  if (type(x).lanes != 1) fail(Op::Splat, "the operand is a vector already");
  return let(Op::Splat, {x}, {type(x).dtype, static_cast<int16_t>(lanes)});
}

namespace {

Stmt access(StmtKind kind, int32_t buffer, std::initializer_list<ValueId> args, ValueId mask, bool strided) {
  Stmt stmt{.kind = kind};
  stmt.buffer = buffer;
  stmt.args = {args.begin(), args.end()};
  stmt.mask = mask;
  stmt.strided = strided;
  return stmt;
}

}  // namespace

ValueId TreeBuilder::load(int32_t buffer, ValueId index, int lanes, ValueId mask) {
  Stmt stmt = access(StmtKind::Load, buffer, {index}, mask, false);
  stmt.result = fresh({tree_.buffers.at(buffer).dtype, static_cast<int16_t>(lanes)});
  return append(std::move(stmt));
}

ValueId TreeBuilder::load_strided(int32_t buffer, ValueId index, ValueId stride, int lanes, ValueId mask) {
  Stmt stmt = access(StmtKind::Load, buffer, {index, stride}, mask, true);
  stmt.result = fresh({tree_.buffers.at(buffer).dtype, static_cast<int16_t>(lanes)});
  return append(std::move(stmt));
}

ValueId TreeBuilder::gather(int32_t buffer, ValueId indices, ValueId mask) { return load(buffer, indices, type(indices).lanes, mask); }

void TreeBuilder::store(int32_t buffer, ValueId index, ValueId value, ValueId mask) {
  append(access(StmtKind::Store, buffer, {index, value}, mask, false));
}

void TreeBuilder::store_strided(int32_t buffer, ValueId index, ValueId stride, ValueId value, ValueId mask) {
  append(access(StmtKind::Store, buffer, {index, stride, value}, mask, true));
}

void TreeBuilder::scatter(int32_t buffer, ValueId indices, ValueId value, ValueId mask) { store(buffer, indices, value, mask); }

void TreeBuilder::prefetch(int32_t buffer, ValueId index) { append(access(StmtKind::Prefetch, buffer, {index}, -1, false)); }

void TreeBuilder::copy_async(int32_t buffer, ValueId index, int32_t source, ValueId from, ValueId mask) {
  Stmt stmt = access(StmtKind::CopyAsync, buffer, {index, from}, mask, false);
  stmt.slot = source;
  append(std::move(stmt));
}

void TreeBuilder::commit() { append({.kind = StmtKind::Commit}); }

void TreeBuilder::wait(int groups) {
  Stmt stmt{.kind = StmtKind::Wait};
  stmt.slot = groups;
  append(std::move(stmt));
}

ValueId TreeBuilder::load_tile(int32_t buffer, ValueId index, bool transposed) {
  Stmt stmt = access(StmtKind::LoadTile, buffer, {index}, -1, false);
  stmt.transposed = transposed;
  stmt.result = fresh({tree_.buffers.at(buffer).dtype, kTileLanes});
  return append(std::move(stmt));
}

ValueId TreeBuilder::mma(ValueId left, ValueId right, ValueId sums) {
  Stmt stmt{.kind = StmtKind::Mma};
  stmt.args = {left, right, sums};
  stmt.result = fresh(type(sums));
  return append(std::move(stmt));
}

ValueId TreeBuilder::begin_for(ValueId begin, ValueId end, int64_t step, bool unroll) {
  Stmt loop{.kind = StmtKind::For};
  loop.args = {begin, end};
  loop.step = step;
  loop.unroll = unroll;
  loop.result = fresh(type(begin));
  const ValueId variable = loop.result;
  open(std::move(loop));
  return variable;
}

void TreeBuilder::end_for() {
  if (headers_.empty() || headers_.back().kind != StmtKind::For) fail("end of a loop that is not open");
  end_block();
}

void TreeBuilder::begin_if(ValueId condition) {
  Stmt branch{.kind = StmtKind::If};
  branch.args = {condition};
  open(std::move(branch));
}

void TreeBuilder::begin_else() {
  if (headers_.empty() || headers_.back().kind != StmtKind::If || headers_.back().slot == 0) fail("else outside an if");
  follows([](TreeFollower& f) { return f.begin_else(); });
  // `slot` marks an if whose true branch is complete, so that end_block knows which list is the open one.
  headers_.back().body = close_block();
  headers_.back().slot = 0;
  open_block();
}

void TreeBuilder::end_if() {
  if (headers_.empty() || headers_.back().kind != StmtKind::If) fail("end of an if that is not open");
  end_block();
}

ValueId TreeBuilder::var(ValueId init) {
  Stmt stmt{.kind = StmtKind::Var};
  stmt.args = {init};
  stmt.result = fresh(type(init));
  return append(std::move(stmt));
}

ValueId TreeBuilder::get(ValueId var) { return let(Op::Get, {var}, type(var)); }

void TreeBuilder::set(ValueId var, ValueId value) {
  if (type(var) != type(value)) fail("set: the value has another type than the register");
  Stmt stmt{.kind = StmtKind::Set};
  stmt.args = {var, value};
  append(std::move(stmt));
}

void TreeBuilder::barrier() { append({.kind = StmtKind::Barrier}); }

// --- indices

namespace {

// Gives whether no register was taken back: what is set behind its readers may be no index.
bool find_indices(const LoopTree& tree, const std::vector<Stmt>& list, std::vector<bool>& index) {
  const auto is_index = [&](const Stmt& stmt) {
    if (stmt.kind == StmtKind::Size || stmt.kind == StmtKind::For) return true;
    if (stmt.kind == StmtKind::Var) return index[stmt.result] && index[stmt.args[0]];
    if (stmt.kind != StmtKind::Let) return false;
    const VType type = tree.values[stmt.result];
    switch (stmt.op) {
      case Op::ThreadId: return true;
      case Op::Const: return type == VType{DType::I32, 1} || type == VType{DType::I64, 1};
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
      case Op::Min:
      case Op::And:
      case Op::Xor:
      case Op::Get:
      case Op::Quotient: return std::all_of(stmt.args.begin(), stmt.args.end(), [&](ValueId a) { return index[a]; });
      case Op::Where: return index[stmt.args[1]] && index[stmt.args[2]];
      default: return false;
    }
  };
  bool kept = true;
  for (const Stmt& stmt : list) {
    if (stmt.result >= 0) index[stmt.result] = is_index(stmt);
    if (stmt.kind == StmtKind::Set && index[stmt.args[0]] && !index[stmt.args[1]]) index[stmt.args[0]] = kept = false;
    const bool body = find_indices(tree, stmt.body, index), orelse = find_indices(tree, stmt.orelse, index);
    kept = kept && body && orelse;
  }
  return kept;
}

}  // namespace

std::vector<bool> index_values(const LoopTree& tree) {
  std::vector<bool> index(tree.values.size(), true);
  bool found = false;
  while (!found) {
    found = true;
    for (const Phase& phase : tree.phases) found = find_indices(tree, phase.body, index) && found;
  }
  return index;
}

}  // namespace tenon::ir
