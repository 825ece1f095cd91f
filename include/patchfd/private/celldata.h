#pragma once
/*
  Numbers of the cells of a box, x fastest: a group for each cell, or one for each point of a cell, x fastest, too.  Loops over them, in
  the memory that the arrays are in, in double precision; not part of the kernel tables.
*/
#include <patchfd/private/kernels.h>

/* Values at points elsewhere: in each direction, point i of all lies in a cell behind one of its groups, and as far towards the next one as
   its weight says */
typedef struct {
  PetscInt   n;                   /* numbers of a group */
  PetscInt   cells[3], points[3]; /* that are made, and points of a cell in each direction */
  PetscInt   from[3], groups[3];  /* cells that there are, and their groups */
  PetscInt  *cell[3], *group[3];  /* [cells points] */
  PetscReal *weight[3];
} PatchFDCellValues;

struct _PatchFDCellKernels {
  /* out[cells][points][n] from in[from][groups][n] */
  PetscErrorCode (*evaluate)(const PatchFDCellValues *, const PetscReal in[], PetscReal out[]);
  /*
    out[cells][points][..], a number for n = 1, otherwise a symmetric matrix in PatchFDPoints' order, from in[cells][groups][n]: numbers as
    they are, diagonals, or such matrices; groups is 1 or points
  */
  PetscErrorCode (*tensors)(PetscInt dim, PetscCount cells, PetscInt groups, PetscInt points, PetscInt n, const PetscReal in[],
                            PetscReal out[]);
};
PETSC_INTERN const struct _PatchFDCellKernels PatchFDCellKernelsHost;
/* those of some of the cells, with n numbers a cell, on the host */
PETSC_INTERN PetscErrorCode PatchFDHostCellPart(PetscInt n, const PatchFDRange from, const PetscReal in[], const PatchFDRange to,
                                                PetscReal out[]);
/*
  kappa[count][2] = Lame's parameters times two factors, from Young's modulus and Poisson's ratio, arrays or constants,
  lambda = 2 mu nu / (1 - missing nu); the largest lambda / mu if it is larger than what it was, and the first number that is out of range,
  if it is less
*/
PETSC_INTERN void PatchFDHostLame(PetscCount count, PetscReal missing, const PetscReal constant[2], const PetscReal *const moduli[2],
                                  const PetscReal factor[2], PetscReal kappa[], PetscReal *largest, PetscCount *bad);
/* the largest |v| */
PETSC_INTERN PetscReal PatchFDHostLargest(PetscCount count, const PetscReal v[]);
/* the first of K[count][n] that is not positive definite, n as in PatchFDPoints and more than 1, or count */
PETSC_INTERN PetscCount PatchFDHostFirstIndefinite(PetscCount count, PetscInt dim, PetscInt n, const PetscReal K[]);
/* the first of kappa[count][2], lambda and mu, that is no material, or count; the largest lambda / mu if it is larger than what it was */
PETSC_INTERN PetscCount PatchFDHostFirstNoMaterial(PetscCount count, PetscInt dim, const PetscReal kappa[], PetscReal *largest);
/* lambda and mu of tangents, if all of them are of some */
PETSC_INTERN PetscBool PatchFDHostTangentsToLame(PetscCount count, PetscInt dim, const PetscReal tangent[], PetscReal lame[]);
/* K[count][...] + least I where a symmetric matrix is not as large in all directions; a multiple of I where it is not positive, as at folds
   of an energy */
PETSC_INTERN void PatchFDHostRaiseTensors(PetscCount count, PetscInt dim, PetscReal least, PetscReal K[]);
/* is[0]: kappa[count][n], symmetric matrices, are multiples of I; is[1]: they are the same; is[2], is[3]: the shifts are, and are zero.
   Those that are not become 0; and the least shift if it is less than what it was */
PETSC_INTERN void PatchFDHostFindConstants(PetscCount count, PetscInt dim, PetscInt n, const PetscReal kappa[], const PetscReal shift[],
                                           PetscInt is[4], PetscReal *least);
/* K[count][...] of component `component` of a solid without the others, from kappa[count][n], lambda and mu or a tangent:
   mu I + (lambda + mu) e e' with the unit vector e of its direction, or that block of the tangent */
PETSC_INTERN void PatchFDHostComponentTensors(PetscCount count, PetscInt dim, PetscInt component, PetscInt n, const PetscReal kappa[],
                                              PetscReal K[]);
/* stress[count][...] = means of the stresses in sum (kernels.h), of plane stress if there are two dimensions, and von Mises'; stride: from
   a number of a node to the next in sum, and from a node to the next.  May be one array, if it is in the same order */
PETSC_INTERN void PatchFDHostMeanStresses(PetscInt dim, PetscBool plane, size_t count, const size_t stride[2], const PetscReal sum[],
                                          PetscScalar stress[]);
#if defined(PETSC_HAVE_CUDA)
PETSC_INTERN const struct _PatchFDCellKernels PatchFDCellKernelsCUDA;
#endif
