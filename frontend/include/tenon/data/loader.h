// Loaders: the batches of a dataset in a sampler's order, made by worker threads while the program computes.
//
//   auto loader = data::make_data_loader<data::samplers::RandomSampler>(
//       std::move(set), data::DataLoaderOptions().batch_size(64).workers(2));
//   for (auto& batch : *loader) { batch.data; batch.target; }
//
// The batches are the same for any number of workers, also where datasets and transforms draw random numbers:
// while a batch is made, the default generator of the thread that makes it is a stream of that batch's own.
// The stream's seed comes from where the program's default generator stands when the epoch begins (nothing is
// drawn from it), from the number of the epoch and from the number of the batch.
#pragma once

#include <exception>
#include <iterator>
#include <memory>
#include <mutex>  // has std::chrono's durations, without the calendar of <chrono>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/data/datasets.h"
#include "tenon/data/samplers.h"
#include "tenon/nn/arg.h"
#include "tenon/serialize.h"

namespace tenon::data {

struct DataLoaderOptions {
  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}
  TENON_ARG(size_t, batch_size) = 1;
  TENON_ARG(size_t, workers) = 0;                   // threads; 0: the thread that asks for a batch makes it
  TENON_ARG(optional<size_t>, max_jobs) = nullopt;  // batches that are made ahead; 2 * workers by itself
  // To wait for a batch, then Error; and for a batch that nobody wants any more, when an epoch is left or the loader ends. A
  // worker that is stuck beyond it is left alone. Without it the loader waits.
  TENON_ARG(optional<std::chrono::milliseconds>, timeout) = nullopt;
  TENON_ARG(bool, enforce_ordering) = true;  // else batches come as they become ready
  TENON_ARG(bool, drop_last) = false;        // a last batch that is smaller
};
struct FullDataLoaderOptions {
  // ValueError if nothing could ever be loaded.
  explicit FullDataLoaderOptions(const DataLoaderOptions& options);
  size_t batch_size, workers, max_jobs;
  optional<std::chrono::milliseconds> timeout;
  bool enforce_ordering, drop_last;
};

// What a worker threw, in the program's thread.
struct WorkerException : Error {
  explicit WorkerException(std::exception_ptr original);
  std::exception_ptr original_exception;
  std::string message;
};

namespace detail {

// Where a loader stands, as the program sees it: what was made ahead does not count.
struct LoaderPlace {
  bool within = false;                // an epoch has begun and an iterator is in it
  uint64_t epochs = 0;                // begun so far
  uint64_t seed = 0, handed_out = 0;  // of the epoch: what the seeds of its batches are made of; batches so far

  void save(serialize::OutputArchive& archive) const;
  static LoaderPlace load(serialize::InputArchive& archive);
};

// One batch: asked for by the program's thread, made by whichever thread makes it.
class BatchJob {
 public:
  virtual ~BatchJob() = default;
  virtual void make(size_t worker) = 0;
  virtual void finish() = 0;  // computes what is still pending
  std::exception_ptr error;   // of make or finish, if a worker met one
};

// Makes batches on threads of its own, and hands them out in the order in which they were asked for, or as
// they become ready. All but the making happens in the program's thread.
class BatchMaker {
 public:
  explicit BatchMaker(const FullDataLoaderOptions& options);  // starts the threads
  BatchMaker(const BatchMaker&) = delete;
  BatchMaker& operator=(const BatchMaker&) = delete;
  ~BatchMaker() { join(); }

  // Drops what is left of the last one, when the jobs that run are done: Error after the timeout. From a place within an epoch that
  // epoch goes on.
  void start_epoch(const LoaderPlace& from);
  LoaderPlace place() const;
  void push(std::unique_ptr<BatchJob> job);
  // The next batch, or what went wrong with it; null if none is asked for any more. Error after the timeout.
  std::unique_ptr<BatchJob> pop();
  void make_here(BatchJob& job);  // in this thread, as a worker would
  size_t in_flight() const;       // asked for and not handed out
  void join();                    // ends the threads; what they have not begun is dropped. After the timeout one may go on alone

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The tensors of a batch; of types that this does not know there are none.
void tensors_of(const Tensor& tensor, std::vector<Tensor>& out);
template <typename T>
void tensors_of(const T&, std::vector<Tensor>&) {}
template <typename T>
void tensors_of(const std::vector<T>& items, std::vector<Tensor>& out);
template <typename T>
void tensors_of(const optional<T>& item, std::vector<Tensor>& out);
template <typename A, typename B>
void tensors_of(const std::pair<A, B>& items, std::vector<Tensor>& out);
template <typename... Items>
void tensors_of(const std::tuple<Items...>& items, std::vector<Tensor>& out);
template <typename Data, typename Target>
void tensors_of(const Example<Data, Target>& sample, std::vector<Tensor>& out) {
  tensors_of(sample.data, out);
  if constexpr (!std::is_void_v<Target>) tensors_of(sample.target, out);
}
template <typename T>
void tensors_of(const std::vector<T>& items, std::vector<Tensor>& out) {
  for (const T& item : items) tensors_of(item, out);
}
template <typename T>
void tensors_of(const optional<T>& item, std::vector<Tensor>& out) {
  if (item) tensors_of(*item, out);
}
template <typename A, typename B>
void tensors_of(const std::pair<A, B>& items, std::vector<Tensor>& out) {
  tensors_of(items.first, out);
  tensors_of(items.second, out);
}
template <typename... Items>
void tensors_of(const std::tuple<Items...>& items, std::vector<Tensor>& out) {
  std::apply([&](const Items&... each) { (tensors_of(each, out), ...); }, items);
}
void compute(const std::vector<Tensor>& tensors);  // those that are defined, in one evaluation

// One pass over a loader, which its iterators share.
template <typename Loader>
struct Pass {
  Loader* loader;  // null when the loader is gone, or in another pass
  optional<typename Loader::BatchType> batch = nullopt;
  bool begun = false;

  void fetch() {
    if (!loader) throw Error("The DataLoader of this iterator is gone or has begun again");
    batch = loader->next();
    begun = true;
  }
  bool ended() {
    if (!begun) fetch();
    return !batch;
  }
};

}  // namespace detail

// Where a pass stands. Copies of an iterator advance together.
template <typename Loader>
class Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = typename Loader::BatchType;
  using pointer = value_type*;
  using reference = value_type&;
  using iterator_category = std::input_iterator_tag;

  Iterator() = default;
  explicit Iterator(std::shared_ptr<detail::Pass<Loader>> pass) : pass_(std::move(pass)) {}
  value_type& operator*() const {
    if (!pass_) throw Error("Dereferencing the DataLoader's past-the-end iterator is not allowed");
    if (pass_->ended()) throw Error("Attempted to dereference iterator that was past the end");
    return *pass_->batch;
  }
  value_type* operator->() const { return &**this; }
  Iterator& operator++() {
    if (!pass_) throw Error("Incrementing the DataLoader's past-the-end iterator is not allowed");
    if (pass_->ended()) throw Error("Attempted to increment iterator past the end");
    pass_->fetch();
    return *this;
  }
  friend bool operator==(const Iterator& a, const Iterator& b) {
    if (a.pass_ && b.pass_) return a.pass_ == b.pass_;
    return a.pass_ == b.pass_ || (a.pass_ ? a : b).pass_->ended();
  }

 private:
  std::shared_ptr<detail::Pass<Loader>> pass_;  // null: past the end
};

// What loaders share. One pass at a time: begin() starts an epoch, and is an Error while an iterator of a
// pass that has not ended lives and workers have batches for it.
template <typename Dataset, typename Batch, typename BatchRequest>
class DataLoaderBase {
 public:
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  using iterator = data::Iterator<DataLoaderBase>;

  DataLoaderBase(const DataLoaderBase&) = delete;
  DataLoaderBase& operator=(const DataLoaderBase&) = delete;
  virtual ~DataLoaderBase() {
    join();
    if (const auto pass = pass_.lock()) pass->loader = nullptr;
  }

  iterator begin() {
    const auto last = pass_.lock();
    if (last && maker_.in_flight() > 0)
      throw Error("Attempted to get a new DataLoader iterator while another iterator is not yet exhausted");
    if (last) last->loader = nullptr;
    const detail::LoaderPlace from = loaded_ ? *loaded_ : maker_.place();
    maker_.start_epoch(from);
    if (!from.within) reset();
    loaded_.reset();
    for (size_t i = 0; i < options_.max_jobs && ask(); ++i) {
    }
    const auto pass = std::make_shared<detail::Pass<DataLoaderBase>>(detail::Pass<DataLoaderBase>{this});
    pass_ = pass;
    return iterator(pass);
  }
  iterator end() { return {}; }
  void join() { maker_.join(); }  // ends the workers; no further batches
  const FullDataLoaderOptions& options() const noexcept { return options_; }

 protected:
  detail::LoaderPlace place() const {
    if (loaded_) return *loaded_;
    detail::LoaderPlace here = maker_.place();
    const auto pass = pass_.lock();
    here.within = pass && (!pass->begun || pass->batch);
    return here;
  }
  void go_to(const detail::LoaderPlace& place) { loaded_ = place; }  // with the next begin()
  bool iterates() const { return pass_.lock() != nullptr; }
  // A dataset for each worker, or one for all.
  DataLoaderBase(std::vector<std::shared_ptr<Dataset>> datasets, const FullDataLoaderOptions& options)
      : datasets_(std::move(datasets)), options_(options), maker_(options_) {}
  virtual void reset() = 0;  // starts an epoch
  virtual optional<BatchRequest> get_batch_request() = 0;
  const std::vector<std::shared_ptr<Dataset>> datasets_;
  const FullDataLoaderOptions options_;

 private:
  friend struct detail::Pass<DataLoaderBase>;
  struct Job : detail::BatchJob {
    Job(std::vector<std::shared_ptr<Dataset>> d, BatchRequest r) : datasets(std::move(d)), request(std::move(r)) {}
    void make(size_t worker) override { batch = datasets[worker % datasets.size()]->get_batch(std::move(request)); }
    void finish() override {
      std::vector<Tensor> tensors;
      detail::tensors_of(batch, tensors);
      detail::compute(tensors);
    }
    const std::vector<std::shared_ptr<Dataset>> datasets;  // its own: a worker that is stuck in one may outlive the loader
    BatchRequest request;
    optional<Batch> batch;
  };

  bool ask() {
    optional<BatchRequest> request = get_batch_request();
    if (!request) return false;
    maker_.push(std::make_unique<Job>(datasets_, std::move(*request)));
    return true;
  }
  optional<Batch> next() {
    if (options_.workers == 0) {
      optional<BatchRequest> request = get_batch_request();
      if (!request) return nullopt;
      Job job(datasets_, std::move(*request));
      maker_.make_here(job);
      return std::move(job.batch);
    }
    while (const auto job = maker_.pop()) {
      Job& done = static_cast<Job&>(*job);
      if (!done.batch && !done.error) continue;  // of a dataset that has ended
      ask();
      if (done.error) throw WorkerException(done.error);
      return std::move(done.batch);
    }
    return nullopt;
  }

  std::weak_ptr<detail::Pass<DataLoaderBase>> pass_;
  optional<detail::LoaderPlace> loaded_;  // and not gone to
  detail::BatchMaker maker_;              // dies first: its threads use the datasets
};

// Loads a dataset whose batches a sampler asks for. Each worker has its own copy of the dataset.
template <typename Dataset, typename Sampler>
class StatelessDataLoader : public DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType> {
  using Base = DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType>;

 public:
  StatelessDataLoader(Dataset dataset, Sampler sampler, const DataLoaderOptions& options)
      : Base(copies(std::move(dataset), options.workers()), FullDataLoaderOptions(options)), sampler_(std::move(sampler)) {}
  ~StatelessDataLoader() override { this->join(); }

  // Where the program stands in the order of the batches: what workers have made ahead does not count. A loader that was
  // loaded goes on there with its next begin(): with the next batch of that epoch, if an iterator was in it, and with the same
  // random numbers. The seed of the next epoch comes from the default generator, whose state is kept elsewhere
  // (io::Checkpoint has both). Error in the middle of an epoch whose workers need not keep the order, and to load while an iterator lives.
  void save(serialize::OutputArchive& archive) const {
    const detail::LoaderPlace place = this->place();
    place.save(archive);
    serialize::OutputArchive nested;
    if (place.within && this->options_.workers > 0 && !this->options_.enforce_ordering)
      throw Error("a loader without enforce_ordering cannot be kept in the middle of an epoch");
    if constexpr (std::is_copy_constructible_v<Sampler>) {
      Sampler here = place.within && start_ ? *start_ : sampler_;
      for (uint64_t i = first_; place.within && i < place.handed_out; ++i) here.next(this->options_.batch_size);
      here.save(nested);
    } else {
      if (place.within) throw Error("a loader whose sampler cannot be copied cannot be kept in the middle of an epoch");
      sampler_.save(nested);
    }
    archive.write("sampler", nested);
  }
  void load(serialize::InputArchive& archive) {
    if (this->iterates()) throw Error("a loader cannot be loaded while one of its iterators lives");
    const detail::LoaderPlace place = detail::LoaderPlace::load(archive);
    serialize::InputArchive nested;
    archive.read("sampler", nested);
    sampler_.load(nested);
    note_start(place.handed_out);
    this->go_to(place);
  }

 private:
  static std::vector<std::shared_ptr<Dataset>> copies(Dataset dataset, size_t workers) {
    std::vector<std::shared_ptr<Dataset>> all;
    for (size_t i = 0; i < workers; ++i) all.push_back(std::make_shared<Dataset>(std::as_const(dataset)));
    if (workers == 0) all.push_back(std::make_shared<Dataset>(std::move(dataset)));
    return all;
  }
  void reset() override {
    sampler_.reset();
    note_start(0);
  }
  void note_start(uint64_t batch) {
    first_ = batch;
    if constexpr (std::is_copy_constructible_v<Sampler>) start_.emplace(sampler_);
  }
  optional<typename Sampler::BatchRequestType> get_batch_request() override {
    auto request = sampler_.next(this->options_.batch_size);
    if (request && this->options_.drop_last && request->size() < this->options_.batch_size) return nullopt;
    return request;
  }
  Sampler sampler_;
  optional<Sampler> start_;  // as it was when the epoch began or was loaded
  uint64_t first_ = 0;       // the batch that it was to ask for then
};

// Loads a dataset that knows by itself what comes next.
template <typename Dataset>
class StatefulDataLoader : public DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType> {
  using Base = DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType>;

 public:
  StatefulDataLoader(Dataset dataset, const DataLoaderOptions& options)
      : Base({std::make_shared<Dataset>(std::move(dataset))}, FullDataLoaderOptions(options)) {}
  ~StatefulDataLoader() override { this->join(); }

 private:
  void reset() override { this->datasets_[0]->reset(); }
  optional<typename Dataset::BatchRequestType> get_batch_request() override { return this->options_.batch_size; }
};

template <typename T>
concept IsSampler = requires(T sampler) {  // and not a batch size or options
  sampler.next(size_t{1});
};
template <typename T>
concept IsStateful = T::is_stateful;
template <typename T>
concept IsStateless = !T::is_stateful;

template <IsStateless Dataset, IsSampler Sampler>
std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset, Sampler sampler, DataLoaderOptions options = {}) {
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler), options);
}
// With a sampler for the dataset's size.
template <IsSampler Sampler = samplers::RandomSampler, IsStateless Dataset>
std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset, DataLoaderOptions options = {}) {
  const optional<size_t> size = dataset.size();
  if (!size) throw Error("Expected the dataset to be sized in order to construct the Sampler");
  return make_data_loader(std::move(dataset), Sampler(*size), options);
}
template <IsStateful Dataset>
std::unique_ptr<StatefulDataLoader<Dataset>> make_data_loader(Dataset dataset, DataLoaderOptions options = {}) {
  return std::make_unique<StatefulDataLoader<Dataset>>(std::move(dataset), options);
}

}  // namespace tenon::data
