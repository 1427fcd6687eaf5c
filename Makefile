# nuvecc: `make` builds it, `make demo` shows it, `make check` tests it. GNU Make 3.81.
BUILD  ?= build
PREFIX ?= /usr/local
CC     ?= cc
CFLAGS ?= -O2 -g
WARN    = -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
DEFS    = -D_XOPEN_SOURCE=700
# Expanded when a recipe runs: by then $(BUILD)/.deps has seen to it that the libraries are there.
PKGS    = yaml-0.1 jansson
PKG_C   = $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_L   = $(shell pkg-config --libs $(PKGS) 2>/dev/null || echo -lyaml -ljansson)
CMOCKA  = $(shell pkg-config --cflags --libs cmocka 2>/dev/null || echo -lcmocka)
SAN     = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all

ENGINE  = context match sizes memory replay calls leaf bytes bind state state_encode state_file data
EMBED   = composites=specs/composites.yaml math=lib/ir/math.inc prims=lib/emit/runtime/prims.metal \
          abi=lib/emit/runtime/abi.h replay_types=lib/emit/runtime/replay.h \
          $(foreach f,$(ENGINE),$(f)=lib/emit/runtime/$(f).c)
LIB_SRC = $(sort $(wildcard lib/*.c lib/spec/*.c lib/ir/*.c lib/passes/*.c lib/emit/*.c))
GEN     = $(foreach e,$(EMBED),$(BUILD)/gen/$(firstword $(subst =, ,$(e))).c)
CLI_SRC = $(sort $(wildcard cli/*.c))
LIB_OBJ = $(LIB_SRC:%.c=$(BUILD)/%.o) $(GEN:.c=.o)
CLI_OBJ = $(CLI_SRC:%.c=$(BUILD)/%.o)
SAN_OBJ = $(LIB_SRC:%.c=$(BUILD)/san/%.o) $(GEN:$(BUILD)/%.c=$(BUILD)/san/%.o)
UNIT    = $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(sort $(wildcard tests/unit/test_*.c)))

all: $(BUILD)/nuvecc $(BUILD)/libnuvec.a $(BUILD)/hostrun

BED    := tests/hostmetal
include $(BED)/bed.mk
include tests/fuzz/fuzz.mk

$(BUILD)/.deps: tools/deps.sh
	@mkdir -p $(@D)
	@sh tools/deps.sh build
	@touch $@
$(BUILD)/.deps-check: tools/deps.sh
	@mkdir -p $(@D)
	@sh tools/deps.sh check
	@touch $@ $(BUILD)/.deps

$(BUILD)/embed: tools/embed.c | $(BUILD)/.deps
	@echo "  cc $@"
	@$(CC) $(WARN) $(DEFS) -O1 $< -o $@
define embed_rule
$(BUILD)/gen/$(1).c: $(2) $(BUILD)/embed
	@mkdir -p $$(@D)
	@$(BUILD)/embed $(1) $(2) > $$@.tmp && mv $$@.tmp $$@
endef
$(foreach e,$(EMBED),$(eval $(call embed_rule,$(firstword $(subst =, ,$(e))),$(lastword $(subst =, ,$(e))))))

$(BUILD)/%.o: %.c | $(BUILD)/.deps
	@mkdir -p $(@D)
	@echo "  cc $<"
	@$(CC) $(WARN) $(DEFS) $(CFLAGS) $(PKG_C) -MMD -MP -c $< -o $@
$(BUILD)/gen/%.o: $(BUILD)/gen/%.c
	@$(CC) $(WARN) -O0 -c $< -o $@
$(BUILD)/san/%.o: %.c | $(BUILD)/.deps-check
	@mkdir -p $(@D)
	@echo "  cc (sanitized) $<"
	@$(CC) $(WARN) $(DEFS) $(SAN) $(PKG_C) -MMD -MP -c $< -o $@
$(BUILD)/san/gen/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	@$(CC) $(WARN) -O0 -c $< -o $@

$(BUILD)/libnuvec.a: $(LIB_OBJ)
	@rm -f $@
	@echo "  ar $@"
	@ar rcs $@ $(LIB_OBJ)
$(BUILD)/nuvecc: $(CLI_OBJ) $(BUILD)/libnuvec.a
	@echo "  cc $@"
	@$(CC) $(CFLAGS) $(CLI_OBJ) $(BUILD)/libnuvec.a $(PKG_L) -lm -o $@
$(BUILD)/san/libnuvec.a: $(SAN_OBJ)
	@rm -f $@
	@echo "  ar $@"
	@ar rcs $@ $(SAN_OBJ)
$(BUILD)/san/nuvecc: $(CLI_SRC) $(BUILD)/san/libnuvec.a
	@echo "  cc $@"
	@$(CC) $(WARN) $(DEFS) $(SAN) $(PKG_C) $(CLI_SRC) $(BUILD)/san/libnuvec.a $(PKG_L) -lm -o $@
$(BUILD)/hostrun: $(BUILD)/tests/hostrun/hostrun.o $(BUILD)/libnuvec.a
	@echo "  cc $@"
	@$(CC) $(CFLAGS) $(BUILD)/tests/hostrun/hostrun.o $(BUILD)/libnuvec.a $(PKG_L) -lm -ldl -o $@
man/nuvec-ops.5: lib/ops.def specs/composites.yaml $(BUILD)/ops_page
	$(BUILD)/ops_page $@ specs/composites.yaml > $@.tmp && mv $@.tmp $@
$(BUILD)/ops_page: tools/ops_page.c $(BUILD)/libnuvec.a
	@echo "  cc $@"
	@$(CC) $(WARN) $(DEFS) $(CFLAGS) tools/ops_page.c $(BUILD)/libnuvec.a $(PKG_L) -lm -o $@
man/nuvecc.1: cli/opts.def $(BUILD)/opts_page
	$(BUILD)/opts_page man $@ > $@.tmp && mv $@.tmp $@
$(BUILD)/opts_page: tools/opts_page.c cli/opts.def | $(BUILD)/.deps
	@echo "  cc $@"
	@$(CC) $(WARN) $(DEFS) -O1 $< -o $@
$(BUILD)/completion.%: $(BUILD)/opts_page
	@$(BUILD)/opts_page $* > $@.tmp && mv $@.tmp $@
$(BUILD)/oplist: tests/oplist.c $(BUILD)/libnuvec.a
	@echo "  cc $@"
	@$(CC) $(WARN) $(DEFS) $(CFLAGS) tests/oplist.c $(BUILD)/libnuvec.a $(PKG_L) -lm -o $@
$(BUILD)/literals: tests/literals/literals.c $(BUILD)/libnuvec.a
	@echo "  cc $@"
	@$(CC) $(WARN) $(DEFS) $(CFLAGS) tests/literals/literals.c $(BUILD)/libnuvec.a $(PKG_L) -lm -o $@
# Errors of the functions of math.inc, in one subnormal mode each.
$(BUILD)/ulp_keep: FLUSH = 0
$(BUILD)/ulp_flush: FLUSH = 1
$(BUILD)/ulp_keep $(BUILD)/ulp_flush: tests/ulp/ulp.c lib/ir/math.inc lib/ir/eval_prims.h | $(BUILD)/.deps
	@echo "  cc $@"
	@$(CC) $(WARN) $(DEFS) -O2 -DNV_FLUSH=$(FLUSH) tests/ulp/ulp.c -pthread -lm -o $@
$(BUILD)/say: tests/messages/say.c $(BUILD)/libnuvec.a
	@echo "  cc $@"
	@$(CC) $(WARN) $(DEFS) $(CFLAGS) -Ilib tests/messages/say.c $(BUILD)/libnuvec.a $(PKG_L) -lm -o $@
$(BUILD)/bench-read: bench/read.c $(BUILD)/libnuvec.a
	@echo "  cc $@"
	@$(CC) $(WARN) $(DEFS) $(CFLAGS) bench/read.c $(BUILD)/libnuvec.a $(PKG_L) -lm -o $@
$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/san/libnuvec.a
	@mkdir -p $(@D)
	@echo "  cc $@"
	@$(CC) $(WARN) $(DEFS) $(SAN) -Ilib -Itests/unit $(PKG_C) -MMD -MP $< $(BUILD)/san/libnuvec.a \
	  $(PKG_L) $(CMOCKA) -lm -o $@

# As many compiles at a time as there are cores, unless make was told.
PARALLEL = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))

check: $(BUILD)/.deps-check
	@$(MAKE) $(PARALLEL) check-build
	@BUILD=$(BUILD) sh tests/run.sh
check-long: $(BUILD)/.deps-check
	@$(MAKE) $(PARALLEL) check-build
	@BUILD=$(BUILD) LONG=1 sh tests/run.sh
check-build: all $(BUILD)/say $(BUILD)/literals $(BUILD)/ulp_keep $(BUILD)/ulp_flush $(BUILD)/oplist $(BUILD)/ops_page \
  $(BUILD)/opts_page $(BUILD)/hostmetal/libhostmetal.so $(BUILD)/san/nuvecc $(UNIT)
	@$(MAKE) fuzzers
accept: all
	@BUILD=$(BUILD) python3 tests/run_golden.py --accept
# nuvec held to MLX (tests/mlx): installs MLX for the CPU with pip into $(BUILD)/mlx; no part of `make check`.
MLX_VERSION ?= 0.32.4
$(BUILD)/mlx/.installed:
	@echo "  pip install mlx[cpu]==$(MLX_VERSION)"
	@python3 -m venv $(BUILD)/mlx && $(BUILD)/mlx/bin/pip install -q 'mlx[cpu]==$(MLX_VERSION)' numpy && touch $@
check-mlx: $(BUILD)/.deps-check $(BUILD)/mlx/.installed
	@$(MAKE) --no-print-directory all $(BUILD)/oplist $(BUILD)/hostmetal/libhostmetal.so
	@BUILD=$(BUILD) $(BUILD)/mlx/bin/python tests/mlx/run.py
demo: $(BUILD)/.deps-check
	@$(MAKE) $(PARALLEL) all $(BUILD)/hostmetal/libhostmetal.so
	@BUILD=$(BUILD) sh tools/demo.sh
bench: $(BUILD)/.deps-check
	@$(MAKE) all $(BUILD)/bench-read $(BUILD)/hostmetal/libhostmetal.so
	@BUILD=$(BUILD) sh bench/run.sh

install: all $(BUILD)/completion.bash $(BUILD)/completion.zsh
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include \
	  $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man3 \
	  $(DESTDIR)$(PREFIX)/share/man/man5 $(DESTDIR)$(PREFIX)/share/man/man7
	install -m 755 $(BUILD)/nuvecc $(DESTDIR)$(PREFIX)/bin/nuvecc
	install -m 644 $(BUILD)/libnuvec.a $(DESTDIR)$(PREFIX)/lib/libnuvec.a
	install -m 644 lib/nuvec.h $(DESTDIR)$(PREFIX)/include/nuvec.h
	install -m 644 man/nuvecc.1 $(DESTDIR)$(PREFIX)/share/man/man1/nuvecc.1
	install -m 644 man/nuvec-stub.3 $(DESTDIR)$(PREFIX)/share/man/man3/nuvec-stub.3
	install -m 644 man/nuvec-build.7 $(DESTDIR)$(PREFIX)/share/man/man7/nuvec-build.7
	install -m 644 man/nuvec-spec.5 man/nuvec-ops.5 $(DESTDIR)$(PREFIX)/share/man/man5/
	install -d $(DESTDIR)$(PREFIX)/share/nuvecc $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 644 specs/nuvec.schema.json $(DESTDIR)$(PREFIX)/share/nuvecc/
	install -m 644 $(BUILD)/completion.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/nuvecc
	install -m 644 $(BUILD)/completion.zsh $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_nuvecc
clean:
	rm -rf $(BUILD)

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(SAN_OBJ:.o=.d) $(UNIT:=.d) $(BUILD)/tests/hostrun/hostrun.d
.PHONY: all check check-mlx check-long check-build accept demo bench install clean
