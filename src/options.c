/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "diag.h"
#include "size.h"

/*
 * What getopt_long takes, made from the table.  A long option's value is LONG +
 * its index in the rows, which no letter is: so it can be told how it was spelled.
 */
enum { LONG = 256 };

struct parser {
	const struct option_table *table;
	struct option longs[OPTION_ROWS_MAX + 1];
	char shorts[2 * OPTION_ROWS_MAX + 2];
};

/* ---- sets ---- */

static void *member_of(void *target, const struct option_use *use)
{
	return (char *)target + use->row->offset;
}

int option_refuse(const struct option_use *use, const char *expected)
{
	const char *habit = use->is_short ? use->row->habit : NULL;

	diag_fail(STATUS_USAGE, NULL, 0, "option %s: '%s' is not %s%s%s%s",
		  use->shown, use->value, expected, habit ? "; " : "",
		  habit ? habit : "", use->table->hint);
	return -1;
}

int option_stop(void *target, const struct option_use *use)
{
	(void)target;
	(void)use;
	return 0;
}

int option_flag(void *target, const struct option_use *use)
{
	*(bool *)member_of(target, use) = true;
	return 0;
}

int option_count(void *target, const struct option_use *use)
{
	++*(unsigned *)member_of(target, use);
	return 0;
}

int option_percent(void *target, const struct option_use *use)
{
	if (size_parse_number(use->value, 0, 100, member_of(target, use)) != 0)
		return option_refuse(use, "a percentage from 0 to 100");
	return 0;
}

int option_size(void *target, const struct option_use *use)
{
	uint64_t bytes;

	if (size_parse(use->value, &bytes) != 0)
		return option_refuse(use, "a size like 10k, 8m or 1g");
	if (bytes == 0)
		return option_refuse(use, "a size above 0");
	*(uint64_t *)member_of(target, use) = bytes;
	return 0;
}

int option_once(void *target, const struct option_use *use)
{
	const char **text = member_of(target, use);

	if (*text) {
		diag_fail(STATUS_USAGE, NULL, 0, "%s given twice%s", use->shown,
			  use->table->hint);
		return -1;
	}
	*text = use->value;
	return 0;
}

/* ---- what is printed ---- */

static void print_row(const struct option_table *table,
		      const struct option_row *row)
{
	char head[64];
	int n;

	if (row->letter && row->name)
		n = snprintf(head, sizeof head, "  -%c, ", row->letter);
	else if (row->letter)
		n = snprintf(head, sizeof head, "  -%c%s%s", row->letter,
			     row->arg ? " " : "", row->arg ? row->arg : "");
	else
		n = snprintf(head, sizeof head, "      ");
	if (row->name)
		snprintf(head + n, sizeof head - (size_t)n, "--%s%s%s%s%s",
			 row->name, row->optional ? "[" : "",
			 row->arg ? "=" : "", row->arg ? row->arg : "",
			 row->optional ? "]" : "");
	printf("%-*s", table->column, head);
	for (const char *p = row->help; *p; p++) {
		putchar(*p);
		if (*p == '\n')
			printf("%*s", table->column, "");
	}
	putchar('\n');
}

void options_print(const struct option_table *table)
{
	for (size_t i = 0; i < table->nrows; i++) {
		const struct option_row *row = &table->rows[i];

		if (table->titles && (i == 0 || row->group != row[-1].group))
			printf("\n%s\n", table->titles[row->group]);
		print_row(table, row);
	}
}

/* ---- parsing ---- */

static void parser_init(struct parser *parser, const struct option_table *table)
{
	char *s = parser->shorts;
	int n = 0;

	memset(parser, 0, sizeof *parser);
	parser->table = table;
	*s++ = ':';	/* a missing argument is told from an unknown option */
	for (size_t i = 0; i < table->nrows; i++) {
		const struct option_row *row = &table->rows[i];

		if (row->name)
			parser->longs[n++] = (struct option){ row->name,
				row->optional ? optional_argument :
				row->arg ? required_argument : no_argument,
				NULL, LONG + (int)i };
		if (row->letter)
			*s++ = (char)row->letter;
		if (row->letter && row->arg && !row->optional)
			*s++ = ':';
	}
}

static const struct option_row *row_find(const struct option_table *table,
					 int value)
{
	for (size_t i = 0; i < table->nrows; i++)
		if (value == LONG + (int)i || value == table->rows[i].letter)
			return &table->rows[i];
	return NULL;
}

static void refuse_letter(const struct option_table *table, int letter)
{
	char shown[2] = { (char)letter, '\0' };

	diag_fail(STATUS_USAGE, NULL, 0, "there is no option -%s%s%s", shown,
		  table->stranger ? table->stranger(letter) : "", table->hint);
}

/* An unknown long option, or an abbreviation that more than one fits. */
static void refuse_long(const struct option_table *table, const char *word)
{
	size_t len = strcspn(word, "="), used = 0;
	char fits[256] = "";

	for (size_t i = 0; i < table->nrows; i++) {
		const char *name = table->rows[i].name;

		if (name && strncmp(name, word + 2, len - 2) == 0 &&
		    used < sizeof fits)
			used += (size_t)snprintf(fits + used, sizeof fits - used,
						 "%s--%s", used ? ", " : "",
						 name);
	}
	if (used)
		diag_fail(STATUS_USAGE, NULL, 0, "option %.*s may be any of %s%s",
			  (int)len, word, fits, table->hint);
	else
		diag_fail(STATUS_USAGE, NULL, 0, "there is no option %.*s%s",
			  (int)len, word, table->hint);
}

static void refuse_missing(const struct option_use *use)
{
	const char *habit = use->is_short ? use->row->habit : NULL;

	diag_fail(STATUS_USAGE, NULL, 0, "option %s needs an argument, %s%s%s%s",
		  use->shown, use->row->arg, habit ? "; " : "",
		  habit ? habit : "", use->table->hint);
}

/* What getopt did not take, of a row that there is. */
static void refuse_use(const struct option_use *use, int answer)
{
	if (answer == ':')
		refuse_missing(use);
	else
		diag_fail(STATUS_USAGE, NULL, 0, "option %s takes no argument%s",
			  use->shown, use->table->hint);
}

/* One answer of getopt_long.  OPTION_RUN: go on. */
static enum option_verdict parse_one(const struct option_table *table,
				     void *target, int answer, char **argv,
				     struct option_result *result)
{
	bool bad = answer == '?' || answer == ':';
	int value = bad ? optopt : answer;
	const struct option_row *row = value ? row_find(table, value) : NULL;
	char shown[64];
	struct option_use use = { table, row, shown, optarg, value < LONG };

	if (!row) {
		if (value)
			refuse_letter(table, value);
		else
			refuse_long(table, argv[optind - 1]);
		return OPTION_REFUSED;
	}
	if (use.is_short)
		snprintf(shown, sizeof shown, "-%c", row->letter);
	else
		snprintf(shown, sizeof shown, "--%s", row->name);
	if (bad) {
		refuse_use(&use, answer);
		return OPTION_REFUSED;
	}
	result->used |= UINT64_C(1) << (row - table->rows);
	if (row->set == option_stop) {
		result->stop = row;
		return OPTION_STOPPED;
	}
	return row->set(target, &use) == 0 ? OPTION_RUN : OPTION_REFUSED;
}

enum option_verdict options_parse(const struct option_table *table, void *target,
				  int argc, char **argv,
				  struct option_result *result)
{
	struct parser parser;
	int answer;

	*result = (struct option_result){ 0 };
	parser_init(&parser, table);
	opterr = 0;
	optind = 0;	/* from the start, also when called again */
	while ((answer = getopt_long(argc, argv, parser.shorts, parser.longs,
				     NULL)) != -1) {
		enum option_verdict verdict =
			parse_one(table, target, answer, argv, result);

		if (verdict != OPTION_RUN)
			return verdict;
	}
	result->operands = optind;
	return OPTION_RUN;
}
