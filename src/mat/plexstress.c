/* Solids on a DMPLEX: stresses at nodes */
#include <patchfd/private/bakeoffimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/celldata.h>

/* a clone of the mesh with the same nodes, n numbers at each, and without boundary conditions */
static PetscErrorCode CreateNodes(const Mat_Bakeoff *m, PetscInt n, DM *nodes)
{
  PetscFE fe;

  PetscFunctionBegin;
  PetscCall(DMClone(m->dm, nodes));
  PetscCall(DMSetVecType(*nodes, VECSTANDARD));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, m->cells.dim, n, PETSC_FALSE, m->cells.degree, PETSC_DETERMINE, &fe));
  PetscCall(PetscObjectSetName((PetscObject)fe, "stress"));
  PetscCall(DMSetField(*nodes, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(*nodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u with its values on Dirichlet sides, at all nodes of this rank's cells */
static PetscErrorCode GetDisplacement(const Mat_Bakeoff *m, Vec u, Vec *local)
{
  PetscInt n, N;
  Vec      own;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(u, &n));
  PetscCall(VecGetSize(u, &N));
  PetscCheck((size_t)n == m->nfree, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The displacement has %" PetscInt_FMT " entries on this process; vectors of the DMPLEX have %" PetscInt_FMT, n,
             (PetscInt)m->nfree);
  PetscCall(VecCreateMPI(PetscObjectComm((PetscObject)u), n, N, &own)); /* u may be in single precision */
  PetscCall(VecSingleConvert(u, 1, own));
  PetscCall(DMCreateLocalVector(m->dm, local));
  PetscCall(VecSet(*local, 0));
  PetscCall(DMPlexInsertBoundaryValues(m->dm, PETSC_TRUE, *local, m->from.time, NULL, NULL, NULL));
  PetscCall(DMGlobalToLocal(m->dm, own, INSERT_VALUES, *local));
  PetscCall(VecDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the sums of the stresses that cells have at nodes, and how many cells these are, in a local vector of a DM with n numbers at each node */
static PetscErrorCode SumStresses(const Mat_Bakeoff *m, Vec u, DM nodes, PetscInt n, Vec sum)
{
  const PetscCount    count = m->cells.ncells * m->cells.size;
  PatchFDPoints       points;
  PatchFDOperatorDesc desc = {.points = &points};
  PetscInt           *index, *other, size;
  PetscBool           same;
  Vec                 local;
  const PetscScalar  *from;
  PetscScalar        *to;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(count, &index, count, &other));
  PetscCall(PlexCellsGetLocalNodes(m->dm, &m->cells, m->cells.ncomp, index));
  PetscCall(PlexCellsGetLocalNodes(nodes, &m->cells, n, other));
  PetscCall(PetscArraycmp(index, other, count, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_SUP, "The local section of the DMPLEX is not in PETSc's order of the points of the mesh");
  PetscCall(GetDisplacement(m, u, &local));
  PetscCall(VecGetLocalSize(local, &size));
  BakeoffDescribe(m, &points);
  points.index  = index;
  points.nnodes = size / m->cells.ncomp;
  PetscCall(VecGetArrayRead(local, &from));
  PetscCall(VecGetArray(sum, &to));
  PetscCall((*PatchFDKernelTables[PATCHFD_KERNELS_HOST_DOUBLE]->stresses)(&desc, from, to));
  PetscCall(VecRestoreArray(sum, &to));
  PetscCall(VecRestoreArrayRead(local, &from));
  PetscCall(VecDestroy(&local));
  PetscCall(PetscFree2(index, other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatElasticityPlexComputeStresses - Computes the stresses of a displacement at the nodes, and von Mises' stress

  Collective

  Input Parameters:
+ A - a matrix of `MatCreateElasticityPlex()`, or of `MatDiffusionPlexSetJacobian()` with lambda and mu
- u - the displacement, a vector of `A` or of its `DMPLEX`

  Output Parameter:
. stress - the stresses; destroy it with `VecDestroy()`

  Level: beginner

  Notes:
  Values on Dirichlet sides are those that `DMAddBoundary()` has given the `DMPLEX`, or zero.

  The vector belongs to a clone of the `DMPLEX` (`VecGetDM()`) with a `PetscFE` of the same degree and no boundary conditions: clamped nodes
  are in it. At each node it has xx, xy, yy, zz and von Mises' stress, in three dimensions xx, xy, xz, yy, yz, zz and von Mises' stress, one
  after another; these are the names of its components (`PetscSectionGetComponentName()`). In two dimensions zz is zero with
  `DMBOX_PLANE_STRESS`; of a Jacobian it is that of plane strain.

  The stresses are those at the Gauss points of each cell. The polynomials through them are evaluated at the nodes of the cell, and each
  node has the mean of its cells, also across jumps of the material. Errors fall with one order less than those of the displacement.

  It runs on the host, for vectors of any type.

.seealso: `MatCreateElasticityPlex()`, `MatElasticityPlexSetModuli()`, `MatDiffusionPlexSetJacobian()`, `DMBoxComputeStresses()`
@*/
PetscErrorCode MatElasticityPlexComputeStresses(Mat A, Vec u, Vec *stress)
{
  static const char *const names[2][7] = {{"xx", "xy", "yy", "zz", "von_mises"}, {"xx", "xy", "xz", "yy", "yz", "zz", "von_mises"}};
  Mat_Bakeoff             *m;
  PetscInt                 n, size;
  PetscBool                plane;
  PetscSection             section;
  PetscScalar             *array;
  DM                       nodes;
  Vec                      sum;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(u, VEC_CLASSID, 2);
  PetscAssertPointer(stress, 3);
  PetscCall(BakeoffGet(A, &m));
  PetscCheck(m->values.solid && m->values.nkappa == 2, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
             "The matrix is that of %s; stresses are those of a solid with lambda and mu, of MatCreateElasticityPlex()",
             m->values.solid ? "a tangent" : "no solid");
  n     = m->cells.dim == 3 ? 7 : 5;
  plane = (PetscBool)(m->from.solid && m->from.missing < 2 && m->cells.dim == 2);
  PetscCall(CreateNodes(m, n, &nodes));
  PetscCall(DMGetLocalSection(nodes, &section));
  for (PetscInt c = 0; c < n; c++) PetscCall(PetscSectionSetComponentName(section, 0, c, names[m->cells.dim == 3][c]));
  PetscCall(DMCreateGlobalVector(nodes, stress));
  PetscCall(PetscObjectSetName((PetscObject)*stress, "stress"));
  PetscCall(DMCreateLocalVector(nodes, &sum));
  PetscCall(VecSet(sum, 0));
  PetscCall(SumStresses(m, u, nodes, n, sum));
  PetscCall(VecSet(*stress, 0));
  PetscCall(DMLocalToGlobal(nodes, sum, ADD_VALUES, *stress));
  PetscCall(VecGetLocalSize(*stress, &size));
  PetscCall(VecGetArray(*stress, &array));
  PatchFDHostMeanStresses(m->cells.dim, plane, (size_t)(size / n), (const size_t[2]){1, (size_t)n}, array, array);
  PetscCall(VecRestoreArray(*stress, &array));
  PetscCall(VecDestroy(&sum));
  PetscCall(DMDestroy(&nodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}
