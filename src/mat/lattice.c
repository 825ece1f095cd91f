/*
  Matrices of the operator "heat" of a DMBOX, without entries: mass M(capacity) + stiffness K(conductivity), with Robin terms, of linear
  elements on a lattice.
  All numbers come from the fields of the materials in each product (src/host/lattice.h).  Rows of fixed nodes, and of nodes outside of the
  body, are rows of the identity.
*/
#include <patchfd/private/heatimpl.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

PetscErrorCode MatLatticeFind(Mat A, Mat_Lattice **m)
{
  PetscErrorCode (*get)(Mat, Mat_Lattice **);

  PetscFunctionBegin;
  *m = NULL;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatLatticeGet_C", &get));
  if (get) PetscCall((*get)(A, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLatticeReset(Mat_Lattice *m)
{
  PetscFunctionBegin;
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++)
    if (m->plan[i]) PetscCall((*PatchFDKernelTables[i]->latticedestroy)(&m->plan[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what the DM has ---- */

static PetscErrorCode MatLatticeHasBody(const Mat_Lattice *m, PetscBool *has)
{
  DMBoxOperator op   = NULL;
  DMBox_Heat   *heat = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(m->dm, "This matrix", &heat));
  op = ((const DM_Box *)m->dm->data)->op;
  PetscCall(PetscArraycmp(m->robin, heat->robin, 6, has));
  if (*has) PetscCall(PetscArraycmp(m->constant, op->coefficient, 4, has));
  *has = (PetscBool)(*has && m->body == heat->body);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the materials of the matrix's DM, as they are now; plans depend on the body's shape and the sides */
static PetscErrorCode MatLatticeTakeBody(Mat_Lattice *m)
{
  DMBoxOperator op   = NULL;
  DMBox_Heat   *heat = NULL;
  PetscBool     same;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(m->dm, "This matrix", &heat));
  op = ((const DM_Box *)m->dm->data)->op;
  PetscCall(PetscArraycmp(m->robin, heat->robin, 6, &same));
  if (!same || m->body != heat->body) {
    PetscCall(MatLatticeReset(m));
    PetscCall(PetscArraycpy(m->robin, heat->robin, 6));
    PetscCall(HeatBodyReference(heat->body));
    PetscCall(HeatBodyDestroy(&m->body));
    m->body = heat->body;
  }
  PetscCall(PetscArraycpy(m->constant, op->coefficient, 4));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBoxTake_Lattice(Mat A, DM dm, PetscReal rate, MatBoxTakeWhat what, PetscBool *changed)
{
  Mat_Lattice *m;
  PetscReal    mass;
  PetscBool    scaled, same;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  if (dm && dm != m->dm) PetscCall(DMBoxCopyOperator(dm, m->dm));
  PetscCall(MatLatticeHasBody(m, &same));
  mass     = ((const DM_Box *)m->dm->data)->op->coefficient[HEAT_SHIFT] + rate;
  scaled   = (PetscBool)(m->form.mass != mass || m->form.stiffness != 1 || m->form.identity != 1);
  *changed = (PetscBool)(!same || (what == MATBOX_TAKE_CHANGES ? m->taken != mass : scaled));
  if (what == MATBOX_TAKE_ALL) m->taken = mass;
  if (!*changed || what == MATBOX_TAKE_NOTHING) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatLatticeTakeBody(m));
  m->form.mass = m->taken = mass;
  m->form.stiffness = m->form.identity = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* instead of MatShellGetContext(): a matrix that follows its DM takes over what is new */
static PetscErrorCode MatLatticeGetCurrent(Mat A, Mat_Lattice **m)
{
  PetscBool changed;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, m));
  if ((*m)->entry->follows) PetscCall(MatBoxTake_Lattice(A, NULL, 0, MATBOX_TAKE_ALL, &changed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- plans ---- */

/* `active` is to be freed by the caller */
static PetscErrorCode MatLatticeDescribe(const Mat_Lattice *m, PatchFDLatticeDesc *desc, unsigned char **active)
{
  const DM_Box     *box = (const DM_Box *)m->dm->data;
  const DMBoxField *f   = &box->field[0];
  size_t            n   = 1;

  PetscFunctionBegin;
  *desc   = (PatchFDLatticeDesc){.dim = m->dm->dim, .xbox = f->local, .ybox = f->global};
  *active = NULL;
  DMBoxFreeNodes(f, PETSC_FALSE, desc->write);
  DMBoxFreeNodes(f, PETSC_TRUE, desc->read);
  for (int d = 0; d < 3; d++) {
    desc->n[d] = f->line[d].ncells; /* all turns of a ring, which has no sides */
    desc->h[d] = (box->upper[d] - box->lower[d]) / (PetscReal)box->cells[d];
    if (d < m->dm->dim) n *= (size_t)PetscMax(f->local.n[d] - 1, 0);
    if (m->form.whole) {
      desc->read[d][0] = f->local.lo[d];
      desc->read[d][1] = f->local.lo[d] + f->local.n[d];
    }
  }
  for (int s = 0; s < 6; s++) desc->robin[s] = m->form.unit ? (m->form.sides >> s & 1) : m->robin[s];
  if (m->body && m->body->voxel) {
    PetscCall(PetscMalloc1(n, active));
    PatchFDHostVoxelCut(m->dm->dim, m->body->cells, m->body->voxel, &f->local, *active);
    desc->active = *active;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLatticeGetPlan(Mat_Lattice *m, PatchFDKernels kern, void **plan)
{
  PatchFDLatticeDesc desc;
  unsigned char     *active;

  PetscFunctionBegin;
  PetscCheck(kern->latticecreate, PetscObjectComm((PetscObject)m->dm), PETSC_ERR_SUP, "There are no %s kernels for -dm_box_operator heat",
             kern->name);
  if (!m->plan[kern->id]) {
    PetscCall(MatLatticeDescribe(m, &desc, &active));
    PetscCall((*kern->latticecreate)(&desc, &m->plan[kern->id]));
    PetscCall(PetscFree(active));
  }
  *plan = m->plan[kern->id];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLatticeMaterial(const Mat_Lattice *m, PatchFDKernels kern, PatchFDMaterial *material)
{
  const void *field[4] = {NULL, NULL, NULL, NULL};

  PetscFunctionBegin;
  *material = (PatchFDMaterial){.mass              = m->form.mass,
                                .stiffness         = m->form.stiffness,
                                .side              = m->form.stiffness,
                                .identity          = m->form.identity,
                                .constcapacity     = 1,
                                .constconductivity = {1, 1, 1}};
  if (m->form.unit) {
    material->stiffness = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (m->body) PetscCall(HeatBodyGetArrays(m->body, m->dm, kern, field));
  material->capacity      = field[0];
  material->constcapacity = m->constant[0];
  for (int d = 0; d < 3; d++) {
    material->conductivity[d]      = field[1 + d];
    material->constconductivity[d] = m->constant[1 + d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the operations ---- */

/* y = y0 + alpha A x for global arrays, y0 = NULL for zero */
static PetscErrorCode MatLatticeApply(void *ctx, PatchFDKernels kern, PetscReal alpha, const void *x, const void *y0, void *y)
{
  Mat_Lattice    *m = (Mat_Lattice *)ctx;
  PatchFDMaterial material;
  void           *plan = NULL, *local;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscCall(MatLatticeGetPlan(m, kern, &plan));
  PetscCall(MatLatticeMaterial(m, kern, &material));
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, x, DMBOX_WORK_X, &local));
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, x, DMBOX_WORK_X, &local));
  PetscCall((*kern->latticeapply)(plan, &material, alpha, local, y0, y));
  if (m->form.identity != 0 && DMBoxHasFixed(m->dm)) PetscCall(DMBoxSetFixed(m->dm, kern, 1, y, alpha * m->form.identity, x));
  PetscCall(PetscLogEventEnd(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

MAT_ARRAY_PRODUCTS(Lattice)

/* the first sweep of KSPFUSEDCG; it takes rows of fixed nodes for those of the identity.  The direction's ghosts, if there are any,
   come in between, on GPUs */
static PetscErrorCode MatFusedCGSweep_Lattice(Mat A, PatchFDKernels kern, const void *d, const void *r, const void *q, void *p, void *w,
                                              PatchFDSweep *sweep, PetscBool *can)
{
  Mat_Lattice    *m;
  PatchFDMaterial material;
  PetscBool       ghosts; /* from other ranks, or from the other ends of rings */
  void           *plan = NULL, *local;

  PetscFunctionBegin;
  PetscCall(MatLatticeGetCurrent(A, &m));
  ghosts = (PetscBool)(((const DM_Box *)m->dm->data)->halo != NULL);
  *can   = (PetscBool)(kern->latticesweep && m->form.identity == 1 && !(ghosts && PetscMemTypeHost(kern->memtype)));
  if (!sweep || !*can) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscCall(MatLatticeGetPlan(m, kern, &plan));
  PetscCall(MatLatticeMaterial(m, kern, &material));
  if (!ghosts) PetscCall((*kern->latticesweep)(plan, &material, d, r, q, p, w, sweep));
  else {
    PetscCall((*kern->latticesweep)(plan, &material, d, r, q, p, NULL, sweep));
    PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, p, DMBOX_WORK_X, &local));
    PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, p, DMBOX_WORK_X, &local));
    PetscCall((*kern->latticesweep)(plan, &material, NULL, NULL, NULL, local, w, sweep));
  }
  PetscCall(PetscLogEventEnd(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCanRecord_Lattice(Mat A, PatchFDKernels kern, PetscBool *can)
{
  Mat_Lattice *m;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(MatFusedCGSweep_Lattice(A, kern, NULL, NULL, NULL, NULL, NULL, NULL, can));
  *can = (PetscBool)(*can && DMBoxExchangesOnDevice(m->dm, kern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_Lattice(Mat A, Vec diag)
{
  Mat_Lattice    *m;
  PatchFDKernels  kern;
  PatchFDMaterial material;
  void           *plan = NULL, *a;

  PetscFunctionBegin;
  PetscCall(MatLatticeGetCurrent(A, &m));
  PetscCall(PatchFDVecGetKernels(diag, &kern));
  PetscCall(MatLatticeGetPlan(m, kern, &plan));
  PetscCall(MatLatticeMaterial(m, kern, &material));
  PetscCall(PatchFDVecGetArrayWrite(diag, kern, &a));
  PetscCall((*kern->latticediagonal)(plan, &material, a));
  PetscCall(PatchFDVecRestoreArrayWrite(diag, kern, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateVecs_Lattice(Mat A, Vec *right, Vec *left)
{
  Mat_Lattice *m;

  PetscFunctionBegin;
  PetscCall(MatLatticeGetCurrent(A, &m));
  if (right) PetscCall(DMCreateGlobalVector(m->dm, right));
  if (left) PetscCall(DMCreateGlobalVector(m->dm, left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBoxTriples_Lattice(Mat A, PetscCount *count, PetscInt **i, PetscInt **j, PetscScalar **v)
{
  Mat_Lattice       *m;
  PatchFDLatticeDesc desc;
  PatchFDMaterial    material;
  PetscInt          *index;
  unsigned char     *active;

  PetscFunctionBegin;
  PetscCall(MatLatticeGetCurrent(A, &m));
  PetscCall(MatLatticeDescribe(m, &desc, &active));
  PetscCall(MatLatticeMaterial(m, &PatchFDKernelsHostDouble, &material));
  PetscCall(DMBoxGetLocalToGlobal(m->dm, &index));
  PetscCall(PatchFDHostLatticeTriples(&desc, &material, index, count, NULL, NULL, NULL));
  PetscCall(PetscMalloc3(*count, i, *count, j, *count, v));
  PetscCall(PatchFDHostLatticeTriples(&desc, &material, index, count, *i, *j, *v));
  PetscCall(PetscFree(index));
  PetscCall(PetscFree(active));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_Lattice(Mat A, PetscViewer viewer)
{
  Mat_Lattice *m;
  PetscBool    ascii;

  PetscFunctionBegin;
  PetscCall(MatBoxShellViewASCII(A, viewer, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatLatticeGetCurrent(A, &m));
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "  matrix-free operator of a DMBOX: %g M + %g K of linear elements, capacity %s, conductivity %s%s\n",
                           (double)m->form.mass, (double)m->form.stiffness, m->body && m->body->field[0] ? "from a field" : "constant",
                           m->body && m->body->field[1] ? "from fields" : "constant",
                           m->body && m->body->voxel ? ", on a body of voxels" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatScale_Lattice(Mat A, PetscScalar a)
{
  Mat_Lattice *m;

  PetscFunctionBegin;
  PetscCall(MatLatticeGetCurrent(A, &m));
  m->entry->follows = PETSC_FALSE;
  m->form.mass *= a;
  m->form.stiffness *= a;
  m->form.identity *= a;
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_Lattice(Mat A)
{
  Mat_Lattice *m;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(MatLatticeReset(m));
  PetscCall(HeatBodyDestroy(&m->body));
  PetscCall(MatBoxUnregister(m->dm, &m->entry));
  PetscCall(DMDestroy(&m->dm));
  PetscCall(PetscFree(m));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatLatticeGet_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatFusedCGSweep_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatCanRecord_C", NULL));
  PetscCall(MatBoxShellDestroy(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatLatticeFollow(Mat A, DM dm, const Mat_Lattice *l)
{
  DMBoxOperator op = ((const DM_Box *)dm->data)->op;

  PetscFunctionBegin;
  PetscCheck(l->form.stiffness > 0, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONGSTATE,
             "The matrix has %g times the stiffness; a preconditioner for it cannot be made", (double)l->form.stiffness);
  PetscCall(DMBoxCopyOperator(l->dm, dm));
  op->rate = l->form.mass / l->form.stiffness - op->coefficient[HEAT_SHIFT];
  PetscCall(MatBoxUpdateStep(A, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatLatticeCreate(DM dm, const MatLatticeForm *form, Mat *A)
{
  static const MatShellOperation operations[] = {MAT_PRODUCT_OPERATIONS(Lattice),
                                                 {MATOP_GET_DIAGONAL, (PetscVoidFn *)MatGetDiagonal_Lattice},
                                                 {MATOP_CREATE_VECS, (PetscVoidFn *)MatCreateVecs_Lattice},
                                                 {MATOP_SCALE, (PetscVoidFn *)MatScale_Lattice},
                                                 {MATOP_VIEW, (PetscVoidFn *)MatView_Lattice},
                                                 {MATOP_DESTROY, (PetscVoidFn *)MatDestroy_Lattice}};
  const DM_Box                  *box          = (const DM_Box *)dm->data;
  Mat_Lattice                   *m;

  PetscFunctionBegin;
  PetscCall(PetscNew(&m));
  PetscCall(PetscObjectReference((PetscObject)dm));
  m->dm    = dm;
  m->form  = *form;
  m->taken = form->mass;
  PetscCall(MatLatticeTakeBody(m));
  PetscCall(MatBoxShellCreate(dm, box->nglobal, box->nglobal, m, MatBoxTriples_Lattice, A));
  PetscCall(MatBoxRegister(*A, dm, MatBoxTake_Lattice, &m->entry));
  PetscCall(MatShellSetOperations(*A, PETSC_STATIC_ARRAY_LENGTH(operations), operations));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatLatticeGet_C", MatLatticeGetCurrent));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatFusedCGSweep_C", MatFusedCGSweep_Lattice));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatCanRecord_C", MatCanRecord_Lattice));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(MatSetDM(*A, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* insulated and without a shift, constants are not seen by the operator; a time integrator may add a mass matrix later: the null space is
   the user's to set */
PetscErrorCode DMCreateMatrix_Heat(DM dm, Mat *A)
{
  MatLatticeForm form = {.stiffness = 1, .identity = 1};
  Mat_Lattice   *m;

  PetscFunctionBegin;
  PetscCall(DMSetUp(dm));
  form.mass = ((const DM_Box *)dm->data)->op->coefficient[HEAT_SHIFT];
  PetscCall(MatLatticeCreate(dm, &form, A));
  PetscCall(MatShellGetContext(*A, &m));
  PetscCall(MatBoxShellAssemble(dm, A));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatBoxFollowDM(m->entry, *A));
  PetscCall(DMBoxSetSNESDefaults(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the matrix is that of a clone: as the DM's own it would keep the DM from being destroyed */
PetscErrorCode DMBoxGetHeatMatrix(DM dm, const char name[], const MatLatticeForm *form, Mat *A)
{
  PetscBool    same;
  Mat_Lattice *m;
  DM           clone;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)dm, name, (PetscObject *)A));
  if (!*A) {
    PetscCall(DMClone(dm, &clone));
    PetscCall(MatLatticeCreate(clone, form, A));
    PetscCall(DMDestroy(&clone));
    PetscCall(PetscObjectCompose((PetscObject)dm, name, (PetscObject)*A));
    PetscCall(PetscObjectDereference((PetscObject)*A));
  }
  PetscCall(MatShellGetContext(*A, &m));
  PetscCall(DMBoxCopyOperator(dm, m->dm));
  PetscCall(MatLatticeHasBody(m, &same));
  PetscCall(MatLatticeTakeBody(m));
  m->form = *form;
  if (!same) PetscCall(PetscObjectStateIncrease((PetscObject)*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- fixed nodes ---- */

/* b - A g on the free nodes, with the columns of fixed nodes alone, and g on the fixed ones */
PetscErrorCode DMBoxLift_Heat(DM dm, Vec g, Vec b)
{
  const MatLatticeForm form = {.mass = ((const DM_Box *)dm->data)->op->coefficient[HEAT_SHIFT], .stiffness = 1, .whole = PETSC_TRUE};
  Mat                  A;
  Vec                  w;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatMatrix(dm, "DMBoxHeatWhole", &form, &A));
  PetscCall(DMGetGlobalVector(dm, &w));
  PetscCall(VecSet(w, 0));
  PetscCall(DMBoxSetFixedVec(dm, w, 1, g));
  PetscCall(MatApply_Lattice(A, -1, w, b, b));
  PetscCall(DMBoxSetFixedVec(dm, b, 1, g));
  PetscCall(DMRestoreGlobalVector(dm, &w));
  PetscFunctionReturn(PETSC_SUCCESS);
}
