# The gateway: a program of its own, built without the server and without the extension.
#
#	make gateway                      build/gateway/dynamo_gateway
#	make install-gateway [PREFIX=…]   into $(PREFIX)/bin, below $(DESTDIR), with systemd's unit
#
# GATEWAY_BUILD is the folder that it is built in, CC and CFLAGS are the compiler and its options.

GATEWAY_BUILD ?= build/gateway
PREFIX ?= /usr/local
GATEWAY_UNITS = $(PREFIX)/lib/systemd/system
CFLAGS ?= -O2 -g
GATEWAY_LIBRARIES = libmicrohttpd libpq libssl libcrypto zlib

GATEWAY_SOURCES = $(wildcard gateway/*.c)
GATEWAY_OBJECTS = $(GATEWAY_SOURCES:gateway/%.c=$(GATEWAY_BUILD)/%.o)
GATEWAY_CFLAGS = -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wformat-nonliteral -Wmissing-prototypes \
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

install-gateway: gateway
	install -D -m 755 $(GATEWAY_BUILD)/dynamo_gateway '$(DESTDIR)$(PREFIX)/bin/dynamo_gateway'
	install -d '$(DESTDIR)$(GATEWAY_UNITS)'
	sed 's|/usr/local/|$(PREFIX)/|' gateway/dynamo_gateway.service >'$(DESTDIR)$(GATEWAY_UNITS)/dynamo_gateway.service'

uninstall-gateway:
	rm -f '$(DESTDIR)$(PREFIX)/bin/dynamo_gateway' '$(DESTDIR)$(GATEWAY_UNITS)/dynamo_gateway.service'

clean-gateway:
	rm -rf $(GATEWAY_BUILD)

-include $(GATEWAY_OBJECTS:.o=.d)
