/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Platforms and devices: which there are, what they can do, opening and closing. */
#include <stdio.h>
#include <string.h>
#include "host/opencl.h"

#define DRIVER "install a driver of your device's vendor, or pocl-opencl-icd for the processor"
enum { MAX_PLATFORMS = 32 };

/* From the extensions cl_nv_device_attribute_query, cl_amd_device_attribute_query and
 * cl_khr_pci_bus_info, whose header not every system has. */
#define NV_PCI_BUS 0x4008
#define NV_PCI_SLOT 0x4009
#define NV_PCI_DOMAIN 0x400A
#define KHR_PCI_BUS_INFO 0x410F

static ndp_dev devices[OCL_MAX_DEVICES];
static uint32_t n_devices;
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;

static void text_of(cl_device_id id, cl_device_info what, char *out, size_t n)
{
    char text[512] = "";
    if (cl.clGetDeviceInfo(id, what, sizeof text, text, NULL) != CL_SUCCESS)
        text[0] = 0;
    text[sizeof text - 1] = 0;
    const char *from = text + strspn(text, " ");
    snprintf(out, n, "%.*s", (int)(n - 1), from);
}

static int has_extension(cl_device_id id, const char *name)
{
    char text[16384] = "";
    size_t n = strlen(name);
    if (cl.clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, sizeof text - 1, text, NULL) != CL_SUCCESS)
        return 0;
    for (const char *at = strstr(text, name); at; at = strstr(at + n, name))
        if ((at == text || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0))
            return 1;
    return 0;
}

#define ASK(id, what, field) cl.clGetDeviceInfo((id), (what), sizeof(field), &(field), NULL)

/* Why kernels cannot be compiled or run there, or NULL. */
static const char *unusable(cl_device_id id)
{
    cl_bool yes = CL_FALSE;
    char profile[64];
    text_of(id, CL_DEVICE_PROFILE, profile, sizeof profile);
    if (strcmp(profile, "FULL_PROFILE") != 0)
        return "has the embedded profile, without all of the integers";
    if (ASK(id, CL_DEVICE_COMPILER_AVAILABLE, yes) != CL_SUCCESS || !yes)
        return "has no compiler";
    if (ASK(id, CL_DEVICE_ENDIAN_LITTLE, yes) != CL_SUCCESS || !yes)
        return "is big-endian";
    if (ASK(id, CL_DEVICE_AVAILABLE, yes) != CL_SUCCESS || !yes)
        return "is not available";
    return NULL;
}

static int32_t f64_wanted = 1;
static const char *products = "auto";

/* So that what other devices lack can be tried on this one. */
static void read_settings(void)
{
    ocl_host->param(ocl_host->ctx, "F64", NDP_PARAM_BOOL, "0: as if the device had no cl_khr_fp64",
                    &f64_wanted);
    ocl_host->param(ocl_host->ctx, "PRODUCTS", NDP_PARAM_TEXT,
                    "matrix products by tiles in local memory, by strips without, or auto: by "
                    "CLBlast where it is there and takes them, else by CL_DEVICE_LOCAL_MEM_TYPE",
                    &products);
    ocl_program_settings();
}

static void heed_settings(ocl_facts *f)
{
    f->f64 = f->f64 && f64_wanted;
    if (strcmp(products, "tiles") == 0)
        f->local_is_fast = 1;
    else if (strcmp(products, "strips") == 0)
        f->local_is_fast = 0;
    f->clblast = strcmp(products, "auto") == 0;
}

static void learn(ocl_facts *f, cl_platform_id platform, cl_device_id id)
{
    cl_device_fp_config single = 0;
    cl_device_local_mem_type local = CL_GLOBAL;
    memset(f, 0, sizeof *f);
    f->id = id;
    f->platform = platform;
    text_of(id, CL_DEVICE_NAME, f->name, sizeof f->name);
    text_of(id, CL_DEVICE_VENDOR, f->vendor, sizeof f->vendor);
    text_of(id, CL_DRIVER_VERSION, f->driver, sizeof f->driver);
    text_of(id, CL_DEVICE_VERSION, f->version, sizeof f->version);
    cl.clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof f->platform_version - 1,
                         f->platform_version, NULL);
    ASK(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, f->align_bits);
    ASK(id, CL_DEVICE_MAX_COMPUTE_UNITS, f->units);
    ASK(id, CL_DEVICE_GLOBAL_MEM_SIZE, f->memory);
    ASK(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, f->max_alloc);
    ASK(id, CL_DEVICE_LOCAL_MEM_SIZE, f->local_memory);
    ASK(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, f->max_group);
    ASK(id, CL_DEVICE_SINGLE_FP_CONFIG, single);
    ASK(id, CL_DEVICE_LOCAL_MEM_TYPE, local);
    f->local_is_fast = local == CL_LOCAL;
    f->f64 = has_extension(id, "cl_khr_fp64");
    heed_settings(f);
    f->denormals = (single & CL_FP_DENORM) != 0;
    f->correct_divide = (single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
}

static void add_platform(cl_platform_id platform, char *why, size_t n)
{
    cl_device_id ids[OCL_MAX_DEVICES];
    cl_uint count = 0;
    char name[128];
    if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, OCL_MAX_DEVICES, ids, &count) != CL_SUCCESS)
        return;
    for (cl_uint i = 0; i < count && i < OCL_MAX_DEVICES && n_devices < OCL_MAX_DEVICES; i++) {
        const char *fault = unusable(ids[i]);
        text_of(ids[i], CL_DEVICE_NAME, name, sizeof name);
        if (fault) {
            snprintf(why, n, "the OpenCL device %s %s", name, fault);
            continue;
        }
        ndp_dev *dev = &devices[n_devices];
        dev->index = n_devices++;
        learn(&dev->facts, platform, ids[i]);
    }
}

static int32_t find_devices(char *why, size_t n)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint count = 0;
    int32_t status = ocl_library_open(why, n);
    if (status != NDP_OK || n_devices)
        return status;
    cl_int r = cl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &count);
    if (r != CL_SUCCESS || count == 0) {
        snprintf(why, n,
                 "OpenCL's loader knows no driver: nothing in /etc/OpenCL/vendors can be used "
                 "(%s); " DRIVER,
                 r == CL_SUCCESS ? "none is there" : ocl_error_name(r));
        return NDP_OK;
    }
    snprintf(why, n, "the %u OpenCL platform(s) have no device; " DRIVER, count);
    for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; i++)
        add_platform(platforms[i], why, n);
    return NDP_OK;
}

int32_t ocl_probe(uint32_t *count, char *why, size_t n)
{
    pthread_mutex_lock(&devices_lock);
    read_settings();
    ocl_guard *guard = n_devices ? NULL : ocl_guard_begin();
    int32_t status = find_devices(why, n);
    ocl_guard_end(guard);
    *count = n_devices;
    pthread_mutex_unlock(&devices_lock);
    return status;
}

/* Bus ids as other plug-ins write them, so that one card in two drivers is seen to be one. */
static void unique_id(cl_device_id id, char *out, size_t n)
{
    struct {
        cl_uint domain, bus, device, function;
    } pci;
    cl_uint bus = 0, slot = 0, domain = 0;
    if (has_extension(id, "cl_khr_pci_bus_info") && ASK(id, KHR_PCI_BUS_INFO, pci) == CL_SUCCESS)
        snprintf(out, n, "%04x:%02x:%02x.%x", pci.domain, pci.bus, pci.device, pci.function);
    else if (ASK(id, NV_PCI_BUS, bus) == CL_SUCCESS && ASK(id, NV_PCI_SLOT, slot) == CL_SUCCESS) {
        if (ASK(id, NV_PCI_DOMAIN, domain) != CL_SUCCESS)
            domain = 0;
        snprintf(out, n, "%04x:%02x:%02x.%x", domain, bus, slot >> 3, slot & 7);
    }
}

int32_t ocl_info(uint32_t index, ndp_device_info *out)
{
    if (index >= n_devices)
        return ocl_error(NDP_ERR_DEVICE, "there is no opencl:%u; there are %u devices", index,
                         n_devices);
    if (out->size < NDP_END(ndp_device_info, unique_id))
        return ocl_error(NDP_ERR_PLUGIN, "ndp_device_info of %u bytes is too short", out->size);
    const ocl_facts *f = &devices[index].facts;
    out->flags = NDP_DEV_ASYNC;
    out->memory_bytes = f->memory;
    out->align_bytes = f->align_bits >= 8 * 16 ? f->align_bits / 8 : 16;
    out->max_alloc_bytes = f->max_alloc;
    out->dtypes = ((uint64_t)1 << NDP_DTYPE_END) - 2; /* computed in: see ndp.op/1 */
    out->priority = -10; /* a vendor's own plug-in and the CPU's know their device better */
    snprintf(out->name, sizeof out->name, "%.63s", f->name);
    out->unique_id[0] = 0;
    unique_id(f->id, out->unique_id, sizeof out->unique_id);
    return NDP_OK;
}

static int32_t make_context(ndp_dev *dev)
{
    cl_int r;
    const cl_context_properties which[] = {CL_CONTEXT_PLATFORM,
                                           (cl_context_properties)dev->facts.platform, 0};
    cl_context context = cl.clCreateContext(which, 1, &dev->facts.id, NULL, NULL, &r);
    if (r != CL_SUCCESS)
        return ocl_fail(r, "making a context of opencl:%u", dev->index);
    dev->context = context;
    cl_command_queue queue =
        cl.clCreateCommandQueue(context, dev->facts.id, CL_QUEUE_PROFILING_ENABLE, &r);
    if (r != CL_SUCCESS) {
        dev->context = NULL;
        return ocl_fail(r, "making a queue of opencl:%u", dev->index);
    }
    pthread_mutex_init(&dev->lock, NULL);
    int32_t status = ocl_stream_init(dev, queue, 0, &dev->own);
    if (status != NDP_OK) { /* not open, and may be tried again */
        cl.clReleaseCommandQueue(queue);
        dev->context = NULL;
    }
    return status;
}

int32_t ocl_open(uint32_t index, ndp_dev **out)
{
    *out = NULL;
    if (index >= n_devices)
        return ocl_error(NDP_ERR_DEVICE, "there is no opencl:%u; there are %u devices", index,
                         n_devices);
    ndp_dev *dev = &devices[index];
    pthread_mutex_lock(&devices_lock);
    ocl_guard *guard = dev->context ? NULL : ocl_guard_begin();
    int32_t status = dev->context ? NDP_OK : make_context(dev);
    ocl_guard_end(guard);
    pthread_mutex_unlock(&devices_lock);
    *out = status == NDP_OK ? dev : NULL;
    return status;
}

/* The context stays: kernels that find() returned live as long as the process. */
void ocl_close(ndp_dev *dev)
{
    cl.clFinish(dev->own.queue);
    ocl_copies_wait(dev);
}
