/* explain_html.c - --explain=html: one page without anything from outside. Of every entry the kernels as a drawing,
 * laid out in layers; the arena over time; each kernel's lines of the spec beside its Metal text, with bars for its
 * bytes; what was not fused and why. */
#include "explain.h"
#include "stub.h"

#include <stdlib.h>

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>";
static const char style[] =
    "</title>\n<style>\n"
    ":root{--ink:#1d2530;--soft:#5d6b7a;--line:#d5dce4;--paper:#fff;--back:#f4f6f9;--in:#2f6fb7;--out:#2c8a57;"
    "--scratch:#c2622d;--kernel:#e9f0f8;--reduce:#fbeee4}\n"
    "body{margin:0;background:var(--back);color:var(--ink);font:14px/1.45 system-ui,sans-serif}\n"
    "main{max-width:1180px;margin:0 auto;padding:24px}\nh1{font-size:22px;margin:0 0 4px}\n"
    "h2{font-size:18px;margin:36px 0 8px}h3{font-size:13px;margin:18px 0 6px;color:var(--soft);font-weight:600}\n"
    ".facts{display:flex;flex-wrap:wrap;gap:8px;margin:12px 0}\n"
    ".fact{background:var(--paper);border:1px solid var(--line);border-radius:8px;padding:8px 14px}\n"
    ".fact b{display:block;font-size:17px}.fact span{color:var(--soft);font-size:12px}\n"
    ".card{background:var(--paper);border:1px solid var(--line);border-radius:8px;margin:10px 0;overflow:auto}\n"
    ".draw{padding:10px}svg{display:block;font:12px system-ui,sans-serif}\n"
    "details.card>summary{padding:9px 14px;cursor:pointer;font-weight:600}\n"
    "summary code{font-weight:600}summary span{color:var(--soft);font-weight:400;margin-left:10px}\n"
    ".two{display:grid;grid-template-columns:minmax(240px,2fr) 3fr;border-top:1px solid var(--line)}\n"
    ".two>div{padding:8px 14px;overflow:auto;min-width:0}.two>div+div{border-left:1px solid var(--line)}\n"
    "pre,code{font:12px/1.5 ui-monospace,Menlo,Consolas,monospace}pre{margin:0;white-space:pre}\n"
    ".src{display:grid;grid-template-columns:auto 1fr;gap:0 10px}.src i{color:var(--soft);font-style:normal;"
    "text-align:right}\n.ops{color:var(--soft);font-size:12px;margin:0 0 6px}\n"
    "table{border-collapse:collapse;width:100%}td{padding:3px 14px;border-top:1px solid var(--line);"
    "vertical-align:middle}\ntd.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    ".bar{height:9px;border-radius:2px;min-width:2px}.note{color:var(--soft)}\n"
    "</style></head><body><main>\n";

/* ---- texts ---- */

static void put_text(nv_buf *b, const char *p, size_t n) {
  for (size_t i = 0; i < n; i++)
    switch (p[i]) {
    case '&': nv_puts(b, "&amp;"); break;
    case '<': nv_puts(b, "&lt;"); break;
    case '>': nv_puts(b, "&gt;"); break;
    case '"': nv_puts(b, "&quot;"); break;
    default: nv_putc(b, (unsigned char)p[i] < 32 && p[i] != '\n' && p[i] != '\t' ? ' ' : p[i]);
    }
}

/* At most n bytes of a text, cut between characters. */
static void put_short(nv_buf *b, const char *p, size_t n) {
  size_t all = strlen(p), cut = all;
  if (all > n)
    for (cut = n - 1; cut && ((unsigned char)p[cut] & 0xc0) == 0x80;) cut--;
  put_text(b, p, cut);
  if (cut < all) nv_puts(b, "…");
}

/* "1.50 MB": three digits. */
static void put_bytes(nv_buf *b, int64_t n) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  int64_t whole = n, tenths = 0;
  int unit = 0;
  if (n < 0) {
    nv_puts(b, "by the sizes");
    return;
  }
  while (whole >= 1000 && unit < 6) {
    tenths = whole % 1000 / 10;
    whole /= 1000;
    unit++;
  }
  if (unit == 0 || whole >= 100) nv_printf(b, "%lld %s", (long long)whole, units[unit]);
  else if (whole >= 10) nv_printf(b, "%lld.%lld %s", (long long)whole, (long long)tenths / 10, units[unit]);
  else nv_printf(b, "%lld.%02lld %s", (long long)whole, (long long)tenths, units[unit]);
}

static void put_fact(nv_buf *b, const char *name) { nv_printf(b, "</b><span>%s</span></div>\n", name); }

/* The statement that a node comes from; without one, its op. */
static void put_node(nv_buf *b, const nv_graph *g, nv_node n, size_t most) {
  nv_buf text;
  nv_buf_init(&text, b->c);
  if (g->nodes[n].origin != NV_NONE) nv_put_statement(&text, g, g->nodes[n].origin);
  else nv_puts(&text, nv_ops[g->nodes[n].op].name);
  put_short(b, nv_buf_text(&text), most);
  nv_drop(b->c, text.p);
}

static void put_operand(nv_buf *b, const nv_plan *p, const nv_kernel *k, uint32_t o) {
  nv_buf text;
  nv_buf_init(&text, b->c);
  nv_put_operand_name(&text, p, k, o);
  put_short(b, nv_buf_text(&text), 60);
  nv_puts(b, " <span class=\"note\">");
  text.n = 0;
  nv_put_value_type(&text, p->graph, k->operands[o].value);
  put_text(b, text.p, text.n);
  nv_puts(b, "</span>");
  nv_drop(b->c, text.p);
}

static int64_t operand_bytes(const nv_kernel *k, uint32_t o) { return nv_operand_bytes(&k->operands[o]); }

/* ---- the drawing: inputs above, outputs below, a kernel below what it reads ---- */

enum {
  MOST_BOXES = 400, BOX_WIDTH = 230, GAP = 26, ROW_GAP = 54, LINE = 16, MOST_OPS = 7, MARGIN = 12
};

typedef struct box {
  uint32_t layer;
  int x, y, height;
} box;

typedef struct drawing {
  nv_buf *b;
  const nv_module *m;
  const nv_plan *p;
  box *boxes; /* inputs, kernels, outputs */
  uint32_t n, *writer; /* of a value: its box, or NV_NONE */
  uint32_t nlayers;
  int width, height;
} drawing;

static uint32_t kernel_box(const drawing *d, uint32_t k) { return d->p->graph->ninputs + k; }
static uint32_t output_box(const drawing *d, uint32_t port) { return d->p->graph->ninputs + d->p->nkernels + port; }

/* Statements of a kernel that are shown. */
static uint32_t shown_ops(const drawing *d, const nv_kernel *k) {
  const nv_graph *g = d->p->graph;
  uint32_t n = 0;
  for (uint32_t i = 0; i < k->nnodes; i++) {
    const nv_op_class cls = nv_ops[g->nodes[k->nodes[i]].op].cls;
    n += cls != NV_LEAF && cls != NV_VIEW;
  }
  return n;
}

static void set_layers(drawing *d) {
  const nv_graph *g = d->p->graph;
  for (uint32_t i = 0; i < g->nvalues; i++) d->writer[i] = NV_NONE;
  for (uint32_t i = 0; i < g->ninputs; i++) {
    d->writer[g->inputs[i].value] = i;
    d->boxes[i].height = 2 * LINE + 10;
  }
  d->nlayers = 1;
  for (uint32_t k = 0; k < d->p->nkernels; k++) {
    const nv_kernel *x = &d->p->kernels[k];
    box *to = &d->boxes[kernel_box(d, k)];
    const uint32_t ops = shown_ops(d, x);
    to->layer = 1;
    to->height = (int)((ops < MOST_OPS ? ops : MOST_OPS) + 2) * LINE + 14 + (ops > MOST_OPS ? LINE : 0);
    for (uint32_t o = 0; o < x->noperands; o++) {
      const nv_operand_rec *r = &x->operands[o];
      if (r->written) continue;
      const uint32_t from = d->writer[r->value];
      if (from != NV_NONE && d->boxes[from].layer + 1 > to->layer) to->layer = d->boxes[from].layer + 1;
    }
    for (uint32_t o = 0; o < x->noperands; o++)
      if (x->operands[o].written) d->writer[x->operands[o].value] = kernel_box(d, k);
    if (to->layer > d->nlayers) d->nlayers = to->layer;
  }
  for (uint32_t k = 0; k < g->noutputs; k++)
    d->boxes[output_box(d, k)] = (box){.layer = d->nlayers + 1, .height = 2 * LINE + 10};
  d->nlayers += 2;
}

typedef struct wish {
  int64_t at;
  uint32_t box;
} wish;
static int compare_wishes(const void *a, const void *b) {
  const wish *x = a, *y = b;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return x->box < y->box ? -1 : x->box > y->box;
}

/* The mean place of what box k reads. */
static int64_t mean_of_sources(const drawing *d, uint32_t k) {
  const nv_graph *g = d->p->graph;
  int64_t sum = 0, n = 0;
  if (k < g->ninputs) return (int64_t)k;
  if (k >= output_box(d, 0)) {
    const uint32_t from = d->writer[g->outputs[k - output_box(d, 0)].value];
    return from == NV_NONE ? 0 : d->boxes[from].x;
  }
  const nv_kernel *x = &d->p->kernels[k - g->ninputs];
  for (uint32_t o = 0; o < x->noperands; o++) {
    if (x->operands[o].written || d->writer[x->operands[o].value] == NV_NONE) continue;
    sum += d->boxes[d->writer[x->operands[o].value]].x;
    n++;
  }
  return n ? sum / n : 0;
}

static void place_layer(drawing *d, uint32_t layer, int *y, wish *list) {
  uint32_t n = 0;
  int highest = 0;
  for (uint32_t k = 0; k < d->n; k++)
    if (d->boxes[k].layer == layer) list[n] = (wish){mean_of_sources(d, k), k}, n++;
  if (n) qsort(list, n, sizeof *list, compare_wishes);
  for (uint32_t i = 0; i < n; i++) {
    box *at = &d->boxes[list[i].box];
    at->x = MARGIN + (int)i * (BOX_WIDTH + GAP);
    at->y = *y;
    if (at->height > highest) highest = at->height;
  }
  const int width = MARGIN * 2 + (int)n * (BOX_WIDTH + GAP) - GAP;
  if (width > d->width) d->width = width;
  if (n) *y += highest + ROW_GAP;
}

/* Every layer in the middle of the widest. */
static void centre(drawing *d) {
  for (uint32_t layer = 0; layer < d->nlayers; layer++) {
    int right = 0;
    for (uint32_t k = 0; k < d->n; k++)
      if (d->boxes[k].layer == layer && d->boxes[k].x + BOX_WIDTH > right) right = d->boxes[k].x + BOX_WIDTH;
    for (uint32_t k = 0; k < d->n; k++)
      if (d->boxes[k].layer == layer) d->boxes[k].x += (d->width - MARGIN - right) / 2;
  }
}

static void put_wire(const drawing *d, uint32_t from, uint32_t to, int at, int of, const char *color, int64_t bytes,
                     nv_value v) {
  const box *a = &d->boxes[from], *z = &d->boxes[to];
  const int x0 = a->x + BOX_WIDTH / 2, y0 = a->y + a->height, y1 = z->y;
  const int x1 = z->x + BOX_WIDTH * (at + 1) / (of + 1), bend = (y1 - y0) / 2;
  nv_printf(d->b, "<path d=\"M%d %dC%d %d %d %d %d %d\" fill=\"none\" stroke=\"var(--%s)\" stroke-width=\"1.6\" "
                  "marker-end=\"url(#%s)\"><title>", x0, y0, x0, y0 + bend, x1, y1 - bend, x1, y1 - 1, color, color);
  nv_buf text;
  nv_buf_init(&text, d->b->c);
  nv_put_value_type(&text, d->p->graph, v);
  put_text(d->b, text.p, text.n);
  nv_drop(d->b->c, text.p);
  nv_puts(d->b, ", ");
  put_bytes(d->b, bytes);
  nv_puts(d->b, "</title></path>\n");
}

static void put_wires(const drawing *d) {
  const nv_graph *g = d->p->graph;
  for (uint32_t k = 0; k < d->p->nkernels; k++) {
    const nv_kernel *x = &d->p->kernels[k];
    int at = 0, of = 0;
    for (uint32_t o = 0; o < x->noperands; o++) of += !x->operands[o].written;
    for (uint32_t o = 0; o < x->noperands; o++) {
      const nv_operand_rec *r = &x->operands[o];
      if (r->written && r->port != NV_NONE)
        put_wire(d, kernel_box(d, k), output_box(d, r->port), 0, 1, "out", operand_bytes(x, o), r->value);
      if (r->written || d->writer[r->value] == NV_NONE) continue;
      const uint32_t from = d->writer[r->value];
      put_wire(d, from, kernel_box(d, k), at++, of, from < g->ninputs ? "in" : "scratch", operand_bytes(x, o),
               r->value);
    }
  }
}

static void put_frame(const drawing *d, const box *a, const char *fill, const char *stroke, int radius) {
  nv_printf(d->b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" fill=\"%s\" stroke=\"var(--%s)\"/>\n",
            a->x, a->y, BOX_WIDTH, a->height, radius, fill, stroke);
}

static void put_port(const drawing *d, uint32_t k, const nv_port *port, const char *color) {
  const box *a = &d->boxes[k];
  nv_buf text;
  nv_buf_init(&text, d->b->c);
  nv_put_value_type(&text, d->p->graph, port->value);
  put_frame(d, a, "var(--paper)", color, 20);
  nv_printf(d->b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-weight=\"600\">", a->x + BOX_WIDTH / 2,
            a->y + LINE + 2);
  put_short(d->b, nv_text(d->b->c, port->name), 28);
  nv_printf(d->b, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"var(--soft)\">", a->x + BOX_WIDTH / 2,
            a->y + 2 * LINE + 1);
  put_short(d->b, nv_buf_text(&text), 32);
  nv_puts(d->b, "</text>\n");
  nv_drop(d->b->c, text.p);
}

static void put_kernel_box(const drawing *d, uint32_t k) {
  const nv_kernel *x = &d->p->kernels[k];
  const nv_graph *g = d->p->graph;
  const box *a = &d->boxes[kernel_box(d, k)];
  const uint32_t ops = shown_ops(d, x);
  int y = a->y + LINE + 3;
  put_frame(d, a, x->kind != NV_K_MAP ? "var(--reduce)" : "var(--kernel)", "soft", 6);
  nv_printf(d->b, "<text x=\"%d\" y=\"%d\" font-weight=\"600\">", a->x + 10, y);
  put_short(d->b, x->name + strlen(d->m->prefix_c) + 1, 27); /* behind the module's own name */
  nv_puts(d->b, "</text>\n");
  for (uint32_t i = 0, shown = 0; i < x->nnodes && shown < MOST_OPS; i++) {
    const nv_op_info *op = &nv_ops[g->nodes[x->nodes[i]].op];
    if (op->cls == NV_LEAF || op->cls == NV_VIEW) continue;
    nv_printf(d->b, "<text x=\"%d\" y=\"%d\">%s<tspan fill=\"var(--soft)\" dx=\"6\">", a->x + 10, y += LINE, op->name);
    put_node(d->b, g, x->nodes[i], 22);
    nv_puts(d->b, "</tspan></text>\n");
    shown++;
  }
  if (ops > MOST_OPS)
    nv_printf(d->b, "<text x=\"%d\" y=\"%d\" fill=\"var(--soft)\">and %u more</text>\n", a->x + 10, y += LINE,
              (unsigned)(ops - MOST_OPS));
  nv_printf(d->b, "<text x=\"%d\" y=\"%d\" fill=\"var(--soft)\">reads ", a->x + 10, y + LINE);
  put_bytes(d->b, nv_kernel_bytes(x, false));
  nv_puts(d->b, ", writes ");
  put_bytes(d->b, nv_kernel_bytes(x, true));
  nv_puts(d->b, "</text>\n");
}

static void put_marker(nv_buf *b, const char *color) {
  nv_printf(b, "<marker id=\"%s\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
               "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"var(--%s)\"/></marker>", color, color);
}

static void put_drawing(nv_buf *b, const nv_module *m, const nv_plan *p) {
  const nv_graph *g = p->graph;
  drawing d = {.b = b, .m = m, .p = p, .n = g->ninputs + p->nkernels + g->noutputs};
  if (d.n > MOST_BOXES) {
    nv_printf(b, "<p class=\"note\">%u inputs, kernels and outputs: too many for a drawing.</p>\n", (unsigned)d.n);
    return;
  }
  d.boxes = NV_NEW_N(b->c, box, (size_t)d.n + 1);
  d.writer = NV_NEW_N(b->c, uint32_t, (size_t)g->nvalues + 1);
  wish *list = NV_NEW_N(b->c, wish, (size_t)d.n + 1);
  int y = MARGIN;
  set_layers(&d);
  for (uint32_t layer = 0; layer < d.nlayers; layer++) place_layer(&d, layer, &y, list);
  centre(&d);
  d.height = y - ROW_GAP + MARGIN;
  nv_printf(b, "<div class=\"card draw\"><svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\"><defs>", d.width,
            d.height, d.width, d.height);
  put_marker(b, "in");
  put_marker(b, "out");
  put_marker(b, "scratch");
  nv_puts(b, "</defs>\n");
  put_wires(&d);
  for (uint32_t k = 0; k < g->ninputs; k++) put_port(&d, k, &g->inputs[k], "in");
  for (uint32_t k = 0; k < p->nkernels; k++) put_kernel_box(&d, k);
  for (uint32_t k = 0; k < g->noutputs; k++) put_port(&d, output_box(&d, k), &g->outputs[k], "out");
  nv_puts(b, "</svg></div>\n<p class=\"note\">Blue: inputs. Orange: through the scratch arena. Green: outputs. Views "
             "are index arithmetic and not shown.</p>\n");
}

/* ---- the arena over time ---- */

enum { ARENA_WIDTH = 900, ARENA_HEIGHT = 150, MOST_RANGES = 2000 };

/* Operand o of launch l, which writes it, until launch last. */
static void put_range(nv_buf *b, const nv_plan *p, uint32_t l, uint32_t o, uint32_t last) {
  const int64_t bytes = operand_bytes(&p->kernels[l], o);
  const double column = (double)ARENA_WIDTH / p->nlaunches, unit = (double)ARENA_HEIGHT / (double)p->scratch_bytes;
  const double from = (double)p->launches[l].places[o].offset * unit, height = (double)bytes * unit;
  nv_printf(b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"var(--scratch)\" opacity=\"0.55\" "
               "stroke=\"var(--paper)\"><title>", l * column, (double)ARENA_HEIGHT - from - height,
            (last - l + 1) * column, height > 1 ? height : 1);
  put_node(b, p->graph, p->graph->values[p->kernels[l].operands[o].value].node, 80);
  nv_puts(b, ", ");
  put_bytes(b, bytes);
  nv_puts(b, "</title></rect>\n");
}

static void put_arena(nv_buf *b, const nv_plan *p) {
  uint32_t *last = NV_NEW_N(b->c, uint32_t, (size_t)p->graph->nvalues + 1), n = 0;
  for (uint32_t l = 0; l < p->nlaunches; l++)
    for (uint32_t o = 0; o < p->kernels[l].noperands; o++) {
      const nv_operand_rec *r = &p->kernels[l].operands[o];
      if (!nv_is_scratch(p, l, o)) continue;
      last[r->value] = l;
      n += r->written;
    }
  if (!n || n > MOST_RANGES || p->scratch_bytes <= 0) return;
  nv_printf(b, "<h3>Scratch arena: launches from left to right, addresses upward</h3>\n"
               "<div class=\"card draw\"><svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n", ARENA_WIDTH,
            ARENA_HEIGHT, ARENA_WIDTH, ARENA_HEIGHT);
  for (uint32_t l = 0; l < p->nlaunches; l++)
    for (uint32_t o = 0; o < p->kernels[l].noperands; o++)
      if (p->kernels[l].operands[o].written && nv_is_scratch(p, l, o))
        put_range(b, p, l, o, last[p->kernels[l].operands[o].value]);
  nv_puts(b, "</svg></div>\n");
}

/* ---- kernels ---- */

/* The lines of the spec that a kernel's nodes come from, each once, with the ops behind it. */
static void put_lines(nv_buf *b, const nv_graph *g, const nv_kernel *k) {
  uint32_t last = NV_NONE;
  bool open = false;
  for (uint32_t i = 0; i < k->nnodes; i++) {
    const nv_node_rec *n = &g->nodes[k->nodes[i]];
    const char *source = NULL;
    size_t length = 0;
    if (nv_ops[n->op].cls == NV_LEAF) continue;
    const uint32_t line = nv_line_of(g, n->origin, &source, &length);
    if (line != last || !open) {
      if (open) nv_puts(b, "</p>\n");
      while (length && (*source == ' ' || *source == '\t')) source++, length--;
      nv_puts(b, "<div class=\"src\"><i>");
      if (line) nv_printf(b, "%u", (unsigned)line);
      nv_puts(b, "</i><pre>");
      put_text(b, source ? source : "", length < 400 ? length : 400);
      nv_puts(b, "</pre></div><p class=\"ops\">");
      last = line;
      open = true;
    } else {
      nv_puts(b, " · ");
    }
    nv_puts(b, nv_ops[n->op].name);
  }
  if (open) nv_puts(b, "</p>\n");
}

static void put_operands(nv_buf *b, const nv_plan *p, uint32_t launch) {
  const nv_kernel *k = &p->kernels[launch];
  int64_t most = 1;
  for (uint32_t o = 0; o < k->noperands; o++)
    if (operand_bytes(k, o) > most) most = operand_bytes(k, o);
  nv_puts(b, "<table>\n");
  for (uint32_t o = 0; o < k->noperands; o++) {
    const bool written = k->operands[o].written, scratch = nv_is_scratch(p, launch, o);
    nv_printf(b, "<tr><td>%s%s</td><td>", written ? "writes" : "reads", scratch ? " scratch" : "");
    put_operand(b, p, k, o);
    nv_puts(b, "</td><td class=\"n\">");
    put_bytes(b, operand_bytes(k, o));
    nv_printf(b, "</td><td style=\"width:30%%\"><div class=\"bar\" style=\"width:%.1f%%;background:var(--%s)\"></div>"
                 "</td></tr>\n", operand_bytes(k, o) < 0 ? 0.0 : 100.0 * (double)operand_bytes(k, o) / (double)most,
              scratch ? "scratch" : written ? "out" : "in");
  }
  nv_puts(b, "</table>\n");
}

static void put_kernel(nv_buf *b, const nv_module *m, const nv_plan *p, uint32_t launch) {
  enum { FEW = 12 };
  nv_kernel *k = &p->kernels[launch];
  nv_printf(b, "<details class=\"card\"%s><summary><code>%s</code><span>", p->nkernels <= FEW ? " open" : "", k->name);
  const int64_t read = nv_kernel_bytes(k, false), written = nv_kernel_bytes(k, true);
  put_bytes(b, read < 0 || written < 0 ? -1 : read + written);
  nv_printf(b, " · %u value%s live · %s</span></summary>\n<div class=\"two\"><div>\n", (unsigned)k->live,
            k->live == 1 ? "" : "s",
            nv_thread_words(m->c, k));
  put_lines(b, p->graph, k);
  nv_puts(b, "</div><div><pre>");
  nv_buf text;
  nv_buf_init(&text, b->c);
  nv_emit_kernel_body(&text, m, p, k);
  put_text(b, text.p, text.n);
  nv_drop(b->c, text.p);
  nv_puts(b, "</pre></div></div>\n");
  put_operands(b, p, launch);
  nv_puts(b, "</details>\n");
}

static void put_line_number(nv_buf *b, const nv_graph *g, nv_node n) {
  const uint32_t line = nv_line_of(g, g->nodes[n].origin, NULL, NULL);
  if (line) nv_printf(b, "%u", (unsigned)line);
}

static void put_cuts(nv_buf *b, const nv_plan *p) {
  const nv_graph *g = p->graph;
  if (p->ncuts) nv_puts(b, "<h3>Not fused</h3>\n<div class=\"card\"><table>\n");
  for (uint32_t i = 0; i < p->ncuts; i++) {
    nv_puts(b, "<tr><td class=\"n\">");
    put_line_number(b, g, p->cuts[i].user);
    nv_puts(b, "</td><td><code>");
    put_node(b, g, g->values[p->cuts[i].value].node, 60);
    nv_puts(b, "</code> into <code>");
    put_node(b, g, p->cuts[i].user, 60);
    nv_puts(b, "</code></td><td>");
    put_text(b, p->cuts[i].why, strlen(p->cuts[i].why));
    nv_puts(b, "</td></tr>\n");
  }
  if (p->ncuts) nv_puts(b, "</table></div>\n");
}

static void put_recomputed(nv_buf *b, const nv_plan *p) {
  const nv_graph *g = p->graph;
  const nv_recomputed r = nv_find_recomputed(p);
  if (r.n) nv_puts(b, "<h3>Computed more than once, for fewer bytes</h3>\n<div class=\"card\"><table>\n");
  for (uint32_t i = 0; i < r.n; i++) {
    const nv_again *a = &r.nodes[i];
    nv_puts(b, "<tr><td class=\"n\">");
    put_line_number(b, g, a->node);
    nv_printf(b, "</td><td>%s <code>", nv_ops[g->nodes[a->node].op].name);
    put_node(b, g, a->node, 60);
    nv_printf(b, "</code></td><td>%u times", (unsigned)a->times);
    for (uint32_t k = 0; k < a->nkernels && k < 8; k++)
      nv_printf(b, "%s<code>%s</code>", k ? ", " : ", in ", p->kernels[r.kernels[a->first + k]].name);
    nv_puts(b, a->nkernels > 8 ? ", …</td></tr>\n" : "</td></tr>\n");
  }
  if (r.n) nv_puts(b, "</table></div>\n");
  nv_drop(b->c, r.nodes);
}

static void put_facts(nv_buf *b, const nv_plan *p) {
  nv_printf(b, "<div class=\"facts\"><div class=\"fact\"><b>%u", (unsigned)p->nkernels);
  put_fact(b, p->nkernels == 1 ? "kernel" : "kernels");
  nv_puts(b, "<div class=\"fact\"><b>");
  put_bytes(b, p->bytes_moved);
  put_fact(b, "moved");
  nv_puts(b, "<div class=\"fact\"><b>");
  put_bytes(b, p->bytes_lower_bound);
  put_fact(b, "lower bound: inputs and outputs once");
  if (p->bytes_lower_bound > 0) {
    nv_printf(b, "<div class=\"fact\"><b>%.3f", (double)p->bytes_moved / (double)p->bytes_lower_bound);
    put_fact(b, "of the bound");
  }
  nv_puts(b, "<div class=\"fact\"><b>");
  put_bytes(b, p->scratch_bytes);
  put_fact(b, "scratch arena");
  nv_puts(b, "<div class=\"fact\"><b>");
  put_bytes(b, p->scratch_bound);
  put_fact(b, "its bound: the most alive at once");
  nv_puts(b, "</div>\n");
}

static void put_program(nv_buf *b, const nv_module *m, const nv_program *p) {
  const nv_plan *plan = p->plan;
  nv_puts(b, "<section><h2>");
  put_short(b, nv_text(m->c, p->entry->name), 120);
  nv_printf(b, " <span class=\"note\">signature %u</span></h2>\n", (unsigned)p->signature);
  put_facts(b, plan);
  put_drawing(b, m, plan);
  put_arena(b, plan);
  if (plan->nlaunches) nv_puts(b, "<h3>Kernels: lines of the spec, Metal, bytes</h3>\n");
  for (uint32_t k = 0; k < plan->nlaunches; k++) put_kernel(b, m, plan, k);
  put_cuts(b, plan);
  put_recomputed(b, plan);
  nv_puts(b, "</section>\n");
}

void nv_explain_html(nv_buf *b, const nv_module *m) {
  nv_puts(b, head);
  put_text(b, m->name, strlen(m->name));
  nv_puts(b, style);
  nv_puts(b, "<h1>");
  put_text(b, m->name, strlen(m->name));
  nv_printf(b, "</h1>\n<p class=\"note\">What nuvecc %s made of it: kernels, the bytes that they move, and why.</p>\n",
            NUVECC_VERSION);
  for (uint32_t k = 0; k < m->nprograms; k++) put_program(b, m, &m->programs[k]);
  nv_puts(b, "</main></body></html>\n");
}
