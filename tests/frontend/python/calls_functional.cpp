// torch.nn.functional: convolution, pooling, norms, losses.
#include "frontend/python/call.h"

namespace python {

void add_functional(Table&) {}

}  // namespace python
