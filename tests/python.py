"""
python/patchfd.py: what is set is got back, what C computes arrives, wrong arguments and errors are exceptions, functions are freed, and no
routine is forgotten.  Silent if all is right.
"""
import gc
import math
import os
import re
import sys
import weakref

import numpy as np
import petsc4py
petsc4py.init(sys.argv)
from petsc4py import PETSc
import patchfd


def raises(kind, text, routine, *arguments):
    """Checks that the call raises kind with text in its message, and returns the exception."""
    try:
        routine(*arguments)
    except kind as error:
        assert text in str(error), f'{routine.__name__}: {text!r} is not in {error}'
        return error
    raise AssertionError(f'{routine.__name__}{arguments} raised no {kind.__name__}')


def close(a, b, tolerance=1e-12):
    assert abs(a - b) <= tolerance, (a, b)


def alive(make, use):
    """Is the function that make() returns still there after use() of it?"""
    function = make()
    reference = weakref.ref(function)
    use(function)
    del function
    return reference


gc.disable()  # what is freed is freed by counting references

# ---- every public routine is here, or named here ----
NOT_OFFERED = {'PatchFDFinalizePackage': 'PETSc calls it'}
for kind in 'Mapping', 'DiffusionFunction', 'HeatSource', 'HeatFlux', 'HeatDirichlet':
    NOT_OFFERED['DMBoxGet' + kind] = 'it returns a function of C and its context, which Python cannot call'
headers = ''
for header in 'petscpatchfd.h', 'petscvecsingle.h':
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../include', header)) as file:
        headers += file.read()
public = set(re.findall(r'^PETSC_EXTERN PetscErrorCode +(\w+)\(', headers, re.M))
assert len(public) > 100 and public - set(vars(patchfd)) == set(NOT_OFFERED), public - set(vars(patchfd)) ^ set(NOT_OFFERED)

# ---- enumerations have the names that the header says, in the order of their values ----
documented = dict(re.findall(r'^[+.-] `([A-Z]\w*)` \(`(\w+)`\)', headers, re.M))
enumerations = re.findall(r'^typedef enum \{([^}]*)\} \w+;\nPETSC_EXTERN const char \*const (\w+)\[\];', headers, re.M)
for values, symbol in enumerations:
    assert patchfd._names(symbol) == [documented[value] for value in re.findall(r'\w+', values)], symbol
assert len(enumerations) == headers.count('typedef enum')

# ---- DMBOX ----
dm = patchfd.DMBoxCreate(None, 2, (4, 2), 3)
patchfd.DMBoxSetBounds(dm, (0, -1), (2, 1))
patchfd.DMBoxSetBoundary(dm, ('dirichlet', 'neumann', 'dirichlet', 'dirichlet'))
patchfd.DMBoxSetVertices(dm, 0, (0, 0.25, 0.5, 1, 2))
patchfd.DMBoxSetPoisson(dm, (1, 2), 0.5)
assert patchfd.DMBoxGetCells(dm) == (4, 2)
assert (patchfd.DMBoxGetVertices(dm, 0) == (0, 0.25, 0.5, 1, 2)).all() and patchfd.DMBoxGetVertices(dm, 1).size == 0
raises(PETSc.Error, 'Direction is 2', patchfd.DMBoxGetVertices, dm, 2)
assert patchfd.DMBoxGetDegree(dm) == 3
assert patchfd.DMBoxGetSpace(dm) == 'q'
assert patchfd.DMBoxGetBounds(dm) == ((0, -1), (2, 1))
assert patchfd.DMBoxGetBoundary(dm) == ('dirichlet', 'neumann', 'dirichlet', 'dirichlet')
assert patchfd.DMBoxGetPoisson(dm) == ((1, 2), 0.5)
patchfd.DMBoxSetRobin(dm, 3, 0)
assert patchfd.DMBoxGetRobin(dm, 3) == 0
patchfd.DMBoxSetOperator(dm, 'poisson')
patchfd.DMBoxSetPenalty(dm, 1.5, 2)
assert patchfd.DMBoxGetOperator(dm) == 'poisson' and patchfd.DMBoxGetPenalty(dm) == (1.5, 2)

raises(TypeError, 'PETSc.DM is wanted', patchfd.DMBoxSetDegree, PETSc.Vec(), 1)
raises(TypeError, 'takes 2 arguments', patchfd.DMBoxSetDegree, dm)
raises(ValueError, 'in 2 dimensions it takes 4', patchfd.DMBoxSetBoundary, dm, ('dirichlet',))
raises(ValueError, 'one of dirichlet, neumann', patchfd.DMBoxSetBoundary, dm, ('robin',) * 4)
raises(ValueError, 'in 2 dimensions it takes 2', patchfd.DMBoxSetPoisson, dm, (1, 1, 1), 0)
raises(ValueError, 'DMBoxSetPoisson(): an array of shape (2, 1)', patchfd.DMBoxSetPoisson, dm, ((1,), (1,)), 0)
raises(TypeError, 'numbers are wanted', patchfd.DMBoxSetPoisson, dm, (1, 1j), 0)
raises(TypeError, 'integers are wanted', patchfd.DMBoxSetCells, dm, (2, 2.5))
raises(ValueError, 'beyond the range', patchfd.DMBoxSetCells, dm, np.array((2, 2 ** 63), np.uint64))
raises(ValueError, 'beyond the range', patchfd.DMBoxSetDegree, dm, 2 ** 64)
raises(TypeError, 'DMBoxSetDegree()', patchfd.DMBoxSetDegree, dm, 2.5)
raises(TypeError, 'a string is wanted', patchfd.DMBoxSetOperator, dm, 'poisson\0')
raises(ValueError, 'it takes one dimension', patchfd.DMBoxSetVertices, dm, 0, np.zeros((2, 2)))
raises(ValueError, 'has not been created', patchfd.MatBoxUpdate, PETSc.Mat())
raises(PETSc.Error, 'must be at least 2', patchfd.DMBoxSetVertices, dm, 0, (1,))  # PETSc's message, not only a number
raises(PETSc.Error, 'type', patchfd.DMBoxSetDegree, PETSc.DMDA().create((4, 4)), 1)

dm.setUp()
assert patchfd.DMBoxGetNumCoarsenings(dm) == 0  # two cells in y
assert patchfd.DMBoxGetSemicoarsening(dm) == 0.17
patchfd.DMBoxSetSemicoarsening(dm, 0.5)
assert patchfd.DMBoxGetNumCoarsenings(dm) == 1  # which x does not mind any more
patchfd.DMBoxSetSemicoarsening(dm, 0.17)
assert patchfd.DMBoxGetGalerkin(dm) is None
patchfd.DMBoxSetGalerkin(dm, False)
assert patchfd.DMBoxGetGalerkin(dm) is False
patchfd.DMBoxSetGalerkin(dm, None)
u = dm.createGlobalVec()
close(u.size, 13 * 7)

# a polynomial is interpolated exactly, at the time that is given
polynomial = lambda time, x: time * x[0] ** 3 * x[1] ** 2 + 1
patchfd.DMBoxInterpolateFunction(dm, 3, polynomial, u)
l2, largest = patchfd.DMBoxComputeError(dm, 3, polynomial, u)
close(l2, 0)
close(largest, 0)
l2, largest = patchfd.DMBoxComputeError(dm, 3, lambda time, x: polynomial(time, x) - 2, u)
close(l2, 2 * 4 ** 0.5)
close(largest, 2)

# many points at once, and values at the nodes: a load of the polynomial, its norm
v, b, c = u.duplicate(), u.duplicate(), u.duplicate()
polynomials = lambda time, x: time * x[:, 0] ** 3 * x[:, 1] ** 2 + 1
patchfd.DMBoxInterpolateFunctionBatch(dm, 3, polynomials, v)
close((u - v).norm(), 0)
close(patchfd.DMBoxComputeErrorBatch(dm, 3, lambda time, x: polynomials(time, x) - 2, u)[0], 2 * 4 ** 0.5)
patchfd.DMBoxAddLoad(dm, 3, polynomial, b)
patchfd.DMBoxAddLoadBatch(dm, 3, polynomials, c)
close((b - c).norm(), 0)
patchfd.DMBoxAddLoadVec(dm, u, b)
close((b - 2 * c).norm(), 0)
patchfd.DMBoxAddNeumannLoad(dm, 3, polynomial, b)
patchfd.DMBoxAddNeumannLoadBatch(dm, 3, polynomials, c)
patchfd.DMBoxAddNeumannLoadVec(dm, 1, u, b)
patchfd.DMBoxAddLoadBatch(dm, 3, polynomials, c)
patchfd.DMBoxAddNeumannLoadBatch(dm, 3, lambda time, x: polynomials(time, x), c)
close((b - c).norm(), 0, 1e-11)
v.set(1)
l2, energy = patchfd.DMBoxComputeErrorVec(dm, v, None, True)
close(l2, 4 ** 0.5)
close(energy, (0.5 * 4) ** 0.5)  # of the shift
close(patchfd.DMBoxComputeErrorVec(dm, u, v, False), patchfd.DMBoxComputeError(dm, 0, lambda time, x: 1, u)[0])
close(patchfd.DMBoxComputeGradientErrorBatch(dm, 0, lambda time, x: x, v), (2 ** 4 / 3 + 4 / 3) ** 0.5)
wrong = raises(PETSc.Error, 'DMBoxAddLoadBatch', patchfd.DMBoxAddLoadBatch, dm, 0, lambda time, x: x, b)  # two numbers a point
assert isinstance(wrong.__cause__, ValueError), wrong.__cause__
del wrong
raises(TypeError, 'a function is wanted, not NoneType', patchfd.DMBoxAddLoad, dm, 0, None, b)
raises(TypeError, 'a function or None is wanted', patchfd.DMBoxComputeGradientError, dm, 0, 1, v)

# functions are freed when the call ends, after an error, too
for use in (lambda f: patchfd.DMBoxAddLoad(dm, 0, f, b), lambda f: patchfd.DMBoxInterpolateFunction(dm, 0, f, v),
            lambda f: patchfd.DMBoxComputeError(dm, 0, f, v), lambda f: patchfd.DMBoxAddLoadBatch(dm, 0, f, b),
            lambda f: raises(PETSc.Error, 'DMBoxAddBendingLoad', patchfd.DMBoxAddBendingLoad, dm, 0, f, f, b)):
    assert not alive(lambda: lambda time, x: 1, use)()
assert not alive(lambda: lambda time, x: 1 / 0, lambda f: raises(PETSc.Error, '', patchfd.DMBoxAddLoad, dm, 0, f, b))()

# an exception in a callback arrives as the cause of PETSc's error, and the next call is none the wiser
division = raises(PETSc.Error, 'DMBoxInterpolateFunction', patchfd.DMBoxInterpolateFunction, dm, 0, lambda time, x: 1 / (time * 0), u)
assert isinstance(division.__cause__, ZeroDivisionError), division.__cause__
del division
patchfd.DMBoxInterpolateFunction(dm, 0, polynomial, u)

# ---- what each process has, and values with an index for each direction: z, y, x ----
size = PETSc.COMM_WORLD.size
patchfd.DMBoxInterpolateFunction(dm, 3, polynomial, u)
assert patchfd.DMBoxGetNumFields(dm) == 1
assert patchfd.DMBoxGetGlobalSizes(dm, 0) == (13, 7, 1) and patchfd.DMBoxGetGlobalSizes(dm, patchfd.DMBOX_CELLS) == (4, 2, 1)
nodes = [patchfd.DMBoxGetNodes(dm, 0, d) for d in (0, 1)]
assert nodes[0].shape == (13,) and (nodes[0][::3] == (0, 0.25, 0.5, 1, 2)).all() and (nodes[1][::3] == (-1, 0, 1)).all()
for direction in 2, 3, -1:
    raises(PETSc.Error, f'Direction is {direction}', patchfd.DMBoxGetNodes, dm, 0, direction)
raises(PETSc.Error, 'Field 1', patchfd.DMBoxGetCorners, dm, 1)
raises(PETSc.Error, 'Field -1', patchfd.DMBoxGetNodes, dm, patchfd.DMBOX_CELLS, 0)
ranges = patchfd.DMBoxGetOwnershipRanges(dm, 0)
assert [len(ranges[d]) for d in (0, 1)] == list(patchfd.DMBoxGetProcesses(dm)) and [sum(owned) for owned in ranges] == [13, 7, 1]
local = dm.createLocalVec()
dm.globalToLocal(u, local)
for vec, corners in (u, patchfd.DMBoxGetCorners), (local, patchfd.DMBoxGetGhostCorners):
    i, j, _, m, n, p = corners(dm, 0)
    values = patchfd.DMBoxVecGetArrayRead(dm, vec, 0)
    assert values.shape == (n, m) and p == 1 and not values.flags.writeable
    assert abs(values - (3 * nodes[0][i:i + m] ** 3 * nodes[1][j:j + n, None] ** 2 + 1)).max() < 1e-12  # the polynomial
    patchfd.DMBoxVecRestoreArrayRead(dm, vec, 0, values)
    raises(ValueError, 'which has not been restored', patchfd.DMBoxVecRestoreArrayRead, dm, vec, 0, values)
before = u.norm()
values = patchfd.DMBoxVecGetArray(dm, u, 0)
values *= 2
raises(ValueError, 'is wanted', patchfd.DMBoxVecRestoreArray, dm, u, 0, values[:1])
patchfd.DMBoxVecRestoreArray(dm, u, 0, values)
close(u.norm(), 2 * before, 1e-10)
u.scale(0.5)
raises(PETSc.Error, 'local size', patchfd.DMBoxVecGetArray, dm, PETSc.Vec().createMPI(size), 0)
for dim in 1, 3:
    other = patchfd.DMBoxCreate(None, dim, (3,) * dim, 2)
    patchfd.DMBoxSetSpace(other, 'q' if dim == 1 else 'rt')
    if dim == 3:
        patchfd.DMBoxSetOperator(other, 'stokes')
    other.setUp()
    assert patchfd.DMBoxGetNumFields(other) == (1 if dim == 1 else 4)
    v = other.createGlobalVec()
    for field in range(patchfd.DMBoxGetNumFields(other)):
        values = patchfd.DMBoxVecGetArray(other, v, field)
        i, j, k, m, n, p = patchfd.DMBoxGetCorners(other, field)
        assert values.shape == (p, n, m)[3 - dim:]
        values[...] = field + 1
        values[..., 0] = 0
        patchfd.DMBoxVecRestoreArray(other, v, field, values)
        a, rows = v.getArray(readonly=True), n * p
        begin = sum(math.prod(patchfd.DMBoxGetCorners(other, f)[3:]) for f in range(field))
        assert (a[begin:begin + m * rows].reshape(rows, m) == np.where(np.arange(m) == 0, 0, field + 1)).all()
        del a

# ---- a linear solution with Dirichlet data and a flux, new coefficients, the direct solver ----
A = dm.createMat()
linear = lambda time, x: x[0] - 3 * x[1] + 2
for diffusion, shift in (((1, 2), 0.5), ((4, 1), 0)):
    patchfd.DMBoxSetPoisson(dm, diffusion, shift)
    patchfd.MatBoxUpdate(A)
    b, g = dm.createGlobalVec(), dm.createGlobalVec()
    patchfd.DMBoxAddLoad(dm, 0, lambda time, x: shift * linear(time, x), b)
    patchfd.DMBoxAddNeumannLoad(dm, 0, lambda time, x: diffusion[0], b)
    patchfd.DMBoxInterpolateFunction(dm, 0, linear, g)
    patchfd.DMBoxLiftDirichlet(dm, g, b)
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.setType('preonly')
    ksp.pc.setType('patchfd')
    patchfd.PCPatchFDSetPatch(ksp.pc, 'box')
    ksp.solve(b, u)
    close(patchfd.DMBoxComputeError(dm, 0, linear, u)[1], 0, 1e-10)

# ---- a plate: u = x^2 y^2 / 4 has laplace^2 u = 2; lower sides clamped, upper sides supported ----
plate = patchfd.DMBoxCreate(None, 2, (4, 4), 3)
patchfd.DMBoxSetOperator(plate, 'biharmonic')
patchfd.DMBoxSetBoundary(plate, ('dirichlet', 'supported') * 2)
patchfd.DMBoxSetBiharmonic(plate, 3, 0.5)
assert patchfd.DMBoxGetBiharmonic(plate) == (3, 0.5)
patchfd.DMBoxSetBiharmonic(plate, 3, 0)
plate.setUp()
u, b, g = (plate.createGlobalVec() for _ in range(3))
deflection = lambda time, x: x[0] ** 2 * x[1] ** 2 / 4
hessian = lambda time, x: ((x[1] ** 2 / 2, x[0] * x[1]), (x[0] * x[1], x[0] ** 2 / 2))
patchfd.DMBoxAddLoad(plate, 0, lambda time, x: 6, b)
patchfd.DMBoxAddBendingLoad(plate, 0, None, lambda time, x: (x[1] if x[0] == 1 else x[0]) ** 2 / 2, b)  # the slope on the lower sides is zero
patchfd.DMBoxInterpolateFunction(plate, 0, deflection, g)
patchfd.DMBoxLiftDirichlet(plate, g, b)
ksp = PETSc.KSP().create()
ksp.setDM(plate)
ksp.setType('fgmres')
ksp.setTolerances(rtol=1e-13)
ksp.pc.setType('patchmg')
ksp.solve(b, u)
ksp.setType('fusedcg')
patchfd.KSPFusedCGSetGraph(ksp, False)
assert patchfd.KSPFusedCGGetGraph(ksp) is False
ksp.setType('refine')
patchfd.KSPRefineSetRate(ksp, 0.25)
assert patchfd.KSPRefineGetRate(ksp) == 0.25
assert patchfd.KSPRefineGetKSP(ksp).getType() == 'fgmres'
close(patchfd.DMBoxComputeError(plate, 0, deflection, u)[1], 0, 1e-10)
close(patchfd.DMBoxComputeBendingError(plate, 0, hessian, u), 0, 1e-8)
close(patchfd.DMBoxComputeBendingError(plate, 0, lambda time, x: ((0, 0), (0, 0)), g), (1 / 10 + 2 / 9) ** 0.5)
patchfd.DMBoxAddBendingLoad(plate, 0, None, None, b)
wrong = raises(PETSc.Error, 'DMBoxComputeBendingError', patchfd.DMBoxComputeBendingError, plate, 0, lambda time, x: ((0, 0),), u)
assert isinstance(wrong.__cause__, ValueError), wrong.__cause__

# ---- a flow in the space: u = (x^2, -2 x y), p = x + y; nu = 2, s = 3; open at the upper side of direction x ----
flow = patchfd.DMBoxCreate(None, 2, (4, 4), 1)
patchfd.DMBoxSetSpace(flow, 'rt')
patchfd.DMBoxSetOperator(flow, 'stokes')
patchfd.DMBoxSetBoundary(flow, ('dirichlet', 'neumann', 'dirichlet', 'dirichlet'))
patchfd.DMBoxSetStokes(flow, 2, 3)
assert patchfd.DMBoxGetStokes(flow) == (2, 3)
flow.setUp()
x, b, g = (flow.createGlobalVec() for _ in range(3))
exact = lambda time, x: (x[0] ** 2, -2 * x[0] * x[1], x[0] + x[1])
gradient = lambda time, x: ((2 * x[0], 0), (-2 * x[1], -2 * x[0]))
patchfd.DMBoxAddLoad(flow, 0, lambda time, x: (3 * x[0] ** 2 - 4 + 1, -6 * x[0] * x[1] + 1, 0), b)
patchfd.DMBoxAddNeumannLoad(flow, 0, lambda time, x: (4 * x[0] - x[0] - x[1], -4 * x[1]), b)
patchfd.DMBoxInterpolateFunction(flow, 0, exact, g)
patchfd.DMBoxLiftDirichlet(flow, g, b)
ksp = PETSc.KSP().create()
ksp.setDM(flow)
ksp.setType('fgmres')
ksp.setTolerances(rtol=1e-13)
ksp.pc.setType('patchmg')
ksp.solve(b, x)
for error in patchfd.DMBoxComputeStokesError(flow, 0, exact, gradient, x):
    close(error, 0, 1e-10)
norms = patchfd.DMBoxComputeStokesError(flow, 0, None, None, g)
for norm, square in zip(norms, (1 / 5 + 4 / 9, 4 / 3 + 4 / 3 + 4 / 3, 7 / 6)):
    close(norm, square ** 0.5)
wrong = raises(PETSc.Error, 'DMBoxInterpolateFunction', patchfd.DMBoxInterpolateFunction, flow, 0, lambda time, x: (1, 2), x)
assert isinstance(wrong.__cause__, ValueError), wrong.__cause__

# ---- heat: the energy that flows in, with a material that varies, and a checkpoint ----
heat = patchfd.DMBoxCreate(None, 3, (4, 4, 4), 1)
patchfd.DMBoxSetSpace(heat, 'p1')
patchfd.DMBoxSetOperator(heat, 'heat')
patchfd.DMBoxSetBoundary(heat, ('neumann',) * 6)
patchfd.DMBoxSetHeat(heat, 1, (1, 2, 3), 0)
assert patchfd.DMBoxGetHeat(heat) == (1, (1, 2, 3), 0)
heat.setUp()
patchfd.DMBoxSetHeatFunctions(heat, 0, None, lambda time, x: 1 + x[0])
patchfd.DMBoxSetHeatRobin(heat, 1, 0, 5)
assert patchfd.DMBoxGetHeatRobin(heat, 1) == (0, 5)
patchfd.DMBoxSetHeatFlux(heat, 4, lambda time, x: 3)
patchfd.DMBoxSetHeatSource(heat, None)
patchfd.DMBoxSetHeatDirichlet(heat, None)
patchfd.DMBoxSetHeatSteady(heat, True)
assert patchfd.DMBoxGetHeatSteady(heat)
t = heat.createGlobalVec()
patchfd.DMBoxAddHeatLoad(heat, 0, t)
close(t.sum(), 3, 1e-12)
t.set(0)
ts = PETSc.TS().create()
ts.setDM(heat)
patchfd.DMBoxTSSetHeat(ts)
patchfd.DMBoxTSSetHeatGuess(ts, 'previous')
patchfd.DMBoxTSSetHeatSolver(ts, 'jacobi')
assert patchfd.DMBoxTSGetHeatGuess(ts) == 'previous' and patchfd.DMBoxTSGetHeatSolver(ts) == 'jacobi'
ts.setTimeStep(0.1)
ts.setMaxSteps(5)
ts.setExactFinalTime(PETSc.TS.ExactFinalTime.STEPOVER)
ts.setFromOptions()
ts.solve(t)
one = t.duplicate()
one.set(1)
patchfd.DMBoxSetHeat(heat, 1, (0, 0, 0), 1)
patchfd.DMBoxSetHeatFunctions(heat, 0, None, None)
close(t.dot(heat.createMat() * one), 5 * 0.1 * 3, 1e-7)
patchfd.DMBoxSetHeatVoxels(heat, (bytes([1, 0] * 32), (2,), (1,)))
raises(PETSc.Error, 'Material 1', patchfd.DMBoxSetHeatVoxels, heat, (bytes([1] * 64), (-2,), (1,)))
image = np.ones((4, 4, 4), np.uint8)
patchfd.DMBoxSetHeatVoxels(heat, (image, (2,), (1,)))
raises(ValueError, 'an image of shape (63,)', patchfd.DMBoxSetHeatVoxels, heat, (bytes([1] * 63), (2,), (1,)))
raises(ValueError, 'an image of shape (4, 16)', patchfd.DMBoxSetHeatVoxels, heat, (image.reshape(4, 16), (2,), (1,)))
raises(TypeError, 'integers are wanted', patchfd.DMBoxSetHeatVoxels, heat, (image * 1., (2,), (1,)))
raises(ValueError, 'beyond the range of uint8', patchfd.DMBoxSetHeatVoxels, heat, (image.astype(int) * 256, (2,), (1,)))
raises(ValueError, 'conductivities of shape (2,)', patchfd.DMBoxSetHeatVoxels, heat, (image, (2,), (1, 1)))
name = f'python{PETSc.COMM_WORLD.rank}.voxels'
image.tofile(name)
assert (patchfd.DMBoxLoadVoxels(heat, name) == image.ravel()).all()
os.remove(name)

one.set(2)
patchfd.DMBoxSetHeatFields(heat, None, (one, one, one))
capacity, conductivity = patchfd.DMBoxGetHeatFields(heat)
assert capacity is None and [field.max()[1] for field in conductivity] == [2] * 3
raises(PETSc.Error, 'it takes 0, 1 or 3', patchfd.DMBoxSetHeatFields, heat, one, (one, one))
patchfd.DMBoxSetHeatFields(heat, None, ())

# functions that a DM keeps live until they are replaced, or the DM is destroyed, and those that were made from it; what they raise arrives
bar = patchfd.DMBoxCreate(None, 1, (4,), 1)
patchfd.DMBoxSetSpace(bar, 'p1')
patchfd.DMBoxSetOperator(bar, 'heat')
patchfd.DMBoxSetBoundary(bar, ('neumann',) * 2)
bar.setUp()
source = alive(lambda: lambda time, x: 1, lambda f: patchfd.DMBoxSetHeatSource(bar, f))
flux = alive(lambda: lambda time, x: 1, lambda f: patchfd.DMBoxSetHeatFlux(bar, 1, f))
clone = bar.clone()
other = alive(lambda: lambda time, x: 1 / 0, lambda f: patchfd.DMBoxSetHeatSource(bar, f))
raises(PETSc.Error, 'sides are 0 to 1', patchfd.DMBoxSetHeatFlux, bar, 2, lambda time, x: 0)
assert source() and flux() and other()
clone.destroy()
assert not source() and flux() and other()
bar.destroy()
assert not flux() and not other()
patchfd.DMBoxSetHeatSource(heat, lambda time, x: 1 / 0)
ts.setStepNumber(0)
for use in lambda: ts.solve(t), lambda: patchfd.DMBoxAddHeatLoad(heat, 0, t):
    assert isinstance(raises(PETSc.Error, '', use).__cause__, ZeroDivisionError)

# ---- diffusion by functions on a box that a function maps ----
channel = patchfd.DMBoxCreate(None, 2, (4, 4), 2)
patchfd.DMBoxSetOperator(channel, 'diffusion')
patchfd.DMBoxSetExtraPoints(channel, 1, 2)
assert patchfd.DMBoxGetExtraPoints(channel) == (1, 2)
patchfd.DMBoxSetDiffusion(channel, (1, 0.5, 2), 3)
assert patchfd.DMBoxGetDiffusion(channel) == ((1, 0.5, 2), 3)
patchfd.DMBoxSetMappingType(channel, 'annulus', 0.25)
patchfd.DMBoxSetMappingDegree(channel, 1)
assert patchfd.DMBoxGetMappingType(channel) == ('annulus', 0.25) and patchfd.DMBoxGetMappingDegree(channel) == 1
patchfd.DMBoxSetMapping(channel, lambda time, x: (1 / 0, 0))
assert isinstance(raises(PETSc.Error, '', channel.setUp).__cause__, ZeroDivisionError)
channel = patchfd.DMBoxCreate(None, 2, (4, 4), 2)
patchfd.DMBoxSetOperator(channel, 'diffusion')
patchfd.DMBoxSetBoundary(channel, ('neumann',) * 4)
mapping = alive(lambda: lambda time, x: (2 * x[0] + x[1], 3 * x[1]), lambda f: patchfd.DMBoxSetMapping(channel, f))
channel.setUp()
fine = channel.refine()
patchfd.DMBoxSetDiffusionFunction(channel, 2, lambda time, x: (1, 2), lambda time, x: 1)
x, y = channel.createGlobalVec(), channel.createGlobalVec()
patchfd.DMBoxInterpolateFunction(channel, 0, lambda time, x: x[0] - 2 * x[1] / 3, x)
A = channel.createMat()
A.mult(x, y)
close(x.dot(y), 6 * (1 + 8 / 9) + 4)  # u = 2 s - t in the box, area 6
points = patchfd.DMBoxCreateDiffusionVec(channel, True, 2)
assert points.getRefCount() == 1
assert patchfd.DMBoxGetDiffusionVec(channel)[1:] == (None, None)
points.set(3)
patchfd.DMBoxSetDiffusionVec(channel, 2, points, None)
n, K, shift = patchfd.DMBoxGetDiffusionVec(channel)
assert n == 2 and K.min()[1] == 3 and shift is None
# the matrix of a box without fixed values takes the function at once, and C has it after that error, too
for name, use in (('DMBoxSetDiffusionFunction', lambda: patchfd.DMBoxSetDiffusionFunction(channel, 2, lambda time, x: (1 / 0, 2), None)),
                  ('MatBoxUpdate', lambda: patchfd.MatBoxUpdate(A))):
    assert isinstance(raises(PETSc.Error, name, use).__cause__, ZeroDivisionError)
del channel, A
assert mapping()
fine.setUp()
fine.destroy()

# ---- SNES and TS with the operator's own functions ----
box = patchfd.DMBoxCreate(None, 2, (4, 4), 3)
box.setUp()
u, b, r = (box.createGlobalVec() for _ in range(3))
patchfd.DMBoxAddLoadBatch(box, 0, lambda time, x: 1, b)
snes = PETSc.SNES().create()
snes.setDM(box)
snes.setFunction(patchfd.DMBoxSNESComputeFunction, r)
J = box.createMat()
snes.setJacobian(patchfd.DMBoxSNESComputeJacobian, J)
snes.ksp.pc.setType('patchmg')
snes.solve(b, u)
close((J * u - b).norm(), 0, 1e-6 * b.norm())
ts = PETSc.TS().create()
ts.setDM(box)
ts.setType('beuler')
ts.setIFunction(patchfd.DMBoxTSComputeIFunction, r)
ts.setIJacobian(patchfd.DMBoxTSComputeIJacobian, J)
ts.setTimeStep(0.01)
ts.setMaxSteps(3)
ts.setExactFinalTime(PETSc.TS.ExactFinalTime.STEPOVER)
ts.getSNES().ksp.pc.setType('patchmg')
before = u.norm()
ts.solve(u)
assert 0 < u.norm() < 0.7 * before

# ---- PCs ----
pc = PETSc.PC().create()
pc.setType('patchfd')
for name, value in (('Type', 'additive'), ('Patch', 'box'), ('Variant', 'fused'), ('Order', 'symmetric'), ('Local', 'dense'), ('Classes', 'single'), ('Damping', 0.5), ('Sweeps', 2)):
    getattr(patchfd, 'PCPatchFDSet' + name)(pc, value)
    assert getattr(patchfd, 'PCPatchFDGet' + name)(pc) == value, name
for name, value in (('FitSteps', (3, 0.5, 1.5, 8)), ('SchurTolerances', (1e-5, 100))):
    getattr(patchfd, 'PCPatchFDSet' + name)(pc, *value)
    assert getattr(patchfd, 'PCPatchFDGet' + name)(pc) == value, name
patchfd.PCPatchFDSetFitExact(pc, 30)
assert patchfd.PCPatchFDGetFitExact(pc) == 30
raises(ValueError, 'one of multiplicative, additive', patchfd.PCPatchFDSetType, pc, 'jacobi')
raises(PETSc.Error, 'amping', patchfd.PCPatchFDSetDamping, pc, 3)
for kind, names in (('patchmg', ('PCPatchMGSetSymmetric', 'PCPatchMGSetGraph')), ('single', ('PCSingleSetScale', 'PCSingleSetWarn', 'PCSingleSetCoarse'))):
    pc = PETSc.PC().create()
    pc.setType(kind)
    for name in names:
        for value in (True, False):
            getattr(patchfd, name)(pc, value)
            assert getattr(patchfd, name.replace('Set', 'Get'))(pc) is value, name
multigrid = PETSc.PC().create()
multigrid.setType('patchmg')
patchfd.PCPatchMGSetCoarseEqLim(multigrid, 100)
assert patchfd.PCPatchMGGetCoarseEqLim(multigrid) == 100
assert patchfd.PCPatchMGGetCoarseReason(multigrid) == 'not chosen yet'
inner = patchfd.PCSingleGetPC(pc)
inner.setType('jacobi')
assert patchfd.PCSingleGetPC(pc).type == 'jacobi'

# ---- bake-off problems ----
plex = PETSc.DMPlex().createBoxMesh((2, 2, 2), simplex=False)
fe = PETSc.FE().createLagrange(3, 1, False, 2, 4, comm=PETSc.COMM_SELF)
plex.setField(0, fe)
plex.createDS()
for layout in ('global', 'element'):
    A = patchfd.MatCreateBakeoff(plex, 'bp3', layout)
    assert A.getRefCount() == 1
    patchfd.MatBakeoffSetLambda(A, 2)
    assert patchfd.MatBakeoffGetLambda(A) == 2
    for value in ('stored', 'computed', 'auto'):
        patchfd.MatBakeoffSetFactors(A, value)
        assert patchfd.MatBakeoffGetFactors(A) == value
    one = plex.createGlobalVec()
    one.set(1)
    x, y = A.createVecs()
    if layout == 'element':
        patchfd.MatBakeoffGlobalToElement(A, one, x)
        back = one.duplicate()
        patchfd.MatBakeoffElementToGlobal(A, x, back)
        close((back - one).norm(), 0, 1e-12)
    else:
        one.copy(x)
    A.mult(x, y)
    close(x.dot(y), 2, 1e-12)  # lambda times the volume
raises(PETSc.Error, '-mat_bakeoff_lambda', patchfd.MatBakeoffSetLambda, A, -1)

# ---- differences on a lattice ----
lattice = PETSc.DMDA().create((4, 3), boundary_type=('periodic', 'none'), stencil_width=1)
A = patchfd.MatCreateKroneckerSum(lattice, np.ones(7), np.ones(7), (0, 0, 0, 0, 2, 0, 2))
x, y = A.createVecs()
x.setArray(np.arange(x.getLocalSize()) ** 2)
A.mult(x, y)
pc = PETSc.PC().create()
pc.setOperators(A)
pc.setType('patchfd')
patchfd.PCPatchFDSetPatch(pc, 'box')
z = x.duplicate()
pc.apply(y, z)
close((z - x).norm(), 0, 1e-10)
raises(ValueError, 'takes 7 values', patchfd.MatCreateKroneckerSum, lattice, np.ones(6), np.ones(7), None)

# ---- diffusion on a mesh ----
A = patchfd.MatCreateDiffusionPlex(plex)
patchfd.MatDiffusionPlexSetFunction(A, 1, lambda time, x: 2 + x[0], lambda time, x: 3)
x, y = A.createVecs()
x.set(1)
A.mult(x, y)
close(x.dot(y), 3)  # the shift alone, of constants, on the unit cube
patchfd.MatDiffusionPlexSetFunction(A, 1, lambda time, x: 2 + x[0], None)
A.mult(x, y)
assert y.norm() < 1e-12
first, end = plex.getHeightStratum(0)
K = PETSc.Vec().createMPI((end - first, None))
K.set(2)
patchfd.MatDiffusionPlexSetVec(A, K, K)
A.mult(x, y)
close(x.dot(y), 2)
plex.createLabel('cooled')
for face in range(*plex.getHeightStratum(1)):
    if plex.getSupportSize(face) == 1:
        plex.setLabelValue('cooled', face, 1)
patchfd.MatDiffusionPlexSetRobin(A, plex.getLabel('cooled'), [1], lambda time, x: 3)
A.mult(x, y)
close(x.dot(y), 2 + 3 * 6)
del A

# ---- VECSINGLE ----
x, y = PETSc.Vec().create(), PETSc.Vec().createMPI(10)
x.setSizes(10)
x.setType('single')
y.set(1 / 3)
patchfd.VecSingleConvert(y, 2, x)
close(x.max()[1], 2 / 3, 1e-7)
assert x.max()[1] != 2 / 3
assert patchfd.VecSingleGetMemory(x)[0] == 4 * x.getLocalSize()
a = patchfd.VecSingleGetArray(x)
assert a.dtype == np.float32 and a.shape == (x.getLocalSize(),) and (a == np.float32(2 / 3)).all()
a[:] = 3
patchfd.VecSingleRestoreArray(x, a)
assert x.max()[1] == 3
a = patchfd.VecSingleGetArrayWrite(x)
a[:] = 4
patchfd.VecSingleRestoreArrayWrite(x, a)
a = patchfd.VecSingleGetArrayRead(x)
assert (a == 4).all() and not a.flags.writeable
patchfd.VecSingleRestoreArrayRead(x, a)
raises(PETSc.Error, 'none of type single', patchfd.VecSingleGetArray, y)
