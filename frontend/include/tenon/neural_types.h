// Arguments of neural operators that are neither tensors nor numbers: a padding by name, what a loss is reduced to.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

using MaybeTensor = optional<Tensor>;  // absent and undefined mean the same

// "same" or "valid". Made of texts alone: a literal 0 is numbers.
class PaddingName {
 public:
  template <typename Text>
  requires std::is_convertible_v<const Text&, std::string_view> PaddingName(const Text& text) : text_(text) {}
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

namespace Reduction {
enum Reduction { None, Mean, Sum, END };
}

}  // namespace tenon
