// Printed from frontend/functions.def by scripts/print/make_functions.py.
// Functions that record one elementwise operation.
#include "frontend/src/ops/elementwise.h"
#include "tenon/tenon.h"

namespace tenon {

Tensor sqrt(const Operand& self) {
  return replayed_float_op("sqrt", "SqrtBackward0", kReadsOutput, Op::Sqrt, self);
}
Tensor exp(const Operand& self) {
  return replayed_float_op("exp", "ExpBackward0", kReadsOutput, Op::Exp, self);
}
Tensor exp2(const Operand& self) {
  return replayed_float_op("exp2", "Exp2Backward0", kReadsOutput, Op::Exp2, self);
}
Tensor expm1(const Operand& self) {
  return replayed_float_op("expm1", "Expm1Backward0", kReadsOutput, Op::Expm1, self);
}
Tensor log(const Operand& self) {
  return replayed_float_op("log", "LogBackward0", kReadsNothing, Op::Log, self);
}
Tensor log2(const Operand& self) {
  return replayed_float_op("log2", "Log2Backward0", kReadsNothing, Op::Log2, self);
}
Tensor log10(const Operand& self) {
  return replayed_float_op("log10", "Log10Backward0", kReadsNothing, Op::Log10, self);
}
Tensor sin(const Operand& self) {
  return replayed_float_op("sin", "SinBackward0", kReadsNothing, Op::Sin, self);
}
Tensor cos(const Operand& self) {
  return replayed_float_op("cos", "CosBackward0", kReadsNothing, Op::Cos, self);
}
Tensor tan(const Operand& self) {
  return replayed_float_op("tan", "TanBackward0", kReadsOutput, Op::Tan, self);
}
Tensor asin(const Operand& self) {
  return replayed_float_op("asin", "AsinBackward0", kReadsNothing, Op::Asin, self);
}
Tensor arcsin(const Operand& self) {
  return replayed_float_op("arcsin", "AsinBackward0", kReadsNothing, Op::Asin, self);
}
Tensor acos(const Operand& self) {
  return replayed_float_op("acos", "AcosBackward0", kReadsNothing, Op::Acos, self);
}
Tensor arccos(const Operand& self) {
  return replayed_float_op("arccos", "AcosBackward0", kReadsNothing, Op::Acos, self);
}
Tensor atan(const Operand& self) {
  return replayed_float_op("atan", "AtanBackward0", kReadsNothing, Op::Atan, self);
}
Tensor arctan(const Operand& self) {
  return replayed_float_op("arctan", "AtanBackward0", kReadsNothing, Op::Atan, self);
}
Tensor sinh(const Operand& self) {
  return replayed_float_op("sinh", "SinhBackward0", kReadsNothing, Op::Sinh, self);
}
Tensor cosh(const Operand& self) {
  return replayed_float_op("cosh", "CoshBackward0", kReadsNothing, Op::Cosh, self);
}
Tensor tanh(const Operand& self) {
  return replayed_float_op("tanh", "TanhBackward0", kReadsOutput, Op::Tanh, self);
}
Tensor asinh(const Operand& self) {
  return replayed_float_op("asinh", "AsinhBackward0", kReadsNothing, Op::Asinh, self);
}
Tensor arcsinh(const Operand& self) {
  return replayed_float_op("arcsinh", "AsinhBackward0", kReadsNothing, Op::Asinh, self);
}
Tensor acosh(const Operand& self) {
  return replayed_float_op("acosh", "AcoshBackward0", kReadsNothing, Op::Acosh, self);
}
Tensor arccosh(const Operand& self) {
  return replayed_float_op("arccosh", "AcoshBackward0", kReadsNothing, Op::Acosh, self);
}
Tensor atanh(const Operand& self) {
  return replayed_float_op("atanh", "AtanhBackward0", kReadsNothing, Op::Atanh, self);
}
Tensor arctanh(const Operand& self) {
  return replayed_float_op("arctanh", "AtanhBackward0", kReadsNothing, Op::Atanh, self);
}
Tensor sigmoid(const Operand& self) {
  return replayed_float_op("sigmoid", "SigmoidBackward0", kReadsOutput, Op::Sigmoid, self);
}
Tensor erf(const Operand& self) {
  return replayed_float_op("erf", "ErfBackward0", kReadsNothing, Op::Erf, self);
}
Tensor erfc(const Operand& self) {
  return replayed_float_op("erfc", "ErfcBackward0", kReadsNothing, Op::Erfc, self);
}
Tensor erfinv(const Operand& self) {
  return replayed_float_op("erfinv", "ErfinvBackward0", reads_operand(0), Op::Erfinv, self);
}
Tensor lgamma(const Operand& self) {
  return replayed_float_op("lgamma", "LgammaBackward0", kReadsNothing, Op::Lgamma, self);
}
Tensor floor(const Operand& self) {
  return rounding_op("FloorBackward0", "floor_vml_cpu", Op::Floor, self);
}
Tensor ceil(const Operand& self) {
  return rounding_op("CeilBackward0", "ceil_vml_cpu", Op::Ceil, self);
}
Tensor trunc(const Operand& self) {
  return rounding_op("TruncBackward0", "trunc_vml_cpu", Op::Trunc, self);
}
Tensor round(const Operand& self) {
  return rounding_op("RoundBackward0", "round_vml_cpu", Op::Round, self);
}
Tensor atan2(const Operand& self, const Operand& other) {
  return float_binary_op("Atan2Backward0", Op::Atan2, self, other);
}
Tensor eq(const Operand& self, const Operand& other) {
  return compare("eq", Op::Eq, self, other);
}
Tensor eq(const Operand& self, const Scalar& other) {
  return compare("eq", Op::Eq, self, other);
}
Tensor ne(const Operand& self, const Operand& other) {
  return compare("ne", Op::Ne, self, other);
}
Tensor ne(const Operand& self, const Scalar& other) {
  return compare("ne", Op::Ne, self, other);
}
Tensor lt(const Operand& self, const Operand& other) {
  return compare("lt", Op::Lt, self, other);
}
Tensor lt(const Operand& self, const Scalar& other) {
  return compare("lt", Op::Lt, self, other);
}
Tensor le(const Operand& self, const Operand& other) {
  return compare("le", Op::Le, self, other);
}
Tensor le(const Operand& self, const Scalar& other) {
  return compare("le", Op::Le, self, other);
}
Tensor gt(const Operand& self, const Operand& other) {
  return compare("gt", Op::Gt, self, other);
}
Tensor gt(const Operand& self, const Scalar& other) {
  return compare("gt", Op::Gt, self, other);
}
Tensor ge(const Operand& self, const Operand& other) {
  return compare("ge", Op::Ge, self, other);
}
Tensor ge(const Operand& self, const Scalar& other) {
  return compare("ge", Op::Ge, self, other);
}

}  // namespace tenon
