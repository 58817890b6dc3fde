#include "opencl.h"
