// Printed forms: random tensors against texts made by the rules of PyTorch's repr, what follows the values,
// the settings of the printer, and numbers in Python's formats.
#include <tenon/tenon.h>

#include <doctest/doctest.h>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/data_folder.h"

using namespace tenon;
using nlohmann::json;

namespace {

const std::vector<std::string> kNames = {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"};

// The tensor of a case; its bytes repeat until the shape is full.
Tensor tensor_of(const json& c) {
  const std::string hex = c["hex"], name = c["dtype"];
  const std::vector<int64_t> shape = c["shape"];
  const auto type = static_cast<ScalarType>(std::find(kNames.begin(), kNames.end(), name) - kNames.begin());
  int64_t count = elementSize(type);
  for (int64_t size : shape) count *= size;
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    const size_t at = 2 * static_cast<size_t>(i) % hex.size();
    bytes += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
  }
  Tensor result = from_blob(bytes.data(), shape, type).clone();
  if (c.contains("grad")) result.requires_grad_();
  return result;
}

PrintOptions options_of(const json& c) {
  if (!c.contains("options")) return {.profile = "default"};
  const json& o = c["options"];
  PrintOptions options{.precision = o["precision"].get<int>(),
                       .threshold = o["threshold"].get<int64_t>(),
                       .edgeitems = o["edgeitems"].get<int64_t>(),
                       .linewidth = o["linewidth"].get<int>()};
  if (o.contains("sci_mode")) options.sci_mode = o["sci_mode"].get<bool>();
  return options;
}

std::string formatted(const Scalar& value, const char* spec) {
  return format(scalar_tensor(value, value.isFloatingPoint() ? kDouble : value.type()), spec);
}

template <typename T>
std::string shown(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

TEST_CASE("random tensors print as PyTorch prints them") {
  // TENON_PRINT_CASES names a larger file made by scripts/golden/pack_print.py.
  const char* larger = std::getenv("TENON_PRINT_CASES");
  std::ifstream in(larger ? larger : data_folder() + "/print.json");
  const json cases = json::parse(in);
  CHECK(cases.size() >= 300);
  for (const json& c : cases) {
    const PrintOptionsGuard guard(options_of(c));
    INFO(c.dump());
    CHECK(repr(tensor_of(c)) == c["text"]);
  }
}

TEST_CASE("views print as the tensors that they show") {
  const Tensor x = arange(24).reshape({2, 3, 4});
  CHECK(repr(x.permute({2, 0, 1})[1]) == "tensor([[ 1,  5,  9],\n        [13, 17, 21]])");
  CHECK(repr(x.slice(2, 0, 4, 3)[0]) == "tensor([[ 0,  3],\n        [ 4,  7],\n        [ 8, 11]])");
  CHECK(repr(tensor({1.5}).expand({2, 2})) == "tensor([[1.5000, 1.5000],\n        [1.5000, 1.5000]])");
}

TEST_CASE("what follows the values") {
  const Tensor x = ones({2}, requires_grad());
  CHECK(repr(x) == "tensor([1., 1.], requires_grad=True)");
  CHECK(repr(x * 2) == "tensor([2., 2.], grad_fn=<MulBackward0>)");
  CHECK(repr(x.detach()) == "tensor([1., 1.])");
  CHECK(parameter_repr(x) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)");
  CHECK(repr(zeros({0, 2}, kLong)) == "tensor([], size=(0, 2), dtype=tenon.int64)");
  CHECK(repr(zeros({2}, kDouble)) == "tensor([0., 0.], dtype=tenon.float64)");
  set_default_dtype(kDouble);  // what goes without saying is the default type
  CHECK(repr(zeros({2}, kDouble)) == "tensor([0., 0.])");
  CHECK(repr(zeros({2}, kFloat)) == "tensor([0., 0.], dtype=tenon.float32)");
  set_default_dtype(kFloat);
  CHECK(repr(linspace(0, 1, 14, TensorOptions(kDouble).requires_grad(true)) * 2) ==
        "tensor([0.0000, 0.1538, 0.3077, 0.4615, 0.6154, 0.7692, 0.9231, 1.0769, 1.2308,\n"
        "        1.3846, 1.5385, 1.6923, 1.8462, 2.0000], dtype=tenon.float64,\n"
        "       grad_fn=<MulBackward0>)");
}

TEST_CASE("sizes, types, devices, numbers and several tensors have a repr") {
  const Tensor x = tensor({{1.0, 5.0}, {3.0, 2.0}});
  CHECK(repr(x.sizes()) == "tenon.Size([2, 2])");
  CHECK(repr(tensor(7).sizes()) == "tenon.Size([])");
  CHECK(repr(kBFloat16) == "tenon.bfloat16");
  CHECK(repr(Device("cuda:1")) == "device(type='cuda', index=1)");
  CHECK(repr(tensor(0.1).item()) == "0.10000000149011612");
  CHECK(repr(Scalar(true)) == "True");
  CHECK(repr(x.max(1), "max") == "tenon.return_types.max(\nvalues=tensor([5., 3.]),\nindices=tensor([1, 0]))");
  CHECK(repr(x.aminmax(), "aminmax") == "tenon.return_types.aminmax(\nmin=tensor(1.),\nmax=tensor(5.))");
  CHECK(repr(var_mean(x)) == "(tensor(2.9167), tensor(2.7500))");
  CHECK(repr(x.unbind()) == "[tensor([1., 5.]), tensor([3., 2.])]");
  CHECK(shown(x.unbind()) == repr(x.unbind()));
  CHECK(shown(x.max(1)) == "(tensor([5., 3.]), tensor([1, 0]))");
}

TEST_CASE("streams print as LibTorch's and keep their state") {
  const Tensor x = tensor({1, 2});
  CHECK(shown(x.sizes()) == "[2]");
  CHECK(shown(IntArrayRef({2, -3})) == "[2, -3]");
  CHECK(shown(x.dtype()) == "long int");
  CHECK(shown(x.scalar_type()) == "Long");
  CHECK(shown(x.device()) == "cpu");
  CHECK(shown(Scalar(2.5)) == "2.5");
  CHECK(shown(Scalar(true)) == "true");
  CHECK(shown(Tensor()) == "[ Tensor (undefined) ]");
  CHECK(Tensor().toString() == "UndefinedType");
  CHECK(x.toString() == "CPULongType");
  std::ostringstream out;
  out << std::hex << std::setprecision(2) << std::scientific << std::setfill('.');
  out << tensor({255}) << IntArrayRef({255}) << std::setw(6) << IntArrayRef({16}) << 255 << ' ' << 1.5;
  CHECK(out.str() == "tensor([255])[255]..[16]ff 1.50e+00");
}

TEST_CASE("settings change as in PyTorch") {
  const PrintOptionsGuard guard({.profile = "default"});
  const Tensor x = tensor({3.14159, 0.0, 10.0});
  set_printoptions({.precision = 2});
  CHECK(repr(x) == "tensor([ 3.14,  0.00, 10.00])");
  set_printoptions({.sci_mode = true});  // the precision stays
  CHECK(repr(x) == "tensor([3.14e+00, 0.00e+00, 1.00e+01])");
  CHECK(repr(zeros({2})) == "tensor([0., 0.])");  // nothing to choose from
  CHECK(repr(tensor({1.0, 2.0})) == "tensor([1.00e+00, 2.00e+00])");
  set_printoptions({.linewidth = 30});  // sci_mode does not
  CHECK(repr(x) == "tensor([ 3.14,  0.00, 10.00])");
  CHECK_FALSE(get_printoptions().sci_mode.has_value());
  set_printoptions({.profile = "short"});
  CHECK(get_printoptions().precision == 2);
  CHECK(get_printoptions().edgeitems == 2);
  CHECK(get_printoptions().linewidth == 80);
  CHECK(repr(arange(1001)) == "tensor([   0,    1,  ...,  999, 1000])");
  set_printoptions({.profile = "full"});
  CHECK(repr(arange(2000)).find("...") == std::string::npos);
  set_printoptions({.threshold = 5, .edgeitems = 0, .profile = "default"});
  CHECK(repr(arange(10)) == "tensor([...], size=(10,))");
  CHECK(repr(arange(12.).reshape({3, 4})) == "tensor([...], size=(3, 4))");
  {
    const PrintOptionsGuard inner({.precision = 1, .profile = "default", .sci_mode = false});
    CHECK(repr(tensor({1e-10, 1.0})) == "tensor([0.0, 1.0])");
  }
  CHECK(get_printoptions().edgeitems == 0);
  CHECK_FALSE(get_printoptions().sci_mode.has_value());
  CHECK_THROWS_AS(set_printoptions({.profile = "long"}), ValueError);
  CHECK_THROWS_AS(set_printoptions({.precision = -1}), ValueError);
  CHECK_THROWS_AS(set_printoptions({.edgeitems = -1}), ValueError);
  CHECK_THROWS_AS(set_printoptions({.linewidth = 0}), ValueError);
}

TEST_CASE("a 0-dim tensor formats as its number") {
  CHECK(format(tensor(7)) == "7");
  CHECK(format(tensor(7.0)) == "7.0");
  CHECK(format(tensor(0.1)) == "0.10000000149011612");
  CHECK(format(tensor(true)) == "True");
  CHECK(format(tensor({1.5})) == "tensor([1.5000])");
  CHECK(format(tensor(1.15071142), "10.8f") == "1.15071142");
  CHECK(format(tensor(2.0), ">8.2f") == "    2.00");
  CHECK(format(tensor(7), "d") == "7");
  CHECK_THROWS_WITH_AS(format(tensor({1.5}), ".2f"), "unsupported format string passed to Tensor.__format__", TypeError);
}

TEST_CASE("numbers in Python's formats") {
  struct Case {
    Scalar value;
    const char *spec, *text;
  };
  const double inf = std::numeric_limits<double>::infinity();
  const Case cases[] = {
      {1234.5, "", "1234.5"},
      {1e16, "", "1e+16"},
      {1e15, "", "1000000000000000.0"},
      {1e-5, "", "1e-05"},
      {1e-4, "", "0.0001"},
      {-0.0, "", "-0.0"},
      {inf, "", "inf"},
      {1234567.891, ",.2f", "1,234,567.89"},
      {1234.5, ".3", "1.23e+03"},
      {2.0, ".3", "2.0"},
      {1234.5, ".4", "1.234e+03"},
      {0.5, ".1%", "50.0%"},
      {0.0, ".1", "0e+00"},
      {2.5, "08.2f", "00002.50"},
      {-2.5, "08.2f", "-0002.50"},
      {2.5, "+.1e", "+2.5e+00"},
      {2.5, "*^9", "***2.5***"},
      {2.5, "<6", "2.5   "},
      {inf, "+08", "+0000inf"},
      {-inf, "F", "-INF"},
      {1e6, "g", "1e+06"},
      {1e6, "G", "1E+06"},
      {100000.0, "g", "100000"},
      {2.0, "#g", "2.00000"},
      {42, "5", "   42"},
      {42, "<5", "42   "},
      {42, "05d", "00042"},
      {-42, "=6", "-   42"},
      {255, "x", "ff"},
      {255, "#X", "0XFF"},
      {255, "#010b", "0b11111111"},
      {255, "o", "377"},
      {1234567, ",", "1,234,567"},
      {1234567, "_", "1_234_567"},
      {65535, "_b", "1111_1111_1111_1111"},
      {1234, "010,", "00,001,234"},
      {65, "c", "A"},
      {8364, "c", "\xe2\x82\xac"},
      {7, ".2f", "7.00"},
      {7, "%", "700.000000%"},
      {true, "", "True"},
      {true, "d", "1"},
      {std::numeric_limits<int64_t>::min(), "d", "-9223372036854775808"},
  };
  for (const Case& c : cases) {
    INFO(repr(c.value) << " with " << c.spec);
    CHECK(formatted(c.value, c.spec) == c.text);
  }
  CHECK_THROWS_WITH_AS(formatted(2.5, "d"), "Unknown format code 'd' for object of type 'float'", ValueError);
  CHECK_THROWS_WITH_AS(formatted(2, "s"), "Unknown format code 's' for object of type 'int'", ValueError);
  CHECK_THROWS_WITH_AS(formatted(2, ".2"), "Precision not allowed in integer format specifier", ValueError);
  CHECK_THROWS_WITH_AS(formatted(2, ".f"), "Format specifier missing precision", ValueError);
  CHECK_THROWS_WITH_AS(formatted(2, "5dd"), "Invalid format specifier '5dd' for object of type 'int'", ValueError);
  CHECK_THROWS_WITH_AS(formatted(2, "99999999999d"), "Too many decimal digits in format string", ValueError);
  CHECK_THROWS_WITH_AS(formatted(2.0, ".99999999f"), "precision too big", ValueError);
  CHECK_THROWS_WITH_AS(formatted(2, ",x"), "Cannot specify ',' with 'x'.", ValueError);
}
