/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of CUDA_DTYPE, inside a namespace. Deliberately no include guard. */
namespace forward
{
#include "pool/pool.cu"
}
namespace backward
{
#include "pool/pool_grad.cu"
}
namespace resampling
{
#include "pool/resample.cu"
}
namespace unfolding
{
#include "pool/unfold.cu"
}
using namespace forward;
using namespace backward;
using namespace resampling;
using namespace unfolding;
