"""libpatchfd, a PETSc plug-in, as a Python package: get_patchfd_dir(), get_config(), and the routines of lib/patchfd.py.

The routines need petsc4py.  Where it is installed, importing this package loads the library.
"""
import importlib.util
import os


def get_patchfd_dir():
    """The folder with include/ and lib/"""
    return os.path.dirname(os.path.abspath(__file__))


def get_config():
    """PATCHFD_DIR, and the library for the option -dll_append"""
    return {'PATCHFD_DIR': get_patchfd_dir(), 'PATCHFD_LIBRARY': os.path.join(get_patchfd_dir(), 'lib', 'libpatchfd.so')}


if importlib.util.find_spec('petsc4py'):
    from .lib import patchfd as _routines
    __doc__ = _routines.__doc__


def __getattr__(name):
    if '_routines' in globals():
        return getattr(_routines, name)
    if name.startswith('__'):
        raise AttributeError(name)
    raise ImportError(f'patchfd.{name} needs petsc4py, which is not installed: pip install petsc4py, in the version of PETSc')


def __dir__():
    return sorted({*globals(), *(dir(_routines) if '_routines' in globals() else ())})
