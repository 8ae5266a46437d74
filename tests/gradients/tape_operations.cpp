// The operations of the random programs: each by the library, and by the model with its derivatives written down.
#include <algorithm>
#include <cmath>

#include "gradients/tape_program.h"

namespace tape {

using tenon::Tensor;

namespace {

enum class Saves : uint8_t { Nothing, Operand, Result };

struct Unary {
  const char* name;
  Tensor (*run)(const Tensor&);
  void (*write)(const Tensor&);
  double (*f)(double);
  double (*df)(double x, double y);
  Saves saves;
  double from = -1e30;  // the least x
  bool kink = false;    // at 0
};

const Unary kUnary[] = {
    {"neg", [](const Tensor& x) { return x.neg(); }, [](const Tensor& x) { x.neg_(); }, [](double x) { return -x; },
     [](double, double) { return -1.0; }, Saves::Nothing},
    {"exp", [](const Tensor& x) { return x.exp(); }, [](const Tensor& x) { x.exp_(); }, [](double x) { return std::exp(x); },
     [](double, double y) { return y; }, Saves::Result},
    {"log", [](const Tensor& x) { return x.log(); }, [](const Tensor& x) { x.log_(); }, [](double x) { return std::log(x); },
     [](double x, double) { return 1 / x; }, Saves::Operand, 0.1},
    {"sin", [](const Tensor& x) { return x.sin(); }, [](const Tensor& x) { x.sin_(); }, [](double x) { return std::sin(x); },
     [](double x, double) { return std::cos(x); }, Saves::Operand},
    {"tanh", [](const Tensor& x) { return x.tanh(); }, [](const Tensor& x) { x.tanh_(); }, [](double x) { return std::tanh(x); },
     [](double, double y) { return 1 - y * y; }, Saves::Result},
    {"sigmoid", [](const Tensor& x) { return x.sigmoid(); }, [](const Tensor& x) { x.sigmoid_(); },
     [](double x) { return 1 / (1 + std::exp(-x)); }, [](double, double y) { return y * (1 - y); }, Saves::Result},
    {"relu", [](const Tensor& x) { return x.relu(); }, [](const Tensor& x) { x.relu_(); }, [](double x) { return x > 0 ? x : 0.0; },
     [](double, double y) { return y > 0 ? 1.0 : 0.0; }, Saves::Result, -1e30, true},
    {"abs", [](const Tensor& x) { return x.abs(); }, [](const Tensor& x) { x.abs_(); }, [](double x) { return std::abs(x); },
     [](double x, double) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : 0.0; }, Saves::Operand, -1e30, true},
    {"sqrt", [](const Tensor& x) { return x.sqrt(); }, [](const Tensor& x) { x.sqrt_(); }, [](double x) { return std::sqrt(x); },
     [](double, double y) { return 0.5 / y; }, Saves::Result, 0.1},
    {"pow 3", [](const Tensor& x) { return x.pow(3); }, [](const Tensor& x) { x.pow_(3); }, [](double x) { return x * x * x; },
     [](double x, double) { return 3 * x * x; }, Saves::Operand},
    {"square", [](const Tensor& x) { return x.square(); }, [](const Tensor& x) { x.square_(); }, [](double x) { return x * x; },
     [](double x, double) { return 2 * x; }, Saves::Operand},
    {"clone", [](const Tensor& x) { return x.clone(); }, nullptr, [](double x) { return x; }, [](double, double) { return 1.0; },
     Saves::Nothing},
    {"* 0.75", [](const Tensor& x) { return x * 0.75; }, [](const Tensor& x) { x.mul_(0.75); }, [](double x) { return x * 0.75; },
     [](double, double) { return 0.75; }, Saves::Nothing},
    {"+ 0.5", [](const Tensor& x) { return x + 0.5; }, [](const Tensor& x) { x.add_(0.5); }, [](double x) { return x + 0.5; },
     [](double, double) { return 1.0; }, Saves::Nothing},
};

// Elements so close that rounding decides which is larger.
bool near(double a, double b) { return a != b && std::abs(a - b) < 1e-6; }

// For each element of `sizes` in row-major order, the number of the element of `from` that is broadcast to it.
std::vector<size_t> spread(const Ints& from, const Ints& sizes) {
  std::vector<size_t> result;
  Ints index(sizes.size(), 0);
  for (int64_t i = 0; i < numel(sizes); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < from.size(); ++d) at = at * from[d] + (from[d] == 1 ? 0 : index[d + sizes.size() - from.size()]);
    result.push_back(static_cast<size_t>(at));
    for (size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
  }
  return result;
}

// The elements as [outer, size of the dim, inner].
struct Split {
  Split(const Ints& sizes, int64_t dim) {
    for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d)
      (d < dim ? outer : d == dim ? size : inner) *= static_cast<size_t>(sizes[static_cast<size_t>(d)]);
  }
  size_t at(size_t o, size_t i, size_t j) const { return (o * size + i) * inner + j; }
  size_t outer = 1, size = 1, inner = 1;
};

std::string text(const Ints& list) {
  std::string result = "{";
  for (size_t i = 0; i < list.size(); ++i) result += (i ? ", " : "") + std::to_string(list[i]);
  return result + "}";
}

Ints without(Ints sizes, int64_t dim) {
  sizes.erase(sizes.begin() + dim);
  return sizes;
}

}  // namespace

const Variable* Program::operand_for(const Ints& sizes, const Variable* other_than) {
  for (int tries = 0; tries < 8; ++tries) {
    const Variable& v = variables_[static_cast<size_t>(below(static_cast<int64_t>(variables_.size())))];
    if (other_than && v.model->memory == other_than->model->memory) continue;
    const Ints& from = v.model->sizes;
    bool fits = from.size() <= sizes.size();
    for (size_t d = 0; fits && d < from.size(); ++d) {
      const int64_t size = sizes[d + sizes.size() - from.size()];
      fits = from[d] == 1 || from[d] == size;
    }
    if (fits) return &v;
  }
  return nullptr;
}

bool Program::finish(Operation& op, const std::string& how, const std::function<Tensor()>& run) {
  if (!op.bounded()) return false;
  add(run(), op.finish(), how);
  return true;
}

bool Program::write(const Variable& x, Operation& op, const std::string& how, const std::function<void()>& run) {
  if (!op.bounded()) return false;
  say(how, ";");
  run();
  op.write(x.model);
  ++tally_.writes;
  return true;
}

bool Program::unary(const Variable& x, bool in_place) {
  const Unary& u = kUnary[below(std::size(kUnary))];
  if (in_place && !u.write) return false;
  Operation op({x.model}, x.model->sizes);
  const Numbers in = x.model->values();
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] < u.from || (u.kink && near(in[i], 0))) return false;
    op.values[i] = u.f(in[i]);
    op.term(i, 0, i, u.df(in[i], op.values[i]));
  }
  if (u.saves == Saves::Operand) op.save(0);
  if (u.saves == Saves::Result) op.save_result();
  if (in_place) return write(x, op, x.name + "." + u.name + "_", [&] { u.write(x.tensor); });
  return finish(op, x.name + "." + u.name, [&] { return u.run(x.tensor); });
}

bool Program::binary(const Variable& x, bool in_place) {
  const Variable* found = operand_for(x.model->sizes, in_place ? &x : nullptr);
  if (!found) return false;
  const Variable w = *found;
  const int64_t kind = below(in_place ? 4 : 6);
  const bool swapped = kind != 3 && !in_place && chance(40);  // w first
  Operation op({x.model, w.model}, x.model->sizes);
  const Numbers a = x.model->values(), b = w.model->values();
  const std::vector<size_t> from = spread(w.model->sizes, x.model->sizes);
  const double side = swapped ? -1 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const double p = a[i], q = b[from[i]];
    double value = 0, dp = 0, dq = 0;
    if (kind == 0) value = p + q, dp = dq = 1;
    if (kind == 1) value = side * (p - q), dp = side, dq = -side;
    if (kind == 2) value = p * q, dp = q, dq = p;
    if (kind == 3) value = p / q, dp = 1 / q, dq = -p / (q * q);
    if (kind == 4) value = std::max(p, q), dp = p > q ? 1 : p == q ? 0.5 : 0, dq = 1 - dp;
    if (kind == 5) value = p > 0.25 ? p : q, dp = p > 0.25, dq = 1 - dp;
    if ((kind == 3 && std::abs(q) < 0.1) || (kind == 4 && near(p, q)) || (kind == 5 && std::abs(p - 0.25) < 1e-6)) return false;
    op.values[i] = value;
    op.term(i, 0, i, dp);
    op.term(i, 1, from[i], dq);
  }
  if ((kind == 2 && op.tracks(0)) || kind == 3 || kind == 4) op.save(1);
  if (((kind == 2 || kind == 3) && op.tracks(1)) || kind == 4) op.save(0);
  if (kind == 5) op.save_other();
  static const char* const names[] = {"add", "sub", "mul", "div", "maximum", "where > 0.25"};
  const Variable &l = swapped ? w : x, &r = swapped ? x : w;
  const std::string how = l.name + "." + names[kind] + (in_place ? "_(" : "(") + r.name + ")";
  if (in_place) {
    return write(x, op, how, [&] {
      if (kind == 0) x.tensor.add_(w.tensor);
      if (kind == 1) x.tensor.sub_(w.tensor);
      if (kind == 2) x.tensor.mul_(w.tensor);
      if (kind == 3) x.tensor.div_(w.tensor);
    });
  }
  return finish(op, how, [&] {
    switch (kind) {
      case 0: return l.tensor + r.tensor;
      case 1: return l.tensor - r.tensor;
      case 2: return l.tensor * r.tensor;
      case 3: return l.tensor / r.tensor;
      case 4: return tenon::maximum(l.tensor, r.tensor);
      default: return tenon::where(x.tensor > 0.25, x.tensor, w.tensor);
    }
  });
}

bool Program::reduce(const Variable& x) {
  const bool whole = x.model->rank() == 0 || chance(20), mean = chance(40), keep = chance(40);
  const int64_t dim = whole ? 0 : below(static_cast<int64_t>(x.model->rank()));
  Split s(x.model->sizes, dim);
  Ints sizes = whole ? Ints() : without(x.model->sizes, dim);
  if (whole) s.outer = s.inner = 1, s.size = x.model->places.size();
  else if (keep) sizes.insert(sizes.begin() + dim, 1);
  Operation op({x.model}, sizes);
  const Numbers in = x.model->values();
  const double weight = mean ? 1 / static_cast<double>(s.size) : 1;
  for (size_t o = 0; o < s.outer; ++o) {
    for (size_t j = 0; j < s.inner; ++j) {
      const size_t out = o * s.inner + j;
      for (size_t i = 0; i < s.size; ++i) {
        op.values[out] += in[s.at(o, i, j)] * weight;
        op.term(out, 0, s.at(o, i, j), weight);
      }
    }
  }
  const std::string at = whole ? "" : std::to_string(dim);
  return finish(op, x.name + (mean ? ".mean(" : ".sum(") + at + (keep && !whole ? ", true)" : ")"), [&] {
    if (whole) return mean ? x.tensor.mean() : x.tensor.sum();
    return mean ? x.tensor.mean(dim, keep) : x.tensor.sum(dim, keep);
  });
}

// Softmax and running sums.
bool Program::along(const Variable& x) {
  if (x.model->rank() == 0) return false;
  const int64_t dim = below(static_cast<int64_t>(x.model->rank()));
  const bool softmax = chance(50);
  const Split s(x.model->sizes, dim);
  Operation op({x.model}, x.model->sizes);
  const Numbers in = x.model->values();
  for (size_t o = 0; o < s.outer; ++o) {
    for (size_t j = 0; j < s.inner; ++j) {
      double total = 0;
      for (size_t i = 0; i < s.size; ++i) {
        total += softmax ? std::exp(in[s.at(o, i, j)]) : in[s.at(o, i, j)];
        op.values[s.at(o, i, j)] = softmax ? std::exp(in[s.at(o, i, j)]) : total;
      }
      for (size_t i = 0; i < s.size && softmax; ++i) op.values[s.at(o, i, j)] /= total;
      for (size_t i = 0; i < s.size; ++i) {
        for (size_t k = 0; k < s.size; ++k) {
          const double y = op.values[s.at(o, i, j)], z = op.values[s.at(o, k, j)];
          if (softmax) op.term(s.at(o, i, j), 0, s.at(o, k, j), y * ((i == k) - z));
          else if (k <= i) op.term(s.at(o, i, j), 0, s.at(o, k, j), 1);
        }
      }
    }
  }
  if (softmax) op.save_result();
  return finish(op, x.name + (softmax ? ".softmax(" : ".cumsum(") + std::to_string(dim) + ")",
                [&] { return softmax ? x.tensor.softmax(dim) : x.tensor.cumsum(dim); });
}

// max(dim) gives all to the first of equal elements, amax shares.
bool Program::extremes(const Variable& x) {
  if (x.model->rank() == 0) return false;
  const int64_t dim = below(static_cast<int64_t>(x.model->rank()));
  const bool shares = chance(50);
  const Split s(x.model->sizes, dim);
  Operation op({x.model}, without(x.model->sizes, dim));
  const Numbers in = x.model->values();
  for (size_t o = 0; o < s.outer; ++o) {
    for (size_t j = 0; j < s.inner; ++j) {
      double most = in[s.at(o, 0, j)];
      for (size_t i = 1; i < s.size; ++i) most = std::max(most, in[s.at(o, i, j)]);
      size_t ties = 0, seen = 0;
      for (size_t i = 0; i < s.size; ++i) {
        if (near(in[s.at(o, i, j)], most)) return false;
        ties += in[s.at(o, i, j)] == most;
      }
      op.values[o * s.inner + j] = most;
      for (size_t i = 0; i < s.size; ++i) {
        if (in[s.at(o, i, j)] != most || (!shares && seen++ > 0)) continue;
        op.term(o * s.inner + j, 0, s.at(o, i, j), shares ? 1 / static_cast<double>(ties) : 1);
      }
    }
  }
  if (shares) {
    op.save(0);
    op.save_result();
  } else {
    op.save_other();  // the indices
  }
  return finish(op, x.name + (shares ? ".amax(" : ".max(") + std::to_string(dim) + ")",
                [&] { return shares ? x.tensor.amax(dim) : std::get<0>(x.tensor.max(dim)); });
}

bool Program::matmul(const Variable& x) {
  if (x.model->rank() != 2) return false;
  const int64_t rows = x.model->sizes[0], inner = x.model->sizes[1];
  for (int tries = 0; tries < 8; ++tries) {
    const Variable w = any();
    if (w.model->rank() != 2 || w.model->sizes[0] != inner) continue;
    const int64_t columns = w.model->sizes[1];
    Operation op({x.model, w.model}, {rows, columns});
    const Numbers a = x.model->values(), b = w.model->values();
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const auto out = static_cast<size_t>(i * columns + j);
        for (int64_t k = 0; k < inner; ++k) {
          const auto l = static_cast<size_t>(i * inner + k), r = static_cast<size_t>(k * columns + j);
          op.values[out] += a[l] * b[r];
          op.term(out, 0, l, b[r]);
          op.term(out, 1, r, a[l]);
        }
      }
    }
    if (op.tracks(1)) op.save(0);
    if (op.tracks(0)) op.save(1);
    return finish(op, x.name + ".matmul(" + w.name + ")", [&] { return x.tensor.matmul(w.tensor); });
  }
  return false;
}

// index_select and cat.
bool Program::rearrange(const Variable& x) {
  if (x.model->rank() == 0) return false;
  const int64_t dim = below(static_cast<int64_t>(x.model->rank()));
  const Split s(x.model->sizes, dim);
  const bool select = chance(50);
  const Variable w = any();
  if (!select && (w.model->rank() != x.model->rank() || without(w.model->sizes, dim) != without(x.model->sizes, dim))) return false;
  Ints indices, sizes = x.model->sizes;
  if (select) {
    for (int64_t i = 1 + below(4); i > 0; --i) indices.push_back(below(static_cast<int64_t>(s.size)));
  }
  const Split t(w.model->sizes, dim);
  const size_t count = select ? indices.size() : s.size + t.size;
  sizes[static_cast<size_t>(dim)] = static_cast<int64_t>(count);
  Operation op(select ? std::vector{x.model} : std::vector{x.model, w.model}, sizes);
  const Numbers a = x.model->values(), b = w.model->values();
  for (size_t o = 0; o < s.outer; ++o) {
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < s.inner; ++j) {
        const bool second = !select && i >= s.size;
        const size_t in = second ? t.at(o, i - s.size, j) : s.at(o, select ? static_cast<size_t>(indices[i]) : i, j);
        const size_t out = (o * count + i) * s.inner + j;
        op.values[out] = second ? b[in] : a[in];
        op.term(out, second ? 1 : 0, in, 1);
      }
    }
  }
  if (select) op.save_other();
  const std::string at = std::to_string(dim);
  if (!select)
    return finish(op, "cat({" + x.name + ", " + w.name + "}, " + at + ")", [&] { return tenon::cat({x.tensor, w.tensor}, dim); });
  const Tensor index = tenon::tensor(indices).to(place_);
  return finish(op, x.name + ".index_select(" + at + ", " + text(indices) + ")", [&] { return x.tensor.index_select(dim, index); });
}

bool Program::make_view() {
  const Variable x = any();
  const ArrayRef& m = x.model;
  const auto rank = static_cast<int64_t>(m->rank());
  const int64_t kind = below(7);
  if (kind == 0) {
    add(x.tensor.detach(), detach(m), x.name + ".detach()");
    return true;
  }
  if (m->repeats()) return false;  // the gradient of what is expanded lies at the first of equal places
  std::vector<size_t> chosen;
  if (kind == 1) {
    if (!x.tensor.is_contiguous()) return false;
    for (size_t i = 0; i < m->places.size(); ++i) chosen.push_back(i);
    add(x.tensor.view({-1}), view(m, {numel(m->sizes)}, chosen), x.name + ".view({-1})");
    return true;
  }
  if (kind == 2) {
    Ints sizes = m->sizes;
    for (int64_t& size : sizes) size = size == 1 ? 1 + below(3) : size;
    if (chance(50) && rank < 3) sizes.insert(sizes.begin(), 1 + below(3));
    add(x.tensor.expand(sizes), view(m, sizes, spread(m->sizes, sizes)), x.name + ".expand(" + text(sizes) + ")");
    return true;
  }
  if (rank == 0) return false;
  const int64_t dim = below(rank), other = below(rank), size = m->sizes[static_cast<size_t>(dim)];
  const Split s(m->sizes, dim);
  const std::string at = "(" + std::to_string(dim) + ", ";
  Ints sizes = m->sizes;
  if (kind == 3) {
    std::swap(sizes[static_cast<size_t>(dim)], sizes[static_cast<size_t>(other)]);
    Ints index(sizes.size(), 0);
    for (int64_t i = 0; i < numel(sizes); ++i) {
      Ints from = index;
      std::swap(from[static_cast<size_t>(dim)], from[static_cast<size_t>(other)]);
      int64_t place = 0;
      for (size_t d = 0; d < from.size(); ++d) place = place * m->sizes[d] + from[d];
      chosen.push_back(static_cast<size_t>(place));
      for (size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
    }
    add(x.tensor.transpose(dim, other), view(m, sizes, chosen), x.name + ".transpose" + at + std::to_string(other) + ")");
    return true;
  }
  const bool select = kind == 4;
  const int64_t start = below(size), stop = select ? start + 1 : start + 1 + below(size - start), step = 1 + below(2);
  for (size_t o = 0; o < s.outer; ++o) {
    for (int64_t i = start; i < stop; i += step) {
      for (size_t j = 0; j < s.inner; ++j) chosen.push_back(s.at(o, static_cast<size_t>(i), j));
    }
  }
  if (select) {
    add(x.tensor.select(dim, start), view(m, without(sizes, dim), chosen), x.name + ".select" + at + std::to_string(start) + ")");
    return true;
  }
  sizes[static_cast<size_t>(dim)] = (stop - start + step - 1) / step;
  add(x.tensor.slice(dim, start, stop, step), view(m, sizes, chosen),
      x.name + ".slice" + at + std::to_string(start) + ", " + std::to_string(stop) + ", " + std::to_string(step) + ")");
  return true;
}

bool Program::fill(const Variable& x) {
  Operation op({x.model}, x.model->sizes);
  const Numbers in = x.model->values();
  const double k = static_cast<double>(below(9)) / 4 - 1;
  const bool masked = chance(60);
  for (size_t i = 0; i < in.size(); ++i) {
    if (masked && std::abs(in[i] - 0.25) < 1e-6) return false;
    const bool set = !masked || in[i] > 0.25;
    op.values[i] = set ? k : in[i];
    op.term(i, 0, i, set ? 0 : 1);
  }
  if (masked) op.save_other();
  const std::string value = std::to_string(k) + ")";
  return write(x, op, x.name + (masked ? ".masked_fill_(itself > 0.25, " : ".fill_(") + value, [&] {
    if (masked) x.tensor.masked_fill_(x.tensor.detach() > 0.25, k);
    else x.tensor.fill_(k);
  });
}

bool Program::assign(const Variable& x) {
  const Variable* found = operand_for(x.model->sizes, &x);
  if (!found) return false;
  const Variable w = *found;
  Operation op({x.model, w.model}, x.model->sizes);
  const Numbers b = w.model->values();
  const std::vector<size_t> from = spread(w.model->sizes, x.model->sizes);
  for (size_t i = 0; i < from.size(); ++i) {
    op.values[i] = b[from[i]];
    op.term(i, 1, from[i], 1);
  }
  return write(x, op, x.name + ".copy_(" + w.name + ")", [&] { x.tensor.copy_(w.tensor); });
}

}  // namespace tape
