/* embed.c - turns a file into C: embed NAME FILE writes nv_embed_NAME and its size to standard output. */
#include <stdio.h>

int main(int argc, char **argv) {
  if (argc != 3) {
    fputs("usage: embed NAME FILE\n", stderr);
    return 2;
  }
  FILE *f = fopen(argv[2], "rb");
  if (!f) {
    perror(argv[2]);
    return 3;
  }
  printf("/* made by tools/embed.c */\n#include <stddef.h>\nextern const char nv_embed_%s[];\n"
         "extern const size_t nv_embed_%s_size;\nconst char nv_embed_%s[] = {",
         argv[1], argv[1], argv[1]);
  unsigned long n = 0;
  for (int ch; (ch = getc(f)) != EOF; n++) printf("%s%d,", n % 24 ? "" : "\n", ch > 127 ? ch - 256 : ch);
  printf("\n0};\nconst size_t nv_embed_%s_size = %lu;\n", argv[1], n);
  if (ferror(f) || fclose(f) || fflush(stdout)) return 3;
  return 0;
}
