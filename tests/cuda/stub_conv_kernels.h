/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of CUDA_DTYPE, inside a namespace. Deliberately no include guard. */
namespace products
{
#include "conv/conv.cu"
}
#undef CONV_KERNEL
#undef CONV_GATHER_KERNEL
#undef CONV_DIAGONAL_KERNEL
#undef CONV_THIN_KERNEL
namespace threads
{
#include "conv/depthwise.cu"
}
#undef CONV_KERNEL
#undef CONV_GATHER_KERNEL
#undef CONV_DIAGONAL_KERNEL
#undef CONV_THIN_KERNEL
namespace windows
{
#include "conv/windows.cu"
}
#undef CONV_KERNEL
#undef CONV_GATHER_KERNEL
#undef CONV_DIAGONAL_KERNEL
#undef CONV_THIN_KERNEL
using namespace products;
using namespace threads;
using namespace windows;
