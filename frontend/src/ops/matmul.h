// What linear maps take from the matrix products.
#pragma once

#include "frontend/src/tensor/impl.h"

namespace tenon {

// All dims but the last as one. Its size is counted: among no elements -1 could be anything.
Tensor as_rows(const Tensor& a);
// What PyTorch calls addmm checks the type of what is added before the product.
void check_addmm(const Tensor& added, const Tensor& a, const Tensor& b);
// a [M, K] times the transpose of b [N, K], to which `added` will be added. No transpose is made.
NodeRef product_with_transpose(const Tensor& a, const Tensor& b, const Tensor& added);

}  // namespace tenon
