// The check behind TENON_VERIFY: every text of IR that is met must parse and print the same.
#pragma once

#include <string>

namespace tenon::compiler {

// Parses a graph, kernel or loop tree as printed (which verifies it) and prints it again. Throws IrError with
// both texts if they differ.
void check_round_trip(const std::string& text);

}  // namespace tenon::compiler
