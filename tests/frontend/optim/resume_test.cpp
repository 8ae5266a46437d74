// Samplers, loaders and chunked datasets that are kept in the middle of an epoch: what was loaded goes on with the same batches and
// the same random numbers, and a whole training with the same bits.
#include <doctest/doctest.h>
#include <tenon/compat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <sstream>

#include "frontend/values.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using namespace data::samplers;
using data::DataLoaderOptions, data::TensorExample;
using data::datasets::ChunkDataset, data::datasets::ChunkDatasetOptions, data::datasets::TensorDataset;
using data::transforms::Stack;
using test::error_of, test::values;

using Batches = std::vector<std::vector<size_t>>;

template <typename T>
serialize::InputArchive kept(const T& object) {
  serialize::OutputArchive archive;
  object.save(archive);
  return serialize::InputArchive(archive);
}

Batches rest(Sampler<>& sampler) {
  Batches batches;
  while (auto batch = sampler.next(3)) batches.push_back(*batch);
  return batches;
}
void start_epoch(Sampler<>& sampler, size_t number) {
  if (auto* distributed = dynamic_cast<DistributedSampler*>(&sampler)) distributed->set_epoch(number);
  sampler.reset();
}

// Samples 0..15 with noise from the generator of whoever makes the batch.
auto noisy_samples() {
  return TensorDataset(arange(16, kFloat).reshape({16, 1}))
      .map(data::transforms::TensorLambda<void>([](Tensor t) { return t * 10 + rand({1}); }))
      .map(Stack<TensorExample>());
}
auto noisy_loader(size_t workers) { return data::make_data_loader<RandomSampler>(noisy_samples(), DataLoaderOptions(3).workers(workers)); }

}  // namespace

TEST_CASE("samplers that were kept go on with the same order, in this epoch and in the next") {
  const auto own = [] { return make_generator<CPUGeneratorImpl>(5); };
  const std::vector<std::pair<const char*, std::function<std::unique_ptr<Sampler<>>(size_t)>>> cases = {
      {"sequential", [](size_t n) { return std::make_unique<SequentialSampler>(n); }},
      {"random", [](size_t n) { return std::make_unique<RandomSampler>(n); }},
      {"seeded", [](size_t n) { return std::make_unique<SeededSampler>(n); }},
      {"weighted", [](size_t n) { return std::make_unique<WeightedRandomSampler>(std::vector<double>(n, 0.5), 12); }},
      {"own generator", [&](size_t n) { return std::make_unique<WeightedRandomSampler>(std::vector<double>(n, 0.5), 12, true, own()); }},
      {"distributed random", [](size_t n) { return std::make_unique<DistributedRandomSampler>(n, 2, 1); }},
      {"distributed sequential", [](size_t n) { return std::make_unique<DistributedSequentialSampler>(n, 2, 1); }}};
  for (const auto& [name, make] : cases) {
    for (const size_t taken : {0, 1, 2, 9}) {
      CAPTURE(std::string(name));
      CAPTURE(taken);
      manual_seed(3);
      const auto sampler = make(11);
      start_epoch(*sampler, 4);
      for (size_t i = 0; i < taken; ++i) sampler->next(3);
      const Tensor generator = get_rng_state();
      serialize::InputArchive archive = kept(*sampler);
      const Batches here = rest(*sampler);
      sampler->reset();  // the epoch of a distributed one stays
      const Batches next = rest(*sampler);

      manual_seed(99);
      const auto other = make(11);
      for (int i = 0; i < 3; ++i) other->reset();  // a generator of its own stands elsewhere
      other->next(2);
      archive >> *other;
      set_rng_state(generator);
      CHECK(rest(*other) == here);
      other->reset();
      CHECK(rest(*other) == next);
    }
  }
  StreamSampler stream(10), other(10);
  stream.next(4);
  serialize::InputArchive archive = kept(stream);
  other.load(archive);
  CHECK(*other.next(100) == 6);
}

TEST_CASE("samplers refuse what is no place of theirs, and stay where they are") {
  RandomSampler sampler(5);
  RandomSampler twin = sampler;
  const Batches order = rest(twin);
  const auto refuses = [&](Sampler<>& into, const std::vector<std::pair<const char*, Tensor>>& tensors) {
    serialize::OutputArchive out;
    for (const auto& [key, value] : tensors) out.write(key, value);
    serialize::InputArchive in(out);
    return error_of([&] { into.load(in); });
  };
  CHECK(refuses(sampler, {}) == "No such serialized tensor 'index'");
  CHECK(refuses(sampler, {{"index", tensor(int64_t{0})}}) == "No such serialized tensor 'indices'");
  CHECK(refuses(sampler, {{"index", tensor(int64_t{9})}, {"indices", arange(3)}}) == "'index': 9 is not among the 3 indices");
  CHECK(refuses(sampler, {{"index", tensor(int64_t{-1})}, {"indices", arange(3)}}) == "'index': -1 is negative");
  CHECK(refuses(sampler, {{"index", tensor(1.0)}, {"indices", arange(3)}}) == "'index': expected one int64 number");
  CHECK(refuses(sampler, {{"index", tensor(int64_t{1})}, {"indices", rand({3})}}) == "'indices': expected a list of int64");
  DistributedRandomSampler distributed(6);
  CHECK(refuses(distributed, {{"index", tensor(int64_t{1})}, {"indices", arange(3)}}) == "No such serialized tensor 'epoch'");
  CHECK(distributed.index() == 0);
  CHECK(rest(sampler) == order);
  StreamSampler stream(4), longer(9);
  longer.next(8);
  serialize::InputArchive archive = kept(longer);
  CHECK(error_of([&] { stream.load(archive); }) == "'examples_retrieved_so_far': 8 is more than an epoch's 4");
  struct Bare : Sampler<> {
    void reset(optional<size_t>) override {}
    optional<std::vector<size_t>> next(size_t) override { return nullopt; }
  } bare;
  CHECK(error_of([&] { kept(bare); }) == "this sampler has no save() of its own");
}

TEST_CASE("a loader that was kept goes on with the next batch, its random numbers, and the epochs after it") {
  for (const size_t workers : {0, 1, 4}) {
    for (const size_t stop : {1, 3, 6}) {  // of six batches
      CAPTURE(workers);
      CAPTURE(stop);
      manual_seed(2);
      auto loader = noisy_loader(workers);
      for (auto& batch : *loader) (void)batch;  // one epoch before
      optional<serialize::InputArchive> archive;
      Tensor generator;
      std::vector<Tensor> left, right;
      size_t seen = 0;
      for (int epoch = 0; epoch < 2; ++epoch) {
        for (auto& batch : *loader) {
          if (archive) left.push_back(batch.data);
          if (++seen != stop) continue;
          archive.emplace(kept(*loader));
          generator = get_rng_state();
        }
      }
      CHECK(left.size() == 12 - stop);

      manual_seed(77);
      auto other = noisy_loader(4 - workers);  // as many workers or others
      for (auto& batch : *other) {
        (void)batch;
        break;
      }
      other->load(*archive);
      set_rng_state(generator);
      serialize::InputArchive again = kept(*other);  // before it has begun: the same place
      other->load(again);
      for (int epoch = 0; epoch < 2; ++epoch) {
        for (auto& batch : *other) right.push_back(batch.data);
      }
      CHECK(right.size() == left.size());
      CHECK(equal(cat(left), cat(right)));
    }
  }
}

TEST_CASE("a loader that is kept between two epochs begins the next; what cannot be kept says so") {
  manual_seed(4);
  auto loader = noisy_loader(2);
  for (auto& batch : *loader) (void)batch;
  serialize::InputArchive archive = kept(*loader);
  const Tensor generator = get_rng_state();
  const auto epoch = [](auto& l) {
    std::vector<Tensor> all;
    for (auto& batch : l) all.push_back(batch.data);
    return cat(all);
  };
  const Tensor wanted = epoch(*loader);
  auto other = noisy_loader(0);
  other->load(archive);
  set_rng_state(generator);
  const Tensor got = epoch(*other);
  CHECK(got.size(0) == 16);
  CHECK(equal(got, wanted));
  {
    const auto at = other->begin();
    CHECK(error_of([&] { other->load(archive); }) == "a loader cannot be loaded while one of its iterators lives");
  }
  auto unordered = data::make_data_loader(noisy_samples(), DataLoaderOptions(3).workers(2).enforce_ordering(false));
  kept(*unordered);
  const auto at = unordered->begin();
  CHECK(error_of([&] { kept(*unordered); }) == "a loader without enforce_ordering cannot be kept in the middle of an epoch");
}

TEST_CASE("a chunked dataset that was kept goes on with the next sample") {
  struct Reader : data::datasets::ChunkDataReader<int> {
    using BatchType = std::vector<int>;
    std::vector<int> read_chunk(size_t chunk) override {
      std::vector<int> samples;
      for (int i = 0; i < 3 + static_cast<int>(chunk) % 3; ++i) samples.push_back(static_cast<int>(chunk) * 10 + i);
      return samples;
    }
    size_t chunk_count() override { return 6; }
    void reset() override {}
  };
  const auto make = [](size_t threads) {
    return data::datasets::make_shared_dataset<ChunkDataset<Reader>>(Reader(), RandomSampler(0), RandomSampler(0),
                                                                     ChunkDatasetOptions(threads, 4, 8, 2));
  };
  const auto rest_of = [](auto& set) {
    std::vector<std::vector<int>> batches;
    while (auto batch = set->get_batch()) batches.push_back(*batch);
    return batches;
  };
  for (const size_t taken : {0, 1, 3, 6, 7}) {  // of six batches; the seventh is none
    CAPTURE(taken);
    manual_seed(6);
    auto set = make(2);
    set->reset();
    for (size_t i = 0; i < taken; ++i) set->get_batch();
    serialize::InputArchive archive = kept(*set);
    const Tensor generator = get_rng_state();
    if (taken == 7) set->reset();
    const auto wanted = rest_of(set);
    CHECK(wanted.size() == (taken == 7 ? 6 : 6 - taken));
    set->reset();
    const auto next = rest_of(set);

    manual_seed(60);
    auto other = make(1);
    other->reset();
    other->get_batch();
    other->load(archive);
    set_rng_state(generator);
    other->reset();
    CHECK(rest_of(other) == wanted);
    other->reset();
    CHECK(rest_of(other) == next);
  }
}

namespace {

auto samples_with_noise() {
  return TensorDataset(arange(72, kFloat).reshape({18, 4}).sin())
      .map(data::transforms::TensorLambda<void>([](Tensor t) { return t + rand({4}) * 0.1; }))
      .map(Stack<TensorExample>());
}

// A training with everything in it that has a state: dropout, batch norm, a shuffled loader with random augmentation, momentum, rates.
struct Training {
  explicit Training(const std::string& path)
      : net(nn::Sequential{nn::Linear(3, 6), nn::BatchNorm1d(6), nn::ReLU(), nn::Dropout(0.3), nn::Linear(6, 2)}),
        adam(net->parameters(), 0.01),
        schedule(adam, 0.9),
        loader(data::make_data_loader<RandomSampler>(samples_with_noise(), DataLoaderOptions(4).workers(2))),
        checkpoint(path) {
    checkpoint.add("net", *net).add("adam", adam).add("schedule", schedule).add("loader", *loader).add("epoch", epoch);
  }
  // Until so many steps are made, from wherever it stands; `each` is called behind every step.
  void run(int most, const std::function<void(int)>& each) {
    for (int steps = 0; epoch < 3; ++epoch) {
      for (auto& batch : *loader) {
        const Tensor x = batch.data.slice(1, 0, 3), y = (batch.data.select(1, 3) > 0).to(kLong);
        adam.zero_grad();
        nn::functional::cross_entropy(net->forward(x), y).backward();
        adam.step();
        each(++steps);
        if (steps == most) return;
      }
      schedule.step();
    }
  }

  nn::Sequential net;
  optim::Adam adam;
  optim::ExponentialLR schedule;
  std::unique_ptr<data::StatelessDataLoader<decltype(samples_with_noise()), RandomSampler>> loader;
  int64_t epoch = 0;
  io::Checkpoint checkpoint;
};

}  // namespace

TEST_CASE("a training kept behind any step goes on bit for bit: network, Adam, rates, generator, loader") {
  const fs::path folder = fs::temp_directory_path() / ("tenon_resume_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string file = folder / "run.safetensors";
  constexpr int kAll = 15;  // three epochs of five batches
  manual_seed(8);
  Training whole(file);
  int steps = 0;
  whole.run(100, [&](int) { ++steps; });
  CHECK(steps == kAll);
  for (const int stop : {1, 4, 5, 6, 13, 15}) {
    CAPTURE(stop);
    manual_seed(8);
    {
      Training first(file);
      first.run(stop, [&](int step) {
        if (step == stop) first.checkpoint.save();
      });
    }
    manual_seed(1234);
    Training second(file);
    second.run(2, [](int) {});
    second.checkpoint.load();
    int more = 0;
    second.run(100, [&](int) { ++more; });
    CHECK(more == kAll - stop);
    for (const auto& item : whole.net->state_dict()) CHECK(equal(item.value(), second.net->state_dict()[item.key()]));
    CHECK(whole.schedule.get_last_lr() == second.schedule.get_last_lr());
  }
  fs::remove_all(folder);
}

}  // namespace tenon
