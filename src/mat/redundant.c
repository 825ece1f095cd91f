/*
  Direct solves of a small box on several ranks (PCPATCHFD): each rank has a DMBOX and a matrix of all of it, gathers the right-hand side,
  solves as one rank would, and keeps the nodes that it owns.  On a GPU all of that are kernels, so that cycles can be recorded.
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/patches.h>
#include <patchfd/private/vecimpl.h>

typedef struct {
  DM          dm;  /* that of the ranks */
  MatPatches  all; /* of the matrix that this one has for itself */
  PatchFDHalo in;
  Vec         b, x; /* of it */
} RedundantPatches;

static PetscErrorCode MatPatchesPrepare_Redundant(MatPatches p, PatchFDKernels kern, PetscBool transpose)
{
  MatPatches all = ((RedundantPatches *)p->data)->all;

  PetscFunctionBegin;
  PetscCall((*all->ops->prepare)(all, kern, transpose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the fixed nodes of one rank are those of all */
static PetscErrorCode MatPatchesSweep_Redundant(MatPatches p, PatchFDKernels kern, PETSC_UNUSED PetscInt64 its, PETSC_UNUSED PetscInt n,
                                                PETSC_UNUSED const PetscInt order[], PETSC_UNUSED PetscBool zero, Vec b, Vec x)
{
  const RedundantPatches *r   = (const RedundantPatches *)p->data;
  const DM_Box           *box = (const DM_Box *)r->dm->data;
  const void             *from;
  void                   *to;
  size_t                  all = 0, own = 0;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayRead(b, kern, &from));
  PetscCall(PatchFDVecGetArrayWrite(r->b, kern, &to));
  PetscCall(PatchFDHaloBegin(r->in, kern, 0, 1, &from));
  PetscCall(PatchFDHaloEnd(r->in, kern, 0, 1, &to));
  PetscCall(PatchFDVecRestoreArrayWrite(r->b, kern, &to));
  PetscCall(PatchFDVecRestoreArrayRead(b, kern, &from));
  PetscCall(MatPatchesSmooth(r->all, 1, PETSC_FALSE, PETSC_TRUE, r->b, r->x));
  PetscCall(PatchFDVecGetArrayRead(r->x, kern, &from));
  PetscCall(PatchFDVecGetArrayWrite(x, kern, &to));
  for (PetscInt f = 0; f < box->nfield; f++) {
    const PatchFDBox   mesh = DMBoxMesh(&box->field[f]), *global = &box->field[f].global;
    const PatchFDRange range = {{global->lo[0], global->lo[0] + global->n[0]},
                                {global->lo[1], global->lo[1] + global->n[1]},
                                {global->lo[2], global->lo[2] + global->n[2]}};

    PetscCall(kern->copy(range, &mesh, (const char *)from + all * kern->size, global, (char *)to + own * kern->size));
    all += PatchFDBoxSize(&mesh);
    own += PatchFDBoxSize(global);
  }
  PetscCall(PatchFDVecRestoreArrayWrite(x, kern, &to));
  PetscCall(PatchFDVecRestoreArrayRead(r->x, kern, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesView_Redundant(MatPatches p, PetscViewer viewer)
{
  MatPatches all = ((RedundantPatches *)p->data)->all;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  every process solves all of it:\n"));
  PetscCall((*all->ops->view)(all, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesDestroy_Redundant(MatPatches p)
{
  RedundantPatches *r = (RedundantPatches *)p->data;

  PetscFunctionBegin;
  PetscCall(MatPatchesDestroy(&r->all));
  PetscCall(PatchFDHaloDestroy(&r->in));
  PetscCall(VecDestroy(&r->b));
  PetscCall(VecDestroy(&r->x));
  PetscCall(DMDestroy(&r->dm));
  PetscCall(PetscFree(p->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreatePatches_BoxRedundant(Mat A, const MatPatchesSpec *spec, MatPatches *patches)
{
  static const struct _MatPatchesOps ops = {.remedy  = "too small a penalty (-dm_box_penalty), or a negative shift (-dm_box_shift)",
                                            .prepare = MatPatchesPrepare_Redundant,
                                            .sweep   = MatPatchesSweep_Redundant,
                                            .view    = MatPatchesView_Redundant,
                                            .destroy = MatPatchesDestroy_Redundant};
  RedundantPatches                  *r;
  Mat_Box                           *m, *own;
  PetscSF                            sf;
  DM                                 dm;
  Mat                                all;

  PetscFunctionBegin;
  PetscCall(PetscNew(&r));
  PetscCall(MatPatchesCreate(A, spec, patches));
  (*patches)->ops  = &ops;
  (*patches)->data = r;
  PetscCall(MatBoxFind(A, &m));
  if (m->form.points) PetscCall(MatBoxCheckData(m)); /* the copy of the DM has those of now */
  r->dm = m->dm;
  PetscCall(PetscObjectReference((PetscObject)r->dm));
  PetscCall(DMBoxCreateRedundant(r->dm, &dm));
  PetscCall(DMSetMatType(dm, MATSHELL));
  PetscCall(DMCreateMatrix(dm, &all));
  PetscCall(MatBoxFind(all, &own));
  own->entry->follows = PETSC_FALSE; /* A may be a copy, scaled, or older than the DM's operator */
  PetscCall(MatBoxChange(all, &m->c, &own));
  PetscCall(MatCreatePatches(all, NULL, spec, &r->all));
  PetscCall(MatCreateVecs(all, &r->x, &r->b));
  PetscCall(DMBoxCreateNaturalSF(r->dm, &sf));
  PetscCall(PatchFDHaloCreate(sf, ((const DM_Box *)r->dm->data)->halotype, &r->in));
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(MatDestroy(&all));
  PetscCall(DMDestroy(&dm));
  (*patches)->overwrites = PETSC_TRUE;
  (*patches)->kernels    = r->all->kernels;
  (*patches)->singular   = r->all->singular; /* on one rank as on all */
  PetscCall(MatPatchesDestroy(&(*patches)->before));
  PetscFunctionReturn(PETSC_SUCCESS);
}
