// The tutorials' networks on the tested device, beside PyTorch's figures.
#include <doctest/doctest.h>

#include "device/tested_device.h"
#include "frontend/golden_training.h"

using namespace tenon;

TEST_CASE("golden training: iris on a device, 20 epochs") {
  test::shuffle(1);
  for (const ScalarType type : {kFloat, kDouble}) test::train_iris(test::tested_device(), type, 20);
}

TEST_CASE("golden training: the convolutional network's first steps on a device") {
  test::shuffle(2);
  for (const ScalarType type : {kFloat, kDouble}) test::train_conv_net(test::tested_device(), type, 2);
}
