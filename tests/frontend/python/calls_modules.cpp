// torch.nn modules, torch.optim, torch.utils.data.
#include "frontend/python/call.h"

namespace python {

void add_modules(Table&) {}

}  // namespace python
