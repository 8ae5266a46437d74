// Loop tree -> LLVM module: the half of the LLVM backend that prints. Private to codegen/llvm.
#pragma once

#include <memory>

#include "ir/looptree/looptree.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace tenon::codegen::llvm_backend {

// A module with one function `phase0`, `phase1`, ... a phase (signature: PhaseFunction). `f16c`: the CPU
// converts between half and float; otherwise integer arithmetic does, with the same result. Throws IrError on
// a malformed tree.
std::unique_ptr<::llvm::Module> emit_module(const ir::LoopTree& tree, ::llvm::LLVMContext& context, bool f16c);

}  // namespace tenon::codegen::llvm_backend
