// The bodies of a tensor's methods, once for tensors with a name and once for temporaries, whose values nobody will want again (see
// Operand). They stand here and not in the class: a program that includes it need not compile them.
#include "tenon/native.h"
#include "tenon/tenon.h"

namespace tenon {

#define TENON_KIND const&
#define TENON_SELF (*this)
#include "frontend/src/ops/more_methods.h"
#include "frontend/src/ops/printed_methods.h"
#undef TENON_KIND
#undef TENON_SELF
#define TENON_KIND &&
#define TENON_SELF static_cast<Tensor&&>(*this)
#include "frontend/src/ops/more_methods.h"
#include "frontend/src/ops/printed_methods.h"
#undef TENON_KIND
#undef TENON_SELF

}  // namespace tenon
