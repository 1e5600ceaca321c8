// SPDX-License-Identifier: GPL-2.0
// In place of kmod/code/code_writer.cc: slot by slot, so that the watch knows where each begins.
// What is flushed and when is the policy's, as there.
#include "kmod/code/code_writer.h"

#include <vector>

#include "failure.h"
#include "kernel_model.h"
#include "kmod/border/text_port.h"

namespace djprobe::kmod {
namespace {

struct Piece {
    u64 address;
    std::vector<u8> code;
    size_t frees;
};
std::vector<Piece> pieces;

}  // namespace

void CodeWriter::add(u64 address, Span<const u8> code) {
    pieces.push_back({address, {code.begin(), code.end()}, model::kernel->exec_frees});
    size_ += code.size();
}

void CodeWriter::flush() {
    if (!size_) return;
    KernelText text;
    for (const Piece& piece : pieces)
        if (piece.frees != model::kernel->exec_frees)
            model::fail("%#lx: code is written where slots have been given back meanwhile",
                        piece.address);
    for (const Piece& piece : pieces)
        text.write(piece.address, {piece.code.data(), piece.code.size()});
    pieces.clear();
    size_ = 0;
}

}  // namespace djprobe::kmod
