# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The files of the Python package, one a line, so that additions merge.
#
# python/src/ has a folder for each thing that a user knows. From the lowest to the highest: a file uses its own
# folder and those before it.
#   base       state of the module, errors, text, waiting, the GIL, callbacks from other threads, logging
#   dtype      DType and the names of dtypes
#   device     Device, and which devices and plug-ins there are
#   args       arguments: scalars, shapes, axes, and formats of whole argument lists
#   streams    Stream, Event, and what is known about waiting
#   memory     device memory: statistics, settings, pinned memory, Allocator and Pool
#   asarray    arrays of Python's numbers, nested sequences and other libraries' host memory
#   ops        functions that make and compute arrays
#   indexing   x[key], x[key] = value, take and put
#   exchange   arrays for and of other libraries: buffers, CUDA Array Interface, DLPack
#   files      .npy, .npz, IDX, safetensors and text
#   array      the type Array: attributes, operators, methods, elements as Python's numbers, text
#   needle     the backend interface of the course's needle
#   module     the extension module itself, and the list of what each file adds to it
python_sources =
python_modules =
python_sources += %reldir%/src/base/base.h
python_sources += %reldir%/src/base/error.c
python_sources += %reldir%/src/base/error_text.c
python_sources += %reldir%/src/base/gil.c
python_sources += %reldir%/src/base/handle.c
python_sources += %reldir%/src/base/later.c
python_sources += %reldir%/src/base/log.c
python_sources += %reldir%/src/base/object.c
python_sources += %reldir%/src/base/text.c
python_sources += %reldir%/src/base/wait.c
python_sources += %reldir%/src/dtype/dtype.c
python_sources += %reldir%/src/dtype/dtype.h
python_sources += %reldir%/src/dtype/layout.c
python_sources += %reldir%/src/dtype/name.c
python_sources += %reldir%/src/device/device.c
python_sources += %reldir%/src/device/device.h
python_sources += %reldir%/src/device/named.c
python_sources += %reldir%/src/device/plugins.c
python_sources += %reldir%/src/args/args.c
python_sources += %reldir%/src/args/args.h
python_sources += %reldir%/src/args/ints.c
python_sources += %reldir%/src/args/scalar.c
python_sources += %reldir%/src/streams/debug.c
python_sources += %reldir%/src/streams/event.c
python_sources += %reldir%/src/streams/launch.c
python_sources += %reldir%/src/streams/make.c
python_sources += %reldir%/src/streams/stream.c
python_sources += %reldir%/src/streams/streams.h
python_sources += %reldir%/src/memory/allocator.c
python_sources += %reldir%/src/memory/memory.c
python_sources += %reldir%/src/memory/memory.h
python_sources += %reldir%/src/memory/pinned.c
python_sources += %reldir%/src/memory/plans.c
python_sources += %reldir%/src/memory/stats.c
python_sources += %reldir%/src/asarray/asarray.c
python_sources += %reldir%/src/asarray/asarray.h
python_sources += %reldir%/src/asarray/buffer.c
python_sources += %reldir%/src/asarray/elements.c
python_sources += %reldir%/src/asarray/host.c
python_sources += %reldir%/src/asarray/interface.c
python_sources += %reldir%/src/asarray/nested.c
python_sources += %reldir%/src/asarray/operand.c
python_sources += %reldir%/src/ops/calculus.c
python_sources += %reldir%/src/ops/create.c
python_sources += %reldir%/src/ops/decompose.c
python_sources += %reldir%/src/ops/edit.c
python_sources += %reldir%/src/ops/elementwise.c
python_sources += %reldir%/src/ops/elementwise.def
python_sources += %reldir%/src/ops/fft.c
python_sources += %reldir%/src/ops/filled.c
python_sources += %reldir%/src/ops/histogram.c
python_sources += %reldir%/src/ops/linalg.c
python_sources += %reldir%/src/ops/manip.c
python_sources += %reldir%/src/ops/math_mode.c
python_sources += %reldir%/src/ops/ops.h
python_sources += %reldir%/src/ops/products.c
python_sources += %reldir%/src/ops/promote.c
python_sources += %reldir%/src/ops/quant.c
python_sources += %reldir%/src/ops/random.c
python_sources += %reldir%/src/ops/distributions.c
python_sources += %reldir%/src/ops/reduce.c
python_sources += %reldir%/src/ops/sets.c
python_sources += %reldir%/src/ops/signal.c
python_sources += %reldir%/src/ops/sorting.c
python_sources += %reldir%/src/ops/stack.c
python_sources += %reldir%/src/ops/statistics.c
python_sources += %reldir%/src/ops/view.c
python_sources += %reldir%/src/indexing/get.c
python_sources += %reldir%/src/indexing/indexing.h
python_sources += %reldir%/src/indexing/key.c
python_sources += %reldir%/src/indexing/line.c
python_sources += %reldir%/src/indexing/plan.c
python_sources += %reldir%/src/indexing/set.c
python_sources += %reldir%/src/indexing/take.c
python_sources += %reldir%/src/exchange/buffer.c
python_sources += %reldir%/src/exchange/cai_export.c
python_sources += %reldir%/src/exchange/cai_import.c
python_sources += %reldir%/src/exchange/dlpack_c.c
python_sources += %reldir%/src/exchange/dlpack_export.c
python_sources += %reldir%/src/exchange/dlpack_import.c
python_sources += %reldir%/src/exchange/exchange.c
python_sources += %reldir%/src/exchange/exchange.h
python_sources += %reldir%/src/exchange/raw.c
python_sources += %reldir%/src/files/csv.c
python_sources += %reldir%/src/files/files.c
python_sources += %reldir%/src/files/files.h
python_sources += %reldir%/src/files/gguf.c
python_sources += %reldir%/src/files/npz.c
python_sources += %reldir%/src/array/array.h
python_sources += %reldir%/src/array/attributes.c
python_sources += %reldir%/src/array/format.c
python_sources += %reldir%/src/array/methods.c
python_sources += %reldir%/src/array/operators.c
python_sources += %reldir%/src/array/scalar.c
python_sources += %reldir%/src/array/type.c
python_sources += %reldir%/src/needle/arguments.c
python_sources += %reldir%/src/needle/copy.c
python_sources += %reldir%/src/needle/math.c
python_sources += %reldir%/src/needle/needle.c
python_sources += %reldir%/src/needle/needle.h
python_sources += %reldir%/src/module/module.c
python_sources += %reldir%/src/module/parts.def
python_modules += %reldir%/ndock/__init__.py
python_modules += %reldir%/ndock/_averages.py
python_modules += %reldir%/ndock/_calculus.py
python_modules += %reldir%/ndock/_comparing.py
python_modules += %reldir%/ndock/_creation.py
python_modules += %reldir%/ndock/_debug.py
python_modules += %reldir%/ndock/_device.py
python_modules += %reldir%/ndock/_distributions.py
python_modules += %reldir%/ndock/_editing.py
python_modules += %reldir%/ndock/_dtypes.py
python_modules += %reldir%/ndock/_einops.py
python_modules += %reldir%/ndock/_elementwise.py
python_modules += %reldir%/ndock/_exchange.py
python_modules += %reldir%/ndock/_files.py
python_modules += %reldir%/ndock/_generator.py
python_modules += %reldir%/ndock/_histogram.py
python_modules += %reldir%/ndock/_indexing.py
python_modules += %reldir%/ndock/_info.py
python_modules += %reldir%/ndock/_linalg.py
python_modules += %reldir%/ndock/_log.py
python_modules += %reldir%/ndock/_manipulation.py
python_modules += %reldir%/ndock/_matrices.py
python_modules += %reldir%/ndock/_methods.py
python_modules += %reldir%/ndock/_names.py
python_modules += %reldir%/ndock/_nan.py
python_modules += %reldir%/ndock/_needle_array.py
python_modules += %reldir%/ndock/_needle_device.py
python_modules += %reldir%/ndock/_needle_operators.py
python_modules += %reldir%/ndock/_norms.py
python_modules += %reldir%/ndock/_npz.py
python_modules += %reldir%/ndock/_pickle.py
python_modules += %reldir%/ndock/_plugins.py
python_modules += %reldir%/ndock/_positions.py
python_modules += %reldir%/ndock/_printing.py
python_modules += %reldir%/ndock/_quantized.py
python_modules += %reldir%/ndock/_sampling.py
python_modules += %reldir%/ndock/_sets.py
python_modules += %reldir%/ndock/_products.py
python_modules += %reldir%/ndock/_sorting.py
python_modules += %reldir%/ndock/_stacking.py
python_modules += %reldir%/ndock/_statistics.py
python_modules += %reldir%/ndock/_text_files.py
python_modules += %reldir%/ndock/_types.py
python_modules += %reldir%/ndock/linalg.py
python_modules += %reldir%/ndock/backends.py
python_modules += %reldir%/ndock/fft.py
python_modules += %reldir%/ndock/gguf.py
python_modules += %reldir%/ndock/_vectorize.py
python_modules += %reldir%/ndock/math.py
python_modules += %reldir%/ndock/memory.py
python_modules += %reldir%/ndock/needle.py
python_modules += %reldir%/ndock/py.typed
python_modules += %reldir%/ndock/random.py
python_modules += %reldir%/ndock/signal.py
python_modules += %reldir%/ndock/special.py
