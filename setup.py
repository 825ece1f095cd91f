"""pip install patchfd: the makefile builds the library against PETSc and installs it into the folder patchfd in site-packages.

PETSc is the one of PETSC_DIR (and PETSC_ARCH), or else the package petsc from PyPI, which pip then installs.  The environment may set
variables of the makefile: MAKEFLAGS, CFLAGS, LAPACKE_LIB, VECTOR_LEVELS, VECTOR_FLAGS.
"""
import os
import platform
import re
import shlex
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

root = Path(__file__).resolve().parent
petsc_dir = os.environ.get('PETSC_DIR')


def version(header, name):
    return re.findall(rf'#define +{name}_VERSION_(?:MAJOR|MINOR|SUBMINOR) +(\d+)', Path(header).read_text())


def petsc_range():
    """What a wheel needs: the minor version of PETSc that it was built with; before that, what the library can be built with."""
    try:
        import petsc
        oldest = newest = version(Path(petsc.get_petsc_dir(), 'include', 'petscversion.h'), 'PETSC')
    except ImportError:
        script = (root / 'config/bootstrap').read_text()
        oldest, newest = (re.search(rf'^{key}=([\d.]+)', script, re.M)[1].split('.') for key in ('oldest', 'version'))
    return f'petsc >= {oldest[0]}.{oldest[1]}, < {newest[0]}.{int(newest[1]) + 1}'


class Build(build_py):
    def run(self):
        super().run()
        prefix = Path(self.build_lib).resolve() / 'patchfd'
        # a wheel has no links, so one name for the library; nor has it a use for debugging information
        arguments = [f'PREFIX={prefix}', 'BUILD=build/pip', 'SONAME=libpatchfd.so', f'CFLAGS={os.environ.get("CFLAGS", "")} -g0']
        if petsc_dir:
            arguments += [f'PETSC_DIR={petsc_dir}', f'PETSC_ARCH={os.environ.get("PETSC_ARCH", "")}']
        else:  # pip builds with a PETSc in a temporary folder; the one that is used is beside patchfd
            import petsc
            found = petsc.get_petsc_dir()
            arguments += [f'PETSC_DIR={found}', 'PETSC_ARCH=', f'PETSC_LIB=-L{shlex.quote(found)}/lib -lpetsc -lm',
                          "LDFLAGS=-Wl,-rpath,'$$ORIGIN/../../petsc/lib'"]
        if platform.machine() in ('x86_64', 'AMD64') and not {'VECTOR_FLAGS', 'VECTOR_LEVELS'} & os.environ.keys():
            arguments.append('VECTOR_LEVELS=avx2 avx512')
        subprocess.run(['make', 'all', 'install', *arguments], cwd=root, check=True)


class Wheel(bdist_wheel):
    def get_tag(self):
        return 'py3', 'none', super().get_tag()[2]


class Binary(Distribution):
    def has_ext_modules(self):
        return True


needs = [] if petsc_dir else [petsc_range()]
setup(
    version='.'.join(version(root / 'include/petscpatchfd.h', 'PATCHFD')),
    install_requires=needs,
    setup_requires=needs,
    packages=['patchfd'],
    package_dir={'patchfd': 'packages/pypi'},
    distclass=Binary,
    cmdclass={'build_py': Build, 'bdist_wheel': Wheel},
)
