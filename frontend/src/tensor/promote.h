// PyTorch's type promotion: a dimensioned tensor decides; a 0-dim tensor or a number matters only if its
// category (bool < integer < float) is higher.
#pragma once

#include "frontend/src/tensor/expr.h"

namespace tenon {

class Promotion {
 public:
  Promotion& add(const Tensor& tensor, int argument = 0);  // its place, for an Error if it is undefined
  Promotion& add(const Scalar& number, int argument = 0);
  ScalarType result() const;

 private:
  // The promoted type of the operands of each rank; nullopt while there are none.
  optional<ScalarType> dimensioned_, zero_dim_, number_;
};

template <typename... Operands>
ScalarType promoted(const Operands&... operands) {
  Promotion promotion;
  int argument = 0;
  (promotion.add(operands, argument++), ...);
  return promotion.result();
}

// That of a function whose result is a float. Error if the default type is none.
ScalarType float_type(ScalarType t);
// f over the elements of one tensor, whose result is a float whatever comes in.
template <typename F>
Tensor float_formula(const Tensor& x, F f) {
  return map_formula(x, float_type(x.scalar_type()), f);
}
// NotImplementedError: "abs_cpu" not implemented for 'Bool'.
void refuse_bool(const Tensor& x, const char* kernel);
// A number as a 0-dim tensor, for an operation that has no form with a number there; beside `other` it promotes as the
// number does.
Tensor number_operand(const Scalar& value, const Tensor& other);

}  // namespace tenon
