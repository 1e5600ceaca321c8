// SPDX-License-Identifier: GPL-2.0
// The words of the command line, before CLI11 sees them: it takes the value of a misspelt option
// for FILE, and blames that.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/app.h"

namespace djprobe::loader {

/// Throws Error(kUsage) for a first word that is no command, and for the first option that the
/// command does not have, with the name that was meant.
void check_words(int argc, const char* const* argv, const CLI::App& app,
                 const std::vector<Command>& commands);

/// A word of the command line, or the value behind its "=", may hold line breaks. Where an error's
/// message quotes it, they are escaped: an error is one line. Other line breaks stay.
void keep_in_line(std::string& message, const std::vector<std::string_view>& words);

/// CLI11 takes a word "[v]fs_rea[d]" of several for a list, and its outer brackets away: the same
/// with them.
std::string with_brackets(const std::string& word);

}  // namespace djprobe::loader
