// Names of classes in messages.
#pragma once

#include <string>
#include <typeinfo>

namespace tenon::nn {

// "tenon::nn::LinearImpl", or as LibTorch spells it.
std::string class_name(const std::type_info& type);

}  // namespace tenon::nn
