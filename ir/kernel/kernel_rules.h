// What the builder, the verifier and the parser of kernels agree on: result types, levels, and when two
// instructions are one; and what these and those of calls agree on: parameters.
#pragma once

#include <span>

#include "ir/kernel/kernel.h"
#include "ir/op/lexer.h"

namespace tenon::ir {

// The result dtype of an elementwise op, a reduction or Op::Contract. Throws IrError naming the rule broken.
DType kernel_result_type(Op op, std::span<const DType> args, DType to);

bool is_pure(const Instr& instr);  // no store
bool is_reduction(Op op);          // takes its operand from all points of a row: a Reduce op or Contract
uint64_t hash_of(const Instr& instr);
bool same(const Instr& a, const Instr& b);

std::string_view name(Level level);
// The level at which operands of levels `a` and `b` meet; throws IrError for Full with Contract.
Level join(Level a, Level b);
// The least level whose points determine `index`.
Level level_of(const Kernel& kernel, const Index& index);

// Which axes an instruction runs over, as its line of text says: "map r c", "reduce r|c", "contract i j|k".
std::string stage_text(const Kernel& kernel, const Instr& instr);

// The text "x0: f32 in[64], a0: f32 scalar", and what reads it, up to the last parameter.
std::string parameters_text(const Signature& signature);
void parse_parameters(Lexer& text, Signature& signature);
void check_parameters(const Signature& signature);  // names and sizes; throws IrError

// The verifier in two parts, so that the parser can name the line of a bad instruction. Both throw IrError.
void check_header(const Kernel& kernel);
void check_instr(const Kernel& kernel, size_t at);

}  // namespace tenon::ir
