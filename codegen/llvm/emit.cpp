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
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/executable.h"

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
namespace intrinsic = ::llvm::Intrinsic;

// A constant loop is copied out only up to this many rounds; beyond, the hint is ignored.
constexpr uint64_t kMaxUnroll = 64;

class PhaseEmitter {
 public:
  PhaseEmitter(const ir::LoopTree& tree, ::llvm::Module& module, bool f16c)
      : tree_(tree),
        module_(module),
        b_(module.getContext()),
        f16c_(f16c),
        values_(tree.values.size()),
        constants_(tree.values.size()) {}

  void run(const ir::Phase& phase, int number) {
    Type* pointer = b_.getPtrTy();
    auto* type = ::llvm::FunctionType::get(
        b_.getVoidTy(), {pointer, pointer, pointer, b_.getInt64Ty(), b_.getInt64Ty(), pointer}, false);
    function_ = ::llvm::Function::Create(type, ::llvm::Function::ExternalLinkage,
                                         "phase" + std::to_string(number), module_);
    function_->setDoesNotThrow();
    function_->addFnAttr("prefer-vector-width", "512");  // the schedule chose the widths; keep them
    function_->addFnAttr("min-legal-vector-width", "512");
    entry_ = block("entry");
    b_.SetInsertPoint(entry_);
    load_parameters();
    count_loop(function_->getArg(3), function_->getArg(4), 1, [&](Value* i) {
      set_value(phase.index, b_.CreateTrunc(i, type_of(phase.index)));
      statements(phase.body);
    });
    b_.CreateRetVoid();
  }

 private:
  // --- types and values ---
  BasicBlock* block(const char* name) { return BasicBlock::Create(module_.getContext(), name, function_); }

  Type* element(DType t) {
    switch (t) {
      case DType::Bool: return b_.getInt1Ty();
      case DType::U8:
      case DType::I8: return b_.getInt8Ty();
      case DType::I16:
      case DType::F16:
      case DType::BF16: return b_.getInt16Ty();
      case DType::I32: return b_.getInt32Ty();
      case DType::I64: return b_.getInt64Ty();
      case DType::F32: return b_.getFloatTy();
      case DType::F64: return b_.getDoubleTy();
    }
    return nullptr;
  }
  static Type* lanes(Type* element, int count) {
    return count == 1 ? element : ::llvm::FixedVectorType::get(element, static_cast<unsigned>(count));
  }
  Type* type(VType t) { return lanes(element(t.dtype), t.lanes); }
  VType vtype(ValueId v) const { return tree_.values[static_cast<size_t>(v)]; }
  Type* type_of(ValueId v) { return type(vtype(v)); }
  Type* memory_type(VType t) { return t.dtype == DType::Bool ? lanes(b_.getInt8Ty(), t.lanes) : type(t); }
  Value* value(ValueId v) const { return values_[static_cast<size_t>(v)]; }
  void set_value(ValueId v, Value* to) { values_[static_cast<size_t>(v)] = to; }
  // `like` with its elements replaced.
  static Type* with_element(Type* like, Type* element) { return like->getWithNewType(element); }
  static Value* integer(Type* type, uint64_t bits) { return ::llvm::ConstantInt::get(type, bits, false); }
  static Value* number(Type* type, double x) { return ::llvm::ConstantFP::get(type, x); }
  Value* splat(Value* x, int count) {
    return count == 1 ? x : b_.CreateVectorSplat(static_cast<unsigned>(count), x);
  }

  // --- entry: buffers, sizes, scalars, slices of the local scratch ---
  Value* parameter(unsigned argument, size_t i, Type* type) {
    Type* cell = argument == 0 ? type : b_.getInt64Ty();
    return b_.CreateLoad(cell, b_.CreateConstInBoundsGEP1_64(cell, function_->getArg(argument), i));
  }

  void load_parameters() {
    sizes_.clear();
    sums_.clear();
    pointers_.clear();
    scalars_.clear();
    buffers_.clear();
    for (int32_t i = 0; i < tree_.size_count; ++i) {
      sizes_.push_back(parameter(1, static_cast<size_t>(i), b_.getInt64Ty()));
    }
    for (size_t i = 0; i < tree_.scalars.size(); ++i) {
      scalars_.push_back(from_raw(parameter(2, i, b_.getInt64Ty()), tree_.scalars[i]));
    }
    size_t argument = 0;
    Value* local = function_->getArg(5);
    for (const ir::TreeBuffer& buffer : tree_.buffers) {
      if (buffer.space != ir::Space::Local) {
        buffers_.push_back(parameter(0, argument++, b_.getPtrTy()));
        continue;
      }
      buffers_.push_back(local);
      Value* count = buffer.size_param >= 0 ? sizes_[static_cast<size_t>(buffer.size_param)]
                                            : b_.getInt64(static_cast<uint64_t>(buffer.count));
      Value* bytes = b_.CreateMul(count, b_.getInt64(static_cast<uint64_t>(ir::item_size(buffer.dtype))));
      bytes = b_.CreateAdd(bytes, b_.getInt64(kLocalAlign - 1));
      bytes = b_.CreateAnd(bytes, b_.getInt64(~uint64_t{kLocalAlign - 1}));
      local = b_.CreateGEP(b_.getInt8Ty(), local, bytes);
    }
  }

  Value* from_raw(Value* bits, DType t) {
    if (t == DType::Bool) return b_.CreateICmpNE(bits, b_.getInt64(0));
    Value* narrow = b_.CreateTrunc(bits, b_.getIntNTy(static_cast<unsigned>(8 * ir::item_size(t))));
    return b_.CreateBitCast(narrow, element(t));
  }

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

  // Rounds of a loop between constants; 0 if they are not constant or too many to copy out.
  uint64_t constant_rounds(const Stmt& loop) const {
    const std::optional<int64_t> begin = constants_[static_cast<size_t>(loop.args[0])];
    const std::optional<int64_t> end = constants_[static_cast<size_t>(loop.args[1])];
    if (!begin || !end || *begin >= *end) return 0;
    const uint64_t distance = static_cast<uint64_t>(*end) - static_cast<uint64_t>(*begin);
    const uint64_t rounds = (distance - 1) / static_cast<uint64_t>(loop.step) + 1;
    return rounds <= kMaxUnroll ? rounds : 0;
  }

  void emit_for(const Stmt& loop) {
    const uint64_t rounds = loop.unroll ? constant_rounds(loop) : 0;
    for (uint64_t round = 0; round < rounds; ++round) {
      Value* offset = integer(type_of(loop.result), round * static_cast<uint64_t>(loop.step));
      set_value(loop.result, b_.CreateAdd(value(loop.args[0]), offset));
      statements(loop.body);
    }
    if (rounds > 0) return;
    count_loop(value(loop.args[0]), value(loop.args[1]), loop.step, [&](Value* i) {
      set_value(loop.result, i);
      statements(loop.body);
    });
  }

  void emit_if(const Stmt& stmt) {
    BasicBlock* yes = block("then");
    BasicBlock* no = block("else");
    BasicBlock* after = block("after");
    b_.CreateCondBr(value(stmt.args[0]), yes, no);
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
      case StmtKind::Size:
        return set_value(stmt.result,
                         b_.CreateTrunc(sizes_[static_cast<size_t>(stmt.slot)], type_of(stmt.result)));
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
    }
  }

  // --- memory ---
  // The address of one element, or a vector of addresses for gathered and masked strided access.
  Value* address(const Stmt& stmt, int count) {
    Value* index = value(stmt.args[0]);
    if (stmt.strided && count > 1) {
      Value* distance =
          b_.CreateMul(splat(value(stmt.args[1]), count), lane_numbers(index->getType(), count));
      index = b_.CreateAdd(splat(index, count), distance);
    }
    Type* item = memory_type({tree_.buffers[static_cast<size_t>(stmt.buffer)].dtype, 1});
    Value* pointer = buffers_[static_cast<size_t>(stmt.buffer)];
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
    return pointer = b_.CreateGEP(item, buffers_[static_cast<size_t>(buffer)], index);
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
  Value* as_vector(Value* x) {
    return x->getType()->isVectorTy() ? x
                                      : b_.CreateBitCast(x, ::llvm::FixedVectorType::get(x->getType(), 1));
  }

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
      each_lane(stmt, item, result.lanes, [&](uint64_t lane, Value* where) {
        all = b_.CreateInsertElement(all, b_.CreateAlignedLoad(item, where, align), lane);
      });
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
      return each_lane(stmt, x->getType()->getScalarType(), stored.lanes, [&](uint64_t lane, Value* where) {
        b_.CreateAlignedStore(b_.CreateExtractElement(x, lane), where, align);
      });
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

  // --- lanes ---
  Value* lane_numbers(Type* element, int count) {
    std::vector<::llvm::Constant*> numbers;
    for (int i = 0; i < count; ++i)
      numbers.push_back(::llvm::ConstantInt::get(element, static_cast<uint64_t>(i)));
    return ::llvm::ConstantVector::get(numbers);
  }

  Value* half_of_lanes(Value* x, int count, int first) {
    if (count == 1) return b_.CreateExtractElement(x, static_cast<uint64_t>(first));
    std::vector<int> picked;
    for (int i = 0; i < count; ++i) picked.push_back(first + i);
    return b_.CreateShuffleVector(x, picked);
  }

  std::vector<Value*> operands(const Stmt& stmt) const {
    std::vector<Value*> result;
    for (ValueId arg : stmt.args) result.push_back(value(arg));
    return result;
  }
  static int lane_count(Value* x) {
    auto* vector = ::llvm::dyn_cast<::llvm::FixedVectorType>(x->getType());
    return vector ? static_cast<int>(vector->getNumElements()) : 1;
  }

  // Lane l of the result is lane `lane(l)` of vector `vector(l)`: a two-source shuffle for each vector but the first.
  template <typename Vector, typename Lane>
  Value* pick(const std::vector<Value*>& from, Vector vector, Lane lane) {
    const int count = lane_count(from[0]);
    if (count == 1) return from[static_cast<size_t>(vector(0))];
    Value* result = nullptr;
    for (int v = 1; v < static_cast<int>(from.size()); ++v) {
      std::vector<int> picked;
      for (int l = 0; l < count; ++l) {
        const int source = vector(l);
        const int before = result ? l : source == 0 ? lane(l) : -1;
        picked.push_back(source == v ? count + lane(l) : source < v ? before : -1);
      }
      result = b_.CreateShuffleVector(result ? result : from[0], from[static_cast<size_t>(v)], picked);
    }
    return result ? result : from[0];
  }

  // Halves of even numbers first, which is log n shuffles a vector instead of n; equal ones are shared later.
  Value* deal(std::vector<Value*> from, int which) {
    const int count = lane_count(from[0]);
    for (; from.size() % 2 == 0; which /= 2) {
      for (size_t i = 0; i < from.size() / 2; ++i) {
        const int odd = which % 2;
        from[i] = pick({from[2 * i], from[2 * i + 1]}, [&](int l) { return (2 * l + odd) / count; },
                       [&](int l) { return (2 * l + odd) % count; });
      }
      from.resize(from.size() / 2);
    }
    const int n = static_cast<int>(from.size());
    return pick(from, [&](int l) { return (n * l + which) / count; },
                [&](int l) { return (n * l + which) % count; });
  }

  Value* weave(const std::vector<Value*>& from, int which) {
    const int count = lane_count(from[0]), n = static_cast<int>(from.size()), first = which * count;
    if (n % 2 != 0 || count == 1) {
      return pick(from, [&](int l) { return (first + l) % n; }, [&](int l) { return (first + l) / n; });
    }
    std::vector<Value*> even, odd;
    for (size_t i = 0; i < from.size(); i += 2) {
      even.push_back(from[i]);
      odd.push_back(from[i + 1]);
    }
    const int half = which % 2 * count / 2;
    return pick({weave(even, which / 2), weave(odd, which / 2)}, [](int l) { return l % 2; },
                [&](int l) { return half + l / 2; });
  }

  Value* constant(const Stmt& stmt) {
    const VType t = vtype(stmt.result);
    const auto bits = ::llvm::APInt(t.dtype == DType::F64 ? 64 : 32, stmt.bits);
    if (t.dtype == DType::F32) return ::llvm::ConstantFP::get(type(t), {::llvm::APFloat::IEEEsingle(), bits});
    if (t.dtype == DType::F64) return ::llvm::ConstantFP::get(type(t), {::llvm::APFloat::IEEEdouble(), bits});
    const unsigned width = element(t.dtype)->getIntegerBitWidth();
    const ::llvm::APInt whole = ::llvm::APInt(64, stmt.bits).trunc(width);
    if (t.lanes == 1) constants_[static_cast<size_t>(stmt.result)] = whole.getSExtValue();
    return ::llvm::ConstantInt::get(type(t), whole);
  }

  Value* emit_let(const Stmt& stmt) {
    const VType to = vtype(stmt.result);
    if (stmt.op == Op::Add && to == VType{DType::I64, 1}) sums_[stmt.result] = std::minmax(stmt.args[0], stmt.args[1]);
    switch (stmt.op) {
      case Op::Const: return constant(stmt);
      case Op::Scalar: return scalars_[static_cast<size_t>(stmt.slot)];
      case Op::Get: return b_.CreateLoad(type(to), value(stmt.args[0]));
      case Op::Splat: return splat(value(stmt.args[0]), to.lanes);
      case Op::Ramp: {
        Value* base = value(stmt.args[0]);
        if (to.lanes == 1) return base;
        Value* step = splat(value(stmt.args[1]), to.lanes);
        return b_.CreateAdd(splat(base, to.lanes),
                            b_.CreateMul(step, lane_numbers(base->getType(), to.lanes)));
      }
      case Op::Quotient: return b_.CreateUDiv(value(stmt.args[0]), value(stmt.args[1]));
      case Op::Low: return half_of_lanes(value(stmt.args[0]), to.lanes, 0);
      case Op::High: return half_of_lanes(value(stmt.args[0]), to.lanes, to.lanes);
      case Op::Reverse: return to.lanes == 1 ? value(stmt.args[0]) : b_.CreateVectorReverse(value(stmt.args[0]));
      case Op::Deal: return deal(operands(stmt), stmt.slot);
      case Op::Weave: return weave(operands(stmt), stmt.slot);
      case Op::Extract:
        if (vtype(stmt.args[0]).lanes == 1) return value(stmt.args[0]);
        return b_.CreateExtractElement(value(stmt.args[0]), value(stmt.args[1]));
      default: return elementwise(stmt, to);
    }
  }

  // --- arithmetic ---
  Value* elementwise(const Stmt& stmt, VType to) {
    Value* x[3] = {};
    for (size_t i = 0; i < stmt.args.size(); ++i) x[i] = value(stmt.args[i]);
    const DType from = vtype(stmt.args[0]).dtype;
    switch (stmt.op) {
      case Op::Where: return b_.CreateSelect(x[0], x[1], x[2]);
      case Op::Bitcast: return b_.CreateBitCast(x[0], type(to));
      case Op::Cast: return cast(x[0], from, to.dtype);
      default: break;
    }
    if (from == DType::Bool) return bool_op(stmt.op, x[0], x[1]);
    if (ir::is_int(from)) return int_op(stmt.op, x[0], x[1], from);
    if (!ir::is_half(from)) return float_op(stmt.op, x[0], x[1], x[2]);
    const uint64_t sign = 0x8000;
    if (stmt.op == Op::Neg) return b_.CreateXor(x[0], integer(x[0]->getType(), sign));
    if (stmt.op == Op::Abs) return b_.CreateAnd(x[0], integer(x[0]->getType(), sign - 1));
    for (Value*& operand : x) operand = operand ? widen(operand, from) : nullptr;
    Value* result = float_op(stmt.op, x[0], x[1], x[2]);
    return to.dtype == DType::Bool ? result : narrow(result, from);
  }

  [[noreturn]] static void refuse(Op op) {
    throw ir::IrError("the LLVM emitter has no " + std::string(ir::info(op).text) + " of this type");
  }

  Value* bool_op(Op op, Value* a, Value* b) {
    switch (op) {
      case Op::Not: return b_.CreateNot(a);
      case Op::And:
      case Op::Min: return b_.CreateAnd(a, b);
      case Op::Or:
      case Op::Max: return b_.CreateOr(a, b);
      case Op::Xor: return b_.CreateXor(a, b);
      default: return compare(op, a, b, false);
    }
  }

  Value* compare(Op op, Value* a, Value* b, bool is_signed) {
    switch (op) {
      case Op::Eq: return b_.CreateICmpEQ(a, b);
      case Op::Ne: return b_.CreateICmpNE(a, b);
      case Op::Lt: return is_signed ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b);
      case Op::Le: return is_signed ? b_.CreateICmpSLE(a, b) : b_.CreateICmpULE(a, b);
      case Op::Gt: return is_signed ? b_.CreateICmpSGT(a, b) : b_.CreateICmpUGT(a, b);
      case Op::Ge: return is_signed ? b_.CreateICmpSGE(a, b) : b_.CreateICmpUGE(a, b);
      default: refuse(op);
    }
  }

  Value* int_op(Op op, Value* a, Value* b, DType t) {
    const bool is_signed = ir::is_signed(t);
    Type* type = a->getType();
    switch (op) {
      case Op::Neg: return b_.CreateNeg(a);
      case Op::Abs:
        return is_signed ? b_.CreateSelect(b_.CreateICmpSLT(a, integer(type, 0)), b_.CreateNeg(a), a) : a;
      case Op::Not: return b_.CreateNot(a);
      case Op::Add: return b_.CreateAdd(a, b);
      case Op::Sub: return b_.CreateSub(a, b);
      case Op::Mul: return b_.CreateMul(a, b);
      case Op::And: return b_.CreateAnd(a, b);
      case Op::Or: return b_.CreateOr(a, b);
      case Op::Xor: return b_.CreateXor(a, b);
      case Op::Max: return b_.CreateSelect(compare(Op::Gt, a, b, is_signed), a, b);
      case Op::Min: return b_.CreateSelect(compare(Op::Lt, a, b, is_signed), a, b);
      case Op::Div:
      case Op::Rem: return divide(op, a, b, is_signed);
      case Op::Gcd: return gcd(int_op(Op::Abs, a, nullptr, t), int_op(Op::Abs, b, nullptr, t));
      case Op::Shl:
      case Op::Shr: return shift(op, a, b, is_signed);
      default: return compare(op, a, b, is_signed);
    }
  }

  // A zero divisor gives 0 and INT_MIN / -1 wraps: both divide by 1 instead, then the first is replaced.
  Value* divide(Op op, Value* a, Value* b, bool is_signed) {
    Type* type = a->getType();
    Value* zero = integer(type, 0);
    Value* by_zero = b_.CreateICmpEQ(b, zero);
    Value* unsafe = by_zero;
    if (is_signed) {
      const unsigned width = type->getScalarSizeInBits();
      Value* lowest = ::llvm::ConstantInt::get(type, ::llvm::APInt::getSignedMinValue(width));
      Value* overflow = b_.CreateAnd(b_.CreateICmpEQ(a, lowest),
                                     b_.CreateICmpEQ(b, ::llvm::Constant::getAllOnesValue(type)));
      unsafe = b_.CreateOr(by_zero, overflow);
    }
    Value* safe = b_.CreateSelect(unsafe, integer(type, 1), b);
    if (op == Op::Rem) return is_signed ? b_.CreateSRem(a, safe) : b_.CreateURem(a, safe);  // x rem 1 is 0
    Value* quotient = is_signed ? b_.CreateSDiv(a, safe) : b_.CreateUDiv(a, safe);
    return b_.CreateSelect(by_zero, zero, quotient);
  }

  // Euclid's algorithm on magnitudes, until no lane has a remainder:
  //   while (any(x != 0)) { x, y = x != 0 ? (y % x, x) : (0, y) }
  Value* gcd(Value* a, Value* b) {
    Type* type = a->getType();
    BasicBlock* before = b_.GetInsertBlock();
    BasicBlock* loop = block("gcd");
    BasicBlock* step = block("gcd.step");
    BasicBlock* after = block("gcd.after");
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    ::llvm::PHINode* x = b_.CreatePHI(type, 2);
    ::llvm::PHINode* y = b_.CreatePHI(type, 2);
    x->addIncoming(a, before);
    y->addIncoming(b, before);
    Value* left = b_.CreateICmpNE(x, integer(type, 0));
    b_.CreateCondBr(type->isVectorTy() ? b_.CreateOrReduce(left) : left, step, after);
    b_.SetInsertPoint(step);
    x->addIncoming(divide(Op::Rem, y, x, false), step);
    y->addIncoming(b_.CreateSelect(left, x, y), step);
    b_.CreateBr(loop);
    b_.SetInsertPoint(after);
    return y;
  }

  Value* shift(Op op, Value* a, Value* count, bool is_signed) {
    Type* type = a->getType();
    const unsigned width = type->getScalarSizeInBits();
    Value* in_range = b_.CreateICmpULT(count, integer(type, width));  // a negative count is a large one here
    Value* safe = b_.CreateSelect(in_range, count, integer(type, width - 1));
    if (op == Op::Shr && is_signed) return b_.CreateAShr(a, safe);
    Value* shifted = op == Op::Shl ? b_.CreateShl(a, safe) : b_.CreateLShr(a, safe);
    return b_.CreateSelect(in_range, shifted, integer(type, 0));
  }

  Value* float_op(Op op, Value* a, Value* b, Value* c) {
    switch (op) {
      case Op::Neg: return b_.CreateFNeg(a);
      case Op::Abs: return b_.CreateUnaryIntrinsic(intrinsic::fabs, a);
      case Op::Floor: return b_.CreateUnaryIntrinsic(intrinsic::floor, a);
      case Op::Ceil: return b_.CreateUnaryIntrinsic(intrinsic::ceil, a);
      case Op::Trunc: return b_.CreateUnaryIntrinsic(intrinsic::trunc, a);
      case Op::Round: return b_.CreateUnaryIntrinsic(intrinsic::roundeven, a);
      case Op::Sqrt: return b_.CreateUnaryIntrinsic(intrinsic::sqrt, a);
      case Op::Add: return b_.CreateFAdd(a, b);
      case Op::Sub: return b_.CreateFSub(a, b);
      case Op::Mul: return b_.CreateFMul(a, b);
      case Op::Div: return b_.CreateFDiv(a, b);
      case Op::Fma: return b_.CreateIntrinsic(intrinsic::fma, {a->getType()}, {a, b, c});
      // The inner select is what x86's max and min do: the second operand if either is nan.
      case Op::Max:
        if (is_plain_number(b)) return b_.CreateSelect(b_.CreateFCmpOGT(b, a), b, a);
        return a_if_nan(a, b_.CreateSelect(b_.CreateFCmpOGT(a, b), a, b));
      case Op::Min:
        if (is_plain_number(b)) return b_.CreateSelect(b_.CreateFCmpOLT(b, a), b, a);
        return a_if_nan(a, b_.CreateSelect(b_.CreateFCmpOLT(a, b), a, b));
      case Op::Eq: return b_.CreateFCmpOEQ(a, b);
      case Op::Ne: return b_.CreateFCmpUNE(a, b);
      case Op::Lt: return b_.CreateFCmpOLT(a, b);
      case Op::Le: return b_.CreateFCmpOLE(a, b);
      case Op::Gt: return b_.CreateFCmpOGT(a, b);
      case Op::Ge: return b_.CreateFCmpOGE(a, b);
      default: refuse(op);
    }
  }

  // A constant that is neither nan nor a zero, whose sign would tell the operands apart.
  static bool is_plain_number(Value* x) {
    auto* constant = ::llvm::dyn_cast<::llvm::Constant>(x);
    if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
    auto* number = ::llvm::dyn_cast_or_null<::llvm::ConstantFP>(constant);
    return number && !number->isZero() && !number->isNaN();
  }

  Value* a_if_nan(Value* a, Value* otherwise) {
    return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, otherwise);
  }

  // --- conversions ---
  Value* cast(Value* x, DType from, DType to) {
    if (from == to) return x;
    if (ir::is_half(from)) return cast(widen(x, from), DType::F32, to);
    if (ir::is_half(to)) return narrow(cast(x, from, DType::F32), to);  // PyTorch too goes through float
    Type* type = with_element(x->getType(), element(to));
    if (to == DType::Bool) {
      Value* zero = ::llvm::Constant::getNullValue(x->getType());
      return ir::is_float(from) ? b_.CreateFCmpUNE(x, zero) : b_.CreateICmpNE(x, zero);
    }
    if (ir::is_float(from) && ir::is_float(to)) return b_.CreateFPCast(x, type);
    if (ir::is_float(from)) return float_to_int(x, to, type);
    if (ir::is_float(to)) return ir::is_signed(from) ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);
    return b_.CreateIntCast(x, type, ir::is_signed(from));
  }

  // Truncates toward zero; nan and what does not fit give the lowest value, as on x86. Types below i32 keep
  // the low bits of an i32.
  Value* float_to_int(Value* x, DType to, Type* type) {
    const unsigned width = to == DType::I64 ? 64 : 32;
    Type* wide = with_element(x->getType(), b_.getIntNTy(width));
    const double limit = width == 64 ? 0x1p63 : 0x1p31;
    Value* fits = b_.CreateFCmpOLT(b_.CreateUnaryIntrinsic(intrinsic::fabs, x), number(x->getType(), limit));
    Value* lowest = ::llvm::ConstantInt::get(wide, ::llvm::APInt::getSignedMinValue(width));
    return b_.CreateTrunc(b_.CreateSelect(fits, b_.CreateFPToSI(x, wide), lowest), type);
  }

  Value* bits_of(Value* x, unsigned width) {
    return b_.CreateBitCast(x, with_element(x->getType(), b_.getIntNTy(width)));
  }
  Value* as_float(Value* bits) {
    return b_.CreateBitCast(bits, with_element(bits->getType(), b_.getFloatTy()));
  }

  // The bits of an f16 or bf16 -> float; exact.
  Value* widen(Value* x, DType from) {
    Type* wide = with_element(x->getType(), b_.getInt32Ty());
    if (from == DType::BF16) return as_float(b_.CreateShl(b_.CreateZExt(x, wide), integer(wide, 16)));
    if (f16c_) {
      Value* half = b_.CreateBitCast(x, with_element(x->getType(), b_.getHalfTy()));
      return b_.CreateFPExt(half, with_element(wide, b_.getFloatTy()));
    }
    // Exponent and fraction moved to a float's place stand for the value / 2^112; the exponent of inf and nan
    // is all ones.
    Value* bits = b_.CreateZExt(x, wide);
    Value* magnitude = b_.CreateAnd(bits, integer(wide, 0x7fff));
    Value* sign = b_.CreateShl(b_.CreateXor(bits, magnitude), integer(wide, 16));
    Value* placed = as_float(b_.CreateShl(magnitude, integer(wide, 13)));
    Value* scaled = bits_of(b_.CreateFMul(placed, number(placed->getType(), 0x1p112)), 32);
    Value* special = b_.CreateICmpUGE(magnitude, integer(wide, 0x7c00));
    scaled = b_.CreateSelect(special, b_.CreateOr(scaled, integer(wide, 0x7f800000)), scaled);
    return as_float(b_.CreateOr(scaled, sign));
  }

  // float -> the bits of an f16 or bf16, rounding to nearest even; nan stays nan. The integer forms are those
  // of ir/types.cpp.
  Value* narrow(Value* x, DType to) {
    Type* result = with_element(x->getType(), b_.getInt16Ty());
    if (to == DType::F16 && f16c_) {
      Value* half = b_.CreateFPTrunc(x, with_element(x->getType(), b_.getHalfTy()));
      return b_.CreateBitCast(half, result);
    }
    Value* bits = bits_of(x, 32);
    return b_.CreateTrunc(to == DType::F16 ? float_to_half(bits) : float_to_bfloat16(bits, x), result);
  }

  Value* float_to_bfloat16(Value* bits, Value* x) {
    Type* wide = bits->getType();
    Value* upper = b_.CreateLShr(bits, integer(wide, 16));
    Value* odd = b_.CreateAnd(upper, integer(wide, 1));
    Value* rounded =
        b_.CreateLShr(b_.CreateAdd(b_.CreateAdd(bits, integer(wide, 0x7fff)), odd), integer(wide, 16));
    return b_.CreateSelect(b_.CreateFCmpUNO(x, x), b_.CreateOr(upper, integer(wide, 0x40)), rounded);
  }

  Value* float_to_half(Value* bits) {
    Type* wide = bits->getType();
    auto at_least = [&](Value* a, uint64_t limit) { return b_.CreateICmpUGE(a, integer(wide, limit)); };
    Value* magnitude = b_.CreateAnd(bits, integer(wide, 0x7fffffff));
    Value* sign = b_.CreateLShr(b_.CreateXor(bits, magnitude), integer(wide, 16));
    Value* upper = b_.CreateLShr(magnitude, integer(wide, 13));
    // Normal: rebias the exponent and round at bit 13.
    Value* odd = b_.CreateAnd(upper, integer(wide, 1));
    Value* normal = b_.CreateAdd(b_.CreateAdd(magnitude, integer(wide, 0xfffu - 0x38000000u)), odd);
    normal = b_.CreateLShr(normal, integer(wide, 13));
    // Subnormal: adding 0.5 aligns a multiple of 2^-24, and the addition rounds.
    Value* aligned = b_.CreateFAdd(as_float(magnitude), number(with_element(wide, b_.getFloatTy()), 0.5));
    Value* subnormal = b_.CreateSub(bits_of(aligned, 32), integer(wide, 0x3f000000));
    Value* nan = b_.CreateOr(integer(wide, 0x7e00), b_.CreateAnd(upper, integer(wide, 0x3ff)));
    Value* result = b_.CreateSelect(at_least(magnitude, 0x38800000), normal, subnormal);
    result = b_.CreateSelect(at_least(magnitude, 0x477ff000), integer(wide, 0x7c00), result);
    result = b_.CreateSelect(at_least(magnitude, 0x7f800001), nan, result);
    return b_.CreateOr(result, sign);
  }

  const ir::LoopTree& tree_;
  ::llvm::Module& module_;
  ::llvm::IRBuilder<> b_;
  const bool f16c_;
  ::llvm::Function* function_ = nullptr;
  BasicBlock* entry_ = nullptr;
  std::vector<Value*> sizes_, scalars_, buffers_;
  std::unordered_map<ValueId, std::pair<ValueId, ValueId>> sums_;  // of indices: the operand that was known first, and the other
  std::map<std::pair<int32_t, Value*>, Value*> pointers_;          // by buffer and index
  std::vector<Value*> values_;                     // by ValueId; a register's alloca
  std::vector<std::optional<int64_t>> constants_;  // by ValueId: integer constants, for loops to be unrolled
};

}  // namespace

std::unique_ptr<::llvm::Module> emit_module(const ir::LoopTree& tree, ::llvm::LLVMContext& context,
                                            bool f16c) {
  ir::verify(tree);
  if (tree.target != ir::TargetKind::Cpu) throw ir::IrError("a GPU tree was given to the CPU emitter");
  auto module = std::make_unique<::llvm::Module>(tree.name, context);
  PhaseEmitter emitter(tree, *module, f16c);
  for (size_t i = 0; i < tree.phases.size(); ++i) emitter.run(tree.phases[i], static_cast<int>(i));
  return module;
}

}  // namespace tenon::codegen::llvm_backend
#endif
