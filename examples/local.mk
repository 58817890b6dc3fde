# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Real jobs, through the public headers alone.
noinst_PROGRAMS += %reldir%/fashion
fashion_headers = %reldir%/fashion_data.h %reldir%/fashion_graph.h %reldir%/fashion_options.h %reldir%/fashion_ranks.h \
  %reldir%/fashion_show.h %reldir%/fashion_streams.h %reldir%/program.h
%canon_reldir%_fashion_SOURCES = %reldir%/fashion.c $(fashion_headers)
%canon_reldir%_fashion_LDADD = libndock.la -lm
# Neural networks: images, and text.
noinst_PROGRAMS += %reldir%/convnet %reldir%/generate
%canon_reldir%_convnet_SOURCES = %reldir%/convnet.c %reldir%/convnet_network.h
%canon_reldir%_convnet_LDADD = libndock.la -lm
%canon_reldir%_generate_SOURCES = %reldir%/generate.c %reldir%/generate_model.h
%canon_reldir%_generate_LDADD = libndock.la -lm
noinst_PROGRAMS += %reldir%/custom_op
%canon_reldir%_custom_op_SOURCES = %reldir%/custom_op.c %reldir%/custom_op_kernels.h
%canon_reldir%_custom_op_LDADD = libndock.la -lm
# Jobs of scientists, each with a picture by libpng, which is opened when one is wanted.
noinst_PROGRAMS += %reldir%/denoise %reldir%/heat %reldir%/pca
%canon_reldir%_denoise_SOURCES = %reldir%/denoise.c %reldir%/picture.c %reldir%/picture.h
%canon_reldir%_denoise_LDADD = libndock.la -lm
%canon_reldir%_heat_SOURCES = %reldir%/heat.c %reldir%/picture.c %reldir%/picture.h
%canon_reldir%_heat_LDADD = libndock.la -lm
%canon_reldir%_pca_SOURCES = %reldir%/pca.c %reldir%/picture.c %reldir%/picture.h
%canon_reldir%_pca_LDADD = libndock.la -lm

# Also where the package is installed: for users, and for authors of plug-ins, who have a job to try a new device with.
exampledir = $(docdir)/examples
dist_example_DATA = %reldir%/fashion.c $(fashion_headers) %reldir%/convnet.c %reldir%/convnet_network.h %reldir%/convnet.py \
  %reldir%/generate.c %reldir%/generate_model.h %reldir%/custom_op.c %reldir%/custom_op_kernels.h \
  %reldir%/fashion_numpy.py %reldir%/fashion.py %reldir%/einops_images.py %reldir%/jit.py %reldir%/kernel_recipes.py %reldir%/numba_stream.py \
  %reldir%/denoise.c %reldir%/denoise.py %reldir%/fused.py %reldir%/generate.py %reldir%/heat.c %reldir%/heat.py %reldir%/pca.c %reldir%/pca.py %reldir%/picture.c %reldir%/picture.h
