/* table.c - every method that the stand-in has is in metal-selectors.json, for that very class or for NSObject. */
#include "hm.h"
#include <stdio.h>
#include <string.h>

#define ENTRY(n) &hm_def_##n,
static const hm_class_def *const classes[] = {HM_CLASSES(ENTRY)};
static int bad, methods;
static void check(const hm_class_def *d, const hm_method *m, Class c) {
  for (; m && m->name; m++) {
    const struct hm_row *r = hm_row_of(c, m->name);
    methods++;
    if (r && (!strcmp(r->class_name, d->name) || !strcmp(r->class_name, "NSObject"))) continue;
    fprintf(stderr, "%s %s: not in metal-selectors.json\n", d->name, m->name);
    bad++;
  }
}
int main(void) {
  for (unsigned i = 0; i < sizeof classes / sizeof *classes; i++) {
    check(classes[i], classes[i]->instance_methods, classes[i]->cls);
    check(classes[i], classes[i]->class_methods, classes[i]->meta);
  }
  printf("%d methods of %zu classes, %d not in the table\n", methods, sizeof classes / sizeof *classes, bad);
  return bad != 0;
}
