// PyTorch's type promotion: a dimensioned tensor decides; a 0-dim tensor or a number matters only if its
// category (bool < integer < float) is higher.
#pragma once

#include "impl.h"

namespace tenon {

class Promotion {
 public:
  Promotion& add(const Tensor& tensor);
  Promotion& add(const Scalar& number);
  ScalarType result() const;

 private:
  // The promoted type of the operands of each rank; nullopt while there are none.
  optional<ScalarType> dimensioned_, zero_dim_, number_;
};

template <typename... Operands>
ScalarType promoted(const Operands&... operands) {
  Promotion promotion;
  (promotion.add(operands), ...);
  return promotion.result();
}

// A number as a 0-dim operand, which promotes as the number does beside tensors that have dims.
Tensor number_operand(const Scalar& value);

inline ScalarType float_type(ScalarType t) { return isFloatingType(t) ? t : get_default_dtype(); }

}  // namespace tenon
