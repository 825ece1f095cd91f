"""Poisson's equation with petsc4py: what poisson.c does, with the same options and the same output, without times.

-div(D grad u) + shift u = f on a box with the solution u = prod_i sin(pi x_i), Q_k elements and multigrid with vertex-patch smoothers.
It is solved by FGMRES with V-cycles in single precision ("mixed"), with V-cycles in double precision, and with the levels that PCPATCHMG
chooses, often one: the direct solve.

  -dm_box_*, -dm_refine        : the mesh, the element and the operator (default: Q3 on 8 x 8 x 8 cells)
  -ksp_*, -pc_*, -single_*     : the first solver (default: FGMRES, PCSINGLE with PCPATCHMG inside)
  -double_ksp_*, -double_pc_*  : the second solver (default: FGMRES, PCPATCHMG); -double false for the first one only
  -direct_ksp_*, -direct_pc_*  : the third solver; -direct false for the first two only
  -ksp_view_solution vtk:u.vts : write the solution for ParaView
"""
import sys

import numpy as np
import petsc4py
petsc4py.init(sys.argv)
from petsc4py import PETSc
import patchfd

# the mesh carries the element and the operator
dm = patchfd.DMBoxCreate(PETSc.COMM_WORLD, 3, (8, 8, 8), 3)
dm.setFromOptions()
dm.setUp()
A = dm.createMat()
lower, upper = patchfd.DMBoxGetBounds(dm)
diffusion, shift = patchfd.DMBoxGetPoisson(dm)
factor = np.pi ** 2 * sum(diffusion) + shift


# functions get many points at once, x[point][coordinate]
def exact(time, x):
    return np.sin(np.pi * x).prod(axis=1)


def right_hand_side(time, x):
    return factor * exact(time, x)


def flux(time, x):
    """D du/dn: the points of a call are on one side, which lies on one bound of the box."""
    n = next(d for d, y in enumerate(x[0]) if y in (lower[d], upper[d]))
    factors = np.sin(np.pi * x)
    factors[:, n] = np.pi * np.cos(np.pi * x[:, n])
    return (diffusion[n] if x[0, n] == upper[n] else -diffusion[n]) * factors.prod(axis=1)


# load, Neumann data, Dirichlet data
b = dm.createGlobalVec()
g = b.duplicate()
patchfd.DMBoxAddLoadBatch(dm, 0, right_hand_side, b)
patchfd.DMBoxAddNeumannLoadBatch(dm, 0, flux, b)
patchfd.DMBoxInterpolateFunctionBatch(dm, 0, exact, g)
patchfd.DMBoxLiftDirichlet(dm, g, b)


def name(pc, ksp):
    """What solved: options may have set another preconditioner, and PCPATCHMG chooses the number of levels."""
    precision, mg = ('mixed', patchfd.PCSingleGetPC(pc)) if pc.type == 'single' else ('double', pc)
    if mg.type not in ('patchmg', 'mg'):
        return f'{ksp.type} and {mg.type}, {precision}', 1
    levels = mg.getMGLevels()
    cycle = 'V-cycles' if mg.getMGType() == PETSc.PC.MGType.MULTIPLICATIVE else 'multigrid'
    return f'{"direct solve" if levels == 1 else cycle}, {precision}', levels


def solve(prefix, single, limit):
    """One solve, a line of the table; limit: where PCPATCHMG ends the levels."""
    ksp = PETSc.KSP().create(dm.comm)
    ksp.setOptionsPrefix(prefix)
    ksp.setDM(dm)
    ksp.setOperators(A, A)
    ksp.setType('fgmres')
    ksp.setTolerances(rtol=1e-9)
    pc = ksp.pc
    if single:
        pc.setType('single')
        pc = patchfd.PCSingleGetPC(pc)
    pc.setType('patchmg')
    patchfd.PCPatchMGSetCoarseEqLim(pc, limit)
    ksp.setFromOptions()
    u = dm.createGlobalVec()
    u.setName('u')
    ksp.solve(b, u)

    r = b - A * u
    l2, _ = patchfd.DMBoxComputeErrorBatch(dm, 0, exact, u)
    small = '<= 1e-9' if r.norm() <= 1e-9 * b.norm() else '> 1e-9'
    solver, levels = name(ksp.pc, ksp)
    PETSc.Sys.Print(f'{solver:22} {levels:6}  {ksp.its:10}  {small:>8}  {l2:9.3e}')


cells = ' x '.join(str(n) for n in patchfd.DMBoxGetCells(dm))
PETSc.Sys.Print(f"Poisson's equation, Q{patchfd.DMBoxGetDegree(dm)} on {cells} cells, {b.size} unknowns\n")
PETSc.Sys.Print('solver                 levels  iterations  residual   L2 error')
options = PETSc.Options()
solve(None, True, 0)
if options.getBool('double', True):
    solve('double_', False, 0)
    if options.getBool('direct', True):
        solve('direct_', False, PETSc.DECIDE)
