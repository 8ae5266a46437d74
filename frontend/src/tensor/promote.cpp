// Type promotion over operands of different kinds.
#include "frontend/src/tensor/promote.h"

#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"

namespace tenon {
namespace {

void merge(optional<ScalarType>& into, ScalarType type) { into = into ? promoteTypes(*into, type) : type; }

// `higher` outranks `lower` within a category; a higher category wins whoever has it.
optional<ScalarType> combine(optional<ScalarType> higher, optional<ScalarType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (isFloatingType(*higher)) return higher;
  if (*higher == kBool || isFloatingType(*lower)) return promoteTypes(*higher, *lower);
  return higher;
}

}  // namespace

Promotion& Promotion::add(const Tensor& tensor, int argument) {
  check_defined(tensor, argument, argument == 0 ? "self" : "other");
  merge(tensor.dim() > 0 ? dimensioned_ : zero_dim_, tensor.scalar_type());
  return *this;
}

Promotion& Promotion::add(const Scalar& number, int) {
  merge(number_, number.isFloatingPoint() ? get_default_dtype_as_scalartype() : number.type());
  return *this;
}

ScalarType Promotion::result() const {
  return combine(dimensioned_, combine(zero_dim_, number_)).value_or(get_default_dtype_as_scalartype());
}

ScalarType float_type(ScalarType t) {
  if (isFloatingType(t)) return t;
  const ScalarType type = get_default_dtype();
  check(isFloatingType(type), "not implemented for '", type, "', which set_default_dtype() made the default type");
  return type;
}

void refuse_bool(const Tensor& x, const char* kernel) {
  check<NotImplementedError>(x.scalar_type() != kBool, '"', kernel, "\" not implemented for 'Bool'");
}

Tensor number_operand(const Scalar& value, const Tensor& other) {
  const ScalarType own = value.isFloatingPoint() ? get_default_dtype_as_scalartype() : value.type();
  return full({}, value, TensorOptions(other.dim() == 0 ? promoted(value, other) : own).device(other.device()));
}

ScalarType result_type(const Operand& tensor, const Operand& other) { return promoted(tensor, other); }
ScalarType result_type(const Operand& tensor, const Scalar& other) { return promoted(tensor, other); }

}  // namespace tenon
