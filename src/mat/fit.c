/*
  Local solvers that are fitted to each patch of an operator by quadrature (patchfd/private/fit.h): set-up and corrections on distributed
  arrays.

  A rank fits all patches that touch its unknowns, from the operator on all their cells, so that nothing is exchanged between ranks but
  residuals.
*/
#include <patchfd/private/fit.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/vecimpl.h>

struct _MatBoxFit {
  PatchFDFit desc;
  void      *plan;
  void      *whole;    /* A on local arrays, in all cells of the patches */
  PetscBool  own;      /* is it that of the fit? on one rank it is the matrix' */
  void      *diagonal; /* of A, a local array */
  void     **inner; /* A on the cells of the groups that take several steps; NULL for others, and where kernels have products on patches */
};

PetscErrorCode MatBoxFitDestroy(PatchFDKernels kern, MatBoxFit *fit)
{
  MatBoxFit f = *fit;

  PetscFunctionBegin;
  if (!f) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < f->desc.ngroup && f->inner; i++) PetscCall(kern->operatordestroy(&f->inner[i]));
  PetscCall(PetscFree(f->inner));
  if (f->own) PetscCall(kern->operatordestroy(&f->whole));
  PetscCall(kern->fitdestroy(&f->plan));
  PetscCall(kern->free(f->diagonal));
  PetscCall(PatchFDHostFitDestroy(&f->desc));
  PetscCall(PetscFree(f));
  *fit = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what patches are here */
static void FitMesh(const Mat_Box *m, const MatBoxLocal *l, PatchFDFitMesh *mesh)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;
  PetscBool     empty;

  *mesh = (PatchFDFitMesh){.dim = m->dm->dim, .degree = box->degree};
  MatBoxLocalRange(m, l, mesh->patches);
  empty = (PetscBool)!PatchFDRangeSize((const PetscInt(*)[2])mesh->patches);
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *p = mesh->dir[d] = &l->patches[0][d];

    mesh->ncells[d]  = box->field[0].line[d].ncells;
    mesh->ncolor[d]  = MatBoxLocalLineColors(l, d);
    mesh->turn[d]    = box->field[0].line[d].turn;
    mesh->singles[d] = MatBoxLocalSingles(l, d);
    if (empty) mesh->patches[d][1] = mesh->patches[d][0] = 0;
    mesh->cells[d][0] = empty ? 0 : p->cell[mesh->patches[d][0]];
    mesh->cells[d][1] = empty ? 0 : PetscMin(mesh->ncells[d], p->cell[mesh->patches[d][1] - 1] + 2);
  }
}

/* diagonal = that of A, with its ghosts */
static PetscErrorCode FitDiagonal(Mat_Box *m, PatchFDKernels kern, void **diagonal)
{
  const DM_Box *box  = (const DM_Box *)m->dm->data;
  void         *plan = NULL, *global;

  PetscFunctionBegin;
  PetscCall(MatBoxGetOperator(m, kern, &plan));
  PetscCall(kern->malloc(box->nlocal, diagonal));
  if (!box->halo) {
    PetscCall(kern->operatordiagonal(plan, *diagonal));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(kern->malloc(box->nglobal, &global));
  PetscCall(kern->operatordiagonal(plan, global));
  PetscCall(DMBoxCopyOwned(m->dm, kern, PETSC_FALSE, global, PETSC_TRUE, *diagonal));
  PetscCall(kern->free(global));
  PetscCall(DMBoxHaloBegin(m->dm, kern, 1, diagonal));
  PetscCall(DMBoxHaloEnd(m->dm, kern, 1, diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an operator on local arrays in these cells */
static void FitDescribe(const DM_Box *box, const PatchFDRange cells, PatchFDField *field, PatchFDOperatorDesc *desc)
{
  *field = (PatchFDField){.xbox = box->field[0].local, .ybox = box->field[0].local};
  *desc  = (PatchFDOperatorDesc){.nfield = 1, .field = field};
  DMBoxFreeNodes(&box->field[0], PETSC_TRUE, field->read);
  DMBoxFreeNodes(&box->field[0], PETSC_TRUE, field->write);
  memcpy(desc->cells, cells, sizeof(desc->cells));
}

static PetscErrorCode FitOperator(Mat_Box *m, PatchFDKernels kern, const PatchFDFitMesh *mesh, MatBoxFit fit)
{
  const DM_Box       *box = (const DM_Box *)m->dm->data;
  PatchFDField        field;
  PatchFDOperatorDesc desc;

  PetscFunctionBegin;
  fit->own = (PetscBool)(box->halo != NULL);
  if (!fit->own) {
    PetscCall(MatBoxGetOperator(m, kern, &fit->whole));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  FitDescribe(box, (const PetscInt(*)[2])mesh->cells, &field, &desc);
  PetscCall(MatBoxOperatorCreate(m, kern, &desc, NULL, &fit->whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxMetricCreate(const Mat_Box *m, PatchFDKernels kern, const PatchFDRange cells, void **metric)
{
  const DM_Box       *box = (const DM_Box *)m->dm->data;
  PatchFDField        field;
  PatchFDOperatorDesc desc;
  PatchFDPoints       points, positive;

  PetscFunctionBegin;
  FitDescribe(box, cells, &field, &desc);
  if (!box->restricted) {
    PetscCall(MatBoxOperatorCreate(m, kern, &desc, NULL, metric));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatBoxGetPoints(m, (const PetscInt(*)[2])desc.cells, PETSC_FALSE, &points));
  PetscCall(PatchFDHostPositiveCreate(&points, &positive));
  desc.points = &positive;
  PetscCall(kern->operatorcreate(&desc, metric));
  PetscCall(PatchFDHostPositiveDestroy(&positive));
  PetscCall((*box->op->ops.pointsdestroy)(&points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FitCreate(const Mat_Box *m, PatchFDKernels kern, const PatchFDFitMesh *mesh, const PatchFDFitRule *rule,
                                MatBoxFit fit)
{
  void *metric = NULL;

  PetscFunctionBegin;
  if (!((const DM_Box *)m->dm->data)->restricted || PatchFDFitIsExact(rule)) {
    PetscCall(kern->fitcreate(&fit->desc, rule, fit->whole, &fit->plan));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatBoxMetricCreate(m, kern, (const PetscInt(*)[2])mesh->cells, &metric));
  PetscCall(kern->fitcreate(&fit->desc, rule, metric, &fit->plan));
  PetscCall(kern->operatordestroy(&metric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what the kernels in GPU memory do in place of the host, or NULL */
static const struct _PatchFDFitKernels *FitKernels(PETSC_UNUSED PatchFDKernels kern)
{
#if defined(PETSC_HAVE_CUDA)
  if (kern->id == PATCHFD_KERNELS_CUDA_DOUBLE) return &PatchFDFitKernelsCUDADouble;
  if (kern->id == PATCHFD_KERNELS_CUDA_FLOAT) return &PatchFDFitKernelsCUDAFloat;
#endif
  return NULL;
}

/* A on the cells of the patches of a group, on compact arrays, if kernels do not do with A */
static PetscErrorCode FitPick(const MatBoxFit fit, PatchFDKernels kern, PetscInt group, void **picked)
{
  const struct _PatchFDFitKernels *device = FitKernels(kern);
  PetscCount                       n, ncells, *cells;
  PetscInt                        *index;

  PetscFunctionBegin;
  *picked = NULL;
  if (fit->desc.residuals) PetscFunctionReturn(PETSC_SUCCESS);
  if (device) PetscCall((*device->pick)(fit->plan, group, fit->whole, picked));
  else {
    PetscCall(PatchFDHostFitCells(&fit->desc, group, &n, &ncells, &cells, &index));
    PetscCall(kern->operatorpick(fit->whole, n, ncells, cells, index, picked));
    PetscCall(PetscFree2(cells, index));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x or y -= A x on the compact arrays of a group */
static PetscErrorCode FitInner(const MatBoxFit fit, PatchFDKernels kern, PetscInt group, void *picked, PetscBool subtract, const void *x,
                               void *y)
{
  PetscFunctionBegin;
  if (picked) PetscCall(kern->operatorapply(picked, subtract ? -1 : 1, x, subtract ? y : NULL, y));
  else PetscCall((*FitKernels(kern)->inner)(fit->plan, group, fit->whole, subtract, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* extreme eigenvalues of the corrected matrices of the patches of a group, and the steps that they take: conjugate gradients on all of them
   at once, with three arrays */
static PetscErrorCode FitBounds(MatBoxFit fit, PatchFDKernels kern, PetscInt group, const PatchFDFitRule *rule, void *r, void *p, void *q)
{
  void *picked = NULL;

  PetscFunctionBegin;
  PetscCall(FitPick(fit, kern, group, &picked));
  PetscCall(kern->fitcg(fit->plan, group, 0, rule->lanczos, fit->diagonal, NULL, r, p));
  for (PetscInt i = 1; i <= rule->lanczos; i++) {
    PetscCall(FitInner(fit, kern, group, picked, PETSC_FALSE, p, q));
    PetscCall(kern->fitcg(fit->plan, group, i, rule->lanczos, fit->diagonal, q, r, p));
  }
  PetscCall(kern->fitsteps(fit->plan, rule, group, rule->lanczos));
  if (picked) PetscCall(kern->operatordestroy(&picked));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* how many steps the patches take, and A on the cells of those that take several */
static PetscErrorCode FitSteps(MatBoxFit fit, PatchFDKernels kern, const PatchFDFitRule *rule)
{
  PetscCount estimated = 0, most = 0;
  void      *work[3];

  PetscFunctionBegin;
  for (PetscInt group = 0; group < fit->desc.ngroup; group++)
    if (fit->desc.steps[group] != 1) most = PetscMax(most, PatchFDFitCount(&fit->desc, group));
  for (int i = 0; i < 3; i++) PetscCall(kern->malloc((size_t)(most * fit->desc.volume), &work[i]));
  for (PetscInt group = 0; group < fit->desc.ngroup; group++) {
    if (fit->desc.steps[group] == 1) continue;
    PetscCall(FitBounds(fit, kern, group, rule, work[0], work[1], work[2]));
    estimated += PatchFDFitCount(&fit->desc, group);
  }
  for (int i = 0; i < 3; i++) PetscCall(kern->free(work[i]));
  PetscCall(PetscInfo(NULL, "eigenvalues of %" PetscCount_FMT " of %" PetscCount_FMT " patches estimated\n", estimated, fit->desc.npatch));
  if (estimated) PetscCall(kern->fitgroups(fit->plan, rule));
  PetscCall(PetscCalloc1(fit->desc.ngroup, &fit->inner));
  for (PetscInt group = 0; group < fit->desc.ngroup; group++)
    if (fit->desc.steps[group] > 1) PetscCall(FitPick(fit, kern, group, &fit->inner[group]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the matrices of patches that are solved exactly */
static PetscErrorCode FitExact(const Mat_Box *m, MatBoxFit fit, PatchFDKernels kern, PetscBool rows, PetscBool *regular)
{
  const DM_Box *box   = (const DM_Box *)m->dm->data;
  PetscBool     exact = PETSC_FALSE;
  PatchFDPoints points;

  PetscFunctionBegin;
  for (PetscInt group = 0; group < fit->desc.ngroup; group++) exact = (PetscBool)(exact || fit->desc.steps[group] == 0);
  /* points are asked for together */
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &exact, 1, PATCHFD_MPI_BOOL, MPI_LOR, PetscObjectComm((PetscObject)m->dm)));
  if (!exact) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxGetPoints(m, (const PetscInt(*)[2])fit->desc.cells, PETSC_FALSE, &points));
  PetscCall(kern->fitexact(fit->plan, &points, rows, regular));
  PetscCall((*box->op->ops.pointsdestroy)(&points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxFitSetUp(Mat_Box *m, const MatBoxLocal *l, PetscBool shared, PatchFDKernels kern, MatBoxFit *fit, PetscBool *regular)
{
  const DM_Box   *box   = (const DM_Box *)m->dm->data;
  const PetscBool exact = PatchFDFitIsExact(&l->rule.fit);
  const PetscBool robin = DMBoxHasRobin(box->op, m->c.operator); /* which matrices of constants do not have */
  PatchFDFitMesh  mesh;

  PetscFunctionBegin;
  *regular = PETSC_TRUE;
  PetscCall(PetscNew(fit));
  FitMesh(m, l, &mesh);
  if (!exact) PetscCall(FitOperator(m, kern, &mesh, *fit));
  PetscCall(PatchFDHostFitCreate(&mesh, (PetscBool)((shared && !robin) || exact), &box->field[0].local, &(*fit)->desc));
  (*fit)->desc.residuals = MatBoxFitTakesResiduals(m, kern);
  (*fit)->desc.packed    = l->rule.fit.packed;
  DMBoxFreeNodes(&box->field[0], PETSC_TRUE, (*fit)->desc.read);
  PetscCall(FitCreate(m, kern, &mesh, &l->rule.fit, *fit));
  if (!exact) PetscCall(FitDiagonal(m, kern, &(*fit)->diagonal));
  if (!exact && l->rule.fit.lanczos) PetscCall(FitSteps(*fit, kern, &l->rule.fit));
  PetscCall(FitExact(m, *fit, kern, l->rule.fit.rows, regular));
  if ((*fit)->own && !(*fit)->desc.residuals) PetscCall(kern->operatordestroy(&(*fit)->whole));
  (*fit)->own = (PetscBool)((*fit)->own && (*fit)->desc.residuals);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all steps of a group; product: r is b, and A x is there already */
static PetscErrorCode FitGroup(PatchFDKernels kern, MatBoxFit fit, PetscInt group, PetscReal omega, const void *r, PetscBool product,
                               void *x)
{
  void *residual, *z;

  PetscFunctionBegin;
  if (product) PetscCall((*FitKernels(kern)->correct)(fit->plan, group, omega, fit->diagonal, r, x));
  else PetscCall(kern->fitapply(fit->plan, group, 0, omega, fit->diagonal, r, x));
  PetscCall(kern->fitwork(fit->plan, &residual, &z));
  for (PetscInt i = 1; i < fit->desc.steps[group]; i++) {
    PetscCall(FitInner(fit, kern, group, fit->inner[group], PETSC_TRUE, z, residual));
    PetscCall(kern->fitapply(fit->plan, group, i, omega, fit->diagonal, NULL, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxFitCorrect(const Mat_Box *m, const MatBoxLocal *l, PatchFDKernels kern, PetscInt n, const PatchFDColor colors[],
                                PetscReal omega, const void *r, void *x)
{
  MatBoxFit fit = l->fit[kern->id];
  void     *rl, *xl;

  PetscFunctionBegin;
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, r, DMBOX_WORK_R, &rl));
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, r, DMBOX_WORK_R, &rl));
  PetscCall(DMBoxGlobalToLocalOwned(m->dm, kern, x, DMBOX_WORK_X, &xl)); /* updates only add to x: its ghosts need no values */
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt group = 0; group < fit->desc.ngroup; group++)
      if (!memcmp(l->color[fit->desc.color[group]].parity, colors[i].parity, sizeof(colors[i].parity)))
        PetscCall(FitGroup(kern, fit, group, omega, rl, PETSC_FALSE, xl));
  PetscCall(DMBoxLocalToGlobal(m->dm, kern, xl, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MatBoxFitTakesRows(const Mat_Box *m)
{
  const DM_Box        *box   = (const DM_Box *)m->dm->data;
  const PetscLogDouble limit = 4.0 * 1073741824.0, k = box->degree;
  PetscLogDouble       patches = 1, unknowns = 1, rows = 1, inner = 1;

  for (PetscInt d = 0; d < m->dm->dim; d++) {
    patches *= PetscCeilReal((PetscReal)box->cells[d] / (PetscReal)box->processes[d]) + (box->processes[d] > 1);
    unknowns *= 2 * k - 1;
    rows *= 2 * (k - 1) * (k + 1) + 2 * k + 1;
    inner *= 2 * (k - 1) * k + 2 * k - 1;
  }
  return (PetscBool)(box->degree <= (m->dm->dim == 3 ? 2 : 3) &&
                     patches * (unknowns * (unknowns + 1) / 2 + rows - inner) * (PetscLogDouble)sizeof(PetscReal) <= limit);
}

PetscBool MatBoxFitTakesResiduals(const Mat_Box *m, PatchFDKernels kern)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  return (PetscBool)(FitKernels(kern) && !DMBoxHasRobin(box->op, m->c.operator) &&
                     PatchFDFitTakesResiduals(m->dm->dim, box->degree, DMBoxNumGauss(m->dm)));
}

/* residuals and corrections of a group, of its patches alone */
static PetscErrorCode FitGroupFused(PatchFDKernels kern, MatBoxFit fit, PetscInt group, PetscReal omega, PetscBool zero, const void *b,
                                    void *x)
{
  PetscFunctionBegin;
  if (!fit->desc.residuals) {
    PetscCall(kern->fitfused(fit->plan, group, omega, zero, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!zero) PetscCall((*FitKernels(kern)->product)(fit->plan, group, fit->whole, x));
  PetscCall(FitGroup(kern, fit, group, omega, b, (PetscBool)!zero, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxFitSweep(Mat_Box *m, const MatBoxLocal *l, PatchFDKernels kern, PetscInt64 its, PetscInt n,
                              const PatchFDColor colors[], PetscReal omega, PetscBool zero, const void *b, void *x)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;
  MatBoxFit     fit = l->fit[kern->id];
  void         *bl, *xl;

  PetscFunctionBegin;
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, b, DMBOX_WORK_B, &bl));
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, b, DMBOX_WORK_B, &bl));
  if (zero && box->halo) PetscCall(DMBoxGlobalToLocalZero(m->dm, kern, x, PETSC_TRUE, DMBOX_WORK_X, &xl));
  else PetscCall(DMBoxGlobalToLocalOwned(m->dm, kern, x, DMBOX_WORK_X, &xl));
  for (PetscInt64 it = 0; it < its; it++) {
    for (PetscInt i = 0; i < n; i++, zero = PETSC_FALSE) {
      if (box->halo && !zero) {
        PetscCall(DMBoxHaloBegin(m->dm, kern, 1, &xl));
        PetscCall(DMBoxHaloEnd(m->dm, kern, 1, &xl));
      }
      for (PetscInt group = 0; group < fit->desc.ngroup; group++)
        if (!memcmp(l->color[fit->desc.color[group]].parity, colors[i].parity, sizeof(colors[i].parity)))
          PetscCall(FitGroupFused(kern, fit, group, omega, zero, bl, xl));
    }
  }
  PetscCall(DMBoxLocalToGlobal(m->dm, kern, xl, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what patches that are solved exactly have: a triangle, and where there are rows all nodes of the cells of an unknown, but for unknowns */
static PetscLogDouble FitExactNumbers(const PatchFDFit *fit, PetscBool rows)
{
  PetscLogDouble numbers = 0;

  for (PetscInt group = 0; group < fit->ngroup; group++) {
    for (PetscInt i = fit->runs[group]; i < fit->runs[group + 1] && !fit->steps[group]; i++) {
      const PatchFDFitRun *run = &fit->run[i];
      PetscLogDouble       n = 1, all = 1, inner = 1;

      for (PetscInt d = 0; d < fit->dim; d++) {
        const PatchFDFitKind *kind = &fit->kind[d][run->kind[d]];
        /* unknowns of both cells, which share one */
        const PetscInt lower = PetscMin(kind->n, fit->degree + 1 - kind->lower), upper = kind->n - lower + 1;

        n *= kind->n;
        all *= kind->n * (fit->degree + 1) + (kind->ncells - 1) * fit->degree;
        inner *= kind->ncells == 1 ? kind->n * kind->n : (lower - 1) * lower + (upper - 1) * upper + kind->n;
      }
      numbers += (PetscLogDouble)run->count * (n * (n + 1) / 2 + (rows ? all - inner : 0));
    }
  }
  return numbers;
}

PetscLogDouble MatBoxFitBytes(const MatBoxLocal *l, PatchFDKernels kern)
{
  const PatchFDFit *desc = &l->fit[kern->id]->desc;

  return (PetscLogDouble)kern->size *
         (PetscLogDouble)(desc->nrecord + 4 * desc->npatch + desc->coefat[desc->ngroup] + FitExactNumbers(desc, l->rule.fit.rows));
}

PetscErrorCode MatBoxFitView(const Mat_Box *m, const MatBoxLocal *l, PatchFDKernels kern, PetscViewer viewer)
{
  const DM_Box   *box                              = (const DM_Box *)m->dm->data;
  const MatBoxFit fit                              = l->fit[kern->id];
  PetscInt64      count[PATCHFD_FIT_MAX_STEPS + 1] = {0};
  const char     *separator                        = "";
  PetscLogDouble  bytes                            = MatBoxFitBytes(l, kern);

  PetscFunctionBegin;
  PatchFDHostFitCount(&fit->desc, (const PetscInt(*)[2])box->owncells, count);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, count, PATCHFD_FIT_MAX_STEPS + 1, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)m->dm)));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)m->dm)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  fits of %.0f bytes; patches by inner steps:", bytes));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  for (int i = 0; i <= PATCHFD_FIT_MAX_STEPS; i++) {
    char name[16] = "exact: ";

    if (!count[i]) continue;
    if (i) PetscCall(PetscSNPrintf(name, sizeof(name), "%d: ", i));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s %s%" PetscInt64_FMT, separator, name, count[i]));
    separator = ",";
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- exact solves ---- */

/* Each patch that a rank has is a class of its own; others, which nobody asks for, have one of theirs */
static void PointsClasses(MatBoxLocal *l, const PatchFDRange range)
{
  for (int d = 0; d < 3; d++) {
    const PetscInt n = PetscMax(1, range[d][1] - range[d][0]);

    for (PetscInt i = 0; i < l->patches[0][d].npatch; i++) l->cls[d][i] = PetscMax(0, PetscMin(n - 1, i - range[d][0]));
    l->nclass[d] = n;
  }
}

/* the inverses of all patches' matrices: on a GPU, if they are applied there, where these are positive definite */
static PetscErrorCode PointsInvert(const Mat_Box *m, MatBoxLocal *l, PatchFDKernels kern)
{
  const PetscBool definite = (PetscBool)(m->form.spd && m->form.constants < 0);
  PetscReal     **K;
  PetscBool       regular = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(l->ndense, &K));
  for (PetscInt i = 0; i < l->ndense; i++) K[i] = l->dense[i].block[0];
  for (PetscInt i = 0, next; i < l->ndense && regular; i = next) {
    const PetscInt n = l->dense[i].size[0];

    for (next = i + 1; definite && next < l->ndense && l->dense[next].size[0] == n;) next++;
    if (definite) PetscCall(kern->invert(next - i, n, K + i, &regular));
    else PetscCall(PatchFDHostDenseInvert(m->form.spd, m->form.constants, &l->dense[i], &regular));
  }
  PetscCall(PetscFree(K));
  l->singular = (PetscBool)(l->singular || !regular);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* does localcreate make the inverses from points? */
static PetscBool PointsAreLocal(const Mat_Box *m, const MatBoxLocal *l, PatchFDKernels kern)
{
  PetscInt most = 0;

  for (PetscInt i = 0; i < l->ndense; i++) most = PetscMax(most, l->dense[i].size[0]);
  return (PetscBool)(MatBoxIsCoupled(m) && m->form.spd && m->form.constants < 0 && most <= kern->localpoints);
}

/* inverses on the host are in double precision, whatever they are in where they are applied */
static PetscErrorCode PointsCheckRoom(const Mat_Box *m, const MatBoxLocal *l, PatchFDKernels kern)
{
  const PetscBool      here  = (PetscBool)!PointsAreLocal(m, l, kern);
  const PetscLogDouble limit = (here ? 8.0 : 40.0) * 1073741824.0;
  PetscLogDouble       bytes = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < l->ndense; i++)
    bytes += (here ? 8.0 : (PetscLogDouble)kern->size) * PetscSqr((PetscLogDouble)l->dense[i].size[0]);
  PetscCheck(bytes <= limit, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "PCPATCHFD: the inverses of %" PetscInt_FMT
             " patches of -dm_box_operator %s, which all differ, take %.3g GiB on this process; "
             "allowed are %g. Take a lower degree, or more processes",
             l->ndense, MatBoxName(m), bytes / 1073741824.0, limit / 1073741824.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxPointsClasses(const Mat_Box *m, MatBoxLocal *l)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;
  PatchFDRange  range;

  PetscFunctionBegin;
  MatBoxLocalRange(m, l, range);
  PointsClasses(l, (const PetscInt(*)[2])range);
  l->ndense = l->nclass[0] * l->nclass[1] * l->nclass[2];
  PetscCall(PetscCalloc1(l->ndense, &l->dense));
  for (PetscInt i = 0; i < l->ndense && PatchFDRangeSize((const PetscInt(*)[2])range); i++) {
    const PetscInt patch[3] = {range[0][0] + i % l->nclass[0], range[1][0] + i / l->nclass[0] % l->nclass[1],
                               range[2][0] + i / l->nclass[0] / l->nclass[1]};

    l->dense[i].nfield = box->nfield;
    for (PetscInt f = 0; f < box->nfield; f++)
      for (int d = 0; d < 3; d++) l->dense[i].n[f][d] = l->patches[f][d].n[patch[d]];
    (void)PatchFDHostDenseSizes(&l->dense[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the inverses, on the host */
static PetscErrorCode PointsDense(const Mat_Box *m, MatBoxLocal *l, PatchFDKernels kern, const PatchFDLocalDesc *desc)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;
  PetscReal    *E;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(desc->points->ncells * PetscSqr((PetscCount)PatchFDPointsCellSize(desc->points)), &E));
  PetscCall((PetscMemTypeHost(kern->memtype) ? PatchFDKernelTables[PATCHFD_KERNELS_HOST_DOUBLE] : kern)->cellmatrices(desc->points, E));
  for (PetscInt i = 0; i < l->ndense && l->dense[0].nfield; i++) {
    const PetscInt patch[3] = {desc->patch[0] + i % l->nclass[0], desc->patch[1] + i / l->nclass[0] % l->nclass[1],
                               desc->patch[2] + i / l->nclass[0] / l->nclass[1]};
    PetscInt       first[DMBOX_MAX_FIELDS][3];

    for (PetscInt f = 0; f < box->nfield; f++)
      for (int d = 0; d < 3; d++) first[f][d] = l->patches[f][d].first[patch[d]];
    PetscCall(
      PatchFDHostDenseCells(box->degree, m->dm->dim, (const PetscInt(*)[2])desc->cells, E, (const PetscInt(*)[3])first, &l->dense[i]));
  }
  if (l->dense[0].nfield) PetscCall(PointsInvert(m, l, kern));
  PetscCall(PetscFree(E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxPointsLocalCreate(const Mat_Box *m, MatBoxLocal *l, PatchFDKernels kern, PatchFDLocalDesc *desc, void **plan)
{
  const DM_Box   *box     = (const DM_Box *)m->dm->data;
  const PetscBool here    = (PetscBool)!PointsAreLocal(m, l, kern);
  PetscBool       regular = PETSC_TRUE;
  PatchFDPoints   points;
  PatchFDRange    range;

  PetscFunctionBegin;
  PetscCall(PointsCheckRoom(m, l, kern));
  MatBoxLocalRange(m, l, range);
  for (int d = 0; d < 3; d++) { /* a rank has the cells beside its own, too */
    PetscInt *cells = desc->cells[d];

    cells[0]       = PetscMax(0, box->owncells[d][0] - 1);
    cells[1]       = box->owncells[d][0] < box->owncells[d][1] ? PetscMin(box->field[0].line[d].ncells, box->owncells[d][1] + 1) : cells[0];
    desc->patch[d] = range[d][0];
  }
  PetscCall(MatBoxGetPoints(m, (const PetscInt(*)[2])desc->cells, PETSC_FALSE, &points));
  desc->points  = &points;
  desc->regular = &regular;
  if (here) {
    if (!l->dense[0].block[0]) PetscCall(PointsDense(m, l, kern, desc));
    desc->points = NULL;
  }
  PetscCall(kern->localcreate(desc, plan));
  l->singular = (PetscBool)(l->singular || !regular);
  PetscCall((*box->op->ops.pointsdestroy)(&points));
  PetscFunctionReturn(PETSC_SUCCESS);
}
