# fuzz.mk - the fuzzers: the library and tests/fuzz/fuzz.c with libFuzzer, ASan and UBSan, where clang-19 has them.
FUZZ_RT   := $(shell clang-19 -print-file-name=libclang_rt.fuzzer-$(shell uname -m).a 2>/dev/null)
FUZZ_CC    = $(if $(wildcard $(FUZZ_RT)),clang-19)
# An empty array is NULL here, and NULL + 0 (defined as of C2y) would be reported: pointer-overflow is off for that.
FUZZ_SAN   = -O1 -g -fsanitize=address,undefined -fno-sanitize=pointer-overflow -fno-sanitize-recover=all
FUZZ_OBJ   = $(LIB_SRC:%.c=$(BUILD)/fuzz/%.o) $(GEN:$(BUILD)/%.c=$(BUILD)/fuzz/%.o)
FUZZERS    = json yaml expr graph compile

$(BUILD)/fuzz/%.o: %.c | $(BUILD)/.deps-check
	@mkdir -p $(@D)
	@echo "  cc (for fuzzing) $<"
	@$(FUZZ_CC) $(WARN) $(DEFS) $(FUZZ_SAN) -fsanitize=fuzzer-no-link $(PKG_C) -MMD -MP -c $< -o $@
$(BUILD)/fuzz/gen/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	@$(FUZZ_CC) $(WARN) -O0 -c $< -o $@
$(BUILD)/fuzz/libnuvec.a: $(FUZZ_OBJ)
	@rm -f $@
	@ar rcs $@ $(FUZZ_OBJ)
define fuzz_rule
$(BUILD)/fuzz/$(1): tests/fuzz/fuzz.c $(BUILD)/fuzz/libnuvec.a
	@echo "  cc $$@"
	@$$(FUZZ_CC) $$(WARN) $$(DEFS) $$(FUZZ_SAN) -fsanitize=fuzzer -DFUZZ_TARGET=$$(shell echo $(1) | tr a-z A-Z) \
	  $$(PKG_C) $$< $(BUILD)/fuzz/libnuvec.a $$(PKG_L) -lm -o $$@
endef
$(foreach f,$(FUZZERS),$(eval $(call fuzz_rule,$(f))))
$(BUILD)/fuzz/seeds/.made: tests/fuzz/seeds.py $(BUILD)/nuvecc $(BUILD)/oplist $(wildcard specs/*.yaml tests/*/*.yaml)
	@rm -rf $(@D)
	@BUILD=$(BUILD) python3 tests/fuzz/seeds.py $(@D)
	@touch $@
fuzzers: $(if $(FUZZ_CC),$(FUZZERS:%=$(BUILD)/fuzz/%) $(BUILD)/fuzz/seeds/.made)
-include $(FUZZ_OBJ:.o=.d)
.PHONY: fuzzers
