# PGXS build. `make PG_CONFIG=…` builds for one server; `make check` and `make demo`
# install what they need first, so they must work where PGXS is not there yet.

SCRIPTS_OF_OURS = check demo
ifneq ($(filter $(SCRIPTS_OF_OURS),$(MAKECMDGOALS)),)

.PHONY: $(SCRIPTS_OF_OURS)
$(SCRIPTS_OF_OURS):
	@test/$@

else

EXTENSION = dynamo_table
EXTVERSION = 0.1.0

MODULE_big = dynamo_table
DATA = $(EXTENSION)--$(EXTVERSION).sql
SOURCES = $(sort $(wildcard src/*.c src/*/*.c))
OBJS = $(SOURCES:.c=.o)
SOURCE_HEADERS = $(wildcard src/*.h src/*/*.h)

PG_CPPFLAGS = -I$(CURDIR)/src
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers

REGRESS = $(sort $(patsubst sql/%.sql,%,$(wildcard sql/*.sql)))
REGRESS_OPTS = --load-extension=$(EXTENSION)
EXTRA_CLEAN = results regression.diffs regression.out

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

$(OBJS): $(SOURCE_HEADERS)

.PHONY: dist
dist:
	git archive --format zip --prefix=$(EXTENSION)-$(EXTVERSION)/ -o $(EXTENSION)-$(EXTVERSION).zip HEAD

endif
