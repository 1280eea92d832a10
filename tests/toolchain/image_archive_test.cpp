// The format of archives: written archives are read back, and damage anywhere is refused before an image is used.
#include "samite/toolchain/image_archive.h"

#include "samite/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace samite {
namespace {

using testing::HasSubstr;

ArchivedImage archived(std::string kernel, std::string target, std::string content) {
  const Hash128 key = hash_of({kernel, target, content});
  const ArchivedKind kind = target.empty() ? ArchivedKind::launch : ArchivedKind::image;
  return {
      key, std::move(target), std::move(kernel), "forward; y, x contiguous", std::move(content), "direction=forward",
      kind};
}

std::vector<ArchivedImage> some_images() {
  std::string bytes;
  for (int i = 0; i < 700; ++i) bytes += static_cast<char>(i * 37);
  return {archived("scale", "x86-64-v3", bytes), archived("a name\nwith % and \x01", "sm_90a", "\n\n"),
          archived("scale", "x86-64-v4", std::string(5, '\0')), archived("", "", "")};
}

// The error from opening the bytes and reading every image; empty if there is none.
std::string complaint(const std::string &bytes) {
  try {
    const ImageArchive archive("some.samite", bytes);
    archive.check();
  } catch (const UserError &error) {
    return error.what();
  }
  return "";
}

TEST(ImageArchives, HaveWhatWasPacked) {
  const std::vector<ArchivedImage> images = some_images();
  const ImageArchive archive("some.samite", ImageArchive::packed(images));
  ASSERT_EQ(archive.entries().size(), images.size());
  EXPECT_TRUE(std::ranges::is_sorted(archive.entries(), {}, &ImageArchive::Entry::key));
  for (const ArchivedImage &image : images) {
    const ImageArchive::Entry *entry = archive.find(image.key);
    ASSERT_NE(entry, nullptr) << image.kernel;
    EXPECT_EQ(entry->kernel, image.kernel);
    EXPECT_EQ(entry->target, image.target);
    EXPECT_EQ(entry->variant, image.variant);
    EXPECT_EQ(entry->content, image.content);
    EXPECT_EQ(entry->facts, image.facts);
    EXPECT_EQ(entry->kind, image.kind);
  }
  EXPECT_EQ(archive.find(hash_of({"another"})), nullptr);
}

TEST(ImageArchives, AreTheSameBytesInAnyOrder) {
  std::vector<ArchivedImage> images = some_images();
  const std::string bytes = ImageArchive::packed(images);
  std::ranges::reverse(images);
  images.push_back(images[1]);
  EXPECT_EQ(ImageArchive::packed(images), bytes);
}

TEST(ImageArchives, MayBeEmpty) {
  const ImageArchive archive("some.samite", ImageArchive::packed({}));
  EXPECT_TRUE(archive.entries().empty());
  EXPECT_EQ(archive.find(hash_of({"any"})), nullptr);
}

TEST(ImageArchives, ThatAreCutShortAreRefused) {
  const std::string bytes = ImageArchive::packed(some_images());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    ASSERT_THAT(complaint(bytes.substr(0, length)), HasSubstr("the kernel archive some.samite")) << length << " bytes";
  EXPECT_THAT(complaint(bytes.substr(0, bytes.size() - 1)), HasSubstr("is cut short: it ends within the image of"));
  EXPECT_THAT(complaint(bytes + "\n"), HasSubstr("goes on behind its last image"));
}

// Each bit of the file counts: the count, the index, the names and the contents.
TEST(ImageArchives, ThatAreDamagedAnywhereAreRefused) {
  const std::string bytes = ImageArchive::packed(some_images());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const int bit : {0, 1, 4, 7}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      ASSERT_NE(complaint(damaged), "") << "bit " << bit << " of byte " << i;
    }
}

TEST(ImageArchives, OfOtherKindsAreRefused) {
  EXPECT_THAT(complaint("\x7f"
                        "ELF and more\n"),
              HasSubstr("is no archive of kernels: make one with"));
  EXPECT_THAT(complaint("samite archive 1\nimages 0\n"), HasSubstr("has version 1 of the format, and this library "
                                                                   "reads version 2"));
  // A number of images that no file could hold allocates no memory.
  EXPECT_THAT(complaint("samite archive 2\nimages 99999999999999\nindex " + hash_of({""}).hex() + "\n"),
              HasSubstr("is damaged"));
}

TEST(ImageArchives, FindNothingInAnImageThatIsDamaged) {
  const std::vector<ArchivedImage> images = some_images();
  std::string bytes = ImageArchive::packed(images);
  const std::size_t at = bytes.find(images[0].content);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 5] ^= 1;
  const ImageArchive archive("some.samite", bytes);
  EXPECT_EQ(archive.find(images[1].key)->content, images[1].content) << "the others are well";
  EXPECT_THROW(archive.find(images[0].key), UserError);
}

}  // namespace
}  // namespace samite
