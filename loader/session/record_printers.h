// SPDX-License-Identifier: GPL-2.0
// How the records of an object's maps are printed, by the options of `probeload attach`.
#pragma once

#include <vector>

#include "events/folded.h"
#include "events/reader.h"
#include "object/object.h"
#include "session/options.h"

namespace djprobe::loader {

/// Outlives the printers that it makes.
class RecordPrinters {
  public:
    /// Throws Error for a --type that cannot be, or is of no map.
    RecordPrinters(const AttachOptions& options, const Object& object, FrameNames& names);

    [[nodiscard]] MakePrinter maker();
    /// What --folded has gathered.
    [[nodiscard]] const FoldedStacks& folded() const { return folded_; }

  private:
    struct Typed {
        std::string map;
        EventType type;
    };
    struct Found {
        const btf* types;
        std::optional<RecordType> type;
    };
    [[nodiscard]] Found find(const std::string& map, bool is_only) const;
    PrintRecord make(const std::string& map, bool is_only, RecordStyle style);
    PrintRecord fold(const Found& found);

    bool folds_;
    const Object& object_;
    FrameNames& names_;
    std::vector<Typed> typed_;
    FoldedStacks folded_;
};

}  // namespace djprobe::loader
