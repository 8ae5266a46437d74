// Initialisation of parameters in place, under no_grad; each returns its tensor. The draws are PyTorch's.
#pragma once

#include "tenon/enum.h"
#include "tenon/tensor.h"

namespace tenon::nn::init {

using FanModeType = OneOf<Tag::FanIn, Tag::FanOut>;
using NonlinearityType = OneOf<Tag::Linear, Tag::Conv1D, Tag::Conv2D, Tag::Conv3D, Tag::ConvTranspose1D, Tag::ConvTranspose2D,
                               Tag::ConvTranspose3D, Tag::Sigmoid, Tag::Tanh, Tag::ReLU, Tag::LeakyReLU>;

double calculate_gain(NonlinearityType nonlinearity, double param = 0.01);  // `param`: leaky_relu's slope

Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
Tensor normal_(Tensor tensor, double mean = 0, double std = 1);
Tensor constant_(Tensor tensor, Scalar value);
Tensor zeros_(Tensor tensor);
Tensor ones_(Tensor tensor);
Tensor eye_(Tensor matrix);
Tensor xavier_uniform_(Tensor tensor, double gain = 1.0);
Tensor xavier_normal_(Tensor tensor, double gain = 1.0);
Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanModeType mode = kFanIn, NonlinearityType nonlinearity = kLeakyReLU);
Tensor kaiming_normal_(Tensor tensor, double a = 0, FanModeType mode = kFanIn, NonlinearityType nonlinearity = kLeakyReLU);
// For the weight of a convolution, [out, in, window..] of 3 to 5 dims: keeps as many channels as there can be, in each group of `out`.
Tensor dirac_(Tensor tensor, int64_t groups = 1);
// A matrix of normal numbers, in each column a part of `sparsity` (0 to 1, rounded up) at random rows zero.
Tensor sparse_(Tensor matrix, double sparsity, double std = 0.01);
// A (semi-)orthogonal matrix: the Q of a normal one, times the signs of R's diagonal. Later dims count as columns.
Tensor orthogonal_(Tensor tensor, double gain = 1.0);
// Normal numbers, those outside [a, b] drawn anew in effect: the inverse of the distribution function at
// uniform numbers.
Tensor trunc_normal_(Tensor tensor, double mean = 0, double std = 1, double a = -2, double b = 2);

}  // namespace tenon::nn::init
