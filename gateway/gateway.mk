# The gateway: a program of its own, built without the server and without the extension.
#
#	make gateway                      build/gateway/dynamo_gateway
#	make install-gateway [PREFIX=…]   into $(PREFIX), below $(DESTDIR): the program, its manual page, systemd's unit,
#	                                  and a sample of its settings
#	make uninstall-gateway            removes these, with the same PREFIX and DESTDIR
#	make console-gateway              the console's files, in build/share/dynamo_gateway/console, where the program of
#	                                  build/gateway finds them; npm fetches the library that signs
#	make install-console-gateway      the same into $(PREFIX); AWS4FETCH is a folder that has the library already
#	make uninstall-console-gateway    removes them
#
# GATEWAY_BUILD is the folder that it is built in, CC and CFLAGS are the compiler and its options.

GATEWAY_BUILD ?= build/gateway
PREFIX ?= /usr/local
CFLAGS ?= -O2 -g
GATEWAY_LIBRARIES = libmicrohttpd libpq libssl libcrypto zlib

GATEWAY_SOURCES = $(wildcard gateway/*.c)
GATEWAY_OBJECTS = $(GATEWAY_SOURCES:gateway/%.c=$(GATEWAY_BUILD)/%.o)
GATEWAY_CFLAGS = -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wformat-nonliteral -Wmissing-prototypes \
	-fvisibility=hidden -pthread -MMD -MP $(shell pkg-config --cflags $(GATEWAY_LIBRARIES))
GATEWAY_LIBS = $(shell pkg-config --libs $(GATEWAY_LIBRARIES)) -pthread

.PHONY: gateway install-gateway uninstall-gateway clean-gateway

gateway: $(GATEWAY_BUILD)/dynamo_gateway

$(GATEWAY_BUILD)/dynamo_gateway: $(GATEWAY_OBJECTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(GATEWAY_LIBS)

$(GATEWAY_BUILD)/%.o: gateway/%.c | $(GATEWAY_BUILD)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(GATEWAY_CFLAGS) -c -o $@ $<

$(GATEWAY_BUILD):
	mkdir -p $@

GATEWAY_PROGRAM = '$(DESTDIR)$(PREFIX)/bin/dynamo_gateway'
GATEWAY_MAN = '$(DESTDIR)$(PREFIX)/share/man/man1/dynamo_gateway.1'
GATEWAY_UNIT = '$(DESTDIR)$(PREFIX)/lib/systemd/system/dynamo_gateway.service'
GATEWAY_SAMPLE = '$(DESTDIR)$(PREFIX)/share/dynamo_gateway/dynamo_gateway.conf.sample'

install-gateway: gateway
	install -D -m 755 $(GATEWAY_BUILD)/dynamo_gateway $(GATEWAY_PROGRAM)
	install -D -m 644 gateway/dynamo_gateway.1 $(GATEWAY_MAN)
	install -D -m 644 gateway/dynamo_gateway.conf $(GATEWAY_SAMPLE)
	install -D -m 644 gateway/dynamo_gateway.service $(GATEWAY_UNIT)
	sed -i 's|/usr/local/|$(PREFIX)/|' $(GATEWAY_UNIT)

uninstall-gateway:
	rm -f $(GATEWAY_PROGRAM) $(GATEWAY_MAN) $(GATEWAY_SAMPLE) $(GATEWAY_UNIT)
	rmdir '$(DESTDIR)$(PREFIX)/share/dynamo_gateway' 2>/dev/null || true

clean-gateway:
	rm -rf $(GATEWAY_BUILD) $(CONSOLE)

CONSOLE = $(dir $(GATEWAY_BUILD))share/dynamo_gateway/console
CONSOLE_SOURCES = $(foreach type,html css js svg,$(wildcard gateway/console/*.$(type)))
CONSOLE_INSTALLED = '$(DESTDIR)$(PREFIX)/share/dynamo_gateway/console'
AWS4FETCH ?= $(GATEWAY_BUILD)/console/node_modules/aws4fetch

.PHONY: console-gateway install-console-gateway uninstall-console-gateway

console-gateway: $(AWS4FETCH)/dist/aws4fetch.esm.js
	install -d $(CONSOLE)
	install -m 644 $(CONSOLE_SOURCES) $(CONSOLE)
	install -m 644 $< $(CONSOLE)/aws4fetch.js

$(GATEWAY_BUILD)/console/node_modules/aws4fetch/dist/aws4fetch.esm.js: gateway/console/package-lock.json
	mkdir -p $(GATEWAY_BUILD)/console
	cp gateway/console/package.json $< $(GATEWAY_BUILD)/console
	cd $(GATEWAY_BUILD)/console && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

install-console-gateway: console-gateway
	install -d $(CONSOLE_INSTALLED)
	install -m 644 $(CONSOLE)/* $(CONSOLE_INSTALLED)

uninstall-console-gateway:
	rm -rf $(CONSOLE_INSTALLED)
	rmdir '$(DESTDIR)$(PREFIX)/share/dynamo_gateway' 2>/dev/null || true

-include $(GATEWAY_OBJECTS:.o=.d)
