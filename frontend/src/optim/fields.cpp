// Single fields of optimizers' options and states: written to archives, read from them, compared.
#include "frontend/src/optim/fields.h"

namespace tenon::optim::fields {

void write(OutputArchive& out, const std::string& key, const Tensor& value) {
  if (value.defined()) out.write(key, value);
}
void write(OutputArchive& out, const std::string& key, const std::vector<Tensor>& values) {
  for (size_t i = 0; i < values.size(); ++i) out.write(text(key, '.', i), values[i]);
}
void write(OutputArchive& out, const std::string& key, const Betas& value) {
  out.write(key, IValue(std::vector{std::get<0>(value), std::get<1>(value)}));
}
void convert(const IValue& from, bool& value) { value = from.toBool(); }
void convert(const IValue& from, int64_t& value) { value = from.toInt(); }
void convert(const IValue& from, double& value) { value = from.isInt() ? static_cast<double>(from.toInt()) : from.toDouble(); }
void convert(const IValue& from, std::string& value) { value = from.toStringRef(); }
void convert(const IValue& from, Betas& value) {
  const std::vector<double>& list = from.toDoubleVector();
  check(list.size() == 2, "expected two numbers, but got ", list.size());
  value = {list[0], list[1]};
}
void read(InputArchive& in, const std::string& key, Tensor& value) {
  value = Tensor();
  in.try_read(key, value);
}
void read(InputArchive& in, const std::string& key, std::vector<Tensor>& values) {
  values.clear();
  InputArchive list;
  if (!in.try_read(key, list)) return;
  for (Tensor value; list.try_read(std::to_string(values.size()), value); value = Tensor()) values.push_back(value);
}
void collect(std::vector<Tensor>& into, const Tensor& tensor) {
  if (tensor.defined()) into.push_back(tensor);
}
void collect(std::vector<Tensor>& into, const std::vector<Tensor>& tensors) { into.insert(into.end(), tensors.begin(), tensors.end()); }
bool same(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || a.is_same(b)) return a.defined() == b.defined();
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && a.device() == b.device() && tenon::equal(a, b);
}
bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](auto& x, auto& y) { return same(x, y); });
}

}  // namespace tenon::optim::fields
