"""libpatchfd for petsc4py: the routines of petscpatchfd.h under their C names, as functions of petsc4py's objects.

    import sys, petsc4py
    petsc4py.init(sys.argv)
    from petsc4py import PETSc
    import patchfd

Importing it loads libpatchfd.so and registers the types "box", "patchmg", "patchfd" and "single" with petsc4py's PETSc, which has to be
the one that the library was built with.  The library is the file that PATCHFD_LIBRARY names, or the one in the folder of this file
(where `make install` puts it), or that of build/ beside it.

What a C routine returns through pointers is returned, as a tuple if there are several.  Arrays are sequences, their lengths are checked.
An enumeration is a string, as on the command line.  A DMBoxFunction is a function f(time, x) -> number, x a tuple of dim coordinates, or
-> dim + 1 numbers with the space rt (dim for DMBoxAddNeumannLoad()), or -> rows of a matrix, for DMBoxComputeBendingError() and the gradient
of DMBoxComputeStokesError(); it has no context, since Python's functions bring theirs.  DMBoxAddBendingLoad() and DMBoxComputeStokesError() take
None for a function that is zero.  A DMBoxFunctionBatch is a function f(time, x) of many points, x a NumPy array [points][dim], -> an array of as
many numbers, or [points][numbers] where a DMBoxFunction returns several; rows of matrices follow each other.  This is the fast way.  A PETSc error is raised as PETSc.Error, and if an exception in a callback was the reason, that is its
__cause__.
"""
import ctypes
import os
from itertools import takewhile

from numpy.ctypeslib import as_array
from petsc4py import PETSc

Int, Real, Bool = (ctypes.c_int64 if PETSc.IntType().itemsize == 8 else ctypes.c_int32), ctypes.c_double, ctypes.c_bool


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    given = os.environ.get('PATCHFD_LIBRARY')
    tried = [given] if given else [os.path.join(here, 'libpatchfd.so'), os.path.join(here, '..', 'build', 'lib', 'libpatchfd.so')]
    for path in tried:
        if os.path.exists(path):
            return ctypes.CDLL(path)
    raise ImportError('no libpatchfd.so; PATCHFD_LIBRARY may name it.  Looked for ' + ', '.join(tried))


_library = _load()


def _petsc4py(name, result, *arguments):
    """A function of petsc4py's C interface.  Being of Python's, it holds the lock and may raise."""
    capsule = PETSc.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.PYFUNCTYPE(result, *arguments)(api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule)))


_raise = _petsc4py('PyPetscError_Set', ctypes.c_int, ctypes.c_int)  # raises PETSc.Error with PETSc's traceback
_newvec = _petsc4py('PyPetscVec_New', ctypes.py_object, ctypes.c_void_p)
_newpc = _petsc4py('PyPetscPC_New', ctypes.py_object, ctypes.c_void_p)
_wrapmat = _petsc4py('PyPetscMat_New', ctypes.py_object, ctypes.c_void_p)

_Function = ctypes.CFUNCTYPE(ctypes.c_int, Int, Real, ctypes.POINTER(Real), Int, ctypes.POINTER(Real), ctypes.c_void_p)
_FunctionBatch = ctypes.CFUNCTYPE(ctypes.c_int, Int, Real, Int, ctypes.POINTER(Real), Int, ctypes.POINTER(Real), ctypes.c_void_p)
_ERR_PYTHON = 101  # PETSC_ERR_PYTHON


def _newmat(handle):
    """A Mat that a routine has created: petsc4py counts its own reference."""
    mat = _wrapmat(handle)
    mat.decRef()
    return mat


class _Call:
    """One call of a C routine: the arguments made so far, and what came of the callback."""

    def __init__(self, name):
        self.name, self.arguments, self.results, self.exception = name, [], [], None
        self.dim = None  # of the DM that is the first argument


# ---- kinds of arguments: each appends what C wants; "value" stands for what Python gave ----
def _object(cls):
    def put(call, value):
        if not isinstance(value, cls):
            raise TypeError(f'{call.name}(): a petsc4py.PETSc.{cls.__name__} is wanted, not {type(value).__name__}')
        if cls is PETSc.DM:
            call.dim = value.getDimension()
        call.arguments.append(ctypes.c_void_p(value.handle))
    return put


def _scalar(ctype):
    def put(call, value):
        call.arguments.append(ctype(value))
    return put


def _string(call, value):
    call.arguments.append(ctypes.c_char_p(value.encode()))


def _array(ctype, factor):
    """An array of factor * dim numbers; factor 0: of any length, which C gets first."""
    def put(call, values):
        values = list(values)
        if factor and len(values) != factor * call.dim:
            raise ValueError(f'{call.name}(): {len(values)} values; in {call.dim} dimensions it takes {factor * call.dim}')
        if not factor:
            call.arguments.append(Int(len(values)))
        call.arguments.append((ctype * len(values))(*values))
    return put


def _names(symbol):
    """The names of an enumeration; in the library they end with the name of its type."""
    table = (ctypes.c_char_p * 16).in_dll(_library, symbol)
    return [name.decode() for name in takewhile(lambda name: not symbol.startswith(name.decode()), table)]


def _number(call, symbol, value):
    names = _names(symbol)
    if value not in names:
        raise ValueError(f'{call.name}(): {value!r}; it must be one of {", ".join(names)}')
    return names.index(value)


def _enum(symbol):
    def put(call, value):
        call.arguments.append(ctypes.c_int(_number(call, symbol, value)))
    return put


def _bool3(call, value):  # None: unknown
    call.arguments.append(ctypes.c_int(-1 if value is None else bool(value)))


def _enums(symbol, factor):
    array = _array(ctypes.c_int, factor)

    def put(call, values):
        array(call, [_number(call, symbol, value) for value in values])
    return put


def _callback(call, function, values):
    """values(what function returned, dim, nc): the nc components"""
    def callback(dim, time, x, nc, u, ctx):
        try:
            for i, value in enumerate(values(function(time, tuple(x[:dim])), dim, nc)):
                u[i] = value
            return 0
        except BaseException as exception:  # C cannot let it pass
            call.exception = exception
            return _ERR_PYTHON
    return _Function(callback)


def _batch_callback(call, function):
    def callback(dim, time, n, x, nc, u, ctx):
        try:
            values = as_array(u, (n, nc))
            (values[:, 0] if nc == 1 else values)[...] = function(time, as_array(x, (n, dim)))
            return 0
        except BaseException as exception:
            call.exception = exception
            return _ERR_PYTHON
    return _FunctionBatch(callback)


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


# a function or two that share a context, which is NULL
def _function(call, function):
    call.arguments += [_callback(call, function, _numbers_of), None]


def _matrix_function(call, function):
    call.arguments += [_callback(call, function, _matrix_of), None]


def _first_function(call, function):
    call.arguments.append(None if function is None else _callback(call, function, _numbers_of))


def _second_function(call, function):
    _first_function(call, function)
    call.arguments.append(None)


def _second_matrix_function(call, function):
    call.arguments += [None if function is None else _callback(call, function, _matrix_of), None]


def _first_batch(call, function):
    call.arguments.append(None if function is None else _batch_callback(call, function))


def _batch(call, function):
    _first_batch(call, function)
    call.arguments.append(None)


_kept = []  # functions that a DM calls later: for as long as the program runs


def _kept_function(call, function):
    _kept.append(None if function is None else _callback(call, function, _numbers_of))
    call.arguments += [_kept[-1], None]


def _voxels(call, voxels):
    """an image, then two sequences of as many numbers: bytes, capacities, conductivities"""
    image, capacity, conductivity = voxels
    if len(capacity) != len(conductivity):
        raise ValueError(f'{call.name}(): {len(capacity)} capacities and {len(conductivity)} conductivities')
    call.arguments += [ctypes.c_char_p(bytes(image)), Int(len(capacity)), (Real * len(capacity))(*capacity), (Real * len(capacity))(*conductivity)]


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


def _routine(name, *kinds):
    given = sum(not hasattr(kind, 'out') for kind in kinds)
    c = getattr(_library, name)

    def routine(*values):
        if len(values) != given:
            raise TypeError(f'{name}() takes {given} arguments, {len(values)} were given')
        call, values = _Call(name), iter(values)
        for kind in kinds:
            kind(call) if hasattr(kind, 'out') else kind(call, next(values))
        ierr = c(*call.arguments)
        if ierr:
            try:
                _raise(ierr)
            except PETSc.Error as error:
                raise error from call.exception
        results = tuple(result() for result in call.results)
        return results[0] if len(results) == 1 else results or None

    routine.__name__ = routine.__qualname__ = name
    routine.__doc__ = f'{name}(): see its manual page, in src/.'
    globals()[name] = routine


def _vec_or_none(call, value):
    _vec(call, value) if value is not None else call.arguments.append(None)


_dm, _vec, _mat, _pc, _ksp, _ts, _viewer = (_object(cls) for cls in (PETSc.DM, PETSc.Vec, PETSc.Mat, PETSc.PC, PETSc.KSP, PETSc.TS, PETSc.Viewer))
_int, _real, _bool = (_scalar(ctype) for ctype in (Int, Real, Bool))
_int_out, _real_out, _bool_out = _out(Int), _out(Real), _out(Bool)
_bool3_out = _out(ctypes.c_int, lambda value: None if value < 0 else bool(value))
_string_out = _out(ctypes.c_char_p, lambda value: value.decode())
_ints, _reals = _array(Int, 1), _array(Real, 1)
_ints_out, _reals_out = _outs(Int, 1), _outs(Real, 1)

_routine('PatchFDInitializePackage')

_routine('DMBoxSetCells', _dm, _ints)
_routine('DMBoxGetCells', _dm, _ints_out)
_routine('DMBoxSetBounds', _dm, _reals, _reals)
_routine('DMBoxGetBounds', _dm, _reals_out, _reals_out)
_routine('DMBoxSetVertices', _dm, _int, _array(Real, 0))
_routine('DMBoxSetDegree', _dm, _int)
_routine('DMBoxGetDegree', _dm, _int_out)
_routine('DMBoxSetSpace', _dm, _enum('DMBoxSpaces'))
_routine('DMBoxGetSpace', _dm, _enum_out('DMBoxSpaces'))
_routine('DMBoxSetHaloType', _dm, _enum('DMBoxHaloTypes'))
_routine('DMBoxGetHaloType', _dm, _enum_out('DMBoxHaloTypes'))
_routine('DMBoxSetBoundary', _dm, _enums('DMBoxBoundaryTypes', 2))
_routine('DMBoxGetBoundary', _dm, _enum_out('DMBoxBoundaryTypes', 2))
_routine('DMBoxSetProcesses', _dm, _ints)
_routine('DMBoxGetProcesses', _dm, _ints_out)
_routine('DMBoxSetPoisson', _dm, _reals, _real)
_routine('DMBoxGetPoisson', _dm, _reals_out, _real_out)
_routine('DMBoxSetBiharmonic', _dm, _real, _real)
_routine('DMBoxGetBiharmonic', _dm, _real_out, _real_out)
_routine('DMBoxSetStokes', _dm, _real, _real)
_routine('DMBoxGetStokes', _dm, _real_out, _real_out)
_routine('DMBoxSetHeat', _dm, _real, _reals, _real)
_routine('DMBoxGetHeat', _dm, _real_out, _reals_out, _real_out)
_routine('DMBoxSetHeatFunctions', _dm, _real, _first_function, _second_function)
_routine('DMBoxSetHeatVoxels', _dm, _voxels)
_routine('DMBoxSetHeatRobin', _dm, _int, _real, _real)
_routine('DMBoxGetHeatRobin', _dm, _int, _real_out, _real_out)
_routine('DMBoxSetHeatSource', _dm, _kept_function)
_routine('DMBoxSetHeatFlux', _dm, _int, _kept_function)
_routine('DMBoxSetHeatDirichlet', _dm, _kept_function)
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
_routine('DMBoxSetDiffusionVec', _dm, _int, _vec_or_none, _vec_or_none)
_routine('DMBoxCreateDiffusionVec', _dm, _bool, _int, _out(ctypes.c_void_p, _newvec))
_routine('DMBoxComputeDiffusionPoints', _dm, _vec)
_routine('DMBoxComputeDiffusionValues', _dm, _vec, _vec_or_none, _vec_or_none)
_routine('DMBoxAddDiffusionLoad', _dm, _vec_or_none, _vec_or_none, _vec)
_routine('DMBoxSetMappingType', _dm, _enum('DMBoxMappingTypes'), _real)
_routine('DMBoxSetMappingDegree', _dm, _int)
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
_routine('DMBoxInterpolateFunction', _dm, _real, _function, _vec)
_routine('DMBoxAddLoad', _dm, _real, _function, _vec)
_routine('DMBoxAddNeumannLoad', _dm, _real, _function, _vec)
_routine('DMBoxAddBendingLoad', _dm, _real, _first_function, _second_function, _vec)
_routine('DMBoxLiftDirichlet', _dm, _vec, _vec)
_routine('DMBoxComputeError', _dm, _real, _function, _vec, _real_out, _real_out)
_routine('DMBoxComputeGradientError', _dm, _real, _second_function, _vec, _real_out)
_routine('DMBoxComputeBendingError', _dm, _real, _matrix_function, _vec, _real_out)
_routine('DMBoxComputeStokesError', _dm, _real, _first_function, _second_matrix_function, _vec, _real_out, _real_out, _real_out, _real_out)
_routine('DMBoxInterpolateFunctionBatch', _dm, _real, _batch, _vec)
_routine('DMBoxAddLoadBatch', _dm, _real, _batch, _vec)
_routine('DMBoxAddNeumannLoadBatch', _dm, _real, _batch, _vec)
_routine('DMBoxComputeErrorBatch', _dm, _real, _batch, _vec, _real_out, _real_out)
_routine('DMBoxComputeGradientErrorBatch', _dm, _real, _batch, _vec, _real_out)
_routine('DMBoxComputeStokesErrorBatch', _dm, _real, _first_batch, _batch, _vec, _real_out, _real_out, _real_out, _real_out)
_routine('DMBoxAddLoadVec', _dm, _vec, _vec)
_routine('DMBoxAddNeumannLoadVec', _dm, _int, _vec, _vec)
_routine('DMBoxComputeErrorVec', _dm, _vec, _vec_or_none, _real_out, _real_out_if)
_routine('MatBoxUpdate', _mat)

_routine('MatCreateBakeoff', _dm, _enum('MatBakeoffProblems'), _enum('MatBakeoffLayouts'), _out(ctypes.c_void_p, _newmat))
_routine('MatBakeoffSetLambda', _mat, _real)
_routine('MatBakeoffGetLambda', _mat, _real_out)
_routine('MatBakeoffSetFactors', _mat, _enum('MatBakeoffFactorses'))
_routine('MatBakeoffGetFactors', _mat, _enum_out('MatBakeoffFactorses'))
_routine('MatBakeoffSetHaloType', _mat, _enum('DMBoxHaloTypes'))
_routine('MatBakeoffGetHaloType', _mat, _enum_out('DMBoxHaloTypes'))
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
_routine('PCPatchFDSetBrickSize', _pc, _int)
_routine('PCPatchFDGetBrickSize', _pc, _int_out)
for _name in ('PCPatchMGSetSymmetric', 'PCPatchMGSetGraph', 'PCSingleSetScale', 'PCSingleSetWarn'):
    _routine(_name, _pc, _bool)
    _routine(_name.replace('Set', 'Get'), _pc, _bool_out)
_routine('PCPatchMGSetCoarseEqLim', _pc, _int)
_routine('PCPatchMGGetCoarseEqLim', _pc, _int_out)
_routine('PCPatchMGGetCoarseReason', _pc, _string_out)
for _name in ('KSPFusedCGSetGraph', 'KSPFusedCGSetSweep'):
    _routine(_name, _ksp, _bool)
    _routine(_name.replace('Set', 'Get'), _ksp, _bool_out)
_routine('PCSingleGetPC', _pc, _out(ctypes.c_void_p, _newpc))

_routine('VecSingleConvert', _vec, _real, _vec)
_routine('VecSingleGetMemory', _vec, _out(ctypes.c_double), _out(ctypes.c_double))


def DMBoxCreate(comm, dim, cells, degree):
    """A DM of type "box"; comm as petsc4py's objects take it, None for the default."""
    dm = PETSc.DM().create(comm)
    dm.setType('box')
    dm.setDimension(dim)
    DMBoxSetCells(dm, cells)
    DMBoxSetDegree(dm, degree)
    return dm


PatchFDInitializePackage()
