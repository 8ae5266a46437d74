// The tutorial's network on iris, all 100 epochs, against PyTorch's.
#include <doctest/doctest.h>

#include "frontend/golden_training.h"

TEST_CASE("iris: each of 100 losses is PyTorch's, and all 30 flowers are told") {
  for (const tenon::ScalarType type : {tenon::kFloat, tenon::kDouble}) tenon::test::train_iris(tenon::kCPU, type, 100);
}
