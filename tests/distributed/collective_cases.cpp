#include "tests/distributed/collective_cases.h"

#include "samite/jit/tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace samite::test {
namespace {

using Count = std::function<std::int64_t(int, int)>;

Count always(std::int64_t count) {
  return [=](int, int) { return count; };
}
Count on_root(int root, const Count &count) {
  return [=](int rank, int size) { return rank == root ? count(rank, size) : 0; };
}
Count for_each_rank(std::int64_t count) {
  return [=](int, int size) { return count * size; };
}

Values reduced(const ValuesOfRanks &all, const std::function<double(double, double)> &step) {
  Values sums = all.front();
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = step(sums[i], all[rank][i]);
  return sums;
}
Values reduced(const ValuesOfRanks &all, ReduceOp reduction) {
  switch (reduction) {
    case ReduceOp::product: return reduced(all, [](double a, double b) { return a * b; });
    case ReduceOp::min: return reduced(all, [](double a, double b) { return std::min(a, b); });
    case ReduceOp::max: return reduced(all, [](double a, double b) { return std::max(a, b); });
    default: break;
  }
  Values sums = reduced(all, [](double a, double b) { return a + b; });
  if (reduction == ReduceOp::average)
    for (double &sum : sums) sum /= static_cast<double>(all.size());
  return sums;
}
Values joined(const ValuesOfRanks &all) {
  Values joined;
  for (const Values &each : all) joined.insert(joined.end(), each.begin(), each.end());
  return joined;
}
ValuesOfRanks parts_of(const Values &whole, std::size_t ranks) {
  ValuesOfRanks parts(ranks);
  const std::size_t each = whole.size() / ranks;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    parts[rank].assign(whole.begin() + static_cast<std::ptrdiff_t>(rank * each),
                       whole.begin() + static_cast<std::ptrdiff_t>((rank + 1) * each));
  return parts;
}

CollectiveCase all_reduce_case(ReduceOp reduction) {
  return {fmt::format("all_reduce, {}", name(reduction)), always(7), always(7),
          [=](const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values) {
            all_reduce(ranks, result, values, reduction);
          },
          [=](const ValuesOfRanks &all) { return ValuesOfRanks(all.size(), reduced(all, reduction)); }};
}

// The number of elements that rank r sends to rank s: (r + 2 s) % 3.
std::int64_t sent(int from, int to) { return (from + 2 * to) % 3; }
std::vector<std::int64_t> counts(int size, const std::function<std::int64_t(int)> &count) {
  std::vector<std::int64_t> all;
  for (int other = 0; other < size; ++other) all.push_back(count(other));
  return all;
}
std::int64_t total(const std::vector<std::int64_t> &counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

CollectiveCase uneven_all_to_all() {
  const auto sent_by = [](int rank, int size) { return counts(size, [=](int other) { return sent(rank, other); }); };
  const auto received_by = [](int rank, int size) {
    return counts(size, [=](int other) { return sent(other, rank); });
  };
  return {"all_to_all of unequal parts", [=](int rank, int size) { return total(sent_by(rank, size)); },
          [=](int rank, int size) { return total(received_by(rank, size)); },
          [=](const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values) {
            all_to_all(ranks, result, values, sent_by(ranks.rank(), ranks.size()),
                       received_by(ranks.rank(), ranks.size()));
          },
          [=](const ValuesOfRanks &all) {
            const int size = static_cast<int>(all.size());
            ValuesOfRanks results(all.size());
            for (int from = 0; from < size; ++from) {
              auto at = all[static_cast<std::size_t>(from)].begin();
              for (int to = 0; to < size; ++to) {
                auto &result = results[static_cast<std::size_t>(to)];
                result.insert(result.end(), at, at + sent(from, to)), at += sent(from, to);
              }
            }
            return results;
          }};
}

// Rank r sends to the next and to the second next rank, and to itself if these are.
CollectiveCase ring() {
  return {"exchange", always(6), always(6),
          [](const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values) {
            const int size = ranks.size(), rank = ranks.rank();
            exchange(ranks, {{values.slice(0, 0, 2), (rank + 1) % size}, {values.slice(0, 2, 6), (rank + 2) % size}},
                     {{result.slice(0, 4, 6), (rank + size - 1) % size},
                      {result.slice(0, 0, 4), (rank + 2 * size - 2) % size}});
          },
          [](const ValuesOfRanks &all) {
            const std::size_t size = all.size();
            ValuesOfRanks results(size, Values(6));
            for (std::size_t rank = 0; rank < size; ++rank) {
              std::copy_n(all[rank].begin(), 2, results[(rank + 1) % size].begin() + 4);
              std::copy_n(all[rank].begin() + 2, 4, results[(rank + 2) % size].begin());
            }
            return results;
          }};
}

// Ranks send to the next one, from the last but one down to the first; the first only sends, the last only receives.
CollectiveCase chain() {
  return {"send and receive", always(3), [](int rank, int) { return rank == 0 ? 0 : 3; },
          [](const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values) {
            if (ranks.rank() > 0) receive(ranks, result, ranks.rank() - 1);
            if (ranks.rank() + 1 < ranks.size()) send(ranks, values, ranks.rank() + 1);
          },
          [](const ValuesOfRanks &all) {
            ValuesOfRanks results(all.size());
            for (std::size_t rank = 1; rank < all.size(); ++rank) results[rank] = all[rank - 1];
            return results;
          }};
}

ValuesOfRanks on_one(const ValuesOfRanks &all, std::size_t root, const Values &values) {
  ValuesOfRanks results(all.size());
  results[root] = values;
  return results;
}

double value_at(int rank, std::size_t i) {
  return 0.5 + std::fmod(0.37 * (rank + 1) + 0.61 * static_cast<double>(i * i), 1.7);
}
double weight_at(int rank, std::size_t i) { return 1 + 0.3 * rank - 0.2 * static_cast<double>(i); }

// The sum over ranks and elements of weight * result^2 / 2.
double objective(const CollectiveCase &each, const ValuesOfRanks &all) {
  double sum = 0;
  const ValuesOfRanks results = each.expected(all);
  for (std::size_t rank = 0; rank < results.size(); ++rank)
    for (std::size_t i = 0; i < results[rank].size(); ++i)
      sum += weight_at(static_cast<int>(rank), i) * results[rank][i] * results[rank][i] / 2;
  return sum;
}

std::string compared(const std::string &what, const Values &given, const Values &expected, double tolerance) {
  if (given.size() != expected.size())
    return fmt::format("{}: {} values for {}; ", what, given.size(), expected.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!(std::abs(given[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i]))))
      return fmt::format("{}: {} for {} at {}; ", what, given[i], expected[i], i);
  return "";
}

}  // namespace

std::vector<CollectiveCase> collective_cases() {
  using Run = std::function<void(const Communicator &, const AnyBuffer &, const AnyBuffer &)>;
  std::vector<CollectiveCase> cases;
  for (const ReduceOp reduction : {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::max, ReduceOp::average}) {
    cases.push_back(all_reduce_case(reduction));
    cases.push_back({fmt::format("reduce, {}", name(reduction)), always(5), on_root(1, always(5)),
                     Run([=](const auto &ranks, const auto &result, const auto &values) {
                       reduce(ranks, result, values, 1, reduction);
                     }),
                     [=](const ValuesOfRanks &all) { return on_one(all, 1, reduced(all, reduction)); }});
    cases.push_back({fmt::format("reduce_scatter, {}", name(reduction)), for_each_rank(3), always(3),
                     Run([=](const auto &ranks, const auto &result, const auto &values) {
                       reduce_scatter(ranks, result, values, reduction);
                     }),
                     [=](const ValuesOfRanks &all) { return parts_of(reduced(all, reduction), all.size()); }});
  }
  cases.push_back(
      {"broadcast", on_root(1, always(4)), always(4),
       [](const auto &ranks, const auto &result, const auto &values) { broadcast(ranks, result, values, 1); },
       [](const ValuesOfRanks &all) { return ValuesOfRanks(all.size(), all[1]); }});
  cases.push_back({"all_gather", always(3), for_each_rank(3),
                   [](const auto &ranks, const auto &result, const auto &values) { all_gather(ranks, result, values); },
                   [](const ValuesOfRanks &all) { return ValuesOfRanks(all.size(), joined(all)); }});
  cases.push_back({"gather", always(3), on_root(0, for_each_rank(3)),
                   [](const auto &ranks, const auto &result, const auto &values) { gather(ranks, result, values, 0); },
                   [](const ValuesOfRanks &all) { return on_one(all, 0, joined(all)); }});
  cases.push_back({"scatter", on_root(1, for_each_rank(2)), always(2),
                   [](const auto &ranks, const auto &result, const auto &values) { scatter(ranks, result, values, 1); },
                   [](const ValuesOfRanks &all) { return parts_of(all[1], all.size()); }});
  cases.push_back({"all_to_all", for_each_rank(2), for_each_rank(2),
                   [](const auto &ranks, const auto &result, const auto &values) { all_to_all(ranks, result, values); },
                   [](const ValuesOfRanks &all) {
                     ValuesOfRanks results(all.size());
                     for (const Values &values : all) {
                       const ValuesOfRanks parts = parts_of(values, all.size());
                       for (std::size_t rank = 0; rank < all.size(); ++rank)
                         results[rank].insert(results[rank].end(), parts[rank].begin(), parts[rank].end());
                     }
                     return results;
                   }});
  cases.push_back(uneven_all_to_all());
  cases.push_back(ring());
  cases.push_back(chain());
  return cases;
}

std::string check_case(const CollectiveCase &each, const Communicator &ranks) {
  const int size = ranks.size(), rank = ranks.rank();
  ValuesOfRanks all(static_cast<std::size_t>(size));
  for (int other = 0; other < size; ++other) {
    Values &values = all[static_cast<std::size_t>(other)];
    values.resize(static_cast<std::size_t>(each.values(other, size)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_at(other, i);
  }
  const auto own = static_cast<std::size_t>(rank);
  const Values expected = each.expected(all)[own];

  // An array and every second element of one: contiguous, and not.
  std::string differences;
  for (const int step : {1, 2}) {
    const auto array = [&](const Values &contents) {
      Buffer<double> whole{ranks.device(), {static_cast<std::int64_t>(contents.size()) * step}, Gradient::tracked};
      Buffer<double> part = whole.slice(0, 0, whole.count(), step);
      part.copy_from(contents);
      return part;
    };
    const auto unless_empty = [](const Buffer<double> &buffer) {
      return buffer.count() == 0 ? AnyBuffer() : AnyBuffer(buffer);
    };
    const Buffer<double> values = array(all[own]), result = array(Values(expected.size(), -1));
    // An empty array must still be an array if parts have unequal sizes.
    const bool is_needed = each.name.starts_with("all_to_all");
    Tape tape;
    tape.record([&] {
      each.run(ranks, is_needed ? AnyBuffer(result) : unless_empty(result),
               is_needed ? AnyBuffer(values) : unless_empty(values));
    });
    differences += compared(each.name + ", result", result.to_vector(), expected, 1e-14);

    Values weights(expected.size());
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = weight_at(rank, i) * expected[i];
    std::vector<Tape::Cotangent> cotangents;
    if (result.count() != 0) cotangents.push_back({result, Buffer<double>{ranks.device(), {result.count()}, weights}});
    tape.backward(cotangents);

    Values gradient(all[own].size());
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      constexpr double change = 1e-5;
      ValuesOfRanks up = all, down = all;
      up[own][i] += change, down[own][i] -= change;
      gradient[i] = (objective(each, up) - objective(each, down)) / (2 * change);
    }
    differences += compared(each.name + ", gradient", values.gradient().to_vector(), gradient, 1e-7);
  }
  return differences;
}

}  // namespace samite::test
