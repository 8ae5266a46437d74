// A dataset in chunks (files, say) that is too large to be held: threads read the next chunks while batches
// are made of those that are there. <tenon/compat.h> includes this, <tenon/tenon.h> does not.
//
//   data::datasets::ChunkDataset<Reader, samplers::RandomSampler, samplers::RandomSampler> set(
//       Reader(), samplers::RandomSampler(0), samplers::RandomSampler(0), data::datasets::ChunkDatasetOptions(2, 64));
//
// The samples of an epoch come in the same order for any number of threads: chunks in the order of the chunk
// sampler, in each the samples in the order of the example sampler, which draws from a stream of the chunk's
// own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>

#include "tenon/data/loader.h"

namespace tenon::data {

namespace detail {
uint64_t seed_of_epoch(uint64_t epoch);  // drawn from a copy of the default generator
// While this lives the thread computes beside the program's own, and its default generator is a stream of
// this seed.
class WorkerScope {
 public:
  explicit WorkerScope(uint64_t seed);
  WorkerScope(const WorkerScope&) = delete;
  WorkerScope& operator=(const WorkerScope&) = delete;
  ~WorkerScope();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
}  // namespace detail

namespace datasets {

// Reads chunks, in any order, from several threads at a time. A reader also names its BatchType: a vector of
// examples.
template <typename Example, typename Chunk = std::vector<Example>>
class ChunkDataReader {
 public:
  using ExampleType = Example;
  using ChunkType = Chunk;
  virtual ~ChunkDataReader() = default;
  virtual Chunk read_chunk(size_t chunk_index) = 0;
  virtual size_t chunk_count() = 0;
  virtual void reset() = 0;
};

struct ChunkDatasetOptions {
  ChunkDatasetOptions(size_t preloader_count, size_t batch_size, size_t cache_size = 2048, size_t cross_chunk_shuffle_count = 1)
      : preloader_count_(preloader_count),
        batch_size_(batch_size),
        cache_size_(cache_size),
        cross_chunk_shuffle_count_(cross_chunk_shuffle_count) {
    if (preloader_count == 0) throw Error("Preloader count is 0. At least one preloader needs to be specified.");
    if (batch_size == 0) throw Error("Batch size is 0. A positive batch size needs to be specified.");
    if (cache_size == 0) throw Error("Cache size is 0. A positive cache size needs to be specified.");
    if (cache_size < batch_size)
      throw Error("Cache size is less than batch size. Cache needs to be large enough to hold at least one batch.");
    if (cross_chunk_shuffle_count == 0) throw Error("cross_chunk_shuffle_count needs to be greater than 0.");
  }
  TENON_ARG(size_t, preloader_count);  // threads that read
  TENON_ARG(size_t, batch_size);
  TENON_ARG(size_t, cache_size);                 // no further chunk is taken up while so many samples are there
  TENON_ARG(size_t, cross_chunk_shuffle_count);  // chunks whose samples are mixed
};

template <typename ChunkReader, typename ChunkSampler = samplers::RandomSampler, typename ExampleSampler = samplers::RandomSampler>
class ChunkDataset final
    : public StatefulDataset<ChunkDataset<ChunkReader, ChunkSampler, ExampleSampler>, typename ChunkReader::BatchType, size_t> {
 public:
  using UnwrappedBatchType = typename ChunkReader::BatchType;
  using BatchType = optional<UnwrappedBatchType>;
  using ChunkSamplerType = ChunkSampler;
  using ExampleSamplerType = ExampleSampler;

  // `prepare` is called with the samples of a chunk before they are mixed.
  ChunkDataset(ChunkReader chunk_reader, ChunkSampler chunk_sampler, ExampleSampler example_sampler, ChunkDatasetOptions options,
               std::function<void(UnwrappedBatchType&)> prepare = {})
      : reader_(std::move(chunk_reader)),
        chunk_sampler_(std::move(chunk_sampler)),
        example_sampler_(std::move(example_sampler)),
        options_(std::move(options)),
        prepare_(std::move(prepare)) {}
  ~ChunkDataset() override { stop(); }

  BatchType get_batch(size_t batch_size) override {
    if (!begun_) throw Error("Dataset needs to call reset() before calling get_batch().");
    if (batch_size != options_.batch_size())
      throw Error(
          "The requested batch size does not match with the initialized batch size.\n The requested batch "
          "size is " +
          std::to_string(batch_size) + ", while the dataset is created with batch size equal to " + std::to_string(options_.batch_size()));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return samples_.size() >= batch_size || running_ == 0; });
    ended_ = samples_.empty();
    if (ended_) return nullopt;
    if (samples_.front().error) {
      const std::exception_ptr error = samples_.front().error;
      samples_.pop_front();
      throw WorkerException(error);
    }
    UnwrappedBatchType batch;
    while (batch.size() < batch_size && !samples_.empty() && !samples_.front().error) {
      batch.push_back(std::move(*samples_.front().sample));
      samples_.pop_front();
      ++given_;
    }
    changed_.notify_all();
    return batch;
  }
  BatchType get_batch() { return get_batch(options_.batch_size()); }

  void reset() override {
    stop();
    reader_.reset();
    if (!goes_on_) {
      chunk_sampler_.reset(reader_.chunk_count());
      seed_ = data::detail::seed_of_epoch(epoch_++);
      given_ = 0;
    }
    goes_on_ = false;
    at_start_.emplace(chunk_sampler_);
    samples_.clear();
    taken_ = added_ = 0;
    skipped_ = given_;
    stopping_ = ended_ = false;
    begun_ = true;
    running_ = options_.preloader_count();
    try {
      for (size_t i = 0; i < options_.preloader_count(); ++i) threads_.emplace_back([this] { preload(); });
    } catch (const std::system_error& e) {
      const std::lock_guard guard(mutex_);
      running_ -= options_.preloader_count() - threads_.size();
      if (threads_.empty()) throw Error(std::string("cannot start the threads of a ChunkDataset: ") + e.what());
    }
  }
  optional<size_t> size() const override { return nullopt; }
  ChunkSampler& chunk_sampler() { return chunk_sampler_; }

  // Where in its epoch it stands: the next reset() of a dataset that was loaded goes on there, with the sample behind the last
  // one that get_batch gave. The chunks before are read again, since nobody knows how many samples they have.
  void save(serialize::OutputArchive& archive) const override {
    const std::lock_guard guard(mutex_);
    const bool within = goes_on_ || (begun_ && !ended_);
    data::detail::LoaderPlace{within, epoch_, seed_, given_}.save(archive);
    serialize::OutputArchive nested;
    (within && !goes_on_ ? *at_start_ : chunk_sampler_).save(nested);
    archive.write("chunk_sampler", nested);
  }
  void load(serialize::InputArchive& archive) override {
    const auto place = data::detail::LoaderPlace::load(archive);
    serialize::InputArchive nested;
    archive.read("chunk_sampler", nested);
    stop();
    chunk_sampler_.load(nested);
    begun_ = false;
    goes_on_ = place.within;
    epoch_ = place.epochs;
    seed_ = place.seed;
    given_ = place.handed_out;
  }

 private:
  struct Item {  // a sample, or what went wrong instead of a chunk
    optional<typename UnwrappedBatchType::value_type> sample = nullopt;
    std::exception_ptr error = nullptr;
  };

  void stop() {
    {
      const std::lock_guard guard(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  // A thread: chunk after chunk. What the program's own code throws in it, samplers included, takes the place of samples.
  void preload() {
    std::unique_lock lock(mutex_);
    try {
      while (!stopping_ && preload_next(lock)) changed_.notify_all();
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      samples_.push_back({nullopt, std::current_exception()});
    }
    --running_;
    changed_.notify_all();
  }
  bool preload_next(std::unique_lock<std::mutex>& lock) {  // false when there is no chunk any more
    const auto chunks = chunk_sampler_.next(options_.cross_chunk_shuffle_count());
    if (!chunks) return false;
    const data::detail::WorkerScope scope(seed_ + taken_);
    const size_t number = taken_++;  // from here on the others wait for this chunk
    lock.unlock();
    UnwrappedBatchType samples;
    std::exception_ptr error;
    try {
      samples = read(*chunks);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    changed_.wait(lock, [&] { return stopping_ || (added_ == number && samples_.size() < options_.cache_size()); });
    if (stopping_) return false;
    ++added_;
    if (!error) {
      try {
        add(std::move(samples));
      } catch (...) {
        error = std::current_exception();
      }
    }
    if (error) samples_.push_back({nullopt, error});
    return true;
  }
  UnwrappedBatchType read(const std::vector<size_t>& chunks) {
    UnwrappedBatchType samples;
    for (size_t chunk : chunks) {
      auto more = reader_.read_chunk(chunk);
      std::move(more.begin(), more.end(), std::back_inserter(samples));
    }
    if (prepare_) prepare_(samples);
    return samples;
  }
  void add(UnwrappedBatchType samples) {
    if (samples.empty()) return;
    example_sampler_.reset(samples.size());
    const auto order = example_sampler_.next(samples.size());
    if (!order) throw Error("the example sampler of a ChunkDataset gives no order of a chunk's samples");
    for (size_t i : *order) {
      if (i >= samples.size()) throw IndexError("the example sampler of a ChunkDataset gives an index beyond its chunk");
      if (skipped_ > 0) --skipped_;
      else samples_.push_back({std::move(samples[i]), nullptr});
    }
  }

  ChunkReader reader_;
  ChunkSampler chunk_sampler_;
  ExampleSampler example_sampler_;
  const ChunkDatasetOptions options_;
  std::function<void(UnwrappedBatchType&)> prepare_;
  std::vector<std::thread> threads_;
  optional<ChunkSampler> at_start_;  // of the epoch
  uint64_t epoch_ = 0, seed_ = 0;
  bool begun_ = false, goes_on_ = false;  // goes_on_: was loaded in the middle of an epoch, and not reset since
  // Under the mutex, as are the samplers:
  mutable std::mutex mutex_;
  uint64_t given_ = 0, skipped_ = 0;  // samples of this epoch: handed out; still to be passed over
  bool ended_ = false;
  std::condition_variable changed_;
  std::deque<Item> samples_;
  size_t taken_ = 0, added_ = 0, running_ = 0;  // chunks; threads
  bool stopping_ = false;
};

}  // namespace datasets
}  // namespace tenon::data
