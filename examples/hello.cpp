// The example of the README: three operations and a softmax, which become one kernel.
#include <tenon/tenon.h>

#include <iostream>

int main() {
  tenon::Tensor x = tenon::tensor({{1.0, 2.0, 3.0}, {6.0, 5.0, 4.0}});
  tenon::Tensor y = tenon::softmax(x * 2 + 1, 1);  // nothing has run yet
  std::cout << y << "\n";                          // now it has, as one kernel
  for (const auto& kernel : tenon::kernel_history())
    std::cout << kernel.name << ": " << kernel.ops << " operations in one " << kernel.schedule << " kernel\n";
}
