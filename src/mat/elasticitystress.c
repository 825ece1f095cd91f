/* The operator "elasticity" of a DMBOX: stresses at nodes */
#include <petscdmda.h>
#include <patchfd/private/celldata.h>
#include "elasticity.h" /*I "petscpatchfd.h" I*/

/* the sums of the stresses that cells have at the nodes of this rank */
static PetscErrorCode SumStresses(DM dm, DMBoxOperator op, Vec u, PetscReal sum[])
{
  DM_Box             *box = (DM_Box *)dm->data;
  PatchFDField        field[3];
  PatchFDPoints       points;
  PatchFDOperatorDesc desc  = {.nfield = dm->dim, .field = field, .points = &points};
  DMBoxShape         *shape = NULL;
  const PetscScalar  *array, *local;

  PetscFunctionBegin;
  if (!box->shape) { /* a box as it is has none, which points need */
    PetscCall(DMBoxShapeCreate(dm, &shape));
    PetscCall(DMBoxShapeInterpolate(dm, shape));
    box->shape = shape;
  }
  for (PetscInt i = 0; i < dm->dim; i++) {
    const DMBoxField *f = &box->field[i];

    field[i] = (PatchFDField){.xbox = f->local, .ybox = f->global, .x0 = f->local0};
    for (int d = 0; d < 3; d++) {
      field[i].read[d][0]  = f->local.lo[d];
      field[i].read[d][1]  = f->local.lo[d] + f->local.n[d];
      field[i].write[d][0] = f->own[d][0];
      field[i].write[d][1] = f->own[d][1];
    }
  }
  DMBoxLoadCells(box, desc.cells);
  PetscCall(DMBoxPoints_Elasticity(dm, op, op->coefficient, (const PetscInt(*)[2])desc.cells, PETSC_FALSE, &points));
  PetscCall(DMBoxGetLocalRead(dm, u, &array, &local));
  PetscCall((*PatchFDKernelTables[PATCHFD_KERNELS_HOST_DOUBLE]->stresses)(&desc, local, sum));
  PetscCall(DMBoxRestoreLocalRead(dm, u, &array, &local));
  PetscCall(DMBoxPointsDestroy_Elasticity(&points));
  if (shape) PetscCall(DMBoxShapeDestroy(&box->shape));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxComputeStresses - Computes the stresses of a displacement at the nodes, and von Mises' stress

  Collective

  Input Parameters:
+ dm - the `DM` of type `DMBOX` with the operator `elasticity`, set up, in two or three dimensions
- u  - the displacement, from `DMCreateGlobalVector()`, its values on Dirichlet sides included

  Output Parameter:
. stress - the stresses; destroy it with `VecDestroy()`

  Level: beginner

  Notes:
  The vector belongs to a `DMDA` (`VecGetDM()`) with the nodes of the mesh, distributed as `dm`. At each node it has xx, xy, yy, zz and von
  Mises' stress, in three dimensions xx, xy, xz, yy, yz, zz and von Mises' stress, one after another. These are the names of its fields
  (`DMDAGetFieldName()`). `DMDAVecGetArrayDOFRead()` gives the numbers, `VecView()` with a `PETSCVIEWERVTK` writes them, and the
  displacement may be in the same file. In two dimensions zz is zero with `DMBOX_PLANE_STRESS`.

  The stresses are those at the Gauss points of each cell, with the pressure of the projection where lambda terms are projected
  (`DMBoxSetLambdaDegree()`). The polynomials through them are evaluated at the nodes of the cell, and each node has the mean of its cells,
  also across jumps of the material. Errors fall with one order less than those of the displacement.

  It runs on the host, for vectors of any type.

.seealso: `DMBOX`, `DMBoxSetElasticity()`, `DMBoxSetElasticModuli()`, `DMBoxSetLambdaDegree()`, `DMBoxComputeErrorVec()`
@*/
PetscErrorCode DMBoxComputeStresses(DM dm, Vec u, Vec *stress)
{
  static const char *const names[2][8] = {{"xx", "xy", "yy", "zz", "von_mises", NULL},
                                          {"xx", "xy", "xz", "yy", "yz", "zz", "von_mises", NULL}};
  const Elasticity        *data;
  DMBoxOperator            op;
  DM_Box                  *box;
  DM                       da;
  size_t                   n;
  PetscReal               *sum;
  PetscScalar             *array;
  PetscBool                plane;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "elasticity", "DMBoxComputeStresses()", &op));
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(DMBoxCheckVec(dm, u));
  PetscAssertPointer(stress, 3);
  PetscCheck(dm->dim > 1 && box->degree <= PATCHFD_POINTS_MAX_DEGREE, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "DMBoxComputeStresses() takes 2 or 3 dimensions (-dm_box_dim) and degrees up to %d (-dm_box_degree); they are %" PetscInt_FMT
             " and %" PetscInt_FMT,
             PATCHFD_POINTS_MAX_DEGREE, dm->dim, box->degree);
  PetscCall(DMBoxMaterialCheck(dm, op));
  data  = (const Elasticity *)op->data;
  plane = (PetscBool)(dm->dim == 2 && (data->material ? data->material->plane : data->plane) == DMBOX_PLANE_STRESS);
  PetscCall(DMBoxCreateDMDA(dm, &box->field[0], dm->dim == 3 ? 7 : 5, &da));
  PetscCall(DMDASetFieldNames(da, names[dm->dim == 3]));
  PetscCall(DMCreateGlobalVector(da, stress));
  PetscCall(PetscObjectSetName((PetscObject)*stress, "stress"));
  n = PatchFDBoxSize(&box->field[0].global);
  PetscCall(PetscCalloc1((dm->dim == 3 ? 7 : 5) * n, &sum));
  PetscCall(SumStresses(dm, op, u, sum));
  PetscCall(VecGetArrayWrite(*stress, &array));
  PatchFDHostMeanStresses(dm->dim, plane, n, (const size_t[2]){n, 1}, sum, array);
  PetscCall(VecRestoreArrayWrite(*stress, &array));
  PetscCall(PetscFree(sum));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}
