# Sourced by rules in shell: what the tree in the current folder has.

# code FOLDER…: what of them is written by hand; flex and bison leave their output beside their input
code()
{
	find "$@" -name '*.[chyl]' | grep -vxE 'src/(expr|api/partiql)/(gram\.[ch]|scan\.c)' | sort
}

sources()
{
	code src | grep '\.c$'
}

version()
{
	sed -n "s/^default_version = '\(.*\)'/\1/p" dynamo_table.control
}

# The install script, and those that update from version to version.
scripts()
{
	ls dynamo_table--*.sql
}

# make_grammars FOLDER: what flex and bison make of the grammars, out of the way of the tree
make_grammars()
{
	local grammar to
	for grammar in $(find src -name gram.y); do
		to=$1/$(dirname "${grammar#src/}")
		mkdir -p "$to"
		bison -Wall -Werror -d -o "$to/gram.c" "$grammar"
		flex -o "$to/scan.c" "${grammar%gram.y}scan.l"
	done
}

# grep in the texts of those of the folders that are there, but for what is built, and samples, which break rules
search()
{
	grep -rsI --exclude-dir={rules,build,results,node_modules,.git} "$@"
}

# without FILE < NAMES: those of the names that are not in the file's lines
without()
{
	sort -u | grep -vxFf "$1"
}
