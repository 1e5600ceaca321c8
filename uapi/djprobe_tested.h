/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The releases of the kernel (uname -r) that the project's tests have run on, by series. The module
 * and the loader say so when they run on another one. No include, so that both may use it.
 */
#ifndef DJPROBE_TESTED_H
#define DJPROBE_TESTED_H

/* An asterisk stands for any characters. */
static const char *const djprobe_tested_releases[] = {
	"6.1.0-*amd64",		/* Debian 12 */
	"6.12.*+deb12-*amd64",	/* Debian 12's backports */
	"6.12.*+deb13-*amd64",	/* Debian 13: the same source */
	"7.3.*+deb13-*amd64",	/* Debian 13's backports */
	"6.12.*-djprobe-debug", /* vm/run --kernel debug */
};

static inline int djprobe_matches_release(const char *pattern, const char *release)
{
	const char *from = release;
	/* NOLINTNEXTLINE(modernize-use-nullptr): C includes this, too. */
	const char *after = 0;

	while (*release) {
		if (*pattern == '*') {
			after = ++pattern;
			from = release;
		} else if (*pattern == *release) {
			pattern++;
			release++;
		} else if (after) {
			pattern = after;
			release = ++from;
		} else {
			return 0;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static inline int djprobe_is_tested(const char *release)
{
	unsigned int i;

	for (i = 0; i < sizeof(djprobe_tested_releases) / sizeof(*djprobe_tested_releases); i++)
		if (djprobe_matches_release(djprobe_tested_releases[i], release))
			return 1;
	return 0;
}

#endif
