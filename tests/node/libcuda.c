/* A stand-in for libcuda: answers what variables of the environment tell it to.
 *
 * STANDIN_INIT      what cuInit returns (0)
 * STANDIN_VERSION   what cuDriverGetVersion says (13000)
 * STANDIN_DEVICES   name|major|minor|megabytes|integrated;...   (NVIDIA H200|9|0|144384|0)
 * STANDIN_HANG      name of the function that never returns
 * STANDIN_CRASH     name of the function that ends the process
 * STANDIN_PIDS      file that gets the process id of everyone who loads this
 * STANDIN_NOISE     print to standard output where a library should not
 *
 * A container loads when an entry of it is a cubin of the device's major version and not above its
 * minor one, or PTX not above the device; else 209. An identifier CRASH, HANG or CODE<n> in it does
 * what it says. A bare image loads when it says nothing else.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *setting(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value ? value : otherwise;
}

static void enter(const char *function) {
  if (strcmp(setting("STANDIN_HANG", ""), function) == 0)
    for (;;) sleep(1000);
  if (strcmp(setting("STANDIN_CRASH", ""), function) == 0) *(volatile int *)0 = 1;
}

__attribute__((constructor)) static void loaded(void) {
  const char *path = getenv("STANDIN_PIDS");
  if (!path) return;
  FILE *file = fopen(path, "a");
  fprintf(file, "%d\n", (int)getpid());
  fclose(file);
}

struct device { char name[128]; int major, minor, megabytes, integrated; };

static int devices(struct device *found, int most) {
  char text[4096];
  int count = 0;
  snprintf(text, sizeof text, "%s", setting("STANDIN_DEVICES", "NVIDIA H200|9|0|144384|0"));
  for (char *rest = text, *one; (one = strsep(&rest, ";")) && count < most;) {
    struct device *d = &found[count];
    memset(d, 0, sizeof *d);
    if (sscanf(one, "%127[^|]|%d|%d|%d|%d", d->name, &d->major, &d->minor, &d->megabytes,
               &d->integrated) == 5)
      count++;
  }
  return count;
}

static struct device *at(int index) {
  static struct device all[16];
  return index < devices(all, 16) ? &all[index] : NULL;
}

int cuDriverGetVersion(int *version) {
  enter("cuDriverGetVersion");
  *version = atoi(setting("STANDIN_VERSION", "13000"));
  return 0;
}

int cuInit(unsigned flags) {
  enter("cuInit");
  if (getenv("STANDIN_NOISE")) { puts("noise {\"init\": 999}"); fflush(stdout); }
  return flags ? 1 : atoi(setting("STANDIN_INIT", "0"));
}

int cuGetErrorName(int code, const char **text) {
  *text = code == 0 ? "CUDA_SUCCESS" : code == 100 ? "CUDA_ERROR_NO_DEVICE"
        : code == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : code == 777 ? "CUDA_ERROR_OF_TOMORROW" : NULL;
  return *text ? 0 : 1;
}

int cuGetErrorString(int code, const char **text) {
  *text = code == 777 ? "words of tomorrow" : NULL;
  return *text ? 0 : 1;
}

int cuDeviceGetCount(int *count) {
  struct device all[16];
  enter("cuDeviceGetCount");
  *count = devices(all, 16);
  return 0;
}

int cuDeviceGet(int *device, int index) {
  *device = index;
  return at(index) ? 0 : 101;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  struct device *d = at(device);
  enter("cuDeviceGetAttribute");
  *value = attribute == 75 ? d->major : attribute == 76 ? d->minor : attribute == 18 ? d->integrated : 0;
  return attribute == 75 || attribute == 76 || attribute == 18 ? 0 : 1;
}

int cuDeviceGetName(char *name, int size, int device) {
  snprintf(name, size, "%s", at(device)->name);
  return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  *bytes = (size_t)at(device)->megabytes << 20;
  return 0;
}

int cuDeviceGetPCIBusId(char *text, int size, int device) {
  snprintf(text, size, "0000:%02X:00.0", 0x19 + device);
  return 0;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  for (int i = 0; i < 16; i++) uuid[i] = 16 * device + i;
  return 0;
}

static int current = -1;

int cuDevicePrimaryCtxRetain(void **context, int device) {
  enter("cuDevicePrimaryCtxRetain");
  *context = (void *)(intptr_t)(device + 1);
  return at(device) ? atoi(setting("STANDIN_CONTEXT", "0")) : 101;
}

int cuCtxSetCurrent(void *context) {
  current = (int)(intptr_t)context - 1;
  return 0;
}

static int number(const unsigned char *p, int size) {
  int value = 0;
  for (int i = size - 1; i >= 0; i--) value = value << 8 | p[i];
  return value;
}

static int told(const unsigned char *from, size_t size) {
  const char *code;
  if (memmem(from, size, "CRASH", 5)) abort();
  if (memmem(from, size, "HANG", 4)) for (;;) sleep(1000);
  code = memmem(from, size, "CODE", 4);
  return code ? atoi(code + 4) : -1;
}

static int load(void **handle, const unsigned char *image) {
  struct device *d = at(current);
  size_t size, offset;
  int code, fits = 0, entries = 0;
  if (!d) return 201;
  if (number(image, 4) != (int)0xBA55ED50) {
    *handle = (void *)(intptr_t)1;
    return 0;
  }
  size = 16 + number(image + 8, 4);
  code = told(image, size);
  if (code > 0) return code;
  for (offset = 16; offset + 64 <= size;) {
    const unsigned char *entry = image + offset;
    int kind = number(entry, 2), arch = number(entry + 28, 4);
    if (kind == 2) fits |= arch / 10 == d->major && arch % 10 <= d->minor;
    if (kind == 1) fits |= arch <= 10 * d->major + d->minor;
    entries++;
    offset += number(entry + 4, 4) + number(entry + 8, 4);
  }
  *handle = (void *)(intptr_t)entries;
  return fits ? 0 : 209;
}

int cuModuleLoadData(void **module, const void *image) {
  enter("cuModuleLoadData");
  return load(module, image);
}

int cuModuleUnload(void *module) {
  (void)module;
  enter("cuModuleUnload");
  return 0;
}

#ifndef OLD
int cuLibraryLoadData(void **library, const void *code, void *a, void *b, unsigned c, void *d,
                      void *e, unsigned f) {
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
  enter("cuLibraryLoadData");
  return load(library, code);
}

int cuLibraryGetKernelCount(unsigned *count, void *library) {
  *count = (unsigned)(intptr_t)library;
  return 0;
}

int cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library) {
  (void)library;
  for (unsigned i = 0; i < count; i++) kernels[i] = (void *)(intptr_t)(i + 1);
  return 0;
}

int cuKernelGetName(const char **name, void *kernel) {
  *name = (intptr_t)kernel == 1 ? "first" : "another";
  return 0;
}

int cuLibraryUnload(void *library) {
  (void)library;
  return 0;
}
#endif
