// Prints a loop tree as LLVM IR, one short function a statement kind. Takes a tree that schedules have
// vectorised already; gives a module that needs no more than mem2reg and CSE. For `y[i] = max(x[i], 0)` with
// 16 lanes:
//
//   define void @phase0(ptr %buffers, ptr %sizes, ptr %scalars, i64 %begin, i64 %end, ptr %local) {
//     %x = load ptr, ptr %buffers ...                       ; parameters, once
//   body:                                                   ; for each index in begin..end
//     %4 = load <16 x float>, ptr %p, align 4
//     ...
//
// How values are held: bool as i1 (i8 in memory), f16 and bf16 as their bits in i16 (computed in float,
// rounded after each op), everything else as LLVM's own type. No value is ever poison: what C++ leaves
// undefined is selected away.
#ifdef TENON_HAVE_LLVM
#include "codegen/llvm/emit.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/executable.h"
#include "codegen/llvm/arithmetic.h"
#include "passes/schedule/branches.h"

namespace tenon::codegen::llvm_backend {

namespace {

using ir::DType;
using ir::Op;
using ir::Stmt;
using ir::StmtKind;
using ir::ValueId;
using ir::VType;
using ::llvm::BasicBlock;
using ::llvm::Type;
using ::llvm::Value;

// What a phase is given, once it is loaded: slices of the local scratch are buffers too.
struct Parameters {
  std::vector<Value*> sizes, scalars, buffers;
};

Value* parameter(::llvm::IRBuilder<>& b, ::llvm::Function* function, unsigned argument, size_t i, Type* type) {
  Type* cell = argument == 0 ? type : b.getInt64Ty();
  return b.CreateLoad(cell, b.CreateConstInBoundsGEP1_64(cell, function->getArg(argument), i));
}

Value* from_raw(::llvm::IRBuilder<>& b, Value* bits, DType t) {
  if (t == DType::Bool) return b.CreateICmpNE(bits, b.getInt64(0));
  Value* narrow = b.CreateTrunc(bits, b.getIntNTy(static_cast<unsigned>(8 * ir::item_size(t))));
  return b.CreateBitCast(narrow, element_type(b.getContext(), t));
}

Parameters load_parameters(::llvm::IRBuilder<>& b, ::llvm::Function* function, const ir::LoopTree& tree) {
  Parameters result;
  for (int32_t i = 0; i < tree.size_count; ++i) {
    result.sizes.push_back(parameter(b, function, 1, static_cast<size_t>(i), b.getInt64Ty()));
  }
  for (size_t i = 0; i < tree.scalars.size(); ++i) {
    result.scalars.push_back(from_raw(b, parameter(b, function, 2, i, b.getInt64Ty()), tree.scalars[i]));
  }
  size_t argument = 0;
  Value* local = function->getArg(5);
  for (const ir::TreeBuffer& buffer : tree.buffers) {
    if (buffer.space != ir::Space::Local) {
      result.buffers.push_back(parameter(b, function, 0, argument++, b.getPtrTy()));
      continue;
    }
    result.buffers.push_back(local);
    Value* count = buffer.size_param >= 0 ? result.sizes[buffer.size_param] : b.getInt64(static_cast<uint64_t>(buffer.count));
    Value* bytes = b.CreateMul(count, b.getInt64(static_cast<uint64_t>(ir::item_size(buffer.dtype))));
    bytes = b.CreateAdd(bytes, b.getInt64(kLocalAlign - 1));
    bytes = b.CreateAnd(bytes, b.getInt64(~uint64_t{kLocalAlign - 1}));
    local = b.CreateGEP(b.getInt8Ty(), local, bytes);
  }
  return result;
}

class PhaseEmitter {
 public:
  PhaseEmitter(const ir::LoopTree& tree, ::llvm::Module& module, bool f16c)
      : tree_(tree), module_(module), b_(module.getContext()), f16c_(f16c), values_(tree.values.size()) {}

  void run(const ir::Phase& phase, int number) {
    Type* pointer = b_.getPtrTy();
    auto* type = ::llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, pointer, b_.getInt64Ty(), b_.getInt64Ty(), pointer}, false);
    function_ = ::llvm::Function::Create(type, ::llvm::Function::ExternalLinkage, "phase" + std::to_string(number), module_);
    function_->setDoesNotThrow();
    function_->addFnAttr("prefer-vector-width", "512");  // the schedule chose the widths; keep them
    function_->addFnAttr("min-legal-vector-width", "512");
    entry_ = block("entry");
    b_.SetInsertPoint(entry_);
    parameters_ = load_parameters(b_, function_, tree_);
    sums_.clear();
    pointers_.clear();
    count_loop(function_->getArg(3), function_->getArg(4), 1, [&](Value* i) {
      set_value(phase.index, b_.CreateTrunc(i, type_of(phase.index)));
      statements(phase.body);
    });
    b_.CreateRetVoid();
  }

 private:
  // --- types and values ---
  BasicBlock* block(const char* name) { return BasicBlock::Create(module_.getContext(), name, function_); }

  Type* element(DType t) { return element_type(b_.getContext(), t); }
  static Type* lanes(Type* element, int count) {
    return count == 1 ? element : ::llvm::FixedVectorType::get(element, static_cast<unsigned>(count));
  }
  Type* type(VType t) { return lanes(element(t.dtype), t.lanes); }
  VType vtype(ValueId v) const { return tree_.values[v]; }
  Type* type_of(ValueId v) { return type(vtype(v)); }
  Type* memory_type(VType t) { return t.dtype == DType::Bool ? lanes(b_.getInt8Ty(), t.lanes) : type(t); }
  Value* value(ValueId v) const { return values_[v]; }
  void set_value(ValueId v, Value* to) { values_[v] = to; }
  static Value* integer(Type* type, uint64_t bits) { return ::llvm::ConstantInt::get(type, bits, false); }
  Value* splat(Value* x, int count) { return count == 1 ? x : b_.CreateVectorSplat(static_cast<unsigned>(count), x); }

  // --- control ---
  //   if (begin < end) do { body(i); } while ((i += step) < end);
  template <typename Body>
  void count_loop(Value* begin, Value* end, int64_t step, Body body) {
    BasicBlock* before = b_.GetInsertBlock();
    BasicBlock* loop = block("loop");
    BasicBlock* after = block("after");
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), loop, after);
    b_.SetInsertPoint(loop);
    ::llvm::PHINode* i = b_.CreatePHI(begin->getType(), 2);
    i->addIncoming(begin, before);
    body(i);
    Value* next = b_.CreateAdd(i, integer(i->getType(), static_cast<uint64_t>(step)));
    i->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, end), loop, after);
    b_.SetInsertPoint(after);
  }

  // An innermost loop, whose index times a size is added up from round to round: so it takes one instruction, not two.
  struct InnerLoop {
    struct Product {
      Value *size, *distance;  // from round to round
      ::llvm::PHINode* value;
    };
    ::llvm::PHINode* index;
    int64_t step;
    std::vector<Product> products;
  };
  Value* product_of_index(Value* size) {
    std::vector<InnerLoop::Product>& products = inner_loop_->products;
    const auto known = std::ranges::find(products, size, &InnerLoop::Product::size);
    if (known != products.end()) return known->value;
    ::llvm::PHINode* index = inner_loop_->index;
    BasicBlock* before = index->getIncomingBlock(0);
    ::llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(before->getTerminator());
    Value* first = index->getIncomingValue(0);
    const auto* constant = ::llvm::dyn_cast<::llvm::Constant>(first);
    if (!constant || !constant->isNullValue()) first = b_.CreateMul(first, size);
    Value* distance =
        inner_loop_->step == 1 ? size : b_.CreateMul(size, integer(size->getType(), static_cast<uint64_t>(inner_loop_->step)));
    b_.SetInsertPoint(index);
    ::llvm::PHINode* value = b_.CreatePHI(index->getType(), 2);
    value->addIncoming(first, before);
    products.push_back({size, distance, value});
    return value;
  }
  void add_up_products(const InnerLoop& loop) {
    for (const InnerLoop::Product& p : loop.products) p.value->addIncoming(b_.CreateAdd(p.value, p.distance), b_.GetInsertBlock());
  }
  static bool has_loop(const std::vector<Stmt>& list) {
    return std::ranges::any_of(list, [](const Stmt& s) { return s.kind == StmtKind::For || has_loop(s.body) || has_loop(s.orelse); });
  }
  // The one of two factors that the loop's index is multiplied by, if that is a size; else null.
  Value* factor_of_index(Value* a, Value* b) const {
    if (!inner_loop_ || (a != inner_loop_->index && b != inner_loop_->index)) return nullptr;
    auto* factor = ::llvm::dyn_cast<::llvm::LoadInst>(a == inner_loop_->index ? b : a);
    return factor && factor->getParent() == entry_ ? factor : nullptr;
  }

  // To copy rounds out is a schedule's work: the hint is for compilers that do it themselves.
  void emit_for(const Stmt& loop) {
    count_loop(value(loop.args[0]), value(loop.args[1]), loop.step, [&](::llvm::PHINode* i) {
      set_value(loop.result, i);
      if (has_loop(loop.body)) return statements(loop.body);
      InnerLoop inner{i, loop.step, {}};
      inner_loop_ = &inner;
      statements(loop.body);
      inner_loop_ = nullptr;
      add_up_products(inner);
    });
  }

  void emit_if(const Stmt& stmt) {
    BasicBlock* yes = block("then");
    BasicBlock* no = block("else");
    BasicBlock* after = block("after");
    Value* condition = value(stmt.args[0]);
    if (condition->getType()->isVectorTy()) condition = b_.CreateOrReduce(condition);
    b_.CreateCondBr(condition, yes, no);
    b_.SetInsertPoint(yes);
    statements(stmt.body);
    b_.CreateBr(after);
    b_.SetInsertPoint(no);
    statements(stmt.orelse);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  void emit_var(const Stmt& stmt) {
    ::llvm::IRBuilder<> at_entry(entry_, entry_->begin());
    Value* cell = at_entry.CreateAlloca(type_of(stmt.result));
    b_.CreateStore(value(stmt.args[0]), cell);
    set_value(stmt.result, cell);
  }

  void statements(const std::vector<Stmt>& list) {
    for (const Stmt& stmt : list) statement(stmt);
  }

  void statement(const Stmt& stmt) {
    switch (stmt.kind) {
      case StmtKind::Let: return set_value(stmt.result, emit_let(stmt));
      case StmtKind::Size: return set_value(stmt.result, b_.CreateTrunc(parameters_.sizes[stmt.slot], type_of(stmt.result)));
      case StmtKind::Load: return set_value(stmt.result, emit_load(stmt));
      case StmtKind::Store: return emit_store(stmt);
      case StmtKind::For: return emit_for(stmt);
      case StmtKind::If: return emit_if(stmt);
      case StmtKind::Var: return emit_var(stmt);
      case StmtKind::Prefetch:
        b_.CreateIntrinsic(::llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                           {address(stmt, 1), b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});  // to read, into all caches, data
        return;
      case StmtKind::Set: b_.CreateStore(value(stmt.args[1]), value(stmt.args[0])); return;
      case StmtKind::Barrier: throw ir::IrError("a barrier has no meaning on a CPU");
      case StmtKind::CopyAsync:
      case StmtKind::Commit:
      case StmtKind::Wait: throw ir::IrError("an asynchronous copy has no meaning on a CPU");
      case StmtKind::LoadTile:
      case StmtKind::Mma: throw ir::IrError("a tile of a warp has no meaning on a CPU");
    }
  }

  // --- memory ---
  // The address of one element, or a vector of addresses for gathered and masked strided access.
  Value* address(const Stmt& stmt, int count) {
    Value* index = value(stmt.args[0]);
    if (stmt.strided && count > 1) {
      Value* distance = b_.CreateMul(splat(value(stmt.args[1]), count), emit_lane_numbers(index->getType(), count));
      index = b_.CreateAdd(splat(index, count), distance);
    }
    Type* item = memory_type({tree_.buffers[stmt.buffer].dtype, 1});
    Value* pointer = parameters_.buffers[stmt.buffer];
    if (const auto sum = sums_.find(stmt.args[0]); sum != sums_.end() && index == value(stmt.args[0])) {
      auto* known = ::llvm::dyn_cast<::llvm::Instruction>(value(sum->second.first));
      if (known && known->getParent() != entry_) {  // there the buffers may come after it
        pointer = pointer_at(stmt.buffer, item, known);
        index = value(sum->second.second);
      }
    }
    return b_.CreateGEP(item, pointer, index);
  }

  // A buffer from an index on, computed where the index is: outside the loops that do not change it.
  Value* pointer_at(int32_t buffer, Type* item, ::llvm::Instruction* index) {
    Value*& pointer = pointers_[{buffer, index}];
    if (pointer) return pointer;
    ::llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(index->getParent(), *index->getInsertionPointAfterDef());
    return pointer = b_.CreateGEP(item, parameters_.buffers[buffer], index);
  }

  // Calls body(lane, address) for each lane of an unmasked strided access. One by one: half the time of a
  // gather or scatter instruction, measured with AVX-512 from 4 to 16 lanes (and the same once memory is the
  // limit).
  template <typename Body>
  void each_lane(const Stmt& stmt, Type* item, int count, Body body) {
    Value* pointer = address(stmt, 1);
    Value* stride = value(stmt.args[1]);
    const auto times = [&](uint64_t n) { return b_.CreateMul(stride, integer(stride->getType(), n)); };
    for (int lane = 0; lane < count; ++lane) {
      const auto within = static_cast<uint64_t>(lane % 4);  // of four neighbours, which share a pointer
      if (lane > 0 && within == 0) pointer = b_.CreateGEP(item, pointer, times(4));
      body(static_cast<uint64_t>(lane), within == 0 ? pointer : b_.CreateGEP(item, pointer, times(within)));
    }
  }

  static bool lane_by_lane(const Stmt& stmt, int count) { return stmt.strided && count > 1 && stmt.mask < 0; }

  // Masked intrinsics want vectors; a scalar is a vector of one.
  Value* as_vector(Value* x) { return x->getType()->isVectorTy() ? x : b_.CreateBitCast(x, ::llvm::FixedVectorType::get(x->getType(), 1)); }

  Value* emit_load(const Stmt& stmt) {
    const VType result = vtype(stmt.result);
    Type* type = memory_type(result);
    Value* loaded = load(stmt, result, type);
    if (loaded->getType() != type) loaded = b_.CreateBitCast(loaded, type);
    return result.dtype == DType::Bool ? b_.CreateICmpNE(loaded, integer(type, 0)) : loaded;
  }

  Value* load(const Stmt& stmt, VType result, Type* type) {
    const ::llvm::Align align(static_cast<uint64_t>(ir::item_size(result.dtype)));
    if (lane_by_lane(stmt, result.lanes)) {
      Type* item = type->getScalarType();
      Value* all = ::llvm::PoisonValue::get(type);
      each_lane(stmt, item, result.lanes,
                [&](uint64_t lane, Value* where) { all = b_.CreateInsertElement(all, b_.CreateAlignedLoad(item, where, align), lane); });
      return all;
    }
    Value* where = address(stmt, result.lanes);
    Value* mask = stmt.mask < 0 ? nullptr : as_vector(value(stmt.mask));
    Type* vector = result.lanes > 1 ? type : ::llvm::FixedVectorType::get(type, 1);
    Value* zero = ::llvm::Constant::getNullValue(vector);
    if (where->getType()->isVectorTy()) return b_.CreateMaskedGather(vector, where, align, mask, zero);
    if (mask) return b_.CreateMaskedLoad(vector, where, align, mask, zero);
    return b_.CreateAlignedLoad(type, where, align);
  }

  void emit_store(const Stmt& stmt) {
    const VType stored = vtype(stmt.args.back());
    const ::llvm::Align align(static_cast<uint64_t>(ir::item_size(stored.dtype)));
    Value* x = value(stmt.args.back());
    if (stored.dtype == DType::Bool) x = b_.CreateZExt(x, memory_type(stored));
    if (lane_by_lane(stmt, stored.lanes)) {
      return each_lane(stmt, x->getType()->getScalarType(), stored.lanes,
                       [&](uint64_t lane, Value* where) { b_.CreateAlignedStore(b_.CreateExtractElement(x, lane), where, align); });
    }
    Value* where = address(stmt, stored.lanes);
    Value* mask = stmt.mask < 0 ? nullptr : as_vector(value(stmt.mask));
    if (where->getType()->isVectorTy()) {
      b_.CreateMaskedScatter(x, where, align, mask);
    } else if (mask) {
      b_.CreateMaskedStore(as_vector(x), where, align, mask);
    } else {
      b_.CreateAlignedStore(x, where, align);
    }
  }

  std::vector<Value*> operands(const Stmt& stmt) const {
    std::vector<Value*> result;
    for (ValueId arg : stmt.args) result.push_back(value(arg));
    return result;
  }
  Value* constant(const Stmt& stmt) {
    const VType t = vtype(stmt.result);
    const auto bits = ::llvm::APInt(t.dtype == DType::F64 ? 64 : 32, stmt.bits);
    if (t.dtype == DType::F32) return ::llvm::ConstantFP::get(type(t), {::llvm::APFloat::IEEEsingle(), bits});
    if (t.dtype == DType::F64) return ::llvm::ConstantFP::get(type(t), {::llvm::APFloat::IEEEdouble(), bits});
    return ::llvm::ConstantInt::get(type(t), ::llvm::APInt(64, stmt.bits).trunc(element(t.dtype)->getIntegerBitWidth()));
  }

  Value* emit_let(const Stmt& stmt) {
    const VType to = vtype(stmt.result);
    if (stmt.op == Op::Add && to == VType{DType::I64, 1}) sums_[stmt.result] = std::minmax(stmt.args[0], stmt.args[1]);
    switch (stmt.op) {
      case Op::Const: return constant(stmt);
      case Op::Scalar: return parameters_.scalars[stmt.slot];
      case Op::Get: return b_.CreateLoad(type(to), value(stmt.args[0]));
      case Op::Splat: return splat(value(stmt.args[0]), to.lanes);
      case Op::Ramp: {
        Value* base = value(stmt.args[0]);
        if (to.lanes == 1) return base;
        Value* step = splat(value(stmt.args[1]), to.lanes);
        return b_.CreateAdd(splat(base, to.lanes), b_.CreateMul(step, emit_lane_numbers(base->getType(), to.lanes)));
      }
      case Op::Mul:
        if (Value* size = factor_of_index(value(stmt.args[0]), value(stmt.args[1]))) return product_of_index(size);
        return emit_elementwise(b_, f16c_, stmt.op, operands(stmt), vtype(stmt.args[0]).dtype, to.dtype);
      case Op::Quotient: return b_.CreateUDiv(value(stmt.args[0]), value(stmt.args[1]));
      case Op::Low: return emit_half(b_, value(stmt.args[0]), to.lanes, 0);
      case Op::High: return emit_half(b_, value(stmt.args[0]), to.lanes, to.lanes);
      case Op::Reverse: return to.lanes == 1 ? value(stmt.args[0]) : b_.CreateVectorReverse(value(stmt.args[0]));
      case Op::Deal: return emit_deal(b_, operands(stmt), stmt.slot);
      case Op::Weave: return emit_weave(b_, operands(stmt), stmt.slot);
      case Op::Extract:
        if (vtype(stmt.args[0]).lanes == 1) return value(stmt.args[0]);
        return b_.CreateExtractElement(value(stmt.args[0]), value(stmt.args[1]));
      default: return emit_elementwise(b_, f16c_, stmt.op, operands(stmt), vtype(stmt.args[0]).dtype, to.dtype);
    }
  }

  const ir::LoopTree& tree_;
  ::llvm::Module& module_;
  ::llvm::IRBuilder<> b_;
  const bool f16c_;
  ::llvm::Function* function_ = nullptr;
  BasicBlock* entry_ = nullptr;
  Parameters parameters_;
  InnerLoop* inner_loop_ = nullptr;                                // while its body is emitted
  std::unordered_map<ValueId, std::pair<ValueId, ValueId>> sums_;  // of indices: the operand that was known first, and the other
  std::map<std::pair<int32_t, Value*>, Value*> pointers_;          // by buffer and index
  std::vector<Value*> values_;                                     // by ValueId; a register's alloca
};

}  // namespace

std::unique_ptr<::llvm::Module> emit_module(const ir::LoopTree& given, ::llvm::LLVMContext& context, bool f16c) {
  const std::optional<ir::LoopTree> branched = passes::branch_around_arms(given);
  const ir::LoopTree& tree = branched ? *branched : given;
  ir::verify(tree);
  if (tree.target != ir::TargetKind::Cpu) throw ir::IrError("a GPU tree was given to the CPU emitter");
  auto module = std::make_unique<::llvm::Module>(tree.name, context);
  PhaseEmitter emitter(tree, *module, f16c);
  for (size_t i = 0; i < tree.phases.size(); ++i) emitter.run(tree.phases[i], static_cast<int>(i));
  return module;
}

}  // namespace tenon::codegen::llvm_backend
#endif
