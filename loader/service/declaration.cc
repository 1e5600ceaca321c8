// SPDX-License-Identifier: GPL-2.0
#include "service/declaration.h"

#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "base/error.h"

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVerbs[] = {"attach", "trace", "count", "hist", "latency", "cover"};

[[noreturn]] void wrong(const fs::path& file, std::string_view key, std::string_view why) {
    fail(ExitCode::kUsage, "{}: {}: {}", file.string(), key, why);
}

std::string word_of(const toml::node& node, const fs::path& file, std::string_view key) {
    if (const auto* const text = node.as_string()) {
        if (text->get().find('\0') != std::string::npos) wrong(file, key, "has a byte 0");
        return text->get();
    }
    if (const auto* const number = node.as_integer()) return std::to_string(number->get());
    if (const auto* const number = node.as_floating_point())
        return fmt::format("{}", number->get());
    wrong(file, key, "neither a text nor a number, nor a list of them");
}

std::vector<std::string> words_of(const toml::node& node, const fs::path& file,
                                  std::string_view key) {
    std::vector<std::string> words;
    if (const auto* const list = node.as_array())
        for (const toml::node& element : *list)
            words.push_back(word_of(element, file, key));
    else
        words.push_back(word_of(node, file, key));
    return words;
}

// "func = ['a', 'b']" is "--func=a --func=b", "json = true" is "--json=true": an option with a
// value would take the next word for it. "json = false" is as if it were not there: options that
// exclude each other may stand side by side then.
void add_option(std::string_view key, const toml::node& node, const fs::path& file,
                std::vector<std::string>& words) {
    // It would end at once, and well.
    if (key == "help") wrong(file, key, "no option of a service");
    if (const auto* const flag = node.as_boolean()) {
        if (flag->get()) words.push_back(fmt::format("--{}=true", key));
        return;
    }
    const std::vector<std::string> values = words_of(node, file, key);
    // A key that is no option would be passed over.
    if (values.empty()) wrong(file, key, "an empty list: leave the line out");
    for (const std::string& value : values)
        words.push_back(fmt::format("--{}={}", key, value));
}

// A service has no stdin, and an option is not meant.
std::vector<std::string> files_of(const toml::node& node, const fs::path& file) {
    std::vector<std::string> names = words_of(node, file, "file");
    for (const std::string& name : names)
        if (name.starts_with('-'))
            wrong(file, "file",
                  fmt::format("'{}' is no file: options have keys of their own", name));
    return names;
}

std::string read_text(const fs::path& file) {
    // A stream opens it, and then throws what names no file.
    std::error_code unknown;
    if (fs::is_directory(file, unknown))
        fail(ExitCode::kBadFile, "{}: {}", file.string(), std::strerror(EISDIR));
    // A FIFO without a writer would keep us waiting, and a device has no end.
    if (fs::exists(file, unknown) && !fs::is_regular_file(file, unknown))
        fail(ExitCode::kBadFile, "{}: not a regular file", file.string());
    std::ifstream in(file);
    if (!in)
        fail(errno == EACCES || errno == EPERM ? ExitCode::kNoPermission : ExitCode::kBadFile,
             "{}: {}", file.string(), std::strerror(errno));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

toml::table parse(std::string_view text, const fs::path& file) {
    try {
        return toml::parse(text, file.string());
    } catch (const toml::parse_error& error) {
        const toml::source_position at = error.source().begin;
        fail(ExitCode::kUsage, "{}: line {}, column {}: {}", file.string(), at.line, at.column,
             error.description());
    }
}

}  // namespace

void check_service_name(const std::string& name) {
    const bool fits =
        !name.empty() && name.size() <= 64 && name.front() != '-' && name.front() != '.' &&
        std::ranges::all_of(name, [](unsigned char letter) {
            return std::isalnum(letter) || letter == '_' || letter == '.' || letter == '-';
        });
    if (!fits)
        fail(ExitCode::kUsage,
             "'{}' cannot name a service: up to 64 letters, digits and '_', and not first '.' and "
             "'-'",
             name);
}

void check_transient(const std::string& name, const std::vector<std::string>& words) {
    if (words.empty()) return;
    if (words.back() == "-")
        fail(ExitCode::kUsage, "a service has no stdin: write it to a file, and name that");
    std::error_code unknown;
    const std::string& first = words.front();
    if (std::ranges::find(kVerbs, first) != std::end(kVerbs) && !fs::exists(first, unknown))
        fail(ExitCode::kUsage,
             "start takes the options of attach: a service of {0} is declared in {1}/{2}.toml, "
             "with verb = \"{0}\"",
             first, kDeclared, name);
}

Declaration parse_declaration(std::string_view text, const fs::path& file) {
    const toml::table table = parse(text, file);
    Declaration declaration{file.parent_path().string(), {"attach"}};
    std::vector<std::string> last;
    for (const auto& [name, node] : table) {
        const std::string_view key = name.str();
        if (key == "verb") {
            declaration.words.front() = word_of(node, file, key);
            if (std::ranges::find(kVerbs, declaration.words.front()) == std::end(kVerbs))
                wrong(file, key, "none of attach, trace, count, hist, latency, cover");
        } else if (key == "folder") {
            declaration.folder = word_of(node, file, key);
        } else if (key == "file") {
            std::ranges::copy(files_of(node, file), std::back_inserter(last));
        } else if (key == "words") {
            std::ranges::copy(words_of(node, file, key), std::back_inserter(last));
        } else {
            add_option(key, node, file, declaration.words);
        }
    }
    std::ranges::copy(last, std::back_inserter(declaration.words));
    return declaration;
}

Declaration read_declaration(const fs::path& file) {
    return parse_declaration(read_text(file), file);
}

std::string declaration_text(const std::vector<std::string>& words, const std::string& folder) {
    toml::array list;
    for (const std::string& word : words)
        list.push_back(word);
    std::ostringstream text;
    text << toml::table{{"folder", folder}, {"words", list}} << '\n';
    // TOML is UTF-8; names of files need not be.
    std::vector<std::string> again = {"attach"};
    again.insert(again.end(), words.begin(), words.end());
    Declaration read;
    try {
        read = parse_declaration(text.str(), "");
    } catch (const Error&) {
    }
    if (read.words != again || read.folder != folder)
        fail(ExitCode::kUsage,
             "a service's words and its folder ('{}') are UTF-8: another name serves", folder);
    return text.str();
}

fs::path declaration_in(const char* folder, const std::string& name) {
    return fs::path(folder) / (name + ".toml");
}

fs::path find_declaration(const std::string& name) {
    for (const char* const folder : {kTransient, kDeclared})
        if (fs::path file = declaration_in(folder, name); fs::exists(file)) return file;
    fail(ExitCode::kUsage,
         "there is no {}/{}.toml: write one, or give the options of attach: probeload start {} "
         "--func SYM FILE",
         kDeclared, name, name);
}

}  // namespace djprobe::loader
