// SPDX-License-Identifier: GPL-2.0
// Whether the detour itself can keep a question's results: a few instructions in place of a
// program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "djprobe_action.h"
#include "kernel/prototypes.h"
#include "trace/question.h"

namespace djprobe::loader {

struct ActionChoice {
    /// Of each hit; an empty list is the plain count. None: a program must do it.
    std::optional<std::vector<djprobe_action>> actions;
    std::string why_not;  ///< "" where there are actions
};

/// The question is one that a program could be written for.
ActionChoice choose_actions(const Question& question, Prototypes& prototypes);

/// What the detour itself decides before the program of a question runs, which asks again.
struct Front {
    std::vector<djprobe_action> conditions{};
    std::string words{};  ///< the options that are in front; "" for none
};

/// The tasks, and `--if` where registers and numbers tell it. At returns there is none.
Front choose_front(const Question& question, Prototypes& prototypes);

/// What the user is told of the choice: lines.
std::string explain_choice(const Question& question, const ActionChoice& choice,
                           const Front& front);

}  // namespace djprobe::loader
