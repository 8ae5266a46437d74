// What a launch computes: a kernel or a call. All that is asked of both.
#pragma once

#include <string>
#include <variant>

#include "ir/call/call.h"
#include "ir/kernel/kernel.h"

namespace tenon::ir {

using Work = std::variant<Kernel, Call>;

const Signature& signature(const Work& work);
Signature& signature(Work& work);
std::string print(const Work& work);
void verify(const Work& work);

// Whether they are one: the same but for names.
bool same_work(const Work& a, const Work& b);
uint64_t hash_of_work(const Work& work);  // equal where same_work holds
uint64_t hash_of_form(const Work& work);  // equal also where lengths and places differ

}  // namespace tenon::ir
