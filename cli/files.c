/* files.c - reads inputs whole and writes outputs all or nothing. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { MAX_FILES = 64 };

typedef struct staged {
  char *path, *temporary; /* temporary: NULL when the file stays as it is or isn't a regular file */
  const char *bytes;
  size_t n;
  bool special;
} staged;

typedef struct input {
  dev_t device;
  ino_t inode;
  const char *path;
} input;

static struct {
  input *inputs;
  size_t ninputs;
  staged outputs[MAX_FILES];
  size_t noutputs;
} files;

static bool failed(const char *path, const char *what) {
  cli_fail(NUVECC_IO, "%s: %s: %s", path, what, strerror(errno));
  return false;
}

/* ---- reading ---- */

bool cli_note_input(const char *path) {
  struct stat s;
  if (!strcmp(path, "-") || stat(path, &s)) return true;
  if (!(files.ninputs & (files.ninputs + 1)) || !files.inputs) { /* room for 1, 3, 7, ... */
    input *more = realloc(files.inputs, (2 * files.ninputs + 1) * sizeof *more);
    if (!more) {
      cli_fail(NUVECC_IO, "out of memory");
      return false;
    }
    files.inputs = more;
  }
  files.inputs[files.ninputs++] = (input){s.st_dev, s.st_ino, path};
  return true;
}

const void *cli_map(const char *path, size_t *n, const char **why) {
  struct stat s;
  const void *bytes = NULL;
  int fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &s)) {
    *why = strerror(errno);
  } else if (!S_ISREG(s.st_mode)) {
    *why = "it is no regular file";
  } else if (!s.st_size) {
    bytes = "";
    *n = 0;
  } else {
    *n = (size_t)s.st_size;
    bytes = mmap(NULL, *n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) {
      *why = strerror(errno);
      bytes = NULL;
    }
  }
  if (fd >= 0) close(fd);
  return bytes;
}

char *cli_read(const char *path, bool binary, size_t *n) {
  bool standard = !strcmp(path, "-");
  int fd = standard ? 0 : open(path, O_RDONLY | O_NOCTTY);
  struct stat s;
  char *bytes = NULL;
  size_t have = 0, room = 0;
  if (fd < 0 || fstat(fd, &s)) {
    failed(path, "cannot be read");
    goto out;
  }
  if (S_ISDIR(s.st_mode)) {
    errno = EISDIR;
    failed(path, "cannot be read");
    goto out;
  }
  if (S_ISREG(s.st_mode) && s.st_size > 0 && (unsigned long long)s.st_size < CLI_MAX_SPEC) room = (size_t)s.st_size + 1;
  for (;;) {
    if (have == room || !bytes) {
      if (!room)
        room = 65536;
      else if (bytes)
        room *= 2;
      char *more = realloc(bytes, room);
      if (!more) {
        errno = ENOMEM;
        failed(path, "cannot be read");
        free(bytes);
        bytes = NULL;
        break;
      }
      bytes = more;
    }
    ssize_t got = read(fd, bytes + have, room - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      failed(path, "cannot be read");
      free(bytes);
      bytes = NULL;
    }
    if (got <= 0) break;
    bool stop = !binary && memchr(bytes + have, 0, (size_t)got); /* the compiler will point at the NUL */
    have += (size_t)got;
    if (have > CLI_MAX_SPEC && !binary) {
      cli_fail(NUVECC_SPEC, "%s: a spec has at most 1 GiB", path);
      free(bytes);
      bytes = NULL;
      break;
    }
    if (stop) break;
  }
out:
  if (fd > 0) close(fd);
  *n = have;
  return bytes;
}

/* ---- writing ---- */

/* Takes the temporaries away when the run fails or is interrupted. Only calls what a signal handler may call. */
static void drop_temporaries(void) {
  for (size_t i = 0; i < files.noutputs; i++)
    if (files.outputs[i].temporary) unlink(files.outputs[i].temporary);
}
static void interrupted(int number) {
  drop_temporaries();
  signal(number, SIG_DFL);
  raise(number);
}

bool cli_make_dir(const char *dir) {
  char *path = strdup(dir);
  if (!path) return failed(dir, "cannot be made");
  bool ok = true;
  for (char *p = path + 1; ok; p++) {
    if (*p && *p != '/') continue;
    char was = *p;
    *p = 0;
    ok = !mkdir(path, 0777) || errno == EEXIST;
    *p = was;
    if (!was) break;
  }
  struct stat s;
  if (ok && stat(dir, &s)) ok = false;
  if (ok && !S_ISDIR(s.st_mode)) errno = ENOTDIR, ok = false;
  free(path);
  return ok ? true : failed(dir, "cannot be made");
}

static bool write_all(int fd, const char *bytes, size_t n) {
  while (n) {
    ssize_t put = write(fd, bytes, n);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes += put;
    n -= (size_t)put;
  }
  return true;
}

static bool same_bytes(const char *path, const struct stat *s, const char *bytes, size_t n) {
  if ((unsigned long long)s->st_size != n) return false;
  FILE *f = fopen(path, "rb");
  if (!f) return false;
  char part[8192];
  bool same = true;
  for (size_t at = 0; same && at < n;) {
    size_t got = fread(part, 1, sizeof part, f);
    same = got && got <= n - at && !memcmp(part, bytes + at, got);
    at += got;
  }
  fclose(f);
  return same;
}

bool cli_stage(const char *path, const char *bytes, size_t n, bool always) {
  struct stat s;
  bool exists = !stat(path, &s);
  for (size_t i = 0; exists && i < files.ninputs; i++)
    if (files.inputs[i].device == s.st_dev && files.inputs[i].inode == s.st_ino) {
      cli_fail(NUVECC_IO, "%s would overwrite %s, which this run reads", path, files.inputs[i].path);
      return false;
    }
  if (files.noutputs == MAX_FILES) {
    cli_fail(NUVECC_IO, "more than %d output files", MAX_FILES);
    return false;
  }
  for (size_t i = 0; i < files.noutputs; i++)
    if (!strcmp(files.outputs[i].path, path)) {
      cli_fail(NUVECC_IO, "%s would be written twice", path);
      return false;
    }
  if (exists && S_ISDIR(s.st_mode)) {
    errno = EISDIR;
    return failed(path, "cannot be written");
  }
  staged *o = &files.outputs[files.noutputs];
  *o = (staged){.path = strdup(path), .bytes = bytes, .n = n, .special = exists && !S_ISREG(s.st_mode)};
  if (!o->path) return failed(path, "cannot be written");
  if (!files.noutputs++) {
    atexit(drop_temporaries);
    signal(SIGINT, interrupted);
    signal(SIGTERM, interrupted);
    signal(SIGHUP, interrupted);
  }
  if (o->special || (exists && !always && same_bytes(path, &s, bytes, n))) return true;
  const char *slash = strrchr(path, '/');
  size_t dir = slash ? (size_t)(slash - path) + 1 : 0, room = dir + sizeof ".nuvecc.XXXXXX";
  char *temporary = malloc(room);
  if (!temporary) return failed(path, "cannot be written");
  snprintf(temporary, room, "%.*s.nuvecc.XXXXXX", (int)dir, path);
  int fd = mkstemp(temporary);
  if (fd < 0) {
    free(temporary);
    return failed(path, "cannot be written");
  }
  o->temporary = temporary;
  mode_t mask = umask(0);
  umask(mask);
  bool ok = !fchmod(fd, exists ? s.st_mode & 0777 : 0666 & ~mask) && write_all(fd, bytes, n);
  if (close(fd)) ok = false;
  return ok ? true : failed(path, "cannot be written");
}

bool cli_commit(bool verbose) {
  sigset_t all, before;
  bool ok = true;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  for (size_t i = 0; ok && i < files.noutputs; i++) {
    staged *o = &files.outputs[i];
    if (o->special) {
      int fd = open(o->path, O_WRONLY | O_NOCTTY);
      ok = fd >= 0 && write_all(fd, o->bytes, o->n);
      if (fd >= 0 && close(fd)) ok = false;
    } else if (o->temporary) {
      ok = !rename(o->temporary, o->path);
      if (ok) {
        free(o->temporary);
        o->temporary = NULL;
      }
    }
    if (!ok)
      failed(o->path, "cannot be written");
    else if (verbose)
      fprintf(stderr, "nuvecc: %s\n", o->path);
  }
  drop_temporaries();
  for (size_t i = 0; i < files.noutputs; i++) {
    free(files.outputs[i].temporary);
    free(files.outputs[i].path);
  }
  files.noutputs = 0;
  sigprocmask(SIG_SETMASK, &before, NULL);
  return ok;
}

bool cli_print(const char *bytes, size_t n) {
  fwrite(bytes, 1, n, stdout);
  return fflush(stdout) || ferror(stdout) ? failed("standard output", "cannot be written") : true;
}
