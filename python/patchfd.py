"""libpatchfd for petsc4py: the routines of petscpatchfd.h under their C names, as functions of petsc4py's objects.

    import sys, petsc4py
    petsc4py.init(sys.argv)
    from petsc4py import PETSc
    import patchfd

Importing it loads libpatchfd.so and registers the types "box", "patchmg", "patchfd" and "single" with petsc4py's PETSc, which has to be
the one that the library was built with.  The library is the file that PATCHFD_LIBRARY names, or the one in the folder of this file
(where `make install` puts it), or that of build/ beside it, or the system's.

What a C routine returns through pointers is returned, as a tuple if there are several.  Arrays are sequences or NumPy arrays of one dimension;
their lengths and types are checked.  An enumeration is a string, as on the command line.

A DMBoxFunctionFn is a function f(time, x) -> number, x a tuple of dim coordinates, or -> dim + 1 numbers with the space rt (dim for
DMBoxAddNeumannLoad()), or -> dim numbers for DMBoxSetMapping(), or -> rows of a matrix, for DMBoxComputeBendingError() and the gradient of
DMBoxComputeStokesError(); it has no context, since Python's functions bring theirs.  A DMBoxFunctionBatchFn is a function f(time, x) of many
points, x a NumPy array [points][dim], -> an array of as many numbers, or [points][numbers] where a DMBoxFunctionFn returns several, or one
number for all; rows of matrices follow each other.  This is the fast way.  Such arrays end with the call: copy what is to be kept.

A function that a DM calls later lives as long as a DM has it: until it is replaced, or this DM and those made from it, by solvers, too, are
destroyed.

A PETSc error is raised as PETSc.Error.  If an exception in a function was the reason, that is its __cause__.
"""
import ctypes
import ctypes.util
import math
import operator
import os
from itertools import takewhile

import numpy as np
from petsc4py import PETSc

Int, Real = (ctypes.c_int64 if PETSc.IntType().itemsize == 8 else ctypes.c_int32), ctypes.c_double
Bool = ctypes.c_bool if PETSc.Sys.getVersion() >= (3, 24) else ctypes.c_int  # an enumeration before
Byte, Float = ctypes.c_uint8, ctypes.c_float
_dtypes = {ctype: np.dtype(ctype) for ctype in (Int, Real, Byte, Float, ctypes.c_int)}


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    given = os.environ.get('PATCHFD_LIBRARY')
    tried = [given] if given else [os.path.join(here, 'libpatchfd.so'), os.path.join(here, '..', 'build', 'lib', 'libpatchfd.so')]
    found = next(filter(os.path.exists, tried), None) or (None if given else ctypes.util.find_library('patchfd'))
    if not found:
        raise ImportError('no libpatchfd.so; PATCHFD_LIBRARY may name it.  Looked for ' + ', '.join(tried))
    return ctypes.PyDLL(found)  # raises what a function of Python's has left in src/sys/python.c


_library = _load()


def _python(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_memory = _python('PyMemoryView_FromMemory', ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
_capsule_name = _python('PyCapsule_GetName', ctypes.c_char_p, ctypes.py_object)
_capsule_pointer = _python('PyCapsule_GetPointer', ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)


def _petsc4py(name, result, *arguments):
    """A function of petsc4py's C interface.  Being of Python's, it holds the lock and may raise."""
    capsule = PETSc.__pyx_capi__[name]
    return ctypes.PYFUNCTYPE(result, *arguments)(_capsule_pointer(capsule, _capsule_name(capsule)))


_raise = _petsc4py('PyPetscError_Set', ctypes.c_int, ctypes.c_int)  # raises PETSc.Error with PETSc's traceback
_newvec = _petsc4py('PyPetscVec_New', ctypes.py_object, ctypes.c_void_p)
_newmat = _petsc4py('PyPetscMat_New', ctypes.py_object, ctypes.c_void_p)
_newpc = _petsc4py('PyPetscPC_New', ctypes.py_object, ctypes.c_void_p)
_newksp = _petsc4py('PyPetscKSP_New', ctypes.py_object, ctypes.c_void_p)
_ERR_PYTHON = 101  # PETSC_ERR_PYTHON
DMBOX_CELLS = -1  # in place of a field


def _created(new):
    """For an object that a routine has created: petsc4py counts a reference of its own."""
    def convert(handle):
        result = new(handle)
        result.decRef()
        return result
    return convert


def _array_at(address, ctype, shape, writable):
    """The memory of C's as a NumPy array.  No ctypes.cast(), which makes reference cycles."""
    dtype, size = _dtypes[ctype], math.prod(shape)
    memory = _memory(address, dtype.itemsize * size, 0x200 if writable else 0x100) if size else b''
    return np.frombuffer(memory, dtype).reshape(shape)


def _checked(values, ctype):
    """A NumPy array for C.  Integers do not come from numbers with fractions, nor lose bits."""
    given = np.frombuffer(values, np.uint8) if isinstance(values, (bytes, bytearray, memoryview)) else np.asarray(values)
    dtype = _dtypes[ctype]
    if given.size and given.dtype.kind not in ('biuf' if dtype.kind == 'f' else 'biu'):
        raise TypeError(f'{"numbers" if dtype.kind == "f" else "integers"} are wanted, not {given.dtype}')
    array = np.asarray(given, dtype, order='C')
    if dtype.kind != 'f' and (array != given).any():
        raise ValueError(f'values from {given.min()} to {given.max()} are beyond the range of {dtype}')
    return array


# ---- functions: C calls one of the library's, which finds Python's in the context, and hands over what that raises ----
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, Int, Real, Int, ctypes.POINTER(Real), Int, ctypes.POINTER(Real), ctypes.c_void_p)
_incref = _python('Py_IncRef', None, ctypes.py_object)
_restore = ctypes.cast(ctypes.pythonapi.PyErr_Restore, ctypes.c_void_p)


class _Functions(ctypes.Structure):
    _fields_ = [('first', _Callback), ('second', _Callback)]


def _failed(exception):
    for reference in type(exception), exception:
        _incref(reference)
    _library.PatchFDPythonSetError(_restore, ctypes.c_void_p(id(type(exception))), ctypes.c_void_p(id(exception)))
    return _ERR_PYTHON


def _pointwise(values):
    """values(what the function returned, dim, nc): the nc components"""
    def make(function):
        def callback(dim, time, n, x, nc, u, ctx):
            try:
                for i, value in enumerate(values(function(time, tuple(x[:dim])), dim, nc)):
                    u[i] = value
                return 0
            except BaseException as exception:  # C cannot let it pass
                return _failed(exception)
        return callback
    return make


def _batchwise(function):
    def callback(dim, time, n, x, nc, u, ctx):
        try:
            values = _checked(function(time, _array_at(ctypes.addressof(x.contents), Real, (n, dim), False)), Real)
            shape = (n,) if nc == 1 else (n, nc)
            if values.shape not in ((), shape):
                raise ValueError(f'for {n} points an array of shape {shape} is wanted, or one number, not shape {values.shape}')
            _array_at(ctypes.addressof(u.contents), Real, shape, True)[...] = values
            return 0
        except BaseException as exception:
            return _failed(exception)
    return callback


def _numbers_of(value, dim, nc):
    if nc == 1:
        return value,
    value = tuple(value)
    if len(value) != nc:
        raise ValueError(f'{nc} numbers are wanted, not {value}')
    return value


def _matrix_of(rows, dim, nc):
    rows = [tuple(row) for row in rows]
    if [len(row) for row in rows] != [dim] * dim:
        raise ValueError(f'a matrix of {dim} rows of {dim} numbers is wanted, not {rows}')
    return sum(rows, ())


class _Call:
    """One call of a C routine: the arguments made so far, and what makes its results."""

    def __init__(self):
        self.arguments, self.results, self.arrays = [], [], []
        self.object, self.dim = None, 0  # the one that is the first argument, the dimension of a DM
        self.functions = _Functions()  # the context of functions

    def address(self, array):
        self.arguments.append(ctypes.c_void_p(array.ctypes.data))
        self.arrays.append(array)  # which C does not keep


# ---- kinds of arguments: each appends what C wants; "value" stands for what Python gave ----
def _object(cls):
    def put(call, value):
        if not isinstance(value, cls):
            raise TypeError(f'a petsc4py.PETSc.{cls.__name__} is wanted, not {type(value).__name__}')
        if not value.handle:
            raise ValueError(f'the {cls.__name__} has not been created, or has been destroyed')
        if cls is PETSc.DM:
            call.dim = max(value.getDimension(), 0)
        call.object = call.object or value
        call.arguments.append(ctypes.c_void_p(value.handle))
    return put


def _int(call, value):
    value = operator.index(value)
    if Int(value).value != value:
        raise ValueError(f'{value} is beyond the range of PetscInt')
    call.arguments.append(Int(value))


def _real(call, value):
    call.arguments.append(Real(value))


def _bool(call, value):
    call.arguments.append(Bool(bool(value)))


def _string(call, value):
    if not isinstance(value, str) or '\0' in value:
        raise TypeError(f'a string is wanted, not {value!r}')
    call.arguments.append(ctypes.c_char_p(value.encode()))


def _array(ctype, factor):
    """An array of factor * dim numbers; factor 0: of any length, which C gets first."""
    def put(call, values):
        array = _checked(values, ctype)
        if array.ndim != 1 or factor and array.size != factor * call.dim:
            raise ValueError(f'an array of shape {array.shape}; ' +
                             (f'in {call.dim} dimensions it takes {factor * call.dim} values' if factor else 'it takes one dimension'))
        if not factor:
            call.arguments.append(Int(array.size))
        call.address(array)
    return put


def _lines(call, values):  # numbers of all directions of a DMDA, one after another; None: zeros
    if values is None:
        call.arguments.append(None)
        return
    array, sizes = _checked(values, Real), call.object.getSizes()
    if array.shape != (sum(sizes),):
        raise ValueError(f'an array of shape {array.shape}; a DMDA of {sizes} nodes takes {sum(sizes)} values')
    call.address(array)


def _names(symbol):
    """The names of an enumeration; in the library they end with the name of its type."""
    table = (ctypes.c_char_p * 16).in_dll(_library, symbol)
    return [name.decode() for name in takewhile(lambda name: not symbol.startswith(name.decode()), table)]


def _number(symbol, value):
    names = _names(symbol)
    if value not in names:
        raise ValueError(f'{value!r}; it must be one of {", ".join(names)}')
    return names.index(value)


def _enum(symbol):
    def put(call, value):
        call.arguments.append(ctypes.c_int(_number(symbol, value)))
    return put


def _bool3(call, value):  # None: unknown
    call.arguments.append(ctypes.c_int(-1 if value is None else bool(value)))


def _enums(symbol, factor):
    array = _array(ctypes.c_int, factor)

    def put(call, values):
        array(call, [_number(symbol, value) for value in values])
    return put


def _function(make, slot, name, optional):
    c = ctypes.c_void_p(ctypes.cast(getattr(_library, name), ctypes.c_void_p).value)

    def put(call, function):
        if not (callable(function) or optional and function is None):
            raise TypeError(f'a function{" or None" if optional else ""} is wanted, not {type(function).__name__}')
        if function is not None:
            setattr(call.functions, slot, _Callback(make(function)))
        call.arguments.append(None if function is None else c)
    return put


def _context(call):
    call.arguments.append(ctypes.byref(call.functions))


_context.out = True  # not given in Python


def _first(make, optional=False):
    return _function(make, 'first', 'PatchFDPythonFirst', optional)


def _second(make, optional=False):
    return _function(make, 'second', 'PatchFDPythonSecond', optional)


def _first_batch(optional=False):
    return _function(_batchwise, 'first', 'PatchFDPythonFirstBatch', optional)


_numbers, _matrix = _pointwise(_numbers_of), _pointwise(_matrix_of)
_second_batch = _function(_batchwise, 'second', 'PatchFDPythonSecondBatch', True)


def _keep(dm, name, functions, failed):
    """
    Lets the functions live as long as the DM, or those made from it, may call them: an object under this name goes from one to the other
    (src/dm/operator.c).  A new one takes its place in this DM alone.  After an error C may have the new functions, or those before.
    """
    old, new = dm.query('DMBoxFunctions'), PETSc.IS().createGeneral([], comm=PETSc.COMM_SELF)
    kept = old.getAttr('functions') if old else {}
    new.setAttr('functions', {**kept, name: (functions, kept.get(name)) if failed else functions})
    dm.compose('DMBoxFunctions', new)


def _voxels(call, voxels):
    """an image with an integer for each cell, then two sequences of as many numbers: capacities, conductivities"""
    image, capacity, conductivity = voxels
    image, capacity, conductivity = _checked(image, Byte), _checked(capacity, Real), _checked(conductivity, Real)
    cells = DMBoxGetCells(call.object)
    if image.shape not in ((math.prod(cells),), cells[::-1]):
        raise ValueError(f'an image of shape {image.shape}; for the cells of the DM it takes shape {cells[::-1]}, or {math.prod(cells)} values')
    if capacity.ndim != 1 or capacity.shape != conductivity.shape:
        raise ValueError(f'capacities of shape {capacity.shape} and conductivities of shape {conductivity.shape}; it takes one of each a material')
    call.address(image)
    call.arguments.append(Int(capacity.size))
    call.address(capacity)
    call.address(conductivity)


def _vec_or_none(call, value):
    _vec(call, value) if value is not None else call.arguments.append(None)


def _vecs(call, values):
    vecs = _Call()
    for value in values:
        _vec(vecs, value)
    call.arguments += [Int(len(vecs.arguments)), (ctypes.c_void_p * len(vecs.arguments))(*(vec.value for vec in vecs.arguments))]


# ---- kinds of results: not given in Python ----
def _out(ctype, convert=lambda value: value):
    def put(call):
        result = ctype()
        call.arguments.append(ctypes.byref(result))
        call.results.append(lambda: convert(result.value))
    put.out = True
    return put


def _real_out_if(call, wanted):
    """A result only if it is wanted, which Python says."""
    _real_out(call) if wanted else call.arguments.append(None)


def _outs(ctype, factor, convert=lambda value: value):
    def put(call):
        result = (ctype * (factor * call.dim))()
        call.arguments.append(result)
        call.results.append(lambda: tuple(convert(value) for value in result))
    put.out = True
    return put


def _enum_out(symbol, factor=0):
    convert = lambda value: _names(symbol)[value]
    return _outs(ctypes.c_int, factor, convert) if factor else _out(ctypes.c_int, convert)


def _voxels_out(call):
    voxel, free = ctypes.c_void_p(), ctypes.c_void_p.in_dll(_library, 'PetscTrFree').value
    call.arguments.append(ctypes.byref(voxel))

    def result():
        image = _array_at(voxel.value, Byte, (math.prod(DMBoxGetCells(call.object)),), False).copy()
        ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)(free)(voxel, 0, b'', b'')
        return image
    call.results.append(result)


_voxels_out.out = True


def _copy(call, size, ctype=Real):
    """An array of C's that belongs to the DM, of a size that is known after the call: a copy, which stays what it is"""
    array = ctypes.c_void_p()
    call.arguments.append(ctypes.byref(array))
    call.results.append(lambda: _array_at(array.value, ctype, (size(),), False).copy())


def _vertices_out(call):
    n = Int()
    call.arguments.append(ctypes.byref(n))
    _copy(call, lambda: n.value)


def _ranges_out(call):
    for d in range(3):
        _copy(call, lambda d=d: (DMBoxGetProcesses(call.object) + (1, 1))[d], Int)


def _nodes_out(call):
    """C fills it; where the direction does not exist, C says so"""
    field, direction = (argument.value for argument in call.arguments[-2:])
    nodes = np.empty(DMBoxGetGlobalSizes(call.object, field)[direction if 0 <= direction < 3 else 0])
    call.address(nodes)
    call.results.append(lambda: nodes)


def _diffusion_out(call):
    n, values = Int(), (Real * 6)()
    call.arguments += [ctypes.byref(n), values]
    call.results.append(lambda: tuple(values[:n.value]))


class _Values(np.ndarray):
    """Values at nodes, with the pointers to rows that C made, and frees."""
    pointers = None


def _values_out(writable):
    def put(call):
        pointers, (vec, field) = ctypes.c_void_p(), (argument.value for argument in call.arguments[-2:])
        call.arguments.append(ctypes.byref(pointers))

        def result():
            dm, dim = call.object, call.dim
            own = [DMBoxGetCorners(dm, f) for f in range(DMBoxGetNumFields(dm))]
            corners = own[field] if _newvec(vec).getLocalSize() == sum(math.prod(c[3:]) for c in own) else DMBoxGetGhostCorners(dm, field)
            first, shape, address = corners[:dim][::-1], corners[3:3 + dim][::-1], pointers.value  # C's array[k][j][i]
            if all(shape):
                for start in first[:-1]:
                    address = ctypes.c_void_p.from_address(address + start * ctypes.sizeof(ctypes.c_void_p)).value
                address += first[-1] * ctypes.sizeof(Real)
            array = _array_at(address, Real, shape, writable).view(_Values)
            array.pointers = pointers
            return array
        call.results.append(result)
    put.out = True
    return put


def _values(call, array):
    """That array itself, no part of it, and once: C frees the pointers"""
    pointers = getattr(array, 'pointers', None)
    if pointers is None:
        raise ValueError('the array of DMBoxVecGetArray() or DMBoxVecGetArrayRead() is wanted, which has not been restored')
    call.arguments.append(ctypes.byref(pointers))
    call.results.append(lambda: setattr(array, 'pointers', None))


for _kind in (_vertices_out, _ranges_out, _nodes_out, _diffusion_out):
    _kind.out = True


def _routine(name, *kinds, keep=None):
    """keep: the name of the functions that the DM keeps"""
    given = sum(not hasattr(kind, 'out') for kind in kinds)
    c = getattr(_library, name)

    def routine(*values):
        if len(values) != given:
            raise TypeError(f'{name}() takes {given} arguments, {len(values)} were given')
        call, rest = _Call(), iter(values)
        try:
            for kind in kinds:
                kind(call) if hasattr(kind, 'out') else kind(call, next(rest))
        except (TypeError, ValueError) as error:
            raise type(error)(f'{name}(): {error}') from None
        try:
            ierr, cause = c(*call.arguments), None
        except BaseException as exception:  # of a function
            ierr, cause = _ERR_PYTHON, exception
        if keep:
            _keep(call.object, keep(values), call.functions, ierr != 0)
        if ierr:
            try:
                _raise(ierr)
            except PETSc.Error as error:
                raise error from cause
            finally:
                del cause  # whose traceback has this frame: no cycle
        results = tuple(result() for result in call.results)
        return results[0] if len(results) == 1 else results or None

    routine.__name__ = routine.__qualname__ = name
    routine.__doc__ = f'{name}(): see its manual page, in src/.'
    globals()[name] = routine


_dm, _vec, _mat, _pc, _ksp, _snes, _ts, _viewer = (_object(cls) for cls in (PETSc.DM, PETSc.Vec, PETSc.Mat, PETSc.PC, PETSc.KSP, PETSc.SNES,
                                                                           PETSc.TS, PETSc.Viewer))
_int_out, _real_out, _bool_out = _out(Int), _out(Real), _out(Bool, bool)
_bool3_out = _out(ctypes.c_int, lambda value: None if value < 0 else bool(value))
_string_out = _out(ctypes.c_char_p, lambda value: value.decode())
_vec_if = lambda handle: None if not handle else _newvec(handle)  # that of another object
_ints, _reals = _array(Int, 1), _array(Real, 1)
_ints_out, _reals_out = _outs(Int, 1), _outs(Real, 1)

_routine('PatchFDInitializePackage')

_routine('DMBoxSetCells', _dm, _ints)
_routine('DMBoxGetCells', _dm, _ints_out)
_routine('DMBoxSetBounds', _dm, _reals, _reals)
_routine('DMBoxGetBounds', _dm, _reals_out, _reals_out)
_routine('DMBoxSetVertices', _dm, _int, _array(Real, 0))
_routine('DMBoxGetVertices', _dm, _int, _vertices_out)
_routine('DMBoxSetDegree', _dm, _int)
_routine('DMBoxGetDegree', _dm, _int_out)
_routine('DMBoxSetExtraPoints', _dm, _int, _int)
_routine('DMBoxGetExtraPoints', _dm, _int_out, _int_out)
_routine('DMBoxSetSpace', _dm, _enum('DMBoxSpaces'))
_routine('DMBoxGetSpace', _dm, _enum_out('DMBoxSpaces'))
_routine('DMBoxSetHaloType', _dm, _enum('PatchFDHaloTypes'))
_routine('DMBoxGetHaloType', _dm, _enum_out('PatchFDHaloTypes'))
_routine('DMBoxSetBoundary', _dm, _enums('DMBoxBoundaryTypes', 2))
_routine('DMBoxSetSymmetryComponents', _dm, _array(Int, 2))
_routine('DMBoxGetSymmetryComponents', _dm, _outs(Int, 2))
_routine('DMBoxGetBoundary', _dm, _enum_out('DMBoxBoundaryTypes', 2))
_routine('DMBoxSetProcesses', _dm, _ints)
_routine('DMBoxGetProcesses', _dm, _ints_out)
_routine('DMBoxSetPoisson', _dm, _reals, _real)
_routine('DMBoxGetPoisson', _dm, _reals_out, _real_out)
_routine('DMBoxSetRobin', _dm, _int, _real)
_routine('DMBoxGetRobin', _dm, _int, _real_out)
_routine('DMBoxSetBiharmonic', _dm, _real, _real)
_routine('DMBoxGetBiharmonic', _dm, _real_out, _real_out)
_routine('DMBoxSetStokes', _dm, _real, _real)
_routine('DMBoxGetStokes', _dm, _real_out, _real_out)
_routine('DMBoxSetElasticity', _dm, _real, _real, _real)
_routine('DMBoxGetElasticity', _dm, _real_out, _real_out, _real_out)
_routine('DMBoxSetElasticModuli', _dm, _real, _real, _enum('DMBoxPlaneTypes'))
_routine('DMBoxGetElasticModuli', _dm, _real_out, _real_out)
_routine('DMBoxSetElasticModuliFunction', _dm, _first(_numbers, True), _second(_numbers, True), _enum('DMBoxPlaneTypes'), _context,
         keep=lambda values: 'elasticity')
_routine('DMBoxSetElasticModuliVec', _dm, _vec_or_none, _vec_or_none, _enum('DMBoxPlaneTypes'))
_routine('DMBoxGetElasticModuliVec', _dm, _out(ctypes.c_void_p, _vec_if), _out(ctypes.c_void_p, _vec_if))
_routine('DMBoxComputeStresses', _dm, _vec, _out(ctypes.c_void_p, _created(_newvec)))
_routine('DMBoxSetLambdaDegree', _dm, _int)
_routine('DMBoxGetLambdaDegree', _dm, _int_out)
_routine('DMBoxSetHeat', _dm, _real, _reals, _real)
_routine('DMBoxGetHeat', _dm, _real_out, _reals_out, _real_out)
_routine('DMBoxSetHeatFields', _dm, _vec_or_none, _vecs)
_routine('DMBoxGetHeatFields', _dm, _out(ctypes.c_void_p, _vec_if), _outs(ctypes.c_void_p, 1, _vec_if))
_routine('DMBoxSetHeatFunctions', _dm, _real, _first(_numbers, True), _second(_numbers, True), _context)
_routine('DMBoxSetHeatVoxels', _dm, _voxels)
_routine('DMBoxLoadVoxels', _dm, _string, _voxels_out)
_routine('DMBoxSetHeatRobin', _dm, _int, _real, _real)
_routine('DMBoxGetHeatRobin', _dm, _int, _real_out, _real_out)
_routine('DMBoxSetHeatSource', _dm, _first(_numbers, True), _context, keep=lambda values: 'source')
_routine('DMBoxSetHeatFlux', _dm, _int, _first(_numbers, True), _context, keep=lambda values: f'flux {operator.index(values[1])}')
_routine('DMBoxSetHeatDirichlet', _dm, _first(_numbers, True), _context, keep=lambda values: 'dirichlet')
_routine('DMBoxSetHeatSteady', _dm, _bool)
_routine('DMBoxGetHeatSteady', _dm, _bool_out)
_routine('DMBoxAddHeatLoad', _dm, _real, _vec)
_routine('DMBoxTSSetHeat', _ts)
for _name, _symbol in (('Guess', 'DMBoxHeatGuesses'), ('Solver', 'DMBoxHeatSolvers')):
    _routine('DMBoxTSSetHeat' + _name, _ts, _enum(_symbol))
    _routine('DMBoxTSGetHeat' + _name, _ts, _enum_out(_symbol))
_routine('DMBoxTSHeatView', _ts, _viewer)
_routine('DMBoxTSHeatLoad', _ts, _viewer)
_routine('DMBoxSetDiffusion', _dm, _array(Real, 0), _real)
_routine('DMBoxGetDiffusion', _dm, _diffusion_out, _real_out)
_routine('DMBoxSetDiffusionFunction', _dm, _int, _first(_numbers, True), _second(_numbers, True), _context, keep=lambda values: 'diffusion')
_routine('DMBoxSetDiffusionVec', _dm, _int, _vec_or_none, _vec_or_none)
_routine('DMBoxGetDiffusionVec', _dm, _int_out, _out(ctypes.c_void_p, _vec_if), _out(ctypes.c_void_p, _vec_if))
_routine('DMBoxCreateDiffusionVec', _dm, _bool, _int, _out(ctypes.c_void_p, _created(_newvec)))
_routine('DMBoxComputeDiffusionPoints', _dm, _vec)
_routine('DMBoxComputeDiffusionValues', _dm, _vec, _vec_or_none, _vec_or_none)
_routine('DMBoxAddDiffusionLoad', _dm, _vec_or_none, _vec_or_none, _vec)
_routine('DMBoxSetMapping', _dm, _first(_numbers, True), _context, keep=lambda values: 'mapping')
_routine('DMBoxSetMappingType', _dm, _enum('DMBoxMappingTypes'), _real)
_routine('DMBoxGetMappingType', _dm, _enum_out('DMBoxMappingTypes'), _real_out)
_routine('DMBoxSetMappingDegree', _dm, _int)
_routine('DMBoxGetMappingDegree', _dm, _int_out)
_routine('DMBoxSetMappingCoordinates', _dm, _vec)
_routine('DMBoxSetMappingFile', _dm, _string)
_routine('DMBoxSetOperator', _dm, _string)
_routine('DMBoxGetOperator', _dm, _string_out)
_routine('DMBoxSetPenalty', _dm, _real, _real)
_routine('DMBoxGetPenalty', _dm, _real_out, _real_out)
_routine('DMBoxGetNumCoarsenings', _dm, _int_out)
_routine('DMBoxSetSemicoarsening', _dm, _real)
_routine('DMBoxGetSemicoarsening', _dm, _real_out)
_routine('DMBoxSetGalerkin', _dm, _bool3)
_routine('DMBoxGetGalerkin', _dm, _bool3_out)
_routine('DMBoxGetNumFields', _dm, _int_out)
_routine('DMBoxGetGlobalSizes', _dm, _int, *[_int_out] * 3)
_routine('DMBoxGetCorners', _dm, _int, *[_int_out] * 6)
_routine('DMBoxGetGhostCorners', _dm, _int, *[_int_out] * 6)
_routine('DMBoxGetOwnershipRanges', _dm, _int, _ranges_out)
_routine('DMBoxGetNodes', _dm, _int, _int, _nodes_out)
for _name in ('', 'Read'):
    _routine('DMBoxVecGetArray' + _name, _dm, _vec, _int, _values_out(not _name))
    _routine('DMBoxVecRestoreArray' + _name, _dm, _vec, _int, _values)
_routine('DMBoxInterpolateFunction', _dm, _real, _first(_numbers), _context, _vec)
_routine('DMBoxAddLoad', _dm, _real, _first(_numbers), _context, _vec)
_routine('DMBoxAddNeumannLoad', _dm, _real, _first(_numbers), _context, _vec)
_routine('DMBoxAddBendingLoad', _dm, _real, _first(_numbers, True), _second(_numbers, True), _context, _vec)
_routine('DMBoxLiftDirichlet', _dm, _vec, _vec)
_routine('DMBoxComputeError', _dm, _real, _first(_numbers), _context, _vec, _real_out, _real_out)
_routine('DMBoxComputeGradientError', _dm, _real, _first(_numbers, True), _context, _vec, _real_out)
_routine('DMBoxComputeBendingError', _dm, _real, _first(_matrix), _context, _vec, _real_out)
_routine('DMBoxComputeStokesError', _dm, _real, _first(_numbers, True), _second(_matrix, True), _context, _vec, _real_out, _real_out, _real_out, _real_out)
_routine('DMBoxInterpolateFunctionBatch', _dm, _real, _first_batch(), _context, _vec)
_routine('DMBoxAddLoadBatch', _dm, _real, _first_batch(), _context, _vec)
_routine('DMBoxAddNeumannLoadBatch', _dm, _real, _first_batch(), _context, _vec)
_routine('DMBoxComputeErrorBatch', _dm, _real, _first_batch(), _context, _vec, _real_out, _real_out)
_routine('DMBoxComputeGradientErrorBatch', _dm, _real, _first_batch(True), _context, _vec, _real_out)
_routine('DMBoxComputeStokesErrorBatch', _dm, _real, _first_batch(True), _second_batch, _context, _vec, _real_out, _real_out, _real_out, _real_out)
_routine('DMBoxAddLoadVec', _dm, _vec, _vec)
_routine('DMBoxAddNeumannLoadVec', _dm, _int, _vec, _vec)
_routine('DMBoxComputeErrorVec', _dm, _vec, _vec_or_none, _real_out, _real_out_if)
_routine('MatBoxUpdate', _mat)

# for petsc4py's setFunction(), setJacobian(), setIFunction(), setIJacobian(), setI2Function() and setI2Jacobian()
_null = lambda call: call.arguments.append(None)
_null.out = True
_routine('DMBoxSNESComputeFunction', _snes, _vec, _vec, _null)
_routine('DMBoxSNESComputeJacobian', _snes, _vec, _mat, _mat, _null)
_routine('DMBoxTSComputeIFunction', _ts, _real, _vec, _vec, _vec, _null)
_routine('DMBoxTSComputeIJacobian', _ts, _real, _vec, _vec, _real, _mat, _mat, _null)
_routine('DMBoxTSComputeI2Function', _ts, _real, _vec, _vec, _vec, _vec, _null)
_routine('DMBoxTSComputeI2Jacobian', _ts, _real, _vec, _vec, _vec, _real, _real, _mat, _mat, _null)

_routine('MatCreateBakeoff', _dm, _enum('MatBakeoffProblems'), _enum('MatBakeoffLayouts'), _out(ctypes.c_void_p, _created(_newmat)))
_routine('MatCreateKroneckerSum', _dm, _lines, _lines, _lines, _out(ctypes.c_void_p, _created(_newmat)))
_routine('MatCreateDiffusionPlex', _dm, _out(ctypes.c_void_p, _created(_newmat)))
_routine('MatDiffusionPlexSetFunction', _mat, _int, _first(_numbers, True), _second(_numbers, True), _context, keep=lambda values: 'diffusion')
_routine('MatDiffusionPlexSetVec', _mat, _vec, _vec_or_none)
_routine('MatDiffusionPlexSetRobin', _mat, _object(PETSc.DMLabel), _array(Int, 0), _first(_numbers), _context, keep=lambda values: 'robin')
_routine('MatDiffusionPlexSetJacobian', _mat, _dm, _vec_or_none, _real, _real)
_routine('MatCreateElasticityPlex', _dm, _out(ctypes.c_void_p, _created(_newmat)))
_routine('MatElasticityPlexSetModuli', _mat, _real, _real, _enum('DMBoxPlaneTypes'), _real)
_routine('MatElasticityPlexGetModuli', _mat, _real_out, _real_out, _enum_out('DMBoxPlaneTypes'), _real_out)
_routine('MatElasticityPlexSetFunction', _mat, _first(_numbers, True), _second(_numbers, True), _enum('DMBoxPlaneTypes'), _context,
         keep=lambda values: 'diffusion')
_routine('MatElasticityPlexSetVec', _mat, _vec, _vec_or_none, _enum('DMBoxPlaneTypes'))
_routine('MatElasticityPlexComputeStresses', _mat, _vec, _out(ctypes.c_void_p, _created(_newvec)))
_routine('MatBakeoffSetLambda', _mat, _real)
_routine('MatBakeoffGetLambda', _mat, _real_out)
_routine('MatBakeoffSetFactors', _mat, _enum('MatBakeoffFactorsTypes'))
_routine('MatBakeoffGetFactors', _mat, _enum_out('MatBakeoffFactorsTypes'))
_routine('MatBakeoffSetHaloType', _mat, _enum('PatchFDHaloTypes'))
_routine('MatBakeoffGetHaloType', _mat, _enum_out('PatchFDHaloTypes'))
_routine('MatBakeoffGlobalToElement', _mat, _vec, _vec)
_routine('MatBakeoffElementToGlobal', _mat, _vec, _vec)

for _name, _symbol in (('Type', 'PCPatchFDTypes'), ('Patch', 'PCPatchFDPatches'), ('Variant', 'PCPatchFDVariants'), ('Order', 'PCPatchFDOrders'),
                       ('Local', 'PCPatchFDLocals'), ('Fit', 'PCPatchFDFits'), ('Classes', 'PCPatchFDClassesTypes'), ('Precision', 'PCPatchFDPrecisions'), ('Update', 'PCPatchFDUpdates')):
    _routine('PCPatchFDSet' + _name, _pc, _enum(_symbol))
    _routine('PCPatchFDGet' + _name, _pc, _enum_out(_symbol))
_routine('PCPatchFDSetDamping', _pc, _real)
_routine('PCPatchFDGetDamping', _pc, _real_out)
_routine('PCPatchFDSetSweeps', _pc, _int)
_routine('PCPatchFDGetSweeps', _pc, _int_out)
_routine('PCPatchFDSetFitSteps', _pc, _int, _real, _real, _int)
_routine('PCPatchFDGetFitSteps', _pc, _int_out, _real_out, _real_out, _int_out)
_routine('PCPatchFDSetFitExact', _pc, _real)
_routine('PCPatchFDGetFitExact', _pc, _real_out)
_routine('PCPatchFDSetSchurTolerances', _pc, _real, _int)
_routine('PCPatchFDGetSchurTolerances', _pc, _real_out, _int_out)
_routine('PCPatchFDSetBrickSize', _pc, _int)
_routine('PCPatchFDGetBrickSize', _pc, _int_out)
for _name in ('PCPatchMGSetSymmetric', 'PCPatchMGSetGraph', 'PCSingleSetScale', 'PCSingleSetWarn',
              'PCSingleSetCoarse'):
    _routine(_name, _pc, _bool)
    _routine(_name.replace('Set', 'Get'), _pc, _bool_out)
_routine('PCPatchMGViewLevels', _pc, _viewer)
_routine('PCPatchMGSetCoarseEqLim', _pc, _int)
_routine('PCPatchMGGetCoarseEqLim', _pc, _int_out)
_routine('PCPatchMGGetCoarseReason', _pc, _string_out)
for _name in ('KSPFusedCGSetGraph', 'KSPFusedCGSetSweep'):
    _routine(_name, _ksp, _bool)
    _routine(_name.replace('Set', 'Get'), _ksp, _bool_out)
_routine('KSPRefineSetRate', _ksp, _real)
_routine('KSPRefineGetRate', _ksp, _real_out)
_routine('KSPRefineGetKSP', _ksp, _out(ctypes.c_void_p, _newksp))
_routine('PCSingleGetPC', _pc, _out(ctypes.c_void_p, _newpc))

_routine('VecSingleConvert', _vec, _real, _vec)
_routine('VecSingleGetMemory', _vec, _out(ctypes.c_double), _out(ctypes.c_double))


def _arrays(kind):
    """The host array of a VECSINGLE, and what ends the access to it."""
    def get(call):
        array = ctypes.c_void_p()
        call.arguments += [ctypes.byref(array), None]
        call.results.append(lambda: _array_at(array.value, Float, (call.object.getLocalSize(),), kind != 'Read'))

    def restore(call, array):
        call.arguments.append(ctypes.byref(ctypes.c_void_p(array.ctypes.data)))
    get.out = True
    _routine('VecSingleGetArray' + kind, _vec, get)
    _routine('VecSingleRestoreArray' + kind, _vec, restore)


for _name in ('', 'Read', 'Write'):
    _arrays(_name)


def DMBoxCreate(comm, dim, cells, degree):
    """A DM of type "box"; comm as petsc4py's objects take it, None for the default."""
    dm = PETSc.DM().create(comm)
    dm.setType('box')
    dm.setDimension(dim)
    DMBoxSetCells(dm, cells)
    DMBoxSetDegree(dm, degree)
    return dm


PatchFDInitializePackage()
