#include "samite/codegen/cuda_channel.h"

#include "samite/base/error.h"
#include "samite/codegen/emit.h"

#include <algorithm>

namespace samite::codegen {

void clear(CudaChannel *channel, std::size_t bytes) {
  internal_check(bytes >= sizeof(CudaChannel), "a channel that is too small");
  const std::size_t words = (bytes - sizeof(CudaChannel)) / sizeof(std::uint64_t);
  *channel = {};
  channel->capacity = words;
  // A record that did not fit leaves zeros. No record begins with zero, so zero ends the list.
  std::fill_n(reinterpret_cast<std::uint64_t *>(channel + 1), words, std::uint64_t{0});
}

std::vector<CudaRecord> records(const CudaChannel &channel, std::span<const MessageSite> messages, int launch_rank) {
  const std::size_t there = std::min(channel.used, channel.capacity);
  std::span<const std::uint64_t> words(reinterpret_cast<const std::uint64_t *>(&channel + 1), there);
  std::vector<CudaRecord> records;
  while (!words.empty()) {
    const auto site = static_cast<std::uint32_t>(words[0] & 0xffffffff);
    if (words[0] == 0) break;
    const std::size_t size = words[0] >> 32, count = size - 1;
    internal_check(site < messages.size() && size > 0 && size <= words.size(), "a kernel's message is not whole");
    const std::size_t indices = messages[site].is_check ? static_cast<std::size_t>(launch_rank) : 0;
    internal_check(count == indices + messages[site].types.size(), "a kernel's message has other values");
    records.push_back({site, words.subspan(1, indices), words.subspan(1 + indices, count - indices)});
    words = words.subspan(size);
  }
  return records;
}

}  // namespace samite::codegen
