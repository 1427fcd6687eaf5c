/* data.c - the replay engine: constant arrays in a file beside the metallib, mapped and not copied. For graphs that
 * have some.
 *
 * The file: "nuvec data 1\n", 16 hexadecimal digits that the tape has too, "\n", the graph's name; from byte 256 on the
 * arrays; its length is a multiple of NVR_PAGE. */
#include "state_file.c"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void nvr_drop_data(nvr_context *c) {
  objc_release(c->data);
  if (c->mapped) munmap(c->mapped, c->mapped_bytes);
}

/* Is this the file that the tape was made with? */
static nuvec_status nvr_check_data(nvr_context *c, const nvr_data *d, const char *what, const void *bytes, size_t n) {
  const char *head = (const char *)bytes;
  if (n >= d->bytes && !memcmp(head, "nuvec data 1\n", 13) && !memcmp(head + 13, d->hash, 16)) return NUVEC_OK;
  return nvr_fail(c, NUVEC_FILE, "%s: %s isn't the data file that came with this stub (%zu bytes that start with %s)",
                  c->tape->name, what, d->bytes, d->hash);
}

/* Wraps bytes that start at a page, or copies them. */
static nuvec_status nvr_use_data(nvr_context *c, const nvr_data *d, const void *bytes) {
  id label = nvr_string(c, c->tape->name);
  if (d->bytes > c->max_buffer)
    return nvr_fail(c, NUVEC_BUFFER_LIMIT, "%s: the data file has %zu bytes; the largest buffer of %s has %lu",
                    c->tape->name, d->bytes, nvr_utf8(c, nvr_get(c, c->device, NVR_S_name)), c->max_buffer);
  if ((uintptr_t)bytes % NVR_PAGE == 0) {
    union {
      const void *from;
      void *to;
    } address;
    address.from = bytes; /* the kernels only read it */
    c->data = NVR_SEND("@@:^vQQ@?", id, (id, SEL, void *, nvr_uint, nvr_uint, const void *))(
        c->device, c->sel[NVR_S_newBufferWithBytesNoCopy], address.to, d->bytes, 0, NULL);
  }
  if (!c->data) {
    c->data = NVR_SEND("@@:QQ", id, (id, SEL, nvr_uint, nvr_uint))(c->device, c->sel[NVR_S_newBufferWithLength],
                                                                   d->bytes, 0);
    if (c->data) memcpy(nvr_contents(c, c->data), bytes, d->bytes);
  }
  if (!c->data)
    return nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for the %zu bytes of the data file", c->tape->name,
                    d->bytes);
  nvr_set(c, c->data, NVR_S_setLabel, label);
  return NUVEC_OK;
}

/* Maps n bytes of a file at a multiple of NVR_PAGE, also where the system's pages are smaller: NULL, it can't. */
static void *nvr_map(int file, size_t n) {
  char *room = (char *)mmap(NULL, n + NVR_PAGE, PROT_READ, MAP_PRIVATE, file, 0), *at, *map;
  size_t before;
  if ((void *)room == MAP_FAILED) return NULL;
  before = (NVR_PAGE - (uintptr_t)room % NVR_PAGE) % NVR_PAGE;
  at = room + before;
  map = (char *)mmap(at, n, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0);
  if (before) munmap(room, before);
  if (before < NVR_PAGE) munmap(at + n, NVR_PAGE - before);
  if ((void *)map != MAP_FAILED) return map;
  munmap(at, n);
  return NULL;
}

static nuvec_status nvr_map_data(nvr_context *c, const nvr_data *d, const char *path) {
  struct stat s;
  int file = open(path, O_RDONLY);
  nuvec_status status = NUVEC_OK;
  if (file < 0 || fstat(file, &s)) {
    status = nvr_fail(c, NUVEC_FILE, "%s: data file %s can't be opened", c->tape->name, path);
  } else if (s.st_size < 0 || (uint64_t)s.st_size != d->bytes) {
    status = nvr_fail(c, NUVEC_FILE, "%s: data file %s has %lld bytes, not the %zu that this stub came with",
                      c->tape->name, path, (long long)s.st_size, d->bytes);
  } else {
    c->mapped = nvr_map(file, d->bytes);
    c->mapped_bytes = d->bytes;
    if (!c->mapped)
      status = nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: data file %s can't be mapped", c->tape->name, path);
  }
  if (file >= 0) close(file);
  if (status == NUVEC_OK) status = nvr_check_data(c, d, path, c->mapped, d->bytes);
  return status == NUVEC_OK ? nvr_use_data(c, d, c->mapped) : status;
}

/* Beside the metallib that the options name, else where that is looked for. */
static nuvec_status nvr_find_data(nvr_context *c, const nvr_data *d, const nuvec_options *o) {
  const char *ending = ".metallib", *path = o && !o->bytes ? o->path : NULL;
  size_t n = path ? strlen(path) : 0, m = strlen(ending);
  nuvec_status status;
  char *own;
  if (!path) return nvr_map_data(c, d, nvr_utf8(c, nvr_find_file(c, "data")));
  if (n > m && !strcmp(path + n - m, ending)) n -= m;
  own = (char *)malloc(n + 6);
  if (!own) return nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for a context", c->tape->name);
  memcpy(own, path, n);
  strcpy(own + n, ".data");
  status = nvr_map_data(c, d, own);
  free(own);
  return status;
}

/* As nvr_create, with the data file's bytes where they aren't NULL. */
static nuvec_status nvr_create_data(const nvr_tape *tape, const nvr_data *d, const nuvec_options *options,
                                    const void *bytes, size_t n, nvr_context **out) {
  nuvec_status status = nvr_create(tape, options, out);
  nvr_context *c = *out;
  void *pool;
  if (status != NUVEC_OK) return status;
  c->drop_data = nvr_drop_data;
  pool = objc_autoreleasePoolPush();
  if (!bytes) status = nvr_find_data(c, d, options);
  else status = nvr_check_data(c, d, "the data given", bytes, n);
  if (bytes && status == NUVEC_OK) status = nvr_use_data(c, d, bytes);
  objc_autoreleasePoolPop(pool);
  return c->made = status;
}
