"""Poisson's equation with petsc4py: what poisson.c does, with the same options and the same output.

-div(D grad u) + shift u = f on a box with the solution u = prod_i sin(pi x_i), Q_k elements and multigrid with vertex-patch smoothers.
It is solved twice: with the V-cycle in single precision under a double precision Krylov method, and in double precision throughout.

  -dm_box_*, -dm_refine        : the mesh, the element and the operator (default: Q3 on 8 x 8 x 8 cells)
  -ksp_*, -pc_*                : the first solver (default: FGMRES, PCSINGLE with PCPATCHMG inside)
  -double_ksp_*, -double_pc_*  : the second solver (default: FGMRES, PCPATCHMG); -double false for none
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


def solve(name, prefix, single):
    ksp = PETSc.KSP().create(dm.comm)
    ksp.setOptionsPrefix(prefix)
    ksp.setDM(dm)
    ksp.setOperators(A, A)
    ksp.setType('fgmres')
    ksp.setTolerances(rtol=1e-9)
    ksp.pc.setType('single' if single else 'patchmg')
    if single:
        patchfd.PCSingleGetPC(ksp.pc).setType('patchmg')
    ksp.setFromOptions()
    u = dm.createGlobalVec()
    u.setName('u')
    ksp.solve(b, u)

    r = b - A * u
    l2, _ = patchfd.DMBoxComputeErrorBatch(dm, 0, exact, u)
    small = '<= 1e-9' if r.norm() <= 1e-9 * b.norm() else '> 1e-9'
    PETSc.Sys.Print(f'{name if (ksp.pc.type == "single") == single else "solve"}: iterations {ksp.its}, true relative residual {small}, L2 error {l2:.3e}')


cells = ' x '.join(str(n) for n in patchfd.DMBoxGetCells(dm))
PETSc.Sys.Print(f'mesh {cells}, Q{patchfd.DMBoxGetDegree(dm)}, {b.size} unknowns')
solve('mixed precision', None, True)
if PETSc.Options().getBool('double', True):
    solve('double precision', 'double_', False)
