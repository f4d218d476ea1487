/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pages: touches memory and ends.
 *
 * On a virtual machine the first touch of memory that the host has yet to back
 * costs many times what known memory costs, and hosts take free memory away
 * again within seconds.  A copy that happens to get such pages for its page cache
 * takes several times as long, whatever the tool.  What we free here the kernel
 * hands out next.
 */
#define _GNU_SOURCE
#include <err.h>
#include <stddef.h>
#include <sys/mman.h>

static const size_t amount = (size_t)768 << 20;

int main(void)
{
	char *memory = mmap(NULL, amount, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "mmap");
	/* Without huge pages it only takes longer. */
	madvise(memory, amount, MADV_HUGEPAGE);
	for (size_t at = 0; at < amount; at += 4096)
		*(volatile char *)(memory + at) = 1;
	return 0;
}
