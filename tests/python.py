"""python/patchfd.py: what is set is got back, what C computes arrives, wrong arguments and errors are exceptions.  Silent if all is right."""
import sys

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


# ---- DMBOX ----
dm = patchfd.DMBoxCreate(None, 2, (4, 2), 3)
patchfd.DMBoxSetBounds(dm, (0, -1), (2, 1))
patchfd.DMBoxSetBoundary(dm, ('dirichlet', 'neumann', 'dirichlet', 'dirichlet'))
patchfd.DMBoxSetVertices(dm, 0, (0, 0.25, 0.5, 1, 2))
patchfd.DMBoxSetPoisson(dm, (1, 2), 0.5)
assert patchfd.DMBoxGetCells(dm) == (4, 2)
assert patchfd.DMBoxGetDegree(dm) == 3
assert patchfd.DMBoxGetSpace(dm) == 'q'
assert patchfd.DMBoxGetBounds(dm) == ((0, -1), (2, 1))
assert patchfd.DMBoxGetBoundary(dm) == ('dirichlet', 'neumann', 'dirichlet', 'dirichlet')
assert patchfd.DMBoxGetPoisson(dm) == ((1, 2), 0.5)
patchfd.DMBoxSetOperator(dm, 'poisson')
patchfd.DMBoxSetPenalty(dm, 1.5, 2)
assert patchfd.DMBoxGetOperator(dm) == 'poisson' and patchfd.DMBoxGetPenalty(dm) == (1.5, 2)

raises(TypeError, 'PETSc.DM is wanted', patchfd.DMBoxSetDegree, PETSc.Vec(), 1)
raises(TypeError, 'takes 2 arguments', patchfd.DMBoxSetDegree, dm)
raises(ValueError, 'in 2 dimensions it takes 4', patchfd.DMBoxSetBoundary, dm, ('dirichlet',))
raises(ValueError, 'one of dirichlet, neumann', patchfd.DMBoxSetBoundary, dm, ('robin',) * 4)
raises(ValueError, 'in 2 dimensions it takes 2', patchfd.DMBoxSetPoisson, dm, (1, 1, 1), 0)
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
raises(PETSc.Error, 'DMBoxAddLoadBatch', patchfd.DMBoxAddLoadBatch, dm, 0, lambda time, x: x, b)  # two numbers a point

# an exception in a callback arrives as the cause of PETSc's error, and the next call is none the wiser
division = raises(PETSc.Error, 'DMBoxInterpolateFunction', patchfd.DMBoxInterpolateFunction, dm, 0, lambda time, x: 1 / (time * 0), u)
assert isinstance(division.__cause__, ZeroDivisionError), division.__cause__
patchfd.DMBoxInterpolateFunction(dm, 0, polynomial, u)

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

# ---- PCs ----
pc = PETSc.PC().create()
pc.setType('patchfd')
for name, value in (('Type', 'additive'), ('Patch', 'box'), ('Variant', 'fused'), ('Order', 'symmetric'), ('Local', 'dense'), ('Classes', 'single'), ('Damping', 0.5), ('Sweeps', 2)):
    getattr(patchfd, 'PCPatchFDSet' + name)(pc, value)
    assert getattr(patchfd, 'PCPatchFDGet' + name)(pc) == value, name
raises(ValueError, 'one of multiplicative, additive', patchfd.PCPatchFDSetType, pc, 'jacobi')
raises(PETSc.Error, 'amping', patchfd.PCPatchFDSetDamping, pc, 3)
for kind, names in (('patchmg', ('PCPatchMGSetSymmetric', 'PCPatchMGSetGraph')), ('single', ('PCSingleSetScale', 'PCSingleSetWarn'))):
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

# ---- VECSINGLE ----
x, y = PETSc.Vec().create(), PETSc.Vec().createMPI(10)
x.setSizes(10)
x.setType('single')
y.set(1 / 3)
patchfd.VecSingleConvert(y, 2, x)
close(x.max()[1], 2 / 3, 1e-7)
assert x.max()[1] != 2 / 3
assert patchfd.VecSingleGetMemory(x)[0] == 4 * x.getLocalSize()
