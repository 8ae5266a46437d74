// The tutorials' two networks beside PyTorch's, on any device: golden_training.cpp.
#pragma once

#include <tenon/tenon.h>

namespace tenon::test {

// Both of one length, and each pair within `tolerance`.
void check_close(const std::vector<double>& ours, const std::vector<double>& theirs, double tolerance);

// The tutorial's network on iris, `epochs` of its 100 in float32 or float64: each loss within 1e-6 or 1e-12 of PyTorch's; after all
// 100, the test loss too, and all 30 flowers are told.
void train_iris(Device device, ScalarType type, int epochs);

// The tutorial's convolutional network.
struct ConvNetImpl : nn::Module {
  ConvNetImpl();
  Tensor forward(const Tensor& x) { return fc->forward(conv->forward(x)); }
  nn::Sequential conv{nullptr}, fc{nullptr};
};
TENON_MODULE(ConvNet);

// `steps` of ten steps of Adam with 16 images: logits and gradients of the first, and all losses, are PyTorch's.
void train_conv_net(Device device, ScalarType type, int steps);

}  // namespace tenon::test
