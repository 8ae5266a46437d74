// Elementwise operations and moves between lanes in LLVM IR, on scalars and vectors. Private to codegen/llvm/.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "ir/op/ops.h"

namespace tenon::codegen::llvm_backend {

// Bool as i1, f16 and bf16 as their bits in i16, everything else as LLVM's own type.
::llvm::Type* element_type(::llvm::LLVMContext& context, ir::DType type);

// `from` is the element type of the first operand, `to` that of the result. Without `f16c` half floats are converted by
// integer arithmetic. Throws IrError for what the type has no such operation.
::llvm::Value* emit_elementwise(::llvm::IRBuilder<>& b, bool f16c, ir::Op op, std::vector<::llvm::Value*> operands, ir::DType from,
                                ir::DType to);

::llvm::Value* emit_lane_numbers(::llvm::Type* element, int count);                        // 0, 1, ...
::llvm::Value* emit_half(::llvm::IRBuilder<>& b, ::llvm::Value* x, int count, int first);  // `count` lanes from `first` on
// What TreeBuilder::deal and weave say.
::llvm::Value* emit_deal(::llvm::IRBuilder<>& b, std::vector<::llvm::Value*> from, int which);
::llvm::Value* emit_weave(::llvm::IRBuilder<>& b, const std::vector<::llvm::Value*>& from, int which);

}  // namespace tenon::codegen::llvm_backend
