// SPDX-License-Identifier: GPL-2.0
#include "kernel/prototypes.h"

#include <gtest/gtest.h>

#include <fstream>

#include "temp_file.h"

namespace djprobe::loader {
namespace {

struct Types {
    Types() {
        integer = btf__add_int(all.get(), "int", 4, BTF_INT_SIGNED);
        letter = btf__add_int(all.get(), "char", 1, BTF_INT_CHAR);
        file = btf__add_struct(all.get(), "file", 8);
        text = btf__add_ptr(all.get(), btf__add_const(all.get(), letter));
    }
    int function(const char* name, int result, const std::vector<std::pair<const char*, int>>& of) {
        const int type = btf__add_func_proto(all.get(), result);
        for (const auto& [parameter, id] : of)
            btf__add_func_param(all.get(), parameter, id);
        return btf__add_func(all.get(), name, BTF_FUNC_STATIC, type) > 0 ? type : 0;
    }
    [[nodiscard]] std::string bytes() const {
        __u32 size = 0;
        const void* const data = btf__raw_data(all.get(), &size);
        return {static_cast<const char*>(data), size};
    }
    [[nodiscard]] std::string declare(int type, const char* name = "x") const {
        return c_declaration(*all, static_cast<std::uint32_t>(type), name);
    }

    std::unique_ptr<btf, decltype(&btf__free)> all{btf__new_empty(), btf__free};
    int integer, letter, file, text;
};

TEST(Prototypes, declare_as_c_does) {
    Types types;
    btf* const all = types.all.get();
    EXPECT_EQ(types.declare(0), "void x");
    EXPECT_EQ(types.declare(types.text), "const char *x");
    EXPECT_EQ(types.declare(types.text, ""), "const char *");
    EXPECT_EQ(types.declare(btf__add_const(all, types.text)), "const char *const x");
    EXPECT_EQ(types.declare(btf__add_ptr(all, btf__add_ptr(all, types.file))), "struct file **x");
    const int array = btf__add_array(all, types.integer, types.integer, 4);
    EXPECT_EQ(types.declare(array), "int x[4]");
    EXPECT_EQ(types.declare(btf__add_ptr(all, array)), "int (*x)[4]");
    EXPECT_EQ(types.declare(btf__add_enum(all, nullptr, 4)), "enum {...} x");
    const int compare = btf__add_func_proto(all, types.integer);
    btf__add_func_param(all, nullptr, types.text);
    btf__add_func_param(all, nullptr, 0);
    EXPECT_EQ(types.declare(btf__add_ptr(all, compare)), "int (*x)(const char *, ...)");
}

TEST(Prototypes, of_functions_by_name_and_module) {
    Types types;
    types.function("vfs_open", types.integer, {{"path", types.text}, {"flags", types.integer}});
    types.function("twin", types.integer, {});
    types.function("twin", types.file, {});
    types.function("nothing", 0, {});
    const Files files;
    files.write("vmlinux", types.bytes());
    Prototypes prototypes(files.path());
    EXPECT_EQ(prototypes.find("", "vfs_open"), "int vfs_open(const char *path, int flags)");
    EXPECT_EQ(prototypes.find("", "nothing"), "void nothing(void)");
    EXPECT_EQ(prototypes.find("", "twin"), std::nullopt) << "which of them?";
    EXPECT_EQ(prototypes.find("", "none"), std::nullopt);
    EXPECT_EQ(prototypes.find("ext4", "vfs_open"), std::nullopt);
    EXPECT_EQ(Prototypes("/nonexistent").find("", "vfs_open"), std::nullopt);
}

}  // namespace
}  // namespace djprobe::loader
