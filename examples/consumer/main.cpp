// A program outside the project, built against an installed Tenon through CMake and through pkg-config.
// Prints the softmax of two small rows.
#include <tenon/tenon.h>

#include <iostream>

int main() {
  tenon::Tensor x = tenon::tensor({1.0, 2.0, 3.0, 3.0, 2.0, 1.0}).reshape({2, 3});
  tenon::Tensor y = tenon::softmax(x, 1);
  std::cout << y << "\n"
            << "sum " << y.sum().item<float>() << "\n";
}
