// SPDX-License-Identifier: GPL-2.0
#include "kmod/code/code_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "kmod/glue/kernel.h"

namespace djprobe::kmod {
namespace {

using Bytes = std::vector<u8>;

struct Write {
    u64 address;
    Bytes bytes;
    bool operator==(const Write&) const = default;
};
std::vector<Write> writes;
bool is_locked;

}  // namespace
}  // namespace djprobe::kmod

void djk_text_lock() {
    djprobe::kmod::is_locked = true;
}
void djk_text_unlock() {
    djprobe::kmod::is_locked = false;
}
void djk_text_sync() {}
void djk_text_write(unsigned long address, const void* bytes, size_t size) {
    EXPECT_TRUE(djprobe::kmod::is_locked);
    const auto* from = static_cast<const djprobe::u8*>(bytes);
    djprobe::kmod::writes.push_back({address, {from, from + size}});
}

namespace djprobe::kmod {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr u64 kSlot = 0xffffffffa0000000;

class CodeWriterTest : public testing::Test {
  protected:
    CodeWriterTest() { writes.clear(); }
    void add(u64 address, const Bytes& code) { writer_.add(address, {code.data(), code.size()}); }

    CodeWriter writer_;
};

TEST_F(CodeWriterTest, NothingIsWrittenBeforeTheFlush) {
    add(kSlot, {1, 2, 3});
    EXPECT_THAT(writes, IsEmpty());
    writer_.flush();
    EXPECT_THAT(writes, ElementsAre(Write{kSlot, {1, 2, 3}}));
    EXPECT_FALSE(is_locked);
}

TEST_F(CodeWriterTest, FlushedOnceOnly) {
    add(kSlot, {1});
    writer_.flush();
    writer_.flush();
    EXPECT_EQ(writes.size(), 1u);
}

TEST_F(CodeWriterTest, SlotsThatFollowEachOtherAreOneWriteWithInt3Between) {
    Bytes whole(14, 1);
    add(kSlot, whole);
    add(kSlot + 16, Bytes(16, 2));
    add(kSlot + 32, {3});
    writer_.flush();
    whole.insert(whole.end(), 2, 0xcc);
    whole.insert(whole.end(), 16, 2);
    whole.push_back(3);
    EXPECT_THAT(writes, ElementsAre(Write{kSlot, whole}));
}

TEST_F(CodeWriterTest, BytesOfOthersBetweenAreLeftAlone) {
    add(kSlot, {1});
    add(kSlot + 32, {2});
    add(kSlot + 16, {3});
    writer_.flush();
    EXPECT_THAT(writes,
                ElementsAre(Write{kSlot, {1}}, Write{kSlot + 32, {2}}, Write{kSlot + 16, {3}}));
}

TEST_F(CodeWriterTest, AWholeGranuleBetweenIsAnothers) {
    add(kSlot, Bytes(16, 1));
    add(kSlot + 32, {2});
    writer_.flush();
    EXPECT_THAT(writes, ElementsAre(Write{kSlot, Bytes(16, 1)}, Write{kSlot + 32, {2}}));
}

TEST_F(CodeWriterTest, OneByteTooManyBeginsAnotherWrite) {
    for (const size_t more : {0, 1}) {
        writes.clear();
        add(kSlot, Bytes(4080, 1));
        add(kSlot + 4080, Bytes(16 + more, 2));
        writer_.flush();
        EXPECT_EQ(writes.size(), 1 + more);
    }
}

TEST_F(CodeWriterTest, AWriteIsNoLongerThanTheKernelAllows) {
    constexpr size_t slot = 272;
    for (size_t i = 0; i < 100; ++i)
        add(kSlot + i * slot, Bytes(slot, static_cast<u8>(i)));
    writer_.flush();
    size_t written = 0;
    for (const Write& write : writes) {
        EXPECT_EQ(write.address, kSlot + written);
        EXPECT_LE(write.bytes.size(), 4096u);
        for (size_t i = 0; i < write.bytes.size(); ++i)
            EXPECT_EQ(write.bytes[i], (written + i) / slot);
        written += write.bytes.size();
    }
    EXPECT_EQ(written, 100 * slot);
    EXPECT_LE(writes.size(), 7u);
}

}  // namespace
}  // namespace djprobe::kmod
