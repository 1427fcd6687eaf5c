/* opts_page.c - what is made from cli/opts.def besides the parser: `opts_page man FILE` prints FILE, a manual in
 * mdoc(7), with the list between its two marks made anew; `opts_page bash` and `opts_page zsh` print the shell's
 * completion. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct option {
  const char *id, *name;
  char letter;
  const char *argument, *text, *values, *more;
} option;
static const option options[] = {
#define OPT(id, name, letter, argument, text, values, more) {#id, name, letter, argument, text, values, more},
#include "../cli/opts.def"
#undef OPT
};
enum { N = sizeof options / sizeof *options };

static bool compiler_style(const option *o) { return !strncmp(o->id, "CC_", 3); }
static bool optional(const option *o) { return o->argument && o->argument[0] == '['; }
static bool is(const char *a, const char *b) { return a && !strcmp(a, b); }
static bool is_words(const option *o) { return o->values && !is(o->values, "FILE") && !is(o->values, "DIR"); }
/* The argument's name, without brackets. */
static const char *argument(const option *o, char *buf, size_t size) {
  const size_t cut = optional(o) ? 1 : 0;
  snprintf(buf, size, "%.*s", (int)(strlen(o->argument) - 2 * cut), o->argument + cut);
  return buf;
}

/* ---- the manual ---- */

static void put_argument(const option *o) {
  char name[64];
  argument(o, name, sizeof name);
  if (is(name, "json")) {
    printf("Cm json");
    return;
  }
  const char *bar = strchr(name, '|');
  if (bar)
    printf("Cm %.*s Ns | Ns Cm %s", (int)(bar - name), name, bar + 1);
  else
    printf("Ar %s", name);
}

static void put_item(const option *o) {
  printf(".It ");
  if (o->letter) {
    printf("Fl %c ", o->letter);
    if (o->argument) put_argument(o), putchar(' ');
    printf(", ");
  }
  printf("Fl %s%s", compiler_style(o) ? "" : "-", o->name);
  if (o->argument) {
    printf(optional(o) ? " Ns Op = Ns " : compiler_style(o) ? " " : " Ns = Ns ");
    put_argument(o);
  }
  putchar('\n');
}

/* The text as sentences of mdoc: the argument's name is an Ar, options are Fl; a capital first, a full stop last. */
static void put_text(const option *o) {
  char name[64] = "", word[128];
  bool start = true, first = true;
  if (o->argument) argument(o, name, sizeof name);
  for (const char *p = o->text; *p;) {
    size_t n = strcspn(p, " "), core = n;
    while (core && strchr(".,;:)", p[core - 1])) core--;
    snprintf(word, sizeof word, "%.*s", (int)core, p);
    const bool is_argument = *name && is(word, name), is_option = word[0] == '-' && word[1];
    if (is_argument || is_option) {
      if (!start) putchar('\n');
      printf(is_argument ? ".Ar %s" : ".Fl %s", word + is_option);
      for (size_t k = core; k < n; k++) printf(" %c", p[k]);
      putchar('\n');
      start = true;
    } else {
      if (!start) putchar(' ');
      for (size_t k = 0; k < n; k++) putchar(first && !k && p[k] >= 'a' && p[k] <= 'z' ? p[k] - 'a' + 'A' : p[k]);
      start = false;
    }
    first = false;
    p += n;
    p += strspn(p, " ");
  }
  puts(start ? ".No ." : ".");
  if (o->more) puts(o->more);
}

static const char BEGIN[] = ".\\\" options: made from cli/opts.def by tools/opts_page.c";
static const char END[] = ".\\\" end of options";

static int man(const char *path) {
  char line[1024];
  int copying = 1, marks = 0;
  FILE *f = fopen(path, "r");
  if (!f) {
    perror(path);
    return 1;
  }
  while (fgets(line, sizeof line, f)) {
    const size_t n = strcspn(line, "\n");
    if (n == strlen(END) && !strncmp(line, END, n)) copying = 1, marks++;
    if (copying) fputs(line, stdout);
    if (n == strlen(BEGIN) && !strncmp(line, BEGIN, n)) {
      copying = 0, marks++;
      puts(".Bl -tag -width Ds");
      for (int k = 0; k < N; k++) {
        put_item(&options[k]);
        put_text(&options[k]);
      }
      puts(".El");
    }
  }
  fclose(f);
  if (marks == 2) return 0;
  fprintf(stderr, "%s: the marks of the options are missing\n", path);
  return 1;
}

/* ---- completion ---- */

static void bash(void) {
  puts("# bash completion of nuvecc, made from cli/opts.def\n"
       "_nuvecc() {\n"
       "  local cur=${COMP_WORDS[COMP_CWORD]} opt=${COMP_WORDS[COMP_CWORD-1]} joined= IFS=$'\\n'\n"
       "  if [[ $cur == = ]]; then # bash cuts words at =\n"
       "    cur= joined=1\n"
       "  elif [[ $opt == = ]]; then\n"
       "    opt=${COMP_WORDS[COMP_CWORD-2]} joined=1\n"
       "  fi\n"
       "  COMPREPLY=()\n"
       "  case $joined$opt in");
  for (int k = 0; k < N; k++) {
    const option *o = &options[k];
    const char *dash = compiler_style(o) ? "-" : "--";
    if (!o->argument) continue;
    printf("  1%s%s", dash, o->name);
    if (!optional(o)) printf("|%s%s", dash, o->name);
    if (o->letter) printf("|-%c", o->letter);
    if (is(o->values, "FILE"))
      printf(") compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")); return");
    else if (is(o->values, "DIR"))
      printf(") compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$cur\")); return");
    else if (o->values) {
      printf(") COMPREPLY=($(compgen -W $'");
      for (const char *p = o->values; *p; p++) printf(*p == ' ' ? "\\n" : "%c", *p);
      printf("' -- \"$cur\")); return");
    } else
      printf(") return");
    puts(" ;;");
  }
  puts("  esac\n"
       "  if [[ $cur == -* ]]; then\n"
       "    compopt -o nospace 2>/dev/null\n"
       "    local words=\"");
  for (int k = 0; k < N; k++) {
    const option *o = &options[k];
    if (o->letter) printf("-%c\n", o->letter);
    printf("%s%s%s\n", compiler_style(o) ? "-" : "--", o->name,
           o->argument && !compiler_style(o) && !optional(o) ? "=" : "");
  }
  puts("\"\n"
       "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
       "    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} != *= ]] && COMPREPLY[0]+=' '\n"
       "  else\n"
       "    compopt -o filenames 2>/dev/null\n"
       "    local name\n"
       "    while IFS= read -r name; do\n"
       "      [[ -d $name || $name == *.json || $name == *.yaml || $name == *.yml ]] && COMPREPLY+=(\"$name\")\n"
       "    done < <(compgen -f -- \"$cur\")\n"
       "  fi\n"
       "}\n"
       "complete -F _nuvecc nuvecc");
}

/* Text inside '…[…]': quotes and brackets escaped. */
static void put_zsh(const char *text) {
  for (; *text; text++) {
    if (*text == '\'')
      fputs("'\\'", stdout);
    else if (strchr("[]:", *text))
      putchar('\\');
    putchar(*text);
  }
}

static void zsh(void) {
  puts("#compdef nuvecc\n"
       "# zsh completion of nuvecc, made from cli/opts.def\n"
       "_arguments -S \\");
  for (int k = 0; k < N; k++) {
    const option *o = &options[k];
    const char *dash = compiler_style(o) ? "-" : "--";
    const char *joint = !o->argument ? "" : optional(o) ? "=-" : compiler_style(o) ? "" : "=";
    char name[64];
    if (o->letter)
      printf("  '(-%c %s%s)'{-%c%s,%s%s%s}'[", o->letter, dash, o->name, o->letter, o->argument ? "+" : "", dash,
             o->name, joint);
    else
      printf("  '%s%s%s[", dash, o->name, joint);
    put_zsh(o->text);
    putchar(']');
    if (o->argument) {
      printf(optional(o) ? "::" : ":");
      put_zsh(is_words(o) ? o->name : argument(o, name, sizeof name));
      putchar(':');
      if (is_words(o))
        printf("(%s)", o->values);
      else if (is(o->values, "FILE"))
        printf("_files");
      else if (is(o->values, "DIR"))
        printf("_files -/");
      else
        putchar(' ');
    }
    puts("' \\");
  }
  puts("  '1:spec:_files -g \"*.(json|yaml|yml)\"'");
}

int main(int argc, char **argv) {
  if (argc == 3 && is(argv[1], "man")) return man(argv[2]);
  if (argc == 2 && is(argv[1], "bash")) return bash(), 0;
  if (argc == 2 && is(argv[1], "zsh")) return zsh(), 0;
  fputs("usage: opts_page man FILE | bash | zsh\n", stderr);
  return 2;
}
