# PGXS build. `make PG_CONFIG=…` builds for one server; `make check`, `make quick`, `make demo` and `make bench`
# install what they need first, so they must work where PGXS is not there yet.

SCRIPTS_OF_OURS = check quick demo bench
ifneq ($(filter $(SCRIPTS_OF_OURS),$(MAKECMDGOALS)),)

.PHONY: $(SCRIPTS_OF_OURS)
check quick demo:
	@test/$@
bench:
	@bench/all

else ifneq ($(filter %gateway,$(MAKECMDGOALS)),)

include gateway/gateway.mk

else

EXTENSION = dynamo_table
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(EXTENSION).control)

MODULE_big = dynamo_table
# the install script of the first version, and a script to each one after it
DATA = $(sort $(wildcard $(EXTENSION)--*.sql))
SCRIPTS = bin/dynamo_table
MODULES_OF_COMMAND = $(sort $(wildcard bin/leave/*.py))
# The wildcard finds what flex and bison made only after the first build.
GRAMMARS = src/expr src/api/partiql
GENERATED = $(foreach folder,$(GRAMMARS),$(folder)/gram.c $(folder)/scan.c)
GENERATED_HEADERS = $(addsuffix /gram.h,$(GRAMMARS))
SOURCES = $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c) $(GENERATED))
OBJS = $(SOURCES:.c=.o)
SOURCE_HEADERS = $(filter-out $(GENERATED_HEADERS),$(wildcard src/*/*.h src/*/*/*.h))

PG_CPPFLAGS = -Isrc -include server/server.h
PG_CFLAGS = -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
	-Werror=format -Werror=format-security -Werror=format-nonliteral -Werror=switch

REGRESS = $(filter-out unloaded%,$(sort $(patsubst sql/%.sql,%,$(wildcard sql/*.sql))))
REGRESS_OPTS = --load-extension=$(EXTENSION)
EXTRA_CLEAN = results regression.diffs regression.out $(GENERATED) $(GENERATED_HEADERS)

# Code that the server inlines when it compiles queries finds nothing that is hidden.
override with_llvm = no

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# what messages in expected/ name
CONTRIB_TESTDB = regression

$(OBJS): $(SOURCE_HEADERS)

# bison writes gram.h along with gram.c
MAKE_GRAMMAR = $(or $(BISON),bison) -d -o $(@D)/gram.c $(@D)/gram.y

%/gram.c: %/gram.y
	$(MAKE_GRAMMAR)

%/gram.h: %/gram.c
	@if [ -e $@ ]; then touch $@; else $(MAKE_GRAMMAR); fi

%/scan.c: %/scan.l
	$(or $(FLEX),flex) -o $@ $<

EXPR_GRAMMAR_USERS = src/expr/compile src/expr/gram src/expr/scan src/expr/syntax
$(EXPR_GRAMMAR_USERS:=.o): src/expr/gram.h
PARTIQL_GRAMMAR_USERS = $(addprefix src/api/partiql/,error gram keyword parse scan)
$(PARTIQL_GRAMMAR_USERS:=.o): src/api/partiql/gram.h

# PGXS installs SCRIPTS by their last name, and removes them by their path.  It knows no manual pages.
COMMANDS = $(addprefix '$(DESTDIR)$(bindir)'/,$(notdir $(SCRIPTS)))
MANUALS = $(addprefix '$(DESTDIR)$(mandir)/man1'/,$(notdir $(SCRIPTS:=.1)))

# The command finds its modules from where it is itself.
PACKAGE_OF_COMMAND = '$(DESTDIR)$(bindir)/../share/dynamo_table'

install: install-manuals install-modules
uninstall: uninstall-commands

.PHONY: install-manuals install-modules uninstall-commands
install-manuals:
	$(MKDIR_P) '$(DESTDIR)$(mandir)/man1'
	$(INSTALL_DATA) $(SCRIPTS:=.1) '$(DESTDIR)$(mandir)/man1/'

install-modules:
	$(MKDIR_P) $(PACKAGE_OF_COMMAND)/leave
	$(INSTALL_DATA) bin/policy.py $(PACKAGE_OF_COMMAND)/
	$(INSTALL_DATA) $(MODULES_OF_COMMAND) $(PACKAGE_OF_COMMAND)/leave/

uninstall-commands:
	rm -f $(COMMANDS) $(MANUALS)
	rm -rf $(PACKAGE_OF_COMMAND)

# The archive for PGXN, of what is committed: make dist [MAINTAINER=…] [HOMEPAGE=…] [BUGTRACKER=…] [REPOSITORY=…]
# It is a release, so the long tests have passed on what it has.
.PHONY: dist
dist:
	test/long/run --check
	pgxn/archive $(EXTENSION) $(EXTVERSION)

endif
