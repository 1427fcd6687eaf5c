# bed.mk - the test bed: libhostmetal.so, and its own tests as bed-check. The root Makefile includes this file; paths
# are relative to the root. Also alone, from the root: make -f tests/hostmetal/bed.mk
BUILD ?= build
BED := tests/hostmetal
BED_OUT := $(BUILD)/hostmetal
BED_CC ?= gcc
BED_CFLAGS = -std=gnu11 -O2 -g -Wall -Wextra -Wno-cast-function-type -ffp-contract=off -fPIC -MMD -MP $(BED_SAN) \
	-I$(BED)/objc -I$(BED)/rt
BED_NAMES := msl_run msl_fiber msl_math msl_count hm_runtime hm_types hm_memory hm_string hm_foundation hm_dispatch \
	hm_device hm_library hm_encoder hm_command hm_hazard hm_fail hm_process
BED_OBJECTS := $(BED_NAMES:%=$(BED_OUT)/obj/%.o) $(BED_OUT)/obj/selectors.o $(BED_OUT)/obj/msgsend.o

bed: $(BED_OUT)/libhostmetal.so
bed-check: bed
	BUILD=$(BUILD) bash $(BED)/run_tests.sh

$(BED_OUT)/libhostmetal.so: $(BED_OBJECTS)
	$(BED_CC) -shared $(BED_SAN) $(BED_OBJECTS) -o $@ -ldl -lpthread -lm
$(BED_OUT)/obj/%.o: $(BED)/rt/%.c $(BED)/bed.mk
	@mkdir -p $(BED_OUT)/obj
	$(BED_CC) $(BED_CFLAGS) -c $< -o $@
$(BED_OUT)/obj/msgsend.o: $(BED)/rt/msgsend.S $(BED)/bed.mk
	@mkdir -p $(BED_OUT)/obj
	$(BED_CC) $(BED_CFLAGS) -c $< -o $@
$(BED_OUT)/obj/selectors.o: $(BED_OUT)/obj/selectors.c
	$(BED_CC) $(BED_CFLAGS) -c $< -o $@
$(BED_OUT)/obj/selectors.c: $(BED)/metal-selectors.json $(BED)/tools/selectors.py
	@mkdir -p $(BED_OUT)/obj
	python3 -B $(BED)/tools/selectors.py $(BED)/metal-selectors.json > $@.tmp
	mv $@.tmp $@
-include $(wildcard $(BED_OUT)/obj/*.d)
.PHONY: bed bed-check
