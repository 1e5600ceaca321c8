// SPDX-License-Identifier: GPL-2.0
#include "doubt.h"

#include <linux/kernel.h>

void djk_doubt(struct djk_doubt *doubt, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(doubt->text, sizeof(doubt->text), format, arguments);
	va_end(arguments);
}
