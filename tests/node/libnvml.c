/* A stand-in for NVML: answers what variables of the environment tell it to.
 *
 * STANDIN_NVML_INIT     what nvmlInit_v2 returns (9, driver not loaded)
 * STANDIN_NVML_DEVICES  name|major|minor|mig;...
 * STANDIN_NVML_HANG     set: nvmlInit_v2 never returns
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct device { char name[128]; int major, minor, mig; };
struct memory { unsigned long long total, free, used; };
struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };

static const char *setting(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value ? value : otherwise;
}

static int devices(struct device *found) {
  char text[4096];
  int count = 0;
  snprintf(text, sizeof text, "%s", setting("STANDIN_NVML_DEVICES", ""));
  for (char *rest = text, *one; (one = strsep(&rest, ";")) && count < 16;) {
    struct device *d = &found[count];
    memset(d, 0, sizeof *d);
    if (sscanf(one, "%127[^|]|%d|%d|%d", d->name, &d->major, &d->minor, &d->mig) == 4) count++;
  }
  return count;
}

static struct device *of(void *handle) {
  static struct device all[16];
  devices(all);
  return &all[(intptr_t)handle - 1];
}

int nvmlInit_v2(void) {
  if (getenv("STANDIN_NVML_HANG")) for (;;) sleep(1000);
  return atoi(setting("STANDIN_NVML_INIT", getenv("STANDIN_NVML_DEVICES") ? "0" : "9"));
}

const char *nvmlErrorString(int code) {
  return code == 9 ? "Driver Not Loaded" : code == 18 ? "Driver/library version mismatch" : "Success";
}

int nvmlSystemGetDriverVersion(char *text, unsigned size) {
  snprintf(text, size, "%s", setting("STANDIN_NVML_DRIVER", "580.159.04"));
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
  struct device all[16];
  *count = devices(all);
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
  *handle = (void *)(intptr_t)(index + 1);
  return 0;
}

int nvmlDeviceGetName(void *handle, char *name, unsigned size) {
  snprintf(name, size, "%s", of(handle)->name);
  return 0;
}

int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
  *major = of(handle)->major;
  *minor = of(handle)->minor;
  return *major ? 0 : 3;
}

int nvmlDeviceGetMemoryInfo(void *handle, struct memory *memory) {
  (void)handle;
  memory->total = 150ull << 30;
  return 0;
}

int nvmlDeviceGetUUID(void *handle, char *text, unsigned size) {
  snprintf(text, size, "GPU-%d", (int)(intptr_t)handle);
  return 0;
}

int nvmlDeviceGetPciInfo_v3(void *handle, struct pci *pci) {
  snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", 0x18 + (int)(intptr_t)handle);
  return 0;
}

int nvmlDeviceGetMigMode(void *handle, unsigned *mode, unsigned *pending) {
  *mode = *pending = of(handle)->mig;
  return of(handle)->mig < 0 ? 3 : 0;
}
