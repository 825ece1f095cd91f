# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Patchfd(MakefilePackage):
    """PETSc plug-in: multigrid with tensor-product patch smoothers for
    high-order finite elements on boxes, on CPUs and NVIDIA GPUs."""

    homepage = "https://pypi.org/project/patchfd/"
    url = "https://files.pythonhosted.org/packages/source/p/patchfd/patchfd-1.0.0.tar.gz"

    license("BSD-2-Clause")

    version("@VERSION@", sha256="@SHA256@")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("gmake", type="build")
    depends_on("mpi")
    # with the GPU kernels if PETSc has CUDA: ^petsc+cuda cuda_arch=90
    depends_on("petsc@3.22:3.26+mpi+shared+double~complex")
    depends_on("lapack")

    requires("^[virtuals=lapack] openblas", "^[virtuals=lapack] netlib-lapack+lapacke", policy="one_of")
    conflicts("%gcc@:10", msg="the host kernels are compiled with gcc 11 and newer")

    def edit(self, spec, prefix):
        self.arguments = [
            f"PREFIX={prefix}",
            f"PETSC_DIR={spec['petsc'].prefix}",
            "PETSC_ARCH=",
            f"LAPACKE_LIB={spec['lapack'].libs.ld_flags}",
            # Spack's compiler wrappers know the processor
            "VECTOR_FLAGS=",
        ]

    @property
    def build_targets(self):
        return ["all", "V=1", *self.arguments]

    @property
    def install_targets(self):
        return ["install", *self.arguments]

    def check(self):
        make("check", *self.arguments)

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        # lib/patchfd.py, for py-petsc4py
        env.prepend_path("PYTHONPATH", self.prefix.lib)
