// Matrix products.
#include "frontend/python/call.h"

namespace python {

void add_products(Table& t) {
  t["matmul"] = [](const Call& c) -> Value { return tenon::matmul(c.tensor(0), c.tensor(1)); };
  t["mm"] = [](const Call& c) -> Value { return tenon::mm(c.tensor(0), c.tensor(1)); };
  t["mv"] = [](const Call& c) -> Value { return tenon::mv(c.tensor(0), c.tensor(1)); };
  t["bmm"] = [](const Call& c) -> Value { return tenon::bmm(c.tensor(0), c.tensor(1)); };
  t["dot"] = [](const Call& c) -> Value { return tenon::dot(c.tensor(0), c.tensor(1)); };
  t["outer"] = [](const Call& c) -> Value { return tenon::outer(c.tensor(0), c.tensor(1)); };
  t["linear"] = [](const Call& c) -> Value {
    return tenon::linear(c.tensor(0), c.tensor(1), c.maybe_tensor(2, "bias"));
  };
  t["addmm"] = [](const Call& c) -> Value {
    return tenon::addmm(c.tensor(0), c.tensor(1), c.tensor(2), c.scalar(Call::kNamed, "beta", 1),
                        c.scalar(Call::kNamed, "alpha", 1));
  };
  t["addmv"] = [](const Call& c) -> Value {
    return tenon::addmv(c.tensor(0), c.tensor(1), c.tensor(2), c.scalar(Call::kNamed, "beta", 1),
                        c.scalar(Call::kNamed, "alpha", 1));
  };
  t["baddbmm"] = [](const Call& c) -> Value {
    return tenon::baddbmm(c.tensor(0), c.tensor(1), c.tensor(2), c.scalar(Call::kNamed, "beta", 1),
                          c.scalar(Call::kNamed, "alpha", 1));
  };
}

}  // namespace python
