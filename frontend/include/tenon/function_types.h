// What the declarations of functions name: lists, options, numbers, and tensors before they are classes.
#pragma once

#include <initializer_list>
#include <string_view>
#include <tuple>
#include <vector>

#include "tenon/array_ref.h"
#include "tenon/generator.h"
#include "tenon/types.h"

namespace tenon {

class Tensor;
class Operand;
namespace indexing {
class TensorIndex;
}
using TensorList = ArrayRef<Tensor>;
using DimList = std::initializer_list<int64_t>;  // braces, where a list of dims could be taken for something else

}  // namespace tenon
