// Elementwise operations and moves between lanes in LLVM IR; see arithmetic.h.
#ifdef TENON_HAVE_LLVM
#include "codegen/llvm/arithmetic.h"

#include <utility>

namespace tenon::codegen::llvm_backend {

namespace {

using ir::DType;
using ir::Op;
using ::llvm::BasicBlock;
using ::llvm::Type;
using ::llvm::Value;
namespace intrinsic = ::llvm::Intrinsic;

class Arithmetic {
 public:
  Arithmetic(::llvm::IRBuilder<>& b, bool f16c) : b_(b), f16c_(f16c) {}

  Value* elementwise(Op op, std::vector<Value*> x, DType from, DType to) {
    x.resize(3);
    switch (op) {
      case Op::Where: return b_.CreateSelect(x[0], x[1], x[2]);
      case Op::Bitcast: return b_.CreateBitCast(x[0], with_element(x[0]->getType(), element(to)));
      case Op::Cast: return cast(x[0], from, to);
      case Op::Check: return checked(x[0], x[1], from);
      default: break;
    }
    if (from == DType::Bool) return bool_op(op, x[0], x[1]);
    if (ir::is_int(from)) return int_op(op, x[0], x[1], from);
    if (ir::is_half(from)) refuse(op);  // expand-half comes first
    return float_op(op, x[0], x[1], x[2]);
  }

 private:
  Type* element(DType t) { return element_type(b_.getContext(), t); }
  // `like` with its elements replaced.
  static Type* with_element(Type* like, Type* element) { return like->getWithNewType(element); }
  static Value* integer(Type* type, uint64_t bits) { return ::llvm::ConstantInt::get(type, bits, false); }
  static Value* number(Type* type, double x) { return ::llvm::ConstantFP::get(type, x); }
  BasicBlock* block(const char* name) { return BasicBlock::Create(b_.getContext(), name, b_.GetInsertBlock()->getParent()); }

  [[noreturn]] static void refuse(Op op) {
    throw ir::IrError("the LLVM emitter has no " + std::string(ir::info(op).text) + " of this type");
  }

  // Whoever evaluates on the host has looked at the index before.
  Value* checked(Value* index, Value* size, DType t) {
    Value* const zero = integer(index->getType(), 0);
    Value* const inside =
        ir::is_signed(t) ? b_.CreateAnd(b_.CreateICmpSGE(index, zero), b_.CreateICmpSLT(index, size)) : b_.CreateICmpULT(index, size);
    return b_.CreateSelect(inside, index, zero);
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
      case Op::Abs: return is_signed ? b_.CreateSelect(b_.CreateICmpSLT(a, integer(type, 0)), b_.CreateNeg(a), a) : a;
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
      case Op::MulHi: return upper_half(a, b);
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
      Value* overflow = b_.CreateAnd(b_.CreateICmpEQ(a, lowest), b_.CreateICmpEQ(b, ::llvm::Constant::getAllOnesValue(type)));
      unsafe = b_.CreateOr(by_zero, overflow);
    }
    Value* safe = b_.CreateSelect(unsafe, integer(type, 1), b);
    if (op == Op::Rem) return is_signed ? b_.CreateSRem(a, safe) : b_.CreateURem(a, safe);  // x rem 1 is 0
    Value* quotient = is_signed ? b_.CreateSDiv(a, safe) : b_.CreateUDiv(a, safe);
    return b_.CreateSelect(by_zero, zero, quotient);
  }

  // The upper half of the product without sign, which has twice the width.
  Value* upper_half(Value* a, Value* b) {
    Type* type = a->getType();
    Type* wide = type->getExtendedType();
    const unsigned width = type->getScalarSizeInBits();
    Value* product = b_.CreateMul(b_.CreateZExt(a, wide), b_.CreateZExt(b, wide));
    return b_.CreateTrunc(b_.CreateLShr(product, width), type);
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

  Value* a_if_nan(Value* a, Value* otherwise) { return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, otherwise); }

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

  Value* bits_of(Value* x, unsigned width) { return b_.CreateBitCast(x, with_element(x->getType(), b_.getIntNTy(width))); }
  Value* as_float(Value* bits) { return b_.CreateBitCast(bits, with_element(bits->getType(), b_.getFloatTy())); }

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
  // of ir/op/types.cpp.
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
    Value* rounded = b_.CreateLShr(b_.CreateAdd(b_.CreateAdd(bits, integer(wide, 0x7fff)), odd), integer(wide, 16));
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

  ::llvm::IRBuilder<>& b_;
  const bool f16c_;
};

// --- lanes

static int lane_count(Value* x) {
  auto* vector = ::llvm::dyn_cast<::llvm::FixedVectorType>(x->getType());
  return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

// Lane l of the result is lane `lane(l)` of vector `vector(l)`: a two-source shuffle for each vector but the first.
template <typename Vector, typename Lane>
Value* pick(::llvm::IRBuilder<>& b, const std::vector<Value*>& from, Vector vector, Lane lane) {
  const int count = lane_count(from[0]);
  if (count == 1) return from[vector(0)];
  Value* result = nullptr;
  for (int v = 1; v < static_cast<int>(from.size()); ++v) {
    std::vector<int> picked;
    for (int l = 0; l < count; ++l) {
      const int source = vector(l);
      const int before = result ? l : source == 0 ? lane(l) : -1;
      picked.push_back(source == v ? count + lane(l) : source < v ? before : -1);
    }
    result = b.CreateShuffleVector(result ? result : from[0], from[v], picked);
  }
  return result ? result : from[0];
}

}  // namespace

Type* element_type(::llvm::LLVMContext& context, DType t) {
  switch (t) {
    case DType::Bool: return Type::getInt1Ty(context);
    case DType::U8:
    case DType::I8: return Type::getInt8Ty(context);
    case DType::I16:
    case DType::F16:
    case DType::BF16: return Type::getInt16Ty(context);
    case DType::I32: return Type::getInt32Ty(context);
    case DType::I64: return Type::getInt64Ty(context);
    case DType::F32: return Type::getFloatTy(context);
    case DType::F64: return Type::getDoubleTy(context);
  }
  return nullptr;
}

Value* emit_elementwise(::llvm::IRBuilder<>& b, bool f16c, Op op, std::vector<Value*> operands, DType from, DType to) {
  return Arithmetic(b, f16c).elementwise(op, std::move(operands), from, to);
}

Value* emit_lane_numbers(Type* element, int count) {
  std::vector<::llvm::Constant*> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(::llvm::ConstantInt::get(element, static_cast<uint64_t>(i)));
  return ::llvm::ConstantVector::get(numbers);
}

Value* emit_half(::llvm::IRBuilder<>& b, Value* x, int count, int first) {
  if (count == 1) return b.CreateExtractElement(x, static_cast<uint64_t>(first));
  std::vector<int> picked;
  for (int i = 0; i < count; ++i) picked.push_back(first + i);
  return b.CreateShuffleVector(x, picked);
}

// Halves of even numbers first, which is log n shuffles a vector instead of n; equal ones are shared later.
Value* emit_deal(::llvm::IRBuilder<>& b, std::vector<Value*> from, int which) {
  const int count = lane_count(from[0]);
  for (; from.size() % 2 == 0; which /= 2) {
    for (size_t i = 0; i < from.size() / 2; ++i) {
      const int odd = which % 2;
      from[i] = pick(
          b, {from[2 * i], from[2 * i + 1]}, [&](int l) { return (2 * l + odd) / count; }, [&](int l) { return (2 * l + odd) % count; });
    }
    from.resize(from.size() / 2);
  }
  const int n = static_cast<int>(from.size());
  return pick(
      b, from, [&](int l) { return (n * l + which) / count; }, [&](int l) { return (n * l + which) % count; });
}

Value* emit_weave(::llvm::IRBuilder<>& b, const std::vector<Value*>& from, int which) {
  const int count = lane_count(from[0]), n = static_cast<int>(from.size()), first = which * count;
  if (n % 2 != 0 || count == 1) {
    return pick(
        b, from, [&](int l) { return (first + l) % n; }, [&](int l) { return (first + l) / n; });
  }
  std::vector<Value*> even, odd;
  for (size_t i = 0; i < from.size(); i += 2) {
    even.push_back(from[i]);
    odd.push_back(from[i + 1]);
  }
  const int half = which % 2 * count / 2;
  return pick(
      b, {emit_weave(b, even, which / 2), emit_weave(b, odd, which / 2)}, [](int l) { return l % 2; }, [&](int l) { return half + l / 2; });
}

}  // namespace tenon::codegen::llvm_backend
#endif
